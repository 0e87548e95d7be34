// SPDX-License-Identifier: Apache-2.0
// The events of some packets in succession, for those who go through a capture from its first packet to its last.
//
//   R1  Memory is that of the packets asked for, and of an index with an entry a chunk of the file. Rows stand in the
//       file in the order of time, nearly that of the packets: most chunks are read once or twice.
//   R2  When several frames answer a packet, the first one is kept, and how many there are.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "bridge/rxnic/explain/run_events.h"

namespace rxnic {

class EventWindow {
 public:
  struct Answers {
    FrameRow first{};
    std::uint64_t count = 0;
  };

  // Reads all of the file, and calls `frame` for each frame that a NIC sent. Throws std::invalid_argument.
  EventWindow(RunEvents& events, const std::function<void(const FrameRow&)>& frame);
  // The packets `first` to `last`, and the frames of those numbers, which are sorted.
  void load(std::uint64_t first, std::uint64_t last, const std::vector<std::uint64_t>& frames);

  std::vector<const PacketRow*> packets(std::uint64_t number) const;  // of several NICs, in their order
  const CompletionRow* completion(std::uint64_t packet, std::uint64_t nic) const;
  const Answers* answers(std::uint64_t packet) const;
  const FrameRow* frame(std::uint64_t number) const;

 private:
  struct Range {
    std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
    void add(std::uint64_t n);
    bool meets(std::uint64_t first, std::uint64_t last) const { return lowest <= last && first <= highest; }
  };
  struct Chunk {
    std::uint64_t place = 0;
    Range packets, frames;  // numbers
  };
  void index_chunk(const std::function<void(const FrameRow&)>& frame);

  RunEvents& events_;
  std::vector<Chunk> chunks_;
  std::vector<PacketRow> packets_;          // as they stand in the file
  std::vector<std::uint32_t> of_packets_;   // their indices, by number and NIC
  std::vector<CompletionRow> completions_;  // by packet and NIC
  std::unordered_map<std::uint64_t, Answers> answers_;
  std::unordered_map<std::uint64_t, FrameRow> frames_;
};

}  // namespace rxnic
