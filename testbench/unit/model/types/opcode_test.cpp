// SPDX-License-Identifier: Apache-2.0
#include "model/types/opcode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <set>
#include <string>

#include "model/types/send_opcode.h"

namespace rxnic::opcode_test {
namespace {

struct Expected {
  std::uint8_t opcode;
  const char* name;
  unsigned extension_bytes;
};

// IBTA volume 1, table 38, written out a second time: RC, UC, UD. XRC is from annex A14, CNP from annex A17, FLUSH and
// ATOMIC_WRITE from the annex on memory placement extensions.
constexpr Expected kTable[] = {
    {0x00, "RC SEND_FIRST", 0},
    {0x01, "RC SEND_MIDDLE", 0},
    {0x02, "RC SEND_LAST", 0},
    {0x03, "RC SEND_LAST_WITH_IMMEDIATE", 4},
    {0x04, "RC SEND_ONLY", 0},
    {0x05, "RC SEND_ONLY_WITH_IMMEDIATE", 4},
    {0x06, "RC RDMA_WRITE_FIRST", 16},
    {0x07, "RC RDMA_WRITE_MIDDLE", 0},
    {0x08, "RC RDMA_WRITE_LAST", 0},
    {0x09, "RC RDMA_WRITE_LAST_WITH_IMMEDIATE", 4},
    {0x0a, "RC RDMA_WRITE_ONLY", 16},
    {0x0b, "RC RDMA_WRITE_ONLY_WITH_IMMEDIATE", 20},
    {0x0c, "RC RDMA_READ_REQUEST", 16},
    {0x0d, "RC RDMA_READ_RESPONSE_FIRST", 4},
    {0x0e, "RC RDMA_READ_RESPONSE_MIDDLE", 0},
    {0x0f, "RC RDMA_READ_RESPONSE_LAST", 4},
    {0x10, "RC RDMA_READ_RESPONSE_ONLY", 4},
    {0x11, "RC ACKNOWLEDGE", 4},
    {0x12, "RC ATOMIC_ACKNOWLEDGE", 12},
    {0x13, "RC COMPARE_SWAP", 28},
    {0x14, "RC FETCH_ADD", 28},
    {0x16, "RC SEND_LAST_WITH_INVALIDATE", 4},
    {0x17, "RC SEND_ONLY_WITH_INVALIDATE", 4},
    {0x1c, "RC FLUSH", 20},
    {0x1d, "RC ATOMIC_WRITE", 16},
    {0x20, "UC SEND_FIRST", 0},
    {0x21, "UC SEND_MIDDLE", 0},
    {0x22, "UC SEND_LAST", 0},
    {0x23, "UC SEND_LAST_WITH_IMMEDIATE", 4},
    {0x24, "UC SEND_ONLY", 0},
    {0x25, "UC SEND_ONLY_WITH_IMMEDIATE", 4},
    {0x26, "UC RDMA_WRITE_FIRST", 16},
    {0x27, "UC RDMA_WRITE_MIDDLE", 0},
    {0x28, "UC RDMA_WRITE_LAST", 0},
    {0x29, "UC RDMA_WRITE_LAST_WITH_IMMEDIATE", 4},
    {0x2a, "UC RDMA_WRITE_ONLY", 16},
    {0x2b, "UC RDMA_WRITE_ONLY_WITH_IMMEDIATE", 20},
    {0x64, "UD SEND_ONLY", 8},
    {0x65, "UD SEND_ONLY_WITH_IMMEDIATE", 12},
    {0x81, "CNP", 16},
    {0xa0, "XRC SEND_FIRST", 4},
    {0xa1, "XRC SEND_MIDDLE", 4},
    {0xa2, "XRC SEND_LAST", 4},
    {0xa3, "XRC SEND_LAST_WITH_IMMEDIATE", 8},
    {0xa4, "XRC SEND_ONLY", 4},
    {0xa5, "XRC SEND_ONLY_WITH_IMMEDIATE", 8},
    {0xa6, "XRC RDMA_WRITE_FIRST", 20},
    {0xa7, "XRC RDMA_WRITE_MIDDLE", 4},
    {0xa8, "XRC RDMA_WRITE_LAST", 4},
    {0xa9, "XRC RDMA_WRITE_LAST_WITH_IMMEDIATE", 8},
    {0xaa, "XRC RDMA_WRITE_ONLY", 20},
    {0xab, "XRC RDMA_WRITE_ONLY_WITH_IMMEDIATE", 24},
    {0xac, "XRC RDMA_READ_REQUEST", 20},
    {0xad, "XRC RDMA_READ_RESPONSE_FIRST", 4},
    {0xae, "XRC RDMA_READ_RESPONSE_MIDDLE", 0},
    {0xaf, "XRC RDMA_READ_RESPONSE_LAST", 4},
    {0xb0, "XRC RDMA_READ_RESPONSE_ONLY", 4},
    {0xb1, "XRC ACKNOWLEDGE", 4},
    {0xb2, "XRC ATOMIC_ACKNOWLEDGE", 12},
    {0xb3, "XRC COMPARE_SWAP", 32},
    {0xb4, "XRC FETCH_ADD", 32},
    {0xb6, "XRC SEND_LAST_WITH_INVALIDATE", 8},
    {0xb7, "XRC SEND_ONLY_WITH_INVALIDATE", 8},
    {0xc4, "RAW SEND_ONLY", 0},
};

bool has(const OpcodeInfo& info, std::uint32_t traits) { return (info.traits & traits) == traits; }

TEST(Opcode, EveryDefinedOpcodeHasItsNameAndHeaderSize) {
  for (const Expected& e : kTable) {
    const OpcodeInfo& info = opcode_info(e.opcode);
    EXPECT_TRUE(info.traits & kKnown) << e.name;
    EXPECT_STREQ(opcode_name(e.opcode), e.name);
    EXPECT_EQ(info.extension_bytes, e.extension_bytes) << e.name;
  }
}

TEST(Opcode, EveryOtherByteIsUnknown) {
  std::set<unsigned> defined;
  for (const Expected& e : kTable) defined.insert(e.opcode);
  unsigned unknown = 0;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    if (defined.contains(opcode)) continue;
    ++unknown;
    const auto byte = static_cast<std::uint8_t>(opcode);
    EXPECT_EQ(opcode_info(byte).traits, 0u) << opcode;
    EXPECT_TRUE(std::string(opcode_name(byte)).starts_with("unknown 0x")) << opcode;
  }
  EXPECT_EQ(unknown, 256u - std::size(kTable));
  EXPECT_STREQ(opcode_name(0x5f), "unknown 0x5f");
}

TEST(Opcode, TheByteSplitsIntoTransportAndOperation) {
  for (const Expected& e : kTable) {
    if (e.opcode == kOpcodeCnp) continue;
    const OpcodeInfo& info = opcode_info(e.opcode);
    EXPECT_EQ(opcode_of(info.transport, info.operation), e.opcode) << e.name;
  }
}

TEST(Opcode, EachStandsAtOnePlaceInItsMessageAndGoesOneWay) {
  for (const Expected& e : kTable) {
    const OpcodeInfo& info = opcode_info(e.opcode);
    if (info.traits & kIsCnp) {
      EXPECT_EQ(info.traits, std::uint32_t{kKnown | kIsCnp});
      continue;
    }
    EXPECT_EQ(std::popcount(info.traits & (kFirst | kMiddle | kLast | kOnly)), 1) << e.name;
    EXPECT_EQ(std::popcount(info.traits & (kRequest | kResponse)), 1) << e.name;
    EXPECT_EQ(std::popcount(info.traits & (kSend | kWrite | kRead | kReadResponse | kAtomic | kFlushes | kAckKind)), 1)
        << e.name;
    EXPECT_EQ((info.traits & kHasPayload) != 0,
              (info.traits & (kSend | kWrite | kReadResponse)) != 0 || info.operation == Operation::kAtomicWrite)
        << e.name;
  }
}

TEST(Opcode, WhichPacketsTakeAReceiveWqe) {
  std::set<unsigned> takers;
  for (const Expected& e : kTable) {
    if (opcode_info(e.opcode).traits & kTakesWqe) takers.insert(e.opcode);
  }
  // SEND FIRST and ONLY; WRITE_WITH_IMM at LAST and ONLY.
  const std::set<unsigned> expected{0x00, 0x04, 0x05, 0x09, 0x0b, 0x17, 0x20, 0x24, 0x25, 0x29,
                                    0x2b, 0x64, 0x65, 0xa0, 0xa4, 0xa5, 0xa9, 0xab, 0xb7, 0xc4};
  EXPECT_EQ(takers, expected);
}

TEST(Opcode, XrcHeaderStandsOnRequestsOnly) {
  for (const Expected& e : kTable) {
    const OpcodeInfo& info = opcode_info(e.opcode);
    const bool expected = info.transport == Transport::kXrc && (info.traits & kRequest);
    EXPECT_EQ((info.traits & kHasXrceth) != 0, expected) << e.name;
  }
}

TEST(Opcode, DatagramsCarryDeth) {
  EXPECT_TRUE(has(opcode_info(0x64), kHasDeth | kSend | kOnly | kRequest));
  EXPECT_TRUE(has(opcode_info(0x65), kHasDeth | kHasImm));
  EXPECT_FALSE(opcode_info(0x04).traits & kHasDeth);
}

// The access rights that a request needs, the response to it, and whether it is saved for duplicates (rules 6).
TEST(Opcode, RightsAnswersAndSavedResourcesOfRequests) {
  struct Row {
    std::uint8_t opcode;
    std::uint8_t access, answer;
    bool saved, returns_data;
  };
  const Row rows[] = {
      {0x00, 0, 0x11, false, false},             // SEND FIRST
      {0x17, 0, 0x11, false, false},             // SEND ONLY with invalidate
      {0x06, kRemoteWrite, 0x11, false, false},  // WRITE FIRST
      {0x07, kRemoteWrite, 0x11, false, false},  // WRITE MIDDLE
      {0x0b, kRemoteWrite, 0x11, false, false},  // WRITE ONLY with immediate
      {0x0c, kRemoteRead, 0x10, true, true},     // READ
      {0x13, kRemoteAtomic, 0x12, true, true},   // COMPARE_SWAP
      {0x14, kRemoteAtomic, 0x12, true, true},   // FETCH_ADD
      {0x1c, kRemoteFlush, 0x10, true, false},   // FLUSH
      {0x1d, kRemoteWrite, 0x10, true, false},   // ATOMIC_WRITE
  };
  for (const Row& row : rows) {
    const OpcodeInfo& info = opcode_info(row.opcode);
    SCOPED_TRACE(opcode_name(row.opcode));
    EXPECT_EQ(info.access, row.access);
    EXPECT_EQ(opcode_of(Transport::kRc, info.answer), row.answer);
    EXPECT_EQ((info.traits & kSaved) != 0, row.saved);
    EXPECT_EQ((info.traits & kReturnsData) != 0, row.returns_data);
  }
}

TEST(Opcode, CompletionsOfBothSides) {
  EXPECT_EQ(opcode_info(0x02).completion, CqeOpcode::kSend);
  EXPECT_EQ(opcode_info(0x08).completion, CqeOpcode::kRdmaWrite);
  EXPECT_EQ(opcode_info(0x0c).completion, CqeOpcode::kRdmaRead);
  EXPECT_EQ(opcode_info(0x1d).completion, CqeOpcode::kAtomicWrite);
  EXPECT_EQ(opcode_info(0x05).received, CqeOpcode::kReceive);
  EXPECT_EQ(opcode_info(0x09).received, CqeOpcode::kReceiveWriteImm);
  EXPECT_STREQ(cqe_opcode_name(CqeOpcode::kFetchAdd), "FETCH_ADD");
  EXPECT_STREQ(cqe_opcode_name(CqeOpcode{0x0f}), "?");
  EXPECT_STREQ(cqe_opcode_name(CqeOpcode{0xff}), "?");
}

TEST(Opcode, WindowsAndKeysAreOfConnectedTransportsAndHaveNoPackets) {
  for (const SendOpcode opcode : {SendOpcode::kBindWindow, SendOpcode::kLocalInvalidate}) {
    EXPECT_TRUE(is_local(opcode));
    EXPECT_EQ(request_info(opcode).traits, 0u);
    EXPECT_EQ(operation_of(opcode, true, true), Operation::kUnknown);
    for (const Transport t : {Transport::kRc, Transport::kUc, Transport::kXrc}) EXPECT_TRUE(is_legal(opcode, t));
    EXPECT_FALSE(is_legal(opcode, Transport::kUd));
  }
  EXPECT_FALSE(is_local(SendOpcode::kSend));
  EXPECT_FALSE(is_local(SendOpcode{200}));
}

TEST(Opcode, SegmentationIsOfDatagramsAndFrames) {
  for (const Transport t : {Transport::kRc, Transport::kUc, Transport::kXrc}) {
    EXPECT_FALSE(is_legal(SendOpcode::kTso, t));
  }
  for (const Transport t : {Transport::kUd, Transport::kRaw}) EXPECT_TRUE(is_legal(SendOpcode::kTso, t));
  for (const bool first : {false, true}) {
    for (const bool last : {false, true}) EXPECT_EQ(operation_of(SendOpcode::kTso, first, last), Operation::kSendOnly);
  }
  EXPECT_EQ(completion_opcode(SendOpcode::kTso), CqeOpcode::kTso);
  EXPECT_STREQ(cqe_opcode_name(CqeOpcode::kTso), "TSO");
}

TEST(Opcode, FlushIsAnsweredAndNeverSent) {
  for (unsigned o = 0; o < static_cast<unsigned>(SendOpcode::kCount); ++o) {
    EXPECT_NE(operation_of(static_cast<SendOpcode>(o), true, true), Operation::kFlush);
  }
  EXPECT_TRUE(has(opcode_info(0x1c), kRequest | kOnly | kSaved | kHasFeth | kHasReth));
}

TEST(Opcode, WhatIsNoSendOpcodeIsLegalNowhere) {
  for (const unsigned byte : {12u, 200u, 255u}) {
    const auto opcode = static_cast<SendOpcode>(byte);
    EXPECT_EQ(request_info(opcode).traits, 0u) << byte;
    EXPECT_EQ(operation_of(opcode, true, true), Operation::kUnknown) << byte;
    for (const Transport t : {Transport::kRc, Transport::kUc, Transport::kUd, Transport::kXrc}) {
      EXPECT_FALSE(is_legal(opcode, t)) << byte;
    }
  }
  EXPECT_EQ(operation_of(SendOpcode::kRead, false, true), Operation::kReadRequest)
      << "a READ may be repeated from its middle on";
}

}  // namespace
}  // namespace rxnic::opcode_test
