// SPDX-License-Identifier: Apache-2.0
// rxnic's side of pins.h: a module in a simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bridge/channel/socket.h"
#include "bridge/dpi/pins.h"

namespace rxnic::dpi {

class PinClient {
 public:
  // The module for `block` of the simulator that listens at `address`. "", or why there is none.
  std::string connect(const std::string& block, const std::string& address);
  // As open() above, over a socket that is connected already.
  std::string open(channel::Descriptor socket, const std::string& block);

  // Parameters and signals.
  std::span<const PinRecord> records() const { return records_; }
  // The words of the signal of record `number`. They stand where they are as long as the object.
  std::span<std::uint32_t> words(std::size_t number);
  // Sends the inputs and receives the outputs. When it fails the outputs stay as they were; it does nothing from then
  // on.
  void exchange();
  const std::string& failure() const { return failure_; }  // "": none

 private:
  std::string read(std::size_t bytes, const std::string& block);
  void fail(const std::string& why);

  channel::Descriptor socket_;
  std::string failure_;
  std::vector<PinRecord> records_;
  std::vector<std::size_t> first_;       // in `in_` or `out_`, of each record
  std::vector<std::uint32_t> in_, out_;  // out_: behind its first word as an answer has it
  std::vector<std::uint32_t> masks_;     // of the bits of out_ that signals have
  std::vector<std::uint32_t> answer_;    // the latest one, or the text of a failure
};

}  // namespace rxnic::dpi
