// SPDX-License-Identifier: Apache-2.0
// How many descriptors the simulator has, and who gets them: live_programs.h R17, descriptor_limit.h.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>

#include "bridge/live/descriptor_limit.h"
#include "testbench/unit/bridge/live/live_program.h"

namespace rxnic::live_channels_test {
namespace {

using channel::Message;
using channel::Request;

class LiveChannelsTest : public LiveProgramsTest {};

TEST(DescriptorLimit, IsRaisedAndPutBackForAProgramThatIsStarted) {  // descriptor_limit.h R1
  const auto soft = [] {
    rlimit now{};
    getrlimit(RLIMIT_NOFILE, &now);
    return now.rlim_cur;
  };
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit less{before.rlim_max - 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &less), 0);
  {
    const DescriptorLimit limit;
    EXPECT_EQ(soft(), before.rlim_max);
    ChildProgram child([&] {
      limit.restore();
      return soft() == less.rlim_cur ? 0 : 1;
    });
    EXPECT_EQ(child.status(), 0);
    EXPECT_EQ(soft(), before.rlim_max);
  }
  EXPECT_EQ(soft(), less.rlim_cur);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(LiveChannelsTest, ChannelsLeaveOthersDescriptorsAndAShare) {  // R17
  options.most_clients = 4;
  options.descriptors = 64 + 64 * 2 + 4 * 6 + 100;
  start();
  std::array<LiveProgram, 2> greedy;
  for (LiveProgram& program : greedy) open_program(program);
  channel::Descriptor ends[2];
  LiveProgram::make_pipe(ends[0], ends[1]);
  const auto create = [&](LiveProgram& program) {
    program.send(message_of(Request::kCreateChannel), {ends[1].get()});
    for (const ProgramEvent& event : take()) programs->reply(event.client, event.message);
    Message reply;
    EXPECT_EQ(program.receive(reply), 0);
    return reply.status;
  };
  std::size_t created = 0;
  for (LiveProgram& program : greedy) {
    while (create(program) == 0) ++created;
  }
  EXPECT_EQ(created, 50u) << "half of them, by all its NICs";
  int told[2];
  ASSERT_EQ(pipe2(told, O_CLOEXEC), 0);
  ChildProgram other([&] {
    LiveProgram program;
    program.ask_to_open(options.address);
    Message reply;
    program.receive(reply, channel::Waiting::kYes);
    char of_other = 0;
    for (bool got = true; got; of_other += got ? 1 : 0) {
      program.send(message_of(Request::kCreateChannel), {ends[1].get()});
      got = program.receive(reply, channel::Waiting::kYes) == 0 && reply.status == 0;
    }
    (void)!write(told[1], &of_other, 1);
    return pause();
  });
  open_next();
  for (std::size_t n = 0; n < LivePrograms::kChannelShare; ++n) {
    const ProgramEvent event = wait_for_one();
    programs->reply(event.client, event.message);
  }
  pollfd ready{told[0], POLLIN, 0};
  for (int n = 0; n < 20'000 && ::poll(&ready, 1, 1) == 0; ++n) EXPECT_TRUE(take().empty());
  char of_other = 0;
  EXPECT_EQ(read(told[0], &of_other, 1), 1);
  EXPECT_EQ(of_other, static_cast<char>(LivePrograms::kChannelShare));
  for (const int end : told) close(end);
}

}  // namespace
}  // namespace rxnic::live_channels_test
