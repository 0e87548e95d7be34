// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstring>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/data_path.h"
#include "testbench/unit/bridge/verbs/verbs_control_fixture.h"

namespace rxnic::verbs::verbs_device_test {
namespace {

using VerbsDevice = VerbsControlTest;

std::vector<std::string> listed() {
  int count = -1;
  ibv_device** list = get_device_list(&count);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(list[i]->name);
  EXPECT_EQ(list[count], nullptr);
  std::free(list);
  return names;
}

TEST(VerbsDeviceList, WithoutASocketThereAreNone) {
  unsetenv(channel::kSocketVariable);
  EXPECT_TRUE(listed().empty());
}

TEST(VerbsDeviceList, NobodyAnswersIsSaidAndThereAreNone) {
  setenv(channel::kSocketVariable, "@rxnic-test-nobody", 1);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(listed().empty());
  EXPECT_TRUE(listed().empty());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("@rxnic-test-nobody"), std::string::npos) << said;
  EXPECT_EQ(said.find("rxnic:"), said.rfind("rxnic:")) << "once: " << said;
  unsetenv(channel::kSocketVariable);
}

TEST(VerbsDeviceList, NamesAndGuidsAreTheSimulators) {
  FakeSimulator simulator(20);
  EXPECT_EQ(listed().size(), 20u);
  int count = 0;
  ibv_device** list = get_device_list(&count);
  ASSERT_EQ(count, 20);
  EXPECT_STREQ(list[0]->name, "rxnic0");
  EXPECT_STREQ(list[19]->name, "rxnic19");
  EXPECT_EQ(get_device_guid(list[1]), FakeSimulator::attributes(1).node_guid);
  EXPECT_EQ(get_device_guid(list[19]), FakeSimulator::attributes(19).node_guid);  // beyond those that kHello carries
  std::free(list);
}

TEST(VerbsDeviceList, RxnicNicShowsOnlyThatOne) {
  FakeSimulator simulator(3);
  setenv(channel::kNicVariable, "2", 1);
  EXPECT_EQ(listed(), std::vector<std::string>{"rxnic2"});
  for (const char* wrong : {"3", "two", "1x"}) {
    setenv(channel::kNicVariable, wrong, 1);
    testing::internal::CaptureStderr();
    EXPECT_TRUE(listed().empty()) << wrong;
    EXPECT_NE(testing::internal::GetCapturedStderr().find(wrong), std::string::npos);
  }
  unsetenv(channel::kNicVariable);
}

TEST(VerbsDeviceList, AnotherVersionIsRefusedWithBothNamed) {  // connection.h R4
  FakeSimulator simulator;
  simulator.edit_reply = [](channel::Message& m) {
    m.version = 77;
    m.status = EPROTO;
  };
  testing::internal::CaptureStderr();
  EXPECT_TRUE(listed().empty());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("version 77"), std::string::npos) << said;
  EXPECT_NE(said.find("version " + std::to_string(channel::kVersion)), std::string::npos) << said;
}

TEST_F(VerbsDevice, OpenHandsOverASealedMappingAndItsDescriptors) {  // mapping.h R1
  const int mapping = simulator.descriptor(0);
  EXPECT_EQ(fcntl(mapping, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  struct stat file;
  ASSERT_EQ(fstat(mapping, &file), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(file.st_size), channel::kMappingBytes);
  EXPECT_LT(file.st_blocks * 512, 1 << 20) << "sparse";
  channel::MappingHeader header_bytes;
  ASSERT_EQ(pread(mapping, static_cast<void*>(&header_bytes), 24, 0), 24);
  EXPECT_EQ(header_bytes.magic, channel::kMagic);
  EXPECT_EQ(header_bytes.version, channel::kVersion);
  for (const std::size_t i : {1, 2, 3}) EXPECT_GE(fcntl(simulator.descriptor(i), F_GETFD), 0);
}

TEST_F(VerbsDevice, ARefusedOpenIsNullWithItsErrno) {
  refuse(Request::kOpen, EBUSY);
  ibv_device* device = context->device;
  errno = 0;
  EXPECT_EQ(open_device(device), nullptr);
  EXPECT_EQ(errno, EBUSY);
}

TEST_F(VerbsDevice, SimulatorGoneIsEioAndFreesSucceed) {  // connection.h R3
  ibv_cq* cq = create_cq(context, 8, nullptr, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  testing::internal::CaptureStderr();
  simulator.die();
  EXPECT_EQ(alloc_pd(context), nullptr);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(create_cq(context, 8, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EIO);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("gone"), said.rfind("gone")) << "once: " << said;
  EXPECT_NE(said.find("rxnic0"), std::string::npos) << said;
  ibv_port_attr port;
  EXPECT_EQ(query_port(context, 1, &port, sizeof port), 0);
  EXPECT_EQ(port.state, IBV_PORT_DOWN);
  EXPECT_EQ(destroy_cq(cq), 0);
}

// fork_guard.h R4: a child opens a NIC of its own; the one of this process is still open.
TEST_F(VerbsDevice, WhoClosesOrExitsHasLeftWhoIsKilledHasNot) {
  enum class End { kClose, kExit, kSignal, kImmediate };
  const auto has_left = [&](int mapping) {
    channel::MappingHeader header_bytes;
    EXPECT_EQ(pread(mapping, static_cast<void*>(&header_bytes), sizeof header_bytes, 0), ssize_t{sizeof header_bytes});
    return header_bytes.left.load() != 0;
  };
  const channel::Descriptor parents = simulator.duplicate(0);
  for (const End end : {End::kClose, End::kExit, End::kSignal, End::kImmediate}) {
    const pid_t child = fork();
    if (child == 0) {
      ibv_context* own = open_device(context->device);
      if (own == nullptr) _exit(1);
      if (end == End::kClose) close_device(own);
      if (end == End::kExit) std::exit(0);
      if (end == End::kSignal) raise(SIGKILL);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WIFSIGNALED(status), end == End::kSignal);
    EXPECT_EQ(has_left(simulator.duplicate(0).get()), end == End::kClose || end == End::kExit) << static_cast<int>(end);
    EXPECT_FALSE(has_left(parents.get()));
  }
}

TEST_F(VerbsDevice, QuestionsOfManyThreadsDoNotMix) {  // connection.h R2
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        ibv_pd* mine = alloc_pd(context);
        if (mine == nullptr || dealloc_pd(mine) != 0) ++failures;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(VerbsDevice, AForkedChildCannotDisturbItsParent) {  // fork_guard.h R2
  ibv_cq* cq = create_cq(context, 8, nullptr, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  auto& record = channel::board(context_of(context).mapping, channel::Board::kConsumer).value[cq_of(cq).doorbell];
  const pid_t child = fork();
  if (child == 0) {
    int wrong = 0;
    if (alloc_pd(context) != nullptr || errno != EIO) wrong |= 1;
    record.store(99);
    if (destroy_cq(cq) != 0) wrong |= 2;
    int count = 0;
    ibv_device** list = get_device_list(&count);
    ibv_context* own = count > 0 ? open_device(list[0]) : nullptr;
    if (own == nullptr || alloc_pd(own) == nullptr) wrong |= 4;
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(record.load(), 0u);
  EXPECT_TRUE(simulator.asked(Request::kFreeCq).empty());
  EXPECT_EQ(destroy_cq(cq), 0);
}

TEST_F(VerbsDevice, AChildThatLivesOnDoesNotKeepTheConnection) {  // fork_guard.h R2
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  const pid_t child = fork();
  if (child == 0) {
    char c;
    close(hold[1]);
    _exit(read(hold[0], &c, 1) == 0 ? 0 : 1);
  }
  close(hold[0]);
  dealloc_pd(pd);
  close_device(context);
  context = nullptr, pd = nullptr;
  // Parent and child shared the event pipe's read end: the pipe still has a reader, but the connection has ended.
  open();
  close(hold[1]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(VerbsDevice, PortAndDevice) {
  ibv_device_attr_ex device;
  EXPECT_EQ(query_device_ex(context, nullptr, &device, sizeof device), 0);
  EXPECT_EQ(device.orig_attr.max_qp_wr, 16384);
  EXPECT_EQ(device.orig_attr.phys_port_cnt, 1);
  EXPECT_EQ(device.hca_core_clock, 1'000'000u);
  EXPECT_EQ(device.completion_timestamp_mask, ~std::uint64_t{0});
  EXPECT_EQ(device.device_cap_flags_ex >> 32, 1u << 8) << "ATOMIC_WRITE";
  EXPECT_EQ(device.tso_caps.max_tso, 1u << 18);
  EXPECT_EQ(device.tso_caps.supported_qpts, 1u << IBV_QPT_UD | 1u << IBV_QPT_RAW_PACKET);
  EXPECT_EQ(device.raw_packet_caps, unsigned{IBV_RAW_PACKET_CAP_IP_CSUM});
  for (const unsigned flag : {IBV_DEVICE_UD_IP_CSUM, IBV_DEVICE_RAW_IP_CSUM}) {
    EXPECT_NE(device.orig_attr.device_cap_flags & flag, 0u);
  }
  ibv_port_attr port;
  EXPECT_EQ(query_port(context, 1, &port, sizeof port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(port.active_mtu, IBV_MTU_4096);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(query_port(context, 0, &port, sizeof port), EINVAL);
  EXPECT_EQ(query_port(context, 2, &port, sizeof port), EINVAL);
}

TEST_F(VerbsDevice, CallersOfAnotherReleaseGetAsMuchAsTheyHaveRoomFor) {  // control_path.h R2
  struct {
    ibv_port_attr port;
    std::uint8_t more[16];
  } larger;
  std::memset(&larger, 0xee, sizeof larger);
  EXPECT_EQ(query_port(context, 1, &larger.port, sizeof larger), 0);
  EXPECT_EQ(larger.more[0], 0);
  EXPECT_EQ(larger.more[15], 0);
  ibv_port_attr smaller;
  std::memset(&smaller, 0xee, sizeof smaller);
  EXPECT_EQ(query_port(context, 1, &smaller, 8), 0);
  EXPECT_EQ(smaller.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(reinterpret_cast<std::uint8_t*>(&smaller)[8], 0xee);
}

TEST_F(VerbsDevice, GidTable) {
  ibv_gid gid;
  EXPECT_EQ(query_gid(context, 1, 2, &gid), 0);
  EXPECT_EQ(gid.raw[12], 198);
  EXPECT_EQ(query_gid(context, 1, 3, &gid), 0);  // empty: zeros
  EXPECT_EQ(gid.global.interface_id, 0u);
  EXPECT_EQ(query_gid(context, 1, 4, &gid), -1);
  EXPECT_EQ(query_gid(context, 2, 0, &gid), -1);
  ibv_gid_entry entry;
  EXPECT_EQ(query_gid_ex(context, 1, 0, &entry, 0, sizeof entry), 0);
  EXPECT_EQ(entry.gid_type, static_cast<std::uint32_t>(IBV_GID_TYPE_ROCE_V1));
  EXPECT_EQ(query_gid_ex(context, 1, 1, &entry, 0, sizeof entry), 0);
  EXPECT_EQ(entry.gid_type, static_cast<std::uint32_t>(IBV_GID_TYPE_ROCE_V2));
  EXPECT_EQ(query_gid_ex(context, 1, 3, &entry, 0, sizeof entry), ENODATA);
  EXPECT_EQ(query_gid_ex(context, 1, 4, &entry, 0, sizeof entry), EINVAL);
  EXPECT_EQ(query_gid_ex(context, 1, 0, &entry, 1, sizeof entry), EOPNOTSUPP);
  ibv_gid_entry table[4];
  EXPECT_EQ(query_gid_table(context, table, 4, 0, sizeof table[0]), 3);
  EXPECT_EQ(table[2].gid_index, 2u);
  EXPECT_EQ(query_gid_table(context, table, 2, 0, sizeof table[0]), -EINVAL);
  EXPECT_EQ(query_gid_table(context, table, 4, 1, sizeof table[0]), -EOPNOTSUPP);
}

TEST_F(VerbsDevice, PkeyTableHasOneEntry) {
  __be16 pkey = 0;
  EXPECT_EQ(query_pkey(context, 1, 0, &pkey), 0);
  EXPECT_EQ(pkey, 0xffff);
  EXPECT_EQ(query_pkey(context, 1, 1, &pkey), -1);
  EXPECT_EQ(get_pkey_index(context, 1, 0xffff), 0);
  EXPECT_EQ(get_pkey_index(context, 1, 0x8001), -1);
}

TEST_F(VerbsDevice, RawClockIsModelTime) {
  ibv_values_ex values{};
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  EXPECT_EQ(query_rt_values(context, &values), 0);
  EXPECT_EQ(values.raw_clock.tv_sec, 0);
  EXPECT_EQ(values.raw_clock.tv_nsec, 1'234'567);
  values.comp_mask = IBV_VALUES_MASK_RESERVED;
  EXPECT_EQ(query_rt_values(context, &values), EINVAL);
}

}  // namespace
}  // namespace rxnic::verbs::verbs_device_test
