// SPDX-License-Identifier: Apache-2.0
// The program's end of the shared mapping (bridge/channel/shared_mapping.h): makes it, lays out its heap, hands out its
// doorbell records.
//
//   R1  A memfd, sealed against shrinking and growing; sparse: only what is touched takes memory.
//   R2  A ring comes zeroed. A freed ring's pages are given back at once.
//   R3  A record is handed out with the value 0.
//   R4  In the child of a fork private memory takes its place: the child cannot disturb its parent's queues.
#pragma once

#include "bridge/channel/shared_mapping.h"
#include "bridge/channel/socket.h"
#include "bridge/verbs/heap.h"
#include "bridge/verbs/lock.h"

namespace rxnic::verbs {

struct Ring {
  std::uint8_t* memory = nullptr;
  std::uint64_t offset = 0;  // in the mapping
  std::uint64_t bytes = 0;   // 0: none
};

class Mapping {
 public:
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();
  // 0 or a positive errno.
  int create();

  void* base() const { return base_; }
  int descriptor() const { return file_.get(); }
  // bytes 0: the memory is null, which is no failure. False: the heap is full.
  bool allocate(std::uint64_t bytes, Ring& ring);
  void free(Ring& ring);
  void free(std::uint8_t* memory, std::uint64_t bytes);  // of a ring that allocate() gave
  // A record of `board`; kArm's records are kConsumer's. False: all are in use.
  bool allocate_record(channel::Board board, std::uint32_t& record);
  void free_record(channel::Board board, std::uint32_t record);
  void clear_record(channel::Board board, std::uint32_t record);

  void become_child();  // R4

 private:
  static constexpr std::size_t kPools = channel::kBoards;  // that of kArm is not used
  static std::size_t pool(channel::Board board) {
    return std::size_t(board == channel::Board::kArm ? channel::Board::kConsumer : board);
  }

  channel::Descriptor file_;
  void* base_ = nullptr;
  Lock lock_;
  PageHeap heap_{channel::kHeapOffset, channel::kMappingBytes};
  RecordPool<channel::kDoorbells> records_[kPools];
};

}  // namespace rxnic::verbs
