// SPDX-License-Identifier: Apache-2.0
// Rules R1 to R4 of model/core/wire/impairments.h.
#include "model/core/wire/impairments.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "model/core/wire/icrc.h"
#include "model/types/opcode.h"

namespace rxnic::impairments_test {
namespace {

constexpr Impairment kAll[] = {Impairment::kLoss,       Impairment::kCorruption, Impairment::kDuplication,
                               Impairment::kReordering, Impairment::kMark,       Impairment::kPause};

ImpairmentPlan plan_of(std::uint32_t ppm, std::uint64_t seed = 1) {
  ImpairmentPlan plan;
  for (const Impairment i : kAll) plan[i].ppm = ppm;
  plan.seed = seed;
  return plan;
}

std::vector<std::uint32_t> fates_of(const Impairments& impairments, std::uint64_t link, std::uint64_t count) {
  std::vector<std::uint32_t> fates;
  for (std::uint64_t n = 1; n <= count; ++n) fates.push_back(impairments.fate_of(link, n).bits());
  return fates;
}

std::vector<std::uint64_t> lost_of(const Impairments& impairments, std::uint64_t count) {
  std::vector<std::uint64_t> lost;
  for (std::uint64_t n = 1; n <= count; ++n) {
    if (impairments.fate_of(0, n).has(Impairment::kLoss)) lost.push_back(n);
  }
  return lost;
}

TEST(Impairments, FateFollowsFromSeedLinkAndNumberAlone) {
  const Impairments some(plan_of(300'000));
  const std::vector<std::uint32_t> fates = fates_of(some, 3, 1000);
  for (std::uint64_t n = 1000; n >= 1; --n) {
    some.fate_of(n, 7);  // frames of other links between
    ASSERT_EQ(some.fate_of(3, n).bits(), fates[n - 1]) << "frame " << n;
  }
  EXPECT_EQ(fates_of(Impairments(plan_of(300'000)), 3, 1000), fates);
  EXPECT_NE(fates_of(some, 4, 1000), fates) << "another link";
  EXPECT_NE(fates_of(Impairments(plan_of(300'000, 2)), 3, 1000), fates) << "another seed";
}

TEST(Impairments, EachHappensAtItsRateAndByItself) {
  constexpr std::uint64_t kFrames = 200'000;
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const std::uint32_t ppm : {1'000u, 50'000u, 900'000u}) {
      ImpairmentPlan plan = plan_of(ppm, seed);
      plan[Impairment::kLoss].ppm = 0;
      const Impairments some(plan);
      std::array<std::array<std::uint64_t, kImpairments>, kImpairments> both{};
      for (std::uint64_t n = 1; n <= kFrames; ++n) {
        const FrameFate fate = some.fate_of(5, n);
        for (std::size_t i = 0; i < kImpairments; ++i) {
          for (std::size_t j = 0; j < kImpairments; ++j) both[i][j] += (fate.bits() >> i & fate.bits() >> j & 1) != 0;
        }
      }
      for (std::size_t i = 1; i < kImpairments; ++i) {
        for (std::size_t j = i; j < kImpairments; ++j) {
          const double chance = i == j ? ppm / 1e6 : ppm / 1e6 * (ppm / 1e6);
          const double expected = kFrames * chance, deviation = std::sqrt(expected * (1 - chance));
          EXPECT_NEAR(static_cast<double>(both[i][j]), expected, 4.5 * deviation + 1)
              << "seed " << seed << ", " << ppm << " ppm, impairments " << i << " and " << j;
        }
      }
    }
  }
}

TEST(Impairments, NoneAtZeroAndAllAtAMillion) {
  EXPECT_FALSE(Impairments(plan_of(0)).any());
  const Impairments all(plan_of(1'000'000));
  EXPECT_TRUE(all.any());
  for (std::uint64_t n = 1; n < 1000; ++n) {
    FrameFate expected;
    expected.add(Impairment::kLoss);
    expected.add(Impairment::kPause);
    ASSERT_EQ(all.fate_of(n, n).bits(), expected.bits()) << "a lost frame suffers nothing else but a pause";
  }
}

TEST(Impairments, NamedFramesAndNoOthers) {
  ImpairmentPlan plan;
  plan[Impairment::kLoss].at = {{40, 42}, {17, 17}};
  const Impairments named(plan);
  EXPECT_TRUE(named.any());
  EXPECT_EQ(lost_of(named, 100), (std::vector<std::uint64_t>{17, 40, 41, 42}));
}

TEST(Impairments, OnlyEveryNthOfARangeIsDrawn) {
  ImpairmentPlan plan;
  plan[Impairment::kLoss].ppm = 1'000'000;
  plan.drawn = {10, 20};
  plan.every = 4;
  EXPECT_EQ(lost_of(Impairments(plan), 100), (std::vector<std::uint64_t>{10, 14, 18}));
  plan[Impairment::kLoss].at = {{50, 50}};
  EXPECT_EQ(lost_of(Impairments(plan), 100), (std::vector<std::uint64_t>{10, 14, 18, 50})) << "named ones always are";
}

TEST(Impairments, ACorruptedFrameHasOneWrongBitThatItsIcrcFinds) {
  const Impairments some(plan_of(0));
  std::size_t frames = 0;
  for (const Encapsulation encapsulation : {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6}) {
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
      Headers h;
      h.encapsulation = encapsulation;
      const bool ipv4 = encapsulation == Encapsulation::kRoceV2Ipv4;
      h.source = ipv4 ? Address::ipv4(0x0a000001) : Address::parse("fe80::1");
      h.destination = ipv4 ? Address::ipv4(0x0a000002) : Address::parse("fe80::2");
      h.hop_limit = 64;
      h.opcode = static_cast<std::uint8_t>(opcode);
      h.destination_qp = Qpn{3};
      h.qkey = 0x11111111;
      std::array<std::uint8_t, kMaxFrameBytes> out{};
      const std::vector<std::uint8_t> payload((opcode_info(h.opcode).traits & kHasPayload) != 0 ? 24 : 0, 0x5a);
      const std::size_t bytes = build(h, payload, out);
      const std::span<std::uint8_t> frame(out.data(), bytes);
      Headers before;
      if (parse(frame, LinkLayer::kEthernet, before) != ParseStatus::kOk) continue;
      seal(frame, before);
      ++frames;
      for (std::uint64_t n = 1; n <= 50; ++n) {
        std::vector<std::uint8_t> wrong(frame.begin(), frame.end());
        some.corrupt(wrong, LinkLayer::kEthernet, 1, n);
        int bits = 0;
        for (std::size_t i = 0; i < bytes; ++i) bits += std::popcount(static_cast<unsigned>(wrong[i] ^ frame[i]));
        ASSERT_EQ(bits, 1);
        Headers after;
        ASSERT_EQ(parse(wrong, LinkLayer::kEthernet, after), ParseStatus::kOk);
        ASSERT_FALSE(icrc_matches(wrong, after)) << "opcode " << opcode << ", frame " << n;
        ASSERT_EQ(after.qkey, before.qkey);
      }
    }
  }
  EXPECT_GT(frames, 50u) << "too few opcodes were compared";
}

TEST(Impairments, AFrameWithoutIcrcIsWrongBehindItsMacAddresses) {
  const Impairments some(plan_of(0));
  const std::vector<std::uint8_t> frame(64, 0);
  for (std::uint64_t n = 1; n <= 200; ++n) {
    std::vector<std::uint8_t> wrong = frame;
    some.corrupt(wrong, LinkLayer::kEthernet, 1, n);
    ASSERT_NE(wrong, frame);
    ASSERT_TRUE(std::equal(wrong.begin(), wrong.begin() + 12, frame.begin()));
  }
}

}  // namespace
}  // namespace rxnic::impairments_test
