// SPDX-License-Identifier: Apache-2.0
// The simulator's side of pins.h: modules whose inputs come from rxnic, and whose outputs go there.
//
//   R1  A module is described before the first wait(): its parameters and its signals. Then rxnic compares them with
//       what the block has to be like, and names those that it refuses.
//   R2  wait() returns a module for which inputs have come, each of them once; answer() sends its outputs. Inputs are 0
//       before the first wait(), outputs are as they were put last.
//   R3  It ends with nullptr: when the command that was started has ended, and every connection; without one, when each
//       rxnic that had connected is gone. Until then it waits without taking time of a processor.
//   R4  Only processes of this one's user are modules' other sides (acceptor.h). Nobody delays the others. Who connects
//       and says nothing is waited for beside them, kMostSilent at once. Who does not take its outputs is disconnected.
//       Descriptors that come do not get here (doorkeeper.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/channel/acceptor.h"
#include "bridge/channel/doorkeeper.h"
#include "bridge/channel/socket.h"
#include "bridge/dpi/pins.h"

namespace rxnic::dpi {

// The other side of a module. (R4)
class PinPeer {
 public:
  PinPeer() = default;
  PinPeer(channel::Descriptor socket, channel::Doorkeeper& doorkeeper, std::uint64_t program)
      : socket_(std::move(socket)), doorkeeper_(&doorkeeper), program_(program) {}
  PinPeer(PinPeer&&) = default;
  PinPeer& operator=(PinPeer&& other) noexcept;
  ~PinPeer() { end(); }
  explicit operator bool() const { return static_cast<bool>(socket_); }
  int get() const { return socket_.get(); }
  // A packet of `bytes` bytes is here. Otherwise it has ended, unless nothing has come.
  bool receive(void* data, std::size_t bytes);
  bool send(const void* data, std::size_t bytes);
  void end();

 private:
  channel::Descriptor socket_;
  channel::Doorkeeper* doorkeeper_ = nullptr;
  std::uint64_t program_ = 0;
};

class PinModule {
 public:
  explicit PinModule(std::string block) : block_(std::move(block)) {}

  // Signals have numbers from 0 on, in the order in which they are described.
  void parameter(std::string_view name, std::uint64_t value);
  void signal(std::string_view name, PinKind direction, unsigned bits);
  // Word `word` of signal `number`, as it came with the last wait(); 0 of what is no input.
  std::uint32_t get(int number, int word);
  void put(int number, int word, std::uint32_t value);
  // The module cannot go on: rxnic ends with the text. The first one counts.
  void fail(std::string_view why);
  void answer();

 private:
  friend class PinServer;
  struct Signal {
    PinKind direction;
    std::size_t first, words;  // in `in_` or `out_`
  };
  std::uint32_t* word_at(int number, int word, PinKind direction);
  std::vector<PinRecord> records(std::uint64_t version) const;
  bool receive();  // inputs
  void add(std::string_view name, PinKind kind, std::uint64_t value);

  std::string block_, failure_;
  bool told_ = false;  // of the failure
  std::vector<PinRecord> records_;
  std::vector<Signal> signals_;
  std::vector<std::uint32_t> in_, out_{0};  // out_: as the answer has it (pins.h, R4)
  PinPeer peer_;
};

class PinServer {
 public:
  static constexpr std::size_t kMostSilent = 64;
  ~PinServer() { close(); }
  // False: `error` says why.
  bool open(const std::string& address, std::string& error);
  PinModule& add(const std::string& block);
  // Runs a command line of the shell. Once; false: `error` says why.
  bool start(const std::string& command, std::string& error);
  PinModule* wait();
  // Closes every connection and waits for the command: its exit status as the shell has it, 0 without one. A failure of
  // a module that rxnic was not told of any more is said on the standard error, and 4.
  int close();

 private:
  void accept();
  void greet(PinPeer& peer);

  channel::Doorkeeper doorkeeper_;
  channel::Acceptor acceptor_;
  channel::Listener listener_;
  std::vector<PinPeer> silent_;  // have connected, and not said which module they want
  std::vector<std::unique_ptr<PinModule>> modules_;
  bool connected_ = false, command_ended_ = false;
  pid_t child_ = 0;
  channel::Descriptor child_end_;
};

}  // namespace rxnic::dpi
