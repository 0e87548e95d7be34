// SPDX-License-Identifier: Apache-2.0
// What a polling thread does while there is nothing to poll: gives its CPU to the simulator.
//
//   R1  Only a thread that does nothing else waits. Such a thread posted nothing between kEmptyPolls polls in a row,
//       which found nothing and came within kEmptyPolls * kPollNs. A thread that works between two polls does not wait.
//       It yields the CPU once in kEmptyPolls such polls. Otherwise a simulator that shares this CPU would have to wait
//       for the end of its time slice, some milliseconds.
//   R2  A wait ends with the next CQE of any CQ of the device (shared_mapping.h, R8), or after kFirstWaitUs. Each
//       further wait may take twice as long, up to kLongestWaitUs. No completion is missed between the poll and the
//       wait: the wait ends when `completions` differs from its value before the poll.
//   R3  A thread that polls CQs of several devices waits for one of them kMixedWaitUs at most.
//   R4  Until kYieldNs after the first of these polls the thread yields the CPU after each poll and does not wait. The
//       reason: to be woken costs more than a short message takes. A yield that takes longer than kOthersNs says that
//       others need the CPU: then the thread waits at once.
//   R5  After kEmptyPolls polls in a row, and a wait that no CQE ended, it checks that the simulator still runs.
#pragma once

#include <cstdint>

#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

inline constexpr std::uint32_t kEmptyPolls = 17;  // a prime: of several CQs polled in turn, each has its turn to wait
inline constexpr std::uint64_t kPollNs = 4000;
inline constexpr std::uint64_t kYieldNs = 25'000;
inline constexpr std::uint64_t kOthersNs = 10'000;
inline constexpr std::uint32_t kFirstWaitUs = 100;
inline constexpr std::uint32_t kLongestWaitUs = 1000;
inline constexpr std::uint32_t kMixedWaitUs = 20;

// To be called before a CQ is polled.
std::uint32_t completions_seen(const Context& context);
// A poll found nothing.
void found_nothing(Context& context, std::uint32_t seen);
// A poll found something, or something was posted.
void made_progress();

// Rings a doorbell (shared_mapping.h R3), waking the simulator when it sleeps.
void ring_doorbell(Context& context, channel::Board board, std::uint32_t index, std::uint64_t value);

}  // namespace rxnic::verbs
