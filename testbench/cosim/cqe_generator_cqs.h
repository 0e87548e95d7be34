// SPDX-License-Identifier: Apache-2.0
// CQs of the random tests of the completion generator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/types/command.h"
#include "model/types/context.h"
#include "testbench/cosim/edges.h"
#include "testbench/cosim/random.h"

namespace rxnic::cqe_generator_scene {

inline constexpr std::uint32_t kCqs = 15;  // of which some are not there
inline constexpr std::uint32_t kQps = 16;
inline constexpr std::uint32_t kUnpolled = 7;  // a CQ whose program hardly ever looks at it: long, seldom changed
inline constexpr std::uint32_t kSlots = 64;
inline constexpr std::uint32_t kQueues = 8;

// The sets of the cache are chosen by the lowest bits. The numbers of two differ in their highest bit from those of two
// others. The context of the last one cannot be read.
inline Cqn number_of(std::uint32_t cq) {
  if (cq == 11 || cq == 12) return Cqn{raw(number_of(cq - 9)) ^ 0x80'0000u};
  return cq == kCqs - 1 ? Cqn{0xfffff0 | cq} : Cqn{(cq * 0x3a7650 & 0x7ffff0) | cq};
}

inline constexpr std::uint64_t kFirstRest = 5632;  // the cycle in which it ends

// What random traffic meets with some seeds only (cqe_generator.h R3, R5) comes in the first kRehearsal of kRehearsals
// cycles. These commands come in turn, for a CQ that is in the middle of a session. Some sessions wrap around a ring,
// and an overrun ends one.
inline constexpr std::uint64_t kRehearsals = 4096, kRehearsal = 512;
struct Rehearsed {
  CqOperation operation;
  std::uint32_t slots = 4;  // nobody polls
  bool overruns = false;    // and hardly a completion joins the one before it
};
inline constexpr Rehearsed kRehearsed[] = {
    {CqOperation::kCreate, 4096}, {CqOperation::kResize, 4096}, {CqOperation::kCreate},         {CqOperation::kClose},
    {CqOperation::kCreate},       {CqOperation::kDestroy},      {CqOperation::kCreate, 8, true}};

// The ring of a CQ: some begin so that a slot in the middle is across a boundary of addresses; some are long.
inline BusAddress any_ring(Random& random, Edges& edges) {
  constexpr std::uint64_t kRing = 1024, kSlot = 128;  // bytes
  const BusAddress any{random.bits()};
  return edges.one_in(3) ? BusAddress{edges.address(kRing, kSlot)} : any;
}
inline CqContext random_cq(Random& random, Edges& edges, Cqn number, bool may_wait) {
  CqContext c;
  c.number = number;
  c.base = any_ring(random, edges);
  c.slots = 2u << random.below(random.one_in(8) ? 31 : 4);
  if (edges.one_in(6)) c.slots = 4096u << edges.below(6);
  if (number == number_of(kUnpolled)) c.slots = 8192;
  if (c.slots > 4096) edges.count(Boundary::kRing);
  c.ignore_overrun = random.one_in(3);
  c.compress = random.one_in(2);
  c.polled_only = random.one_in(5);
  c.moderation_count = static_cast<std::uint16_t>(random.below(random.one_in(8) ? 0x10000 : 5));
  c.moderation_period_us = static_cast<std::uint16_t>(random.below(may_wait && random.one_in(40) ? 0x10000 : 4));
  if (may_wait && edges.one_in(30)) c.moderation_period_us = 4295;  // just over 2^32 ps
  return c;
}

}  // namespace rxnic::cqe_generator_scene
