// SPDX-License-Identifier: Apache-2.0
#include "traces/mpi_trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testbench/unit/temporary_folder.h"
#include "testbench/unit/traces/mpi_texts.h"
#include "traces/mpi_job.h"
#include "traces/mpi_tag.h"

namespace rxnic::mpi_trace_test {
namespace {

using namespace mpi_texts;

void write(const std::string& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

std::string refusal_of(const std::string& path) {
  try {
    read_mpi_trace(path);
  } catch (const TraceError& e) {
    return e.what();
  }
  return "";
}

TEST(MpiTrace, ReadsTheCallsOfLiballprof) {  // R2, R3, R5, R6
  const TemporaryFolder folder;
  write(folder.file("trace-0.txt"), kAllprof0);
  write(folder.file("trace-1.txt"), kAllprof1);
  const MpiTrace trace = read_mpi_trace(folder.file(""));
  EXPECT_EQ(trace.format, "liballprof");
  ASSERT_EQ(trace.ranks.size(), 2u);
  const MpiCall receive{true, 1, 30, 0, 1, 0, 1'010'000, 80};
  const MpiCall any{true, MpiCall::kAny, MpiCall::kAny, 0, MpiCall::kAny, 0, 1'011'250, 12};
  const MpiCall both{true, 1, 41, 0, 1, 0, 1'014'000, 20}, send{false, 1, 40, 0, 1, 0, 1'014'000, 8};
  EXPECT_EQ(trace.ranks[0], (std::vector<MpiCall>{receive, any, both, send}));
  // Half way between the two comparisons of its clock.
  EXPECT_EQ(trace.ranks[1], (std::vector<MpiCall>{{false, 0, 30, 0, 0, 1, 1'055'000, 80}}));
  EXPECT_EQ(trace.left_out, (std::map<std::string, std::uint64_t>{{"MPI_Barrier", 1}}));
}

TEST(MpiTrace, RanksOfACommunicatorAreFoundByTheirOwnLines) {  // R4
  const TemporaryFolder folder;
  const auto line = [](const char* name, const char* peer, const char* comm) {
    return std::string(name) + ":5.0:1:1:1,1,1:" + peer + ":3:" + comm + ":6.0\n";
  };
  const std::string head = "# allprof\n";
  write(folder.file("r0.txt"), head + line("MPI_Recv", "1", "4,0,2") + line("MPI_Recv", "1", "9,0,2"));
  write(folder.file("r1.txt"), head + line("MPI_Send", "0", "9,0,2"));  // two communicators of one number
  write(folder.file("r2.txt"), head + line("MPI_Send", "0", "4,1,2"));
  const MpiTrace trace = read_mpi_trace(folder.file(""));
  ASSERT_EQ(trace.ranks[0].size(), 1u);
  EXPECT_EQ(trace.ranks[0][0].world_peer, 2u);
  EXPECT_EQ(trace.ranks[2][0].world_peer, 0u);
  EXPECT_EQ(trace.ranks[2][0].own_rank, 1u);
  EXPECT_TRUE(trace.ranks[1].empty());
  EXPECT_EQ(trace.left_out.at("calls on communicators whose members are unknown"), 2u);
}

TEST(MpiTrace, ReadsTheCallsOfDumpi) {  // R2, R5, R6
  const TemporaryFolder folder;
  write(folder.file("dumpi-0000.txt"), dumpi_of_rank_0());
  write(folder.file("dumpi-0001.txt"), dumpi_of_rank_1());
  const MpiTrace trace = read_mpi_trace(folder.file(""));
  EXPECT_EQ(trace.format, "dumpi");
  ASSERT_EQ(trace.ranks.size(), 2u);
  const MpiCall any{true, MpiCall::kAny, MpiCall::kAny, 0, MpiCall::kAny, 0, 10'000'000'100, 32};
  EXPECT_EQ(trace.ranks[0], (std::vector<MpiCall>{any, {true, 1, 7, 0, 1, 0, 10'000'000'200, 1}}));
  EXPECT_EQ(trace.ranks[1], (std::vector<MpiCall>{{false, 0, 7, 0, 0, 1, 10'000'000'050, 32}}));
  EXPECT_EQ(trace.left_out.at("MPI_Allreduce"), 1u);
}

TEST(MpiTrace, ReadsTheEventsOfOtf2) {  // R1, R2
  const TemporaryFolder folder;
  const std::string file = folder.file("events.txt");
  write(file, kOtf2);
  const MpiTrace trace = read_mpi_trace(file);
  EXPECT_EQ(trace.format, "otf2");
  ASSERT_EQ(trace.ranks.size(), 2u);
  EXPECT_EQ(trace.ranks[0],
            (std::vector<MpiCall>{{false, 1, 123, 0, 1, 0, 1110, 40}, {false, 1, 5, 0, 1, 0, 1120, 16}}));
  EXPECT_EQ(trace.ranks[1], (std::vector<MpiCall>{{true, 0, 123, 0, 0, 1, 1010, 40}, {true, 0, 5, 0, 0, 1, 1020, 16}}));
  EXPECT_EQ(trace.left_out.at("receives that never end"), 1u);
  write(file,
        std::string("=== OTF2-PRINT ===\nCLOCK_PROPERTIES  Ticks per Seconds: 500000000, Global Offset: 3\n") + kOtf2);
  EXPECT_EQ(read_mpi_trace(file).ranks[0][0].time_ns, 2220);
}

TEST(MpiTrace, ARefusalNamesFileAndLine) {  // R7
  const TemporaryFolder folder;
  const std::string file = folder.file("t-0.txt");
  const auto refused = [&](const std::string& text) {
    write(file, "# allprof\n" + text);
    const std::string what = refusal_of(folder.file(""));
    EXPECT_EQ(what.rfind(file + ":2: found ", 0), 0u) << what;
    return what;
  };
  EXPECT_NE(refused("MPI_Recv:5.0:1:1:1,1,1:0:3\n").find("the arguments of MPI_Recv"), std::string::npos);
  EXPECT_NE(refused("MPI_Recv:5.0:1:1:1,1,1:x:3:4,0,2:6.0\n").find("a number instead of 'x'"), std::string::npos);
  EXPECT_NE(refused("MPI_Recv:now:1:1:1,1,1:0:3:4,0,2:6.0\n").find("a time in microseconds"), std::string::npos);
  EXPECT_NE(refused("MPI_Recv:5.0:1:-1:1,1,1:0:3:4,0,2:6.0\n").find("0 to 2^31"), std::string::npos);
  EXPECT_NE(refused("something\n").find("MPI_NAME:TIME"), std::string::npos);
  write(file, "# allprof\nMPI_Recv:5.0:1:1:1,1,1:0:9000000:4,0,1:6.0\n");
  EXPECT_NE(refusal_of(folder.file("")).find("tag 9000000; expected 0 to 8388607"), std::string::npos);
  write(folder.file("t-2.txt"), "# allprof\n");
  EXPECT_NE(refusal_of(folder.file("")).find("found rank 2 and no rank 1; expected all ranks from 0 on"),
            std::string::npos);
  write(folder.file("u-0.txt"), "# allprof\n");
  EXPECT_NE(refusal_of(folder.file("")).find("expected a rank once"), std::string::npos);
  EXPECT_NE(refusal_of(folder.file("none")).find("no file that can be read"), std::string::npos);
}

TEST(MpiTag, AnySourceAndAnyTagLeaveTheirBitsOut) {  // mpi_tag.h R1
  EXPECT_EQ(mpi_tag(kMostMpiTag, kMostMpiSource, kMostMpiContext), ~std::uint64_t{0} >> 1);
  EXPECT_EQ(mpi_tag(5, 0, 0) & ~kMpiTagMask, 0u);
  EXPECT_EQ(mpi_tag(0, 7, 0) & ~kMpiSourceMask, 0u);
  EXPECT_EQ(mpi_tag(0, 0, 9) & (kMpiSourceMask | kMpiTagMask), 0u);
}

MpiTrace two_ranks() {
  MpiTrace trace;
  trace.ranks = {{{true, MpiCall::kAny, 3, 0, MpiCall::kAny, 0, 100, 64}, {true, 1, MpiCall::kAny, 0, 1, 0, 130, 64}},
                 {{false, 0, 3, 0, 0, 1, 90, 64}, {false, 0, 4, 0, 0, 1, 110, 64}, {true, 0, 1, 0, 0, 1, 95, 8}}};
  return trace;
}

TEST(MpiJob, PostsAndArrivalsHaveTheirTimes) {  // R1, R2, R3
  MpiJobOptions o;
  o.start_ps = 1000;
  o.delay_ps = 10'000;
  const MpiJob job = make_mpi_job(two_ranks(), "t", o);
  ASSERT_EQ(job.posts.size(), 2u);
  EXPECT_EQ(job.posts[0].time_ps, 11'000u);
  EXPECT_EQ(job.posts[0].mask, ~kMpiSourceMask);
  EXPECT_EQ(job.posts[0].tag, mpi_tag(3, 0, 0));
  EXPECT_EQ(job.posts[1].mask, ~kMpiTagMask);
  EXPECT_EQ(job.posts[1].tag, mpi_tag(0, 1, 0));
  ASSERT_EQ(job.messages.size(), 2u);
  EXPECT_EQ(job.messages[0].time_ps, 1000u);
  EXPECT_EQ(job.messages[0].tag, mpi_tag(3, 1, 0));
  EXPECT_EQ(job.messages[1].time_ps, 21'000u);
  EXPECT_EQ(job.moved, 0u);
}

TEST(MpiJob, EventsStayInOrderAndApart) {  // R4
  MpiJobOptions o;
  o.delay_ps = 10'000;
  o.gap_ps = 50'000;
  o.link_gbps = 64;  // 64 bytes take 8 ns
  const MpiJob job = make_mpi_job(two_ranks(), "t", o);
  // A receive and a message at 10 ns: the receive comes first.
  EXPECT_EQ(job.posts[0].time_ps, 10'000u);
  EXPECT_EQ(job.messages[0].time_ps + o.delay_ps, 60'000u);
  EXPECT_EQ(job.messages[1].time_ps + o.delay_ps, 60'000u + 58'000u);
  EXPECT_EQ(job.posts[1].time_ps, 60'000u + 2 * 58'000u);
  EXPECT_EQ(job.moved, 3u);
}

TEST(MpiJob, ARankThatIsNotThereIsRefused) {
  MpiJobOptions o;
  o.rank = 2;
  try {
    make_mpi_job(two_ranks(), "t", o);
    FAIL();
  } catch (const TraceError& e) {
    EXPECT_STREQ(e.what(), "t: found rank 2 of 2 ranks; expected 0 to 1");
  }
}

}  // namespace
}  // namespace rxnic::mpi_trace_test
