// SPDX-License-Identifier: Apache-2.0
// What the parser makes besides the frame's bytes (model/core/wire/parsed.h).
#include "model/core/wire/parsed.h"

#include <gtest/gtest.h>

#include <cstring>

#include "testbench/unit/request_packets.h"

namespace rxnic::parsed_test {
namespace {

constexpr std::uint8_t kLeft = 0xee;  // a byte that nothing was written to

std::array<std::uint8_t, kGrhBytes> scratch_of(Encapsulation e, Transport transport, Operation operation, Packet& p) {
  Headers h = request_headers(e, transport, operation, Psn{1});
  h.original = 0x1122334455667788;
  const std::vector<std::uint8_t> payload = counting_bytes(operation == Operation::kAtomicAck ? 0 : 8);
  set_frame(p, h, payload);
  p.scratch.fill(kLeft);
  make_scratch(p.h, p);
  return p.scratch;
}

TEST(MakeScratch, ADatagramOverIpv4Has20ZeroBytesAndItsIpv4Header) {
  Packet p;
  const auto scratch = scratch_of(Encapsulation::kRoceV2Ipv4, Transport::kUd, Operation::kSendOnly, p);
  for (std::size_t i = 0; i < kGrhBytes - kIpv4Bytes; ++i) EXPECT_EQ(scratch[i], 0);
  EXPECT_EQ(std::memcmp(&scratch[20], p.frame.data() + p.h.network_offset, kIpv4Bytes), 0);
  EXPECT_EQ(scratch[20], 0x45);
}

TEST(MakeScratch, AnAtomicAckHasItsValueInHostOrder) {
  Packet p;
  const auto scratch = scratch_of(Encapsulation::kRoceV2Ipv4, Transport::kRc, Operation::kAtomicAck, p);
  std::uint64_t value = 0;
  std::memcpy(&value, scratch.data(), sizeof value);
  EXPECT_EQ(value, 0x1122334455667788u);
  EXPECT_EQ(scratch[8], kLeft);
}

TEST(MakeScratch, OthersHaveNothing) {
  Packet p;
  EXPECT_EQ(scratch_of(Encapsulation::kRoceV2Ipv6, Transport::kUd, Operation::kSendOnly, p)[0], kLeft);
  EXPECT_EQ(scratch_of(Encapsulation::kIbLocal, Transport::kUd, Operation::kSendOnly, p)[0], kLeft);
  EXPECT_EQ(scratch_of(Encapsulation::kRoceV2Ipv4, Transport::kRc, Operation::kSendOnly, p)[0], kLeft);
}

}  // namespace
}  // namespace rxnic::parsed_test
