// SPDX-License-Identifier: Apache-2.0
// A recorded run as a what-if gives it to another device. A plan has the inputs of the programs, what each input waited
// for, and the memory that came with it.
//
//   R1  An input is an opened NIC, a control message, a doorbell or a close; the last one is the end of the run. They
//       are numbered from 1 in the order of the record. A doorbell is a post, or a poll: a consumer index or an arming.
//   R2  A program is a process: all clients with one process id, or one client where that is not known. Its inputs
//       stay in their order.
//   R3  A doorbell waits for what the device had given to its program before the doorbell in the record, by counts.
//       Counted are CQEs of each CQ, events, bytes written to its memory, and the replies to control messages of all
//       programs. A consumer index that is ahead of the CQEs that were visible waits for the bytes of CQEs that had
//       been written.
//   R4  A control message, an open, a close and the end wait for what the device had given to any program before them.
//       They wait for all earlier inputs of these kinds, too. The reason: programs exchange numbers and notice each
//       other's progress by ways that the record does not show.
//   R5  Memory changes with an input, before it is given (memory_changes.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bridge/driver/programs.h"
#include "bridge/rxnic/record/device_outputs.h"

namespace rxnic {

struct ProgramSession {  // a client, from its open to the next one with its number
  ClientId client{};
  std::uint32_t nic = 0;
  std::uint32_t program = 0;
  std::uint64_t lost_after = ~std::uint64_t{0};  // bytes of its own memory that the device asked for: it had ended
};

// Address spaces of a ProgramImage.
constexpr std::uint32_t space_of(const ProgramSession& s, std::uint32_t session, std::uint64_t address) {
  return address >= ProgramMemory::kShared ? 2 * session + 1 : 2 * s.program;
}

constexpr bool is_own_memory(std::uint32_t space) { return space % 2 == 0; }

struct MemoryChange {
  std::uint32_t space = 0;
  std::uint64_t address = 0;
  std::vector<std::uint8_t> bytes;
};

// A range of which an access failed, from one input on until the next one is given with which it succeeded.
struct FailedRange {
  std::uint32_t space = 0;
  std::uint64_t begin = 0, end = 0;
  bool write = false;
  std::uint32_t since = 0, until = 0xffff'ffff;
};

struct AwaitedCount {
  std::uint32_t source = 0;  // of DeviceOutputs
  std::uint64_t count = 0;
};

struct PlannedInput {
  enum class Kind : std::uint8_t { kPost, kPoll, kControl, kEnd } kind = Kind::kEnd;  // kPoll: of a CQ that is known
  std::uint32_t session = 0;
  Cycle recorded{};
  channel::Board board{};
  std::uint32_t index = 0;
  std::uint64_t value = 0;
  std::unique_ptr<ProgramEvent> control;  // kControl
  // What rose since the input before: of the same program for a doorbell, since the control input before otherwise.
  std::vector<AwaitedCount> awaited;
  std::uint64_t replies = 0;
  std::uint64_t after_output = 0, after_reply = 0;  // cycles since the last thing it waits for, and since a reply
  std::uint32_t cq = 0;                             // kPoll: the source of its CQ's CQEs
  AwaitedCount polled;                              // kPoll: these CQEs, or the bytes of CQEs (R3)
  std::uint64_t after_cqe = 0;                      // kPoll: cycles since the last one of them
  std::vector<MemoryChange> changes;
};

struct RecordedReply {
  channel::Request type{};
  std::int32_t status = 0;
  std::uint64_t numbers = 0;  // digest of those that the device allocated
};
RecordedReply reply_of(const channel::Message& message);

struct WhatIfPlan {
  std::vector<std::string> programs;  // names
  std::vector<ProgramSession> sessions;
  std::vector<PlannedInput> inputs;
  DeviceOutputs outputs;
  std::vector<std::vector<RecordedReply>> replies;  // by session
  std::vector<FailedRange> failed;
  std::uint64_t unposted_bytes = 0;  // that changed without a post
};

}  // namespace rxnic
