// SPDX-License-Identifier: Apache-2.0
// Devices, PDs, regions and device memory of another context: of this process, and of a child's.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::import_test {
namespace {

constexpr std::size_t kBytes = 3000;

Owned<ibv_context> import_of(const ibv_context* context) {
  return own(ibv_import_device(dup(context->cmd_fd)), "ibv_import_device");
}

class Import : public PairTest {
 protected:
  // What an importer of side A's PD and region can do: it sends from A's memory.
  void expect_sends(ibv_context* context, ibv_pd* pd, const ibv_mr* mr, std::size_t from) {
    const Owned<ibv_cq> cq = own(ibv_create_cq(context, 16, nullptr, nullptr, 0), "ibv_create_cq");
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq.get();
    init.qp_type = IBV_QPT_RC;
    init.cap = {16, 16, 1, 1, 0};
    const Owned<ibv_qp> qp = own(ibv_create_qp(pd, &init), "ibv_create_qp");
    b.qp = make_qp(b.world, b.send_cq.get(), b.receive_cq.get());
    connect_both(qp.get(), a.world, b.qp.get(), b.world);
    std::array<ibv_sge, 1> sink{b.arena.sge(77, kBytes)};
    std::array<ibv_sge, 1> source{ibv_sge{a.arena.address(from), kBytes, mr->lkey}};
    post_receive(b.qp.get(), sink);
    ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
    post(qp.get(), wr);
    EXPECT_EQ(take(cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(take(b.receive_cq.get()).byte_len, kBytes);
    b.arena.expect(77, a.arena.bytes(from, kBytes));
    expect_nothing_else_written();
    EXPECT_EQ(ibv_dealloc_pd(a.world.pd.get()), EBUSY);
  }
};

TEST_P(Import, APdAndItsRegionServeAnotherContext) {
  const Owned<ibv_context> context = import_of(a.world.context.get());
  EXPECT_STREQ(ibv_get_device_name(context->device), ibv_get_device_name(a.world.context->device));
  ibv_pd* const pd = ibv_import_pd(context.get(), a.world.pd->handle);
  ASSERT_NE(pd, nullptr) << errno;
  ibv_mr* const mr = ibv_import_mr(pd, a.arena.region->handle);
  ASSERT_NE(mr, nullptr) << errno;
  EXPECT_EQ(mr->addr, nullptr);
  EXPECT_EQ(mr->length, a.arena.size());
  EXPECT_EQ(mr->lkey, a.arena.region->lkey);
  EXPECT_EQ(mr->rkey, a.arena.region->rkey);
  for (const std::size_t from : {std::size_t{0}, kPage + 5}) expect_sends(context.get(), pd, mr, from);
  ibv_unimport_mr(mr);
  ibv_unimport_pd(pd);
}

// The child has a connection of its own, and its parent's memory by key.
TEST_P(Import, AChildUsesItsParentsRegion) {
  const int socket = dup(a.world.context->cmd_fd);
  const pid_t child = fork();
  if (child == 0) {
    ibv_context* const context = ibv_import_device(socket);
    ibv_pd* const pd = context == nullptr ? nullptr : ibv_import_pd(context, a.world.pd->handle);
    ibv_mr* const mr = pd == nullptr ? nullptr : ibv_import_mr(pd, a.arena.region->handle);
    const bool good = mr != nullptr && mr->rkey == a.arena.region->rkey && mr->length == a.arena.size();
    if (mr != nullptr) ibv_unimport_mr(mr);
    if (pd != nullptr) ibv_unimport_pd(pd);
    if (context != nullptr) ibv_close_device(context);
    _exit(good ? 0 : 1);
  }
  close(socket);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  reconnect({.all_signaled = true});
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, a.arena.sge(0, 100), b.arena.address(0), b.arena.region->rkey),
            IBV_WC_SUCCESS);
  b.arena.expect(0, a.arena.bytes(0, 100));
  expect_nothing_else_written();
}

TEST_P(Import, WhatIsImportedOutlivesItsMaker) {
  auto maker = std::make_unique<World>(0);
  ibv_alloc_dm_attr wanted{4096, 0, 0};
  ibv_dm* const made = ibv_alloc_dm(maker->context.get(), &wanted);
  ASSERT_NE(made, nullptr);
  const Owned<ibv_context> context = import_of(maker->context.get());
  ibv_pd* const pd = ibv_import_pd(context.get(), maker->pd->handle);
  ibv_dm* const memory = ibv_import_dm(context.get(), made->handle);
  ASSERT_NE(pd, nullptr);
  ASSERT_NE(memory, nullptr);
  std::array<std::uint32_t, 16> there{}, back{};
  for (std::uint32_t n = 0; n < there.size(); ++n) there[n] = n * 0x01010101;
  EXPECT_EQ(ibv_memcpy_to_dm(made, 64, there.data(), sizeof there), 0);
  ibv_unimport_pd(maker->pd.release());  // they are left to the device's end
  ibv_unimport_dm(made);
  maker.reset();
  EXPECT_EQ(ibv_memcpy_from_dm(back.data(), memory, 64, sizeof back), 0);
  EXPECT_EQ(there, back);
  Owned<ibv_mr> region(ibv_reg_mr(pd, there.data(), sizeof there, 0));
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  region.reset();
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_free_dm(memory), 0);
}

TEST_P(Import, AnImporterMayFree) {
  const Owned<ibv_context> context = import_of(a.world.context.get());
  ibv_pd* const made = ibv_alloc_pd(a.world.context.get());
  ibv_mr* const region = ibv_reg_mr(made, a.arena.at(0), kPage, 0);
  ASSERT_NE(region, nullptr);
  ibv_pd* const pd = ibv_import_pd(context.get(), made->handle);
  ibv_mr* const mr = ibv_import_mr(pd, region->handle);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dereg_mr(region), EINVAL) << "it is gone";
  ibv_unimport_mr(region);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_dealloc_pd(made), EINVAL);
  ibv_unimport_pd(made);
}

TEST_P(Import, WhatIsNotThereIsRefused) {
  EXPECT_EQ(ibv_import_device(-1), nullptr);
  EXPECT_EQ(errno, EBADF);
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  EXPECT_EQ(ibv_import_device(pipe_ends[0]), nullptr);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(close(pipe_ends[0]), 0) << "still the caller's";
  close(pipe_ends[1]);
  EXPECT_EQ(ibv_import_pd(a.world.context.get(), a.world.pd->handle), nullptr) << "not an imported context";
  EXPECT_EQ(errno, EINVAL);
  const Owned<ibv_context> context = import_of(a.world.context.get());
  EXPECT_EQ(ibv_import_pd(context.get(), a.world.pd->handle + 1000), nullptr);
  EXPECT_EQ(errno, EINVAL);
  const Owned<ibv_pd> other = own(ibv_alloc_pd(context.get()), "ibv_alloc_pd");
  EXPECT_EQ(ibv_import_mr(other.get(), a.arena.region->handle), nullptr) << "of another PD";
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_import_dm(context.get(), 12345), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

RXNIC_ON_ONE_AND_TWO_NICS(Import);

}  // namespace
}  // namespace rxnic::live::import_test
