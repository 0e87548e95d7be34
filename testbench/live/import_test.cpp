// SPDX-License-Identifier: Apache-2.0
// Devices, PDs, regions and device memory of another context: of this process, and of a child's.
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

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

// A child that has a region in a PD of its own, which its parent imports.
class ChildWithARegion {
 public:
  struct Told {
    std::uint32_t pd, region, rkey;
    std::uint64_t address;
  };
  ChildWithARegion() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      close(ends[0]);
      _exit(serve(ends[1]));
    }
    close(ends[1]);
    end_ = ends[0];
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    iovec data{&told, sizeof told};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (recvmsg(end_, &message, MSG_CMSG_CLOEXEC) == ssize_t{sizeof told} && CMSG_FIRSTHDR(&message) != nullptr) {
      std::memcpy(&device, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof device);
    }
  }
  ~ChildWithARegion() { close(end_); }
  // Killed, or it closes its device.
  void end(bool killed) {
    if (killed) kill(child_, SIGKILL);
    shutdown(end_, SHUT_WR);
    int status = -1;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    EXPECT_EQ(status, killed ? SIGKILL : 0);
  }

  Told told{};
  int device = -1;

 private:
  static int serve(int end) {
    const World world(0);
    Arena arena(world, kPage, Arena::kAllRights | IBV_ACCESS_MW_BIND);
    const Told told{world.pd->handle, arena.region->handle, arena.region->rkey, arena.address(0)};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    iovec data{const_cast<Told*>(&told), sizeof told};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &world.context->cmd_fd, sizeof(int));
    char none = 0;
    return sendmsg(end, &message, 0) == ssize_t{sizeof told} && read(end, &none, 1) == 0 ? 0 : 1;
  }

  pid_t child_ = -1;
  int end_ = -1;
};

// The window is this program's. Afterwards other programs have the number and the pages of the one that is gone.
TEST_P(Import, ARegionGoesWithItsProcessAlthoughAnImporterHasBoundAWindowToIt) {
  for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
    for (const bool killed : {true, false}) {
      SCOPED_TRACE(std::to_string(type) + (killed ? ", killed" : ", closed"));
      ChildWithARegion child;
      ASSERT_GE(child.device, 0);
      const Owned<ibv_context> context = own(ibv_import_device(child.device), "ibv_import_device");
      ibv_pd* const pd = ibv_import_pd(context.get(), child.told.pd);
      ASSERT_NE(pd, nullptr);
      ibv_mr* const mr = ibv_import_mr(pd, child.told.region);
      ASSERT_NE(mr, nullptr);
      mr->addr = reinterpret_cast<void*>(child.told.address);
      Owned<ibv_cq> cq = own(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0), "ibv_create_cq");
      ibv_qp_init_attr init{};
      init.send_cq = init.recv_cq = cq.get();
      init.qp_type = IBV_QPT_RC;
      init.cap = {16, 16, 1, 1, 0};
      init.sq_sig_all = 1;
      Owned<ibv_qp> qp = own(ibv_create_qp(pd, &init), "ibv_create_qp");
      connect(qp.get(), a.world, qp->qp_num);
      ibv_mw* const mw = ibv_alloc_mw(pd, type);
      ASSERT_NE(mw, nullptr);
      ibv_mw_bind_info to{mr, child.told.address, kPage, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
      if (type == IBV_MW_TYPE_1) {
        ibv_mw_bind request{};
        request.bind_info = to;
        must(ibv_bind_mw(qp.get(), mw, &request), "ibv_bind_mw");
      } else {
        ibv_send_wr wr{};
        wr.opcode = IBV_WR_BIND_MW;
        wr.bind_mw = {mw, ibv_inc_rkey(mw->rkey), to};
        live::post(qp.get(), wr);
        mw->rkey = wr.bind_mw.rkey;
      }
      ASSERT_EQ(take(cq.get()).status, IBV_WC_SUCCESS);
      child.end(killed);
      while (ibv_mr* const there = ibv_import_mr(pd, child.told.region)) ibv_unimport_mr(there);

      std::array<ibv_sge, 1> source{a.arena.sge(0, 64)};
      Owned<ibv_mr> own_region(ibv_reg_mr(pd, a.arena.at(0), kPage, IBV_ACCESS_LOCAL_WRITE));
      ASSERT_NE(own_region, nullptr);
      source[0].lkey = own_region->lkey;
      ibv_send_wr write = send_wr(IBV_WR_RDMA_WRITE, source);
      write.wr.rdma = {child.told.address, mw->rkey};
      // As long as the region is on its way out, what is written there is lost.
      ibv_wc_status status = IBV_WC_SUCCESS;
      for (int tries = 0; status == IBV_WC_SUCCESS && tries < 100'000; ++tries) {
        live::post(qp.get(), write);
        status = take(cq.get()).status;
      }
      EXPECT_NE(status, IBV_WC_SUCCESS) << "its QP is connected to itself: refused, or flushed by the refusal";
      EXPECT_EQ(ibv_dealloc_mw(mw), 0);
      EXPECT_EQ(ibv_dereg_mr(mr), EINVAL) << "it is gone";
      ibv_unimport_mr(mr);
      qp.reset();
      own_region.reset();
      EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    }
  }
  reconnect({.all_signaled = true});
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, a.arena.sge(0, 100), b.arena.address(0), b.arena.region->rkey),
            IBV_WC_SUCCESS);
  b.arena.expect(0, a.arena.bytes(0, 100));
  expect_nothing_else_written();
}

RXNIC_ON_ONE_AND_TWO_NICS(Import);

}  // namespace
}  // namespace rxnic::live::import_test
