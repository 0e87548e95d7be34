// SPDX-License-Identifier: Apache-2.0
// Control messages between a program (bridge/verbs) and the simulator (bridge/live): one fixed size, over a
// SOCK_SEQPACKET socket, a reply for each request, in order. The data path does not use them (shared_mapping.h). Their
// fields are in messages.toml.
//
//   R1  A connection that opens a NIC is one device context of a program; its objects are freed with it.
//   R2  The first request is kHello. Other versions are refused with EPROTO; the reply's `version` is the simulator's.
//       A simulator that takes no further connection replies unasked (sequence 1) and disconnects. The reply says
//       EUSERS, or EMFILE or another errno when the simulator is short of what it needs.
//   R3  Reply: type, sequence and body of the request, results filled in; status is 0 or a positive errno, and then
//       nothing was changed.
//   R4  Numbers with "as verbs" have the values of the enum of that name in <infiniband/verbs.h>. The simulator checks
//       every one of them: EINVAL.
//   R5  Handles are the numbers that the device knows: QPN, CQN, SRQN, PDN, lkey. A handle of another connection is
//       refused (EINVAL).
//   R6  The simulator gets the write end of the pipe of kOpen, so that the pipe ends when the simulator does.
#pragma once

#include <cstdint>

#include "bridge/channel/messages.h"

namespace rxnic::channel {

inline constexpr std::uint32_t kMaxNics = 64;

// What comes through a completion channel or the pipe of asynchronous events.
enum class EventKind : std::uint32_t {
  kCompletion = 1,  // number: CQN
  kCqError,         // CQN
  kQpFatal,         // QPN, here and below
  kQpAccessError,
  kQpRequestError,
  kQpLastWqeReached,
  kQpSqDrained,
  kQpCommunicationEstablished,
  kSrqLimitReached,  // SRQN
  kSrqError,
  kDeviceFatal,  // the simulator ends
};
struct EventRecord {  // written in one piece
  EventKind kind{};
  std::uint32_t number = 0;
};
static_assert(sizeof(EventRecord) == 8);

// The request that frees the object which an event is about, and the event with it. kDeviceFatal is about none.
constexpr Request freed_by(EventKind kind) {
  switch (kind) {
    case EventKind::kCompletion:
    case EventKind::kCqError:
      return Request::kFreeCq;
    case EventKind::kSrqLimitReached:
    case EventKind::kSrqError:
      return Request::kFreeSrq;
    case EventKind::kDeviceFatal:
      return Request{};
    default:
      return Request::kFreeQp;
  }
}

inline constexpr const char* kSocketVariable = "RXNIC_SOCKET";  // path, or @name of the abstract name space
inline constexpr const char* kNicVariable = "RXNIC_NIC";        // number of the only NIC that a program shall see

}  // namespace rxnic::channel
