// SPDX-License-Identifier: Apache-2.0
// Rules R1..R8 of model/core/requester/send_wqe_format.h.
#include "model/core/requester/send_wqe_format.h"

#include <gtest/gtest.h>

#include "testbench/unit/send_wqes.h"

namespace rxnic::send_wqe_format_test {
namespace {

constexpr std::uint32_t kMtu = 1024;

WcStatus parse(const WqeSpec& spec, Transport transport, SendWqe& out, std::uint32_t stride = 256) {
  static std::vector<std::uint8_t> slot;  // `out` may point into it
  slot = wqe_bytes(spec, stride, transport == Transport::kUd);
  return parse_send_wqe(slot, transport, kMtu, out);
}
WcStatus parse(const WqeSpec& spec, Transport transport) {
  SendWqe out;
  return parse(spec, transport, out);
}

TEST(SendWqeFormat, OpcodesAreThoseOfTheTransport) {  // (R1)
  using S = SendOpcode;
  struct Row {
    S opcode;
    bool ud, uc, rc;
  };
  constexpr Row kRows[] = {{S::kSend, true, true, true},
                           {S::kSendImm, true, true, true},
                           {S::kSendInvalidate, false, false, true},
                           {S::kWrite, false, true, true},
                           {S::kWriteImm, false, true, true},
                           {S::kRead, false, false, true},
                           {S::kCompareSwap, false, false, true},
                           {S::kFetchAdd, false, false, true},
                           {S::kLocalInvalidate, false, true, true},
                           {S::kBindWindow, false, true, true},
                           {S::kAtomicWrite, false, false, true},
                           {S::kTso, true, false, false},
                           {S{200}, false, false, false}};
  for (const Row& row : kRows) {
    WqeSpec spec{.opcode = row.opcode, .sge = {{8, 1, 0x1000}}};
    if (is_local(row.opcode)) spec.sge.clear();
    if (row.opcode == S::kTso) {
      spec.mss = 8;
      spec.header.assign(14, 0);
    }
    const auto good = [](bool is) { return is ? WcStatus::kSuccess : WcStatus::kLocalQpOperation; };
    EXPECT_EQ(parse(spec, Transport::kUd), good(row.ud)) << int(row.opcode);
    EXPECT_EQ(parse(spec, Transport::kUc), good(row.uc)) << int(row.opcode);
    EXPECT_EQ(parse(spec, Transport::kRc), good(row.rc)) << int(row.opcode);
    WqeSpec frame = spec;
    if (!is_local(row.opcode)) frame.sge = {{14, 1, 0x1000}};
    EXPECT_EQ(parse(frame, Transport::kRaw), good(row.opcode == S::kSend || row.opcode == S::kTso)) << int(row.opcode);
    EXPECT_EQ(parse(spec, Transport::kXrc), good(row.rc && row.opcode != S::kAtomicWrite)) << int(row.opcode);
  }
}

TEST(SendWqeFormat, FieldsAreThoseThatTheDriverWrote) {
  SendWqe w;
  ASSERT_EQ(parse({.opcode = SendOpcode::kWriteImm,
                   .flags = kSendSignaled | kSendFence,
                   .immediate = 0x11223344,
                   .remote_srqn = 0x55,
                   .remote = {.va = 0x123456789a, .rkey = 0x777},
                   .sge = {{5, 1, 0x1000}, {6, 2, 0x2000}}},
                  Transport::kRc, w),
            WcStatus::kSuccess);
  EXPECT_EQ(w.opcode, SendOpcode::kWriteImm);
  EXPECT_EQ(w.flags, kSendSignaled | kSendFence);
  EXPECT_EQ(w.immediate, 0x11223344u);
  EXPECT_EQ(w.remote_srqn, 0x55u);
  EXPECT_EQ(w.remote.va, 0x123456789au);
  EXPECT_EQ(w.remote.rkey, 0x777u);
  EXPECT_EQ(w.bytes, 11u);
  ASSERT_EQ(w.segments().size(), 2u);
  EXPECT_EQ(w.segments()[1].address, 0x2000u);

  AddressVector to;
  to.source_gid_index = 2;
  ASSERT_EQ(parse({.remote_qpn = 0xff123456, .remote_qkey = 9, .address = to}, Transport::kUd, w), WcStatus::kSuccess);
  EXPECT_EQ(w.remote_qpn, 0x123456u) << "24 bits";
  EXPECT_EQ(w.remote_qkey, 9u);
  EXPECT_EQ(w.address.source_gid_index, 2u);
}

TEST(SendWqeFormat, WindowsAndKeysHaveNoData) {  // (R5)
  SendWqe w;
  WqeSpec spec{.opcode = SendOpcode::kBindWindow, .immediate = 0x4400'08};
  spec.window = {.va = 0x7000, .length = 1u << 20, .region = 0x1234'56, .access = kRemoteWrite};
  ASSERT_EQ(parse(spec, Transport::kRc, w), WcStatus::kSuccess);
  EXPECT_EQ(w.immediate, 0x4400'08u);
  EXPECT_EQ(w.window.va, 0x7000u);
  EXPECT_EQ(w.window.length, 1u << 20);
  EXPECT_EQ(w.window.region, 0x1234'56u);
  EXPECT_EQ(w.window.access, kRemoteWrite);
  EXPECT_EQ(w.bytes, 0u);
  for (const SendOpcode opcode : {SendOpcode::kBindWindow, SendOpcode::kLocalInvalidate}) {
    EXPECT_EQ(parse({.opcode = opcode, .sge = {{1, 1, 0}}}, Transport::kRc), WcStatus::kLocalQpOperation);
    EXPECT_EQ(parse({.opcode = opcode, .inline_data = {1}}, Transport::kRc), WcStatus::kLocalQpOperation);
  }
}

TEST(SendWqeFormat, EmptySegmentsArePassedOver) {  // (R2)
  SendWqe w;
  ASSERT_EQ(parse({.sge = {{0, 0, 0}, {5, 1, 0x1000}, {0, 7, 7}, {6, 2, 0x2000}}}, Transport::kRc, w),
            WcStatus::kSuccess);
  ASSERT_EQ(w.segments().size(), 2u);
  EXPECT_EQ(w.segments()[0].address, 0x1000u);
  EXPECT_EQ(w.segments()[1].address, 0x2000u);
  EXPECT_EQ(w.bytes, 11u);
}

TEST(SendWqeFormat, SegmentsThatLeaveTheSlotAreRefused) {  // (R2)
  SendWqe w;
  WqeSpec spec;
  spec.sge.assign(4, {1, 1, 0x1000});
  EXPECT_EQ(parse(spec, Transport::kRc, w, 128), WcStatus::kSuccess);
  auto slot = wqe_bytes(spec, 128);
  slot[2] = 5;  // SendControl::sge_count
  EXPECT_EQ(parse_send_wqe(slot, Transport::kRc, kMtu, w), WcStatus::kLocalQpOperation);
  slot.resize(kMaxSendStride);
  slot[2] = kMaxSge + 1;
  EXPECT_EQ(parse_send_wqe(slot, Transport::kRc, kMtu, w), WcStatus::kLocalQpOperation);
  EXPECT_EQ(parse_send_wqe({slot.data(), 63}, Transport::kRc, kMtu, w), WcStatus::kLocalQpOperation);
}

TEST(SendWqeFormat, BytesInUse) {  // send_work_queue.h R2
  EXPECT_EQ(send_wqe_bytes({.sge_count = 0}), 64u);
  EXPECT_EQ(send_wqe_bytes({.sge_count = 2, .inline_bytes = 7}), 64u + 2 * 16);
  EXPECT_EQ(send_wqe_bytes({.flags = kSendInline | kSendFence, .sge_count = 2, .inline_bytes = 3}), 67u);
}

TEST(SendWqeFormat, InlineDataIsInTheSlot) {  // (R2)
  SendWqe w;
  const std::vector<std::uint8_t> data{1, 2, 3};
  ASSERT_EQ(parse({.inline_data = data}, Transport::kRc, w), WcStatus::kSuccess);
  EXPECT_EQ(w.bytes, 3u);
  EXPECT_EQ(std::vector<std::uint8_t>(w.inline_data, w.inline_data + 3), data);
  auto slot = wqe_bytes({.inline_data = std::vector<std::uint8_t>(64)}, 128);
  EXPECT_EQ(parse_send_wqe(slot, Transport::kRc, kMtu, w), WcStatus::kSuccess);
  slot[4] = 65;  // SendControl::inline_bytes
  EXPECT_EQ(parse_send_wqe(slot, Transport::kRc, kMtu, w), WcStatus::kLocalQpOperation);
  EXPECT_EQ(parse({.opcode = SendOpcode::kRead, .inline_data = data}, Transport::kRc), WcStatus::kLocalQpOperation);
}

TEST(SendWqeFormat, AReadOrAtomicHasOneSegment) {  // (R3)
  using S = SendOpcode;
  EXPECT_EQ(parse({.opcode = S::kRead, .sge = {{5, 1, 0}, {0, 0, 0}}}, Transport::kRc), WcStatus::kSuccess);
  EXPECT_EQ(parse({.opcode = S::kRead, .sge = {{5, 1, 0}, {6, 1, 0}}}, Transport::kRc), WcStatus::kLocalQpOperation);
  EXPECT_EQ(parse({.opcode = S::kRead}, Transport::kRc), WcStatus::kSuccess) << "no bytes";
  for (const S atomic : {S::kCompareSwap, S::kFetchAdd}) {
    EXPECT_EQ(parse({.opcode = atomic, .sge = {{8, 1, 0}}}, Transport::kRc), WcStatus::kSuccess);
    EXPECT_EQ(parse({.opcode = atomic, .sge = {{7, 1, 0}}}, Transport::kRc), WcStatus::kLocalQpOperation);
    EXPECT_EQ(parse({.opcode = atomic}, Transport::kRc), WcStatus::kLocalQpOperation);
  }
}

TEST(SendWqeFormat, AnAtomicWriteHasEightBytesOfData) {  // (R2) (R3)
  constexpr auto kWrite = SendOpcode::kAtomicWrite;
  for (const std::uint32_t bytes : {0u, 4u, 7u, 8u, 9u, 16u}) {
    const WcStatus expected = bytes == 8 ? WcStatus::kSuccess : WcStatus::kLocalQpOperation;
    EXPECT_EQ(parse({.opcode = kWrite, .sge = {{bytes, 1, 0}}}, Transport::kRc), expected) << bytes;
    EXPECT_EQ(parse({.opcode = kWrite, .inline_data = std::vector<std::uint8_t>(bytes)}, Transport::kRc), expected);
  }
  EXPECT_EQ(parse({.opcode = kWrite, .sge = {{3, 1, 0}, {5, 1, 0}}}, Transport::kRc), WcStatus::kSuccess) << "gathered";
  EXPECT_EQ(completion_opcode(kWrite), CqeOpcode::kAtomicWrite);
  EXPECT_TRUE(has(kWrite, kSaved) && !has(kWrite, kReturnsData));
}

TEST(SendWqeFormat, AMessageHasAGreatestLength) {  // (R4)
  const auto longest = static_cast<std::uint32_t>(kMaxSendBytes);
  EXPECT_EQ(parse({.sge = {{longest - 1, 1, 0}, {1, 1, 0}}}, Transport::kRc), WcStatus::kSuccess);
  EXPECT_EQ(parse({.sge = {{longest, 1, 0}, {1, 1, 0}}}, Transport::kRc), WcStatus::kLocalLength);
  EXPECT_EQ(parse({.sge = {{~0u, 1, 0}, {~0u, 1, 0}}}, Transport::kUc), WcStatus::kLocalLength) << "no wrap";
  EXPECT_EQ(parse({.sge = {{kMtu, 1, 0}}}, Transport::kUd), WcStatus::kSuccess);
  EXPECT_EQ(parse({.sge = {{kMtu, 1, 0}, {1, 1, 0}}}, Transport::kUd), WcStatus::kLocalLength);
  EXPECT_EQ(parse({.sge = {{kMtu, 1, 0}, {1, 1, 0}}}, Transport::kRaw), WcStatus::kLocalLength);
  EXPECT_EQ(parse({.sge = {{14, 1, 0}}}, Transport::kRaw), WcStatus::kSuccess);
  EXPECT_EQ(parse({.sge = {{13, 1, 0}}}, Transport::kRaw), WcStatus::kLocalLength) << "not even its header";
}

TEST(SendWqeFormat, CompletionsSayWhatWasAskedFor) {
  EXPECT_EQ(completion_opcode(SendOpcode::kSendImm), CqeOpcode::kSend);
  EXPECT_EQ(completion_opcode(SendOpcode::kWriteImm), CqeOpcode::kRdmaWrite);
  EXPECT_EQ(completion_opcode(SendOpcode::kRead), CqeOpcode::kRdmaRead);
  EXPECT_EQ(completion_opcode(SendOpcode::kCompareSwap), CqeOpcode::kCompareSwap);
  EXPECT_EQ(completion_opcode(SendOpcode::kFetchAdd), CqeOpcode::kFetchAdd);
  EXPECT_EQ(completion_opcode(SendOpcode{99}), CqeOpcode::kSend) << "garbage";
}

WqeSpec tso(std::size_t header, std::uint16_t mss, std::uint32_t bytes) {
  WqeSpec spec{.opcode = SendOpcode::kTso, .mss = mss, .header = std::vector<std::uint8_t>(header, 0x33)};
  if (bytes > 0) spec.sge = {{bytes, 1, 0x1000}};
  return spec;
}

TEST(SendWqeFormat, SegmentationHasAHeaderBeforeItsSegments) {  // (R6), send_work_queue.h R2
  SendWqe w;
  for (const std::size_t header : {std::size_t{1}, std::size_t{16}, std::size_t{17}, std::size_t{kMaxTsoHeaderBytes}}) {
    ASSERT_EQ(parse(tso(header, 100, 5000), Transport::kUd, w, 512), WcStatus::kSuccess) << header;
    EXPECT_EQ(std::vector<std::uint8_t>(w.header.begin(), w.header.end()), std::vector<std::uint8_t>(header, 0x33));
    EXPECT_EQ(w.mss, 100);
    EXPECT_EQ(w.bytes, 5000u) << "of the message alone";
    ASSERT_EQ(w.segments().size(), 1u);
    EXPECT_EQ(w.segments()[0].address, 0x1000u);
  }
  EXPECT_EQ(parse({}, Transport::kUd, w), WcStatus::kSuccess);
  EXPECT_EQ(w.mss, 0) << "nothing is left of the WQE before";
  EXPECT_TRUE(w.header.empty());
  EXPECT_EQ(send_wqe_bytes({.opcode = SendOpcode::kTso, .sge_count = 2, .header_bytes = 17}), 64u + 32 + 32);
  EXPECT_EQ(send_wqe_bytes({.sge_count = 2, .header_bytes = 17}), 64u + 32) << "not of a SEND";
}

TEST(SendWqeFormat, HeadersOfSegmentsThatAreNoneAreRefused) {  // (R6)
  const auto refused = WcStatus::kLocalQpOperation;
  SendWqe w;
  EXPECT_EQ(parse(tso(0, 100, 5000), Transport::kUd), refused) << "no header";
  EXPECT_EQ(parse(tso(20, 0, 5000), Transport::kUd), refused) << "no MSS";
  EXPECT_EQ(parse(tso(kMaxTsoHeaderBytes + 1, 100, 0), Transport::kUd, w, 512), refused);
  EXPECT_EQ(parse(tso(64, 100, 0), Transport::kUd, w, 128), WcStatus::kSuccess);
  auto slot = wqe_bytes(tso(64, 100, 0), 128, true);
  for (const std::uint16_t bytes : {65, 0x100, 0xffff}) {  // SendControl::header_bytes
    std::memcpy(&slot[26], &bytes, sizeof bytes);
    EXPECT_EQ(parse_send_wqe(slot, Transport::kUd, kMtu, w), refused) << bytes;
  }
  slot = wqe_bytes(tso(48, 100, 50), 128, true);
  EXPECT_EQ(parse_send_wqe(slot, Transport::kUd, kMtu, w), WcStatus::kSuccess);
  slot[26] = 49;
  EXPECT_EQ(parse_send_wqe(slot, Transport::kUd, kMtu, w), refused) << "the data segment is no longer in the slot";
  WqeSpec both = tso(20, 100, 0);
  both.inline_data = {1, 2};
  EXPECT_EQ(parse(both, Transport::kUd), refused);
}

TEST(SendWqeFormat, SegmentsHaveALength) {  // (R6)
  EXPECT_EQ(parse(tso(24, 1000, 50'000), Transport::kUd), WcStatus::kSuccess);
  EXPECT_EQ(parse(tso(24, 1001, 50'000), Transport::kUd), WcStatus::kLocalLength) << "longer than the MTU";
  EXPECT_EQ(parse(tso(24, 1001, 1000), Transport::kUd), WcStatus::kSuccess) << "no segment is so long";
  EXPECT_EQ(parse(tso(13, 100, 200), Transport::kRaw), WcStatus::kLocalLength) << "shorter than an Ethernet header";
  EXPECT_EQ(parse(tso(14, 100, 0), Transport::kRaw), WcStatus::kSuccess);
  SendWqe w;
  const auto slot = wqe_bytes(tso(24, 100, 3001), 256, true);
  EXPECT_EQ(parse_send_wqe(slot, Transport::kUd, kMtu, w, 3001), WcStatus::kSuccess);
  EXPECT_EQ(parse_send_wqe(slot, Transport::kUd, kMtu, w, 3000), WcStatus::kLocalLength) << "max_tso";
}

TEST(SendWqeFormat, ChecksumsAreOfDatagramsAndFrames) {  // (R7)
  for (const Transport t : {Transport::kRc, Transport::kUc, Transport::kXrc, Transport::kUd, Transport::kRaw}) {
    const bool legal = t == Transport::kUd || t == Transport::kRaw;
    EXPECT_EQ(parse({.flags = kSendChecksums, .sge = {{60, 1, 0x1000}}}, t) == WcStatus::kSuccess, legal) << int(t);
  }
}

}  // namespace
}  // namespace rxnic::send_wqe_format_test
