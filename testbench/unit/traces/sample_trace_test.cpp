// SPDX-License-Identifier: Apache-2.0
#include "traces/sample_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "model/core/wire/icrc.h"
#include "model/core/wire/parsed.h"
#include "traces/answer_compare.h"
#include "traces/capture_reader.h"

namespace rxnic::sample_trace_test {
namespace {

const std::string kFile = std::string(RXNIC_SOURCE_DIR) + "/traces/sample.pcap";

TEST(SampleTrace, TheFileIsWhatTheProgramMakes) {
  const std::vector<SampleFrame> made = sample_frames(&seal);
  CaptureReader reader(kFile);
  std::size_t at = 0;
  for (CapturedFrame f; reader.next(f); ++at) {
    ASSERT_LT(at, made.size());
    EXPECT_TRUE(std::ranges::equal(f.bytes, made[at].bytes)) << "frame " << at + 1;
    EXPECT_EQ(f.time_ps, made[at].time_ps);
  }
  EXPECT_EQ(at, made.size());
  EXPECT_LT(std::filesystem::file_size(kFile), 100'000u);
}

TEST(SampleTrace, HoldsALittleOfEverything) {
  CaptureReader reader(kFile);
  std::set<std::uint8_t> opcodes;
  std::uint64_t bad_icrc = 0, not_rdma = 0;
  for (CapturedFrame f; reader.next(f);) {
    Headers h;
    if (parse(f.bytes, f.link, h) != ParseStatus::kOk) {
      ++not_rdma;
      continue;
    }
    opcodes.insert(h.opcode);
    bad_icrc += !icrc_matches(f.bytes, h);
  }
  EXPECT_EQ(not_rdma, 1u);
  EXPECT_EQ(bad_icrc, 1u);
  for (const Operation op :
       {Operation::kSendFirst, Operation::kSendMiddle, Operation::kSendLast, Operation::kSendOnly,
        Operation::kSendOnlyImm, Operation::kWriteFirst, Operation::kWriteMiddle, Operation::kWriteLast,
        Operation::kWriteOnlyImm, Operation::kReadRequest, Operation::kReadResponseFirst, Operation::kReadResponseLast,
        Operation::kAck, Operation::kAtomicAck, Operation::kCompareSwap, Operation::kFetchAdd}) {
    EXPECT_TRUE(opcodes.contains(opcode_of(Transport::kRc, op))) << static_cast<int>(op);
  }
  EXPECT_TRUE(opcodes.contains(opcode_of(Transport::kUd, Operation::kSendOnly)));
  EXPECT_TRUE(opcodes.contains(opcode_of(Transport::kXrc, Operation::kSendOnly)));
  EXPECT_TRUE(opcodes.contains(kOpcodeCnp));
}

TEST(SampleTrace, ItsReceiverIsTheBusierOneAndAgreesWithItself) {
  CaptureReader reader(kFile);
  const CaptureSurvey s = survey_capture(reader, &wrong_checksum);
  ASSERT_EQ(s.busier_receiver(), Address::parse("10.0.0.2"));
  const ReceiverSurvey mine = s.of_receiver(*s.busier_receiver());
  EXPECT_EQ(mine.qps.size(), 3u);
  EXPECT_EQ(mine.atomics.size(), 1u);
  AnswerCompare compare(mine);
  reader.rewind();
  for (CapturedFrame f; reader.next(f);) {
    Headers h;
    if (parse(f.bytes, f.link, h) != ParseStatus::kOk) continue;
    if (h.destination == mine.receiver) compare.request(h);
    if (h.source != mine.receiver) continue;
    compare.captured(h, f.number);
    compare.model(h, f.number);
  }
  compare.finish();
  EXPECT_EQ(compare.counts().equal, 12u);
  EXPECT_EQ(compare.counts().given, 1u) << "the result of the atomic";
  EXPECT_EQ(compare.counts().different, 0u);
}

}  // namespace
}  // namespace rxnic::sample_trace_test
