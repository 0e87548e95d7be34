// SPDX-License-Identifier: Apache-2.0
// Rules R1 and R2 of model/core/completion/cq_move.h.
#include "model/core/completion/cq_move.h"

#include <gtest/gtest.h>

namespace rxnic {
namespace {

constexpr BusAddress kOld{0x10000}, kNew{0x20000};

CqContext ring(BusAddress base, std::uint32_t slots) {
  CqContext c;
  c.base = base;
  c.slots = slots;
  return c;
}
BusAddress slot(BusAddress base, std::uint32_t n, std::uint32_t stride) {
  return base + std::uint64_t{n} * stride + (stride - sizeof(Cqe));
}
// CQEs `first` .. `last` as the device writes them; the number is the wqe_index.
void fill(LocalMemory& memory, std::uint32_t slots, std::uint32_t first, std::uint32_t last, std::uint32_t stride) {
  for (std::uint32_t k = first; k != last + 1; ++k) {
    Cqe cqe;
    cqe.wqe_index = k;
    cqe.owner = static_cast<std::uint8_t>((k / slots) & 1);
    memory.store(slot(kOld, k & (slots - 1), stride), cqe);
  }
}

TEST(CqMove, KeepsTheOrderAndNumbersFromZero) {  // R1
  for (const std::uint32_t stride : {64u, 128u}) {
    for (const std::uint32_t first : {0u, 5u, 14u, 21u, 0xfffffffau}) {  // within a lap, across its end, odd laps
      LocalMemory memory;
      fill(memory, 8, first, first + 5, stride);
      Cqe ones;
      ones.owner = 0xff;
      for (std::uint32_t n = 0; n < 32; ++n) memory.store(slot(kNew, n, stride), ones);
      const CqMove move = plan_move(ring(kOld, 8), ring(kNew, 32), first, first + 6);
      EXPECT_EQ(move.count, 6u);
      move_cqes(memory, move, stride);
      for (std::uint32_t n = 0; n < 6; ++n) {
        const auto cqe = memory.load<Cqe>(slot(kNew, n, stride));
        EXPECT_EQ(cqe.wqe_index, first + n) << "stride " << stride;
        EXPECT_EQ(cqe.owner, 0) << "first lap";
      }
      EXPECT_EQ(memory.load<Cqe>(slot(kNew, 6, stride)).owner, 0xff) << "not yet written";
    }
  }
}

TEST(CqMove, AFullRingFillsOneOfItsSize) {  // R1
  LocalMemory memory;
  fill(memory, 8, 13, 20, 64);
  move_cqes(memory, plan_move(ring(kOld, 8), ring(kNew, 8), 13, 21), 64);
  for (std::uint32_t n = 0; n < 8; ++n) {
    EXPECT_EQ(memory.load<Cqe>(slot(kNew, n, 64)).wqe_index, 13 + n);
    EXPECT_EQ(memory.load<Cqe>(slot(kNew, n, 64)).owner, 0);
  }
}

TEST(CqMove, NoMoreMoveThanEitherRingHolds) {  // R2
  const CqMove shrinks = plan_move(ring(kOld, 64), ring(kNew, 8), 100, 130);
  EXPECT_EQ(shrinks.first, 122u);
  EXPECT_EQ(shrinks.count, 8u);
  const CqMove nonsense = plan_move(ring(kOld, 16), ring(kNew, 64), 200, 130);  // a consumer ahead of the producer
  EXPECT_EQ(nonsense.first, 114u);
  EXPECT_EQ(nonsense.count, 16u);
}

TEST(CqMove, NothingToMoveTouchesNothing) {
  LocalMemory memory;
  move_cqes(memory, plan_move(ring(kOld, 16), ring(kNew, 64), 130, 130), 64);
  EXPECT_EQ(memory.resident_bytes(), 0u);
}

}  // namespace
}  // namespace rxnic
