// SPDX-License-Identifier: Apache-2.0
// Memory protection as a program sees it: the right status on the right side, and no byte written outside.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::protection_test {
namespace {

constexpr std::size_t kBegin = kPage + 1000, kLength = 2 * kPage + 77;  // of a region that is a part of an arena

class Protection : public PairTest {
 protected:
  // A's request must fail with one of these statuses; nothing is written on either side.
  void expect_failure(ibv_send_wr wr, std::initializer_list<ibv_wc_status> statuses) {
    reconnect();
    std::array<ibv_sge, 1> sink{b.arena.sge(40 * kPage, kPage)};
    post_receive(b.qp.get(), sink, 3);
    post(a.qp.get(), wr);
    const ibv_wc wc = take(a.send_cq.get());
    EXPECT_NE(std::find(statuses.begin(), statuses.end(), wc.status), statuses.end()) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.wr_id, wr.wr_id);
    expect_flush();
    expect_nothing_else_written();
    expect_next_works();
  }

  // After its failure A's QP flushes what is posted to it.
  void expect_flush() {
    std::array<ibv_sge, 1> list{a.arena.sge(0, 8)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, list, 99);
    post(a.qp.get(), wr);
    const ibv_wc wc = take(a.send_cq.get());
    EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.wr_id, 99u);
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    must(ibv_query_qp(a.qp.get(), &attr, IBV_QP_STATE, &init), "ibv_query_qp");
    EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
  }

  // NICs and memory go on after a failure: a good WRITE and a good SEND over fresh QPs.
  void expect_next_works() {
    a.qp.reset();
    b.qp.reset();
    drain();
    reconnect();
    std::array<ibv_sge, 1> source{a.arena.sge(7, 100)}, sink{b.arena.sge(50 * kPage, 100)};
    post_receive(b.qp.get(), sink);
    ibv_send_wr write = send_wr(IBV_WR_RDMA_WRITE, source);
    write.wr.rdma = {b.arena.address(51 * kPage), b.arena.region->rkey};
    ibv_send_wr send = send_wr(IBV_WR_SEND, source);
    write.next = &send;
    post(a.qp.get(), write);
    EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(take(b.receive_cq.get()).status, IBV_WC_SUCCESS);
    b.arena.expect(50 * kPage, a.arena.bytes(7, 100));
    b.arena.expect(51 * kPage, a.arena.bytes(7, 100));
    expect_nothing_else_written();
  }

  void drain() {
    for (ibv_cq* cq : {a.send_cq.get(), a.receive_cq.get(), b.send_cq.get(), b.receive_cq.get()}) {
      while (!is_empty(cq)) {
      }
    }
  }

  // A SEND from A into a wrong receive buffer: B's receive fails, then A's SEND.
  void expect_receive_failure(ibv_sge sink, std::size_t bytes = 100) {
    reconnect();
    post_receive(b.qp.get(), {&sink, 1}, 5);
    std::array<ibv_sge, 1> source{a.arena.sge(0, bytes)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
    post(a.qp.get(), wr);
    const ibv_wc received = take(b.receive_cq.get()), sent = take(a.send_cq.get());
    EXPECT_EQ(received.status, IBV_WC_LOC_PROT_ERR) << ibv_wc_status_str(received.status);
    EXPECT_EQ(received.wr_id, 5u);
    EXPECT_EQ(sent.status, IBV_WC_REM_OP_ERR) << ibv_wc_status_str(sent.status);
    expect_nothing_else_written();
    expect_next_works();
  }

  std::array<ibv_sge, 1> list_{};
  ibv_send_wr with(ibv_wr_opcode opcode, ibv_sge sge) {
    list_ = {sge};
    ibv_send_wr wr = send_wr(opcode, list_, 1);
    wr.wr.rdma = {b.arena.address(30 * kPage), b.arena.region->rkey};
    return wr;
  }
  ibv_send_wr atomic(ibv_wr_opcode opcode, std::uint64_t address, std::uint32_t rkey) {
    ibv_send_wr wr = with(opcode, a.arena.sge(16, 8));
    wr.wr.atomic = {address, 1, 2, rkey};
    return wr;
  }
  static constexpr std::array kMoves{IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
  const Patience patience_{std::chrono::seconds{5}};  // a completion takes milliseconds
};

TEST_P(Protection, WrongLkeyOfARequest) {
  for (const ibv_wr_opcode opcode : kMoves) {
    SCOPED_TRACE(opcode);
    expect_failure(with(opcode, {a.arena.address(0), 100, a.arena.region->lkey ^ 0x5a5a00}), {IBV_WC_LOC_PROT_ERR});
  }
}

TEST_P(Protection, RequestsBuffersOneByteOutOfBounds) {
  Arena part(a.world, 6 * kPage, Arena::kAllRights, kBegin, kLength);
  for (const ibv_wr_opcode opcode : kMoves) {
    SCOPED_TRACE(opcode);
    expect_failure(with(opcode, part.sge(kBegin, kLength + 1)), {IBV_WC_LOC_PROT_ERR});
    expect_failure(with(opcode, part.sge(kBegin - 1, 10)), {IBV_WC_LOC_PROT_ERR});
    expect_failure(with(opcode, part.sge(kBegin + kLength, 1)), {IBV_WC_LOC_PROT_ERR});
    EXPECT_EQ(part.differs(), "");
  }
}

// rules 4.7, as the kernel pins pages.
TEST_P(Protection, ARegionOfNoByteNeedsAPage) {
  const auto refused = [&](void* at, int access = IBV_ACCESS_LOCAL_WRITE) {
    errno = 0;
    EXPECT_EQ(ibv_reg_mr(a.world.pd.get(), at, 0, access), nullptr);
    return errno;
  };
  EXPECT_EQ(refused(nullptr), EINVAL);
  EXPECT_EQ(refused(a.arena.at(kPage)), EINVAL);
  EXPECT_EQ(refused(a.arena.at(kPage), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND), EINVAL);
  EXPECT_EQ(refused(reinterpret_cast<void*>(std::uintptr_t{8})), EFAULT) << "no such page";
  const Owned<ibv_mr> none =
      own(ibv_reg_mr(a.world.pd.get(), a.arena.at(kPage + 8), 0, Arena::kAllRights), "ibv_reg_mr");
  EXPECT_EQ(none->length, 0u);
  expect_failure(with(IBV_WR_SEND, {a.arena.address(kPage + 8), 1, none->lkey}), {IBV_WC_LOC_PROT_ERR});
  EXPECT_EQ(ibv_rereg_mr(none.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, a.arena.at(kPage), 0, 0),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(none->length, 0u);
}

TEST_P(Protection, AReadNeedsTheRightToWriteLocally) {
  const Arena source(a.world, kPage, 0);
  expect_failure(with(IBV_WR_RDMA_READ, source.sge(0, 100)), {IBV_WC_LOC_PROT_ERR});
  EXPECT_EQ(source.differs(), "");
}

TEST_P(Protection, RequestsBufferOfAnotherPd) {
  const World other(0);
  const Owned<ibv_pd> sibling = own(ibv_alloc_pd(a.world.context.get()), "ibv_alloc_pd");
  const Owned<ibv_mr> region =
      own(ibv_reg_mr(sibling.get(), a.arena.at(0), kPage, static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE)), "ibv_reg_mr");
  const Arena elsewhere(other, kPage);
  for (const ibv_wr_opcode opcode : kMoves) {
    SCOPED_TRACE(opcode);
    expect_failure(with(opcode, {a.arena.address(0), 100, region->lkey}), {IBV_WC_LOC_PROT_ERR});
    expect_failure(with(opcode, elsewhere.sge(0, 100)), {IBV_WC_LOC_PROT_ERR});
  }
  EXPECT_EQ(elsewhere.differs(), "");
}

TEST_P(Protection, RequestsBufferOfAFreedRegion) {
  Arena freed(a.world, kPage);
  const ibv_sge sge = freed.sge(0, 100);
  freed.region.reset();
  for (const ibv_wr_opcode opcode : kMoves) {
    SCOPED_TRACE(opcode);
    expect_failure(with(opcode, sge), {IBV_WC_LOC_PROT_ERR});
  }
  EXPECT_EQ(freed.differs(), "");
}

TEST_P(Protection, RequestsBufferOnAnUnmappedPage) {
  Arena holed(a.world, 2 * kPage);
  ASSERT_EQ(mprotect(holed.at(kPage), kPage, PROT_NONE), 0);
  const ibv_sge across = holed.sge(kPage - 10, 20), behind = holed.sge(kPage + 10, 20);
  for (const ibv_wr_opcode opcode : kMoves) {
    SCOPED_TRACE(opcode);
    expect_failure(with(opcode, behind), {IBV_WC_LOC_PROT_ERR});
  }
  holed.cut(kPage);
  for (const ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE}) {
    SCOPED_TRACE(opcode);
    expect_failure(with(opcode, across), {IBV_WC_LOC_PROT_ERR});
    expect_failure(with(opcode, behind), {IBV_WC_LOC_PROT_ERR});
  }
  expect_failure(with(IBV_WR_RDMA_READ, behind), {IBV_WC_LOC_PROT_ERR});
}

TEST_P(Protection, AReadDoesNotWriteAReadOnlyPage) {
  Arena sealed(a.world, kPage);
  ASSERT_EQ(mprotect(sealed.at(0), kPage, PROT_READ), 0);
  expect_failure(with(IBV_WR_RDMA_READ, sealed.sge(10, 20)), {IBV_WC_LOC_PROT_ERR});
  EXPECT_EQ(sealed.differs(), "");
}

TEST_P(Protection, WrongRkey) {
  const std::uint32_t rkey = b.arena.region->rkey ^ 0x5a5a00;
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ}) {
    SCOPED_TRACE(opcode);
    ibv_send_wr wr = with(opcode, a.arena.sge(0, 100));
    wr.wr.rdma.rkey = rkey;
    expect_failure(wr, {IBV_WC_REM_ACCESS_ERR});
  }
  for (const ibv_wr_opcode opcode : {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    SCOPED_TRACE(opcode);
    expect_failure(atomic(opcode, b.arena.address(0), rkey), {IBV_WC_REM_ACCESS_ERR});
  }
}

TEST_P(Protection, AnAtomicWriteIsOfEightAlignedBytesAndNeedsTheRightToWrite) {
  const auto write = [&](std::uint64_t address, std::uint32_t rkey, std::size_t bytes = 8) {
    ibv_send_wr wr = with(IBV_WR_ATOMIC_WRITE, a.arena.sge(24, bytes));
    wr.wr.rdma = {address, rkey};
    return wr;
  };
  const std::uint32_t rkey = b.arena.region->rkey;
  expect_failure(write(b.arena.address(64), rkey ^ 0x5a5a00), {IBV_WC_REM_ACCESS_ERR});
  expect_failure(write(b.arena.address(68), rkey), {IBV_WC_REM_INV_REQ_ERR});
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{16}}) {
    expect_failure(write(b.arena.address(64), rkey, bytes), {IBV_WC_LOC_QP_OP_ERR});
  }
  const Arena others(b.world, kPage, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
  expect_failure(write(others.address(64), others.region->rkey), {IBV_WC_REM_ACCESS_ERR});
  EXPECT_EQ(others.differs(), "");
  Arena pages(b.world, kPage);
  ASSERT_EQ(mprotect(pages.at(0), kPage, PROT_READ), 0);
  expect_failure(write(pages.address(64), pages.region->rkey), {IBV_WC_REM_OP_ERR});
  EXPECT_EQ(pages.differs(), "");
}

TEST_P(Protection, RemoteMemoryOneByteOutOfBounds) {
  Arena part(b.world, 6 * kPage, Arena::kAllRights, kBegin, kLength);
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    SCOPED_TRACE(opcode);
    ibv_send_wr wr = with(opcode, a.arena.sge(0, kLength + 1));
    wr.wr.rdma = {part.address(kBegin), part.region->rkey};
    expect_failure(wr, {IBV_WC_REM_ACCESS_ERR});
    list_[0].length = 10;
    wr.wr.rdma.remote_addr = part.address(kBegin - 1);
    expect_failure(wr, {IBV_WC_REM_ACCESS_ERR});
    list_[0].length = 1;
    wr.wr.rdma.remote_addr = part.address(kBegin + kLength);
    expect_failure(wr, {IBV_WC_REM_ACCESS_ERR});
    EXPECT_EQ(part.differs(), "");
  }
  Arena word(b.world, kPage, Arena::kAllRights, 512, 15);
  expect_failure(atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, word.address(520), word.region->rkey), {IBV_WC_REM_ACCESS_ERR});
  EXPECT_EQ(word.differs(), "");
}

TEST_P(Protection, RemoteRightsOfTheRegion) {
  const Arena readable(b.world, kPage, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  const Arena writable(b.world, kPage, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ibv_send_wr write = with(IBV_WR_RDMA_WRITE, a.arena.sge(0, 100));
  write.wr.rdma = {readable.address(0), readable.region->rkey};
  expect_failure(write, {IBV_WC_REM_ACCESS_ERR});
  ibv_send_wr read = with(IBV_WR_RDMA_READ, a.arena.sge(0, 100));
  read.wr.rdma = {writable.address(0), writable.region->rkey};
  expect_failure(read, {IBV_WC_REM_ACCESS_ERR});
  expect_failure(atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, writable.address(0), writable.region->rkey),
                 {IBV_WC_REM_ACCESS_ERR});
  EXPECT_EQ(readable.differs(), "");
  EXPECT_EQ(writable.differs(), "");
}

TEST_P(Protection, RemoteMemoryOfAnotherPdOrFreed) {
  const Owned<ibv_pd> sibling = own(ibv_alloc_pd(b.world.context.get()), "ibv_alloc_pd");
  const Owned<ibv_mr> region =
      own(ibv_reg_mr(sibling.get(), b.arena.at(0), kPage, static_cast<unsigned>(Arena::kAllRights)), "ibv_reg_mr");
  Arena freed(b.world, kPage);
  const std::uint32_t gone = freed.region->rkey;
  freed.region.reset();
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    SCOPED_TRACE(opcode);
    ibv_send_wr wr = with(opcode, a.arena.sge(0, 100));
    wr.wr.rdma = {b.arena.address(0), region->rkey};
    expect_failure(wr, {IBV_WC_REM_ACCESS_ERR});
    wr.wr.rdma = {freed.address(0), gone};
    expect_failure(wr, {IBV_WC_REM_ACCESS_ERR});
  }
  EXPECT_EQ(freed.differs(), "");
}

// The index of a key is given to another region: the key of the one before is refused, by the tag.
TEST_P(Protection, AStaleKeyWhoseIndexIsInUseAgain) {
  constexpr int kMost = 3 * 4096;  // registrations; the numbers of indices that are used in turn (numbers.h R1)
  const auto stale_of = [](Side& side, Arena& arena) {
    const std::uint32_t stale = arena.region->rkey;
    int registrations = 0;
    do {
      arena.region.reset();
      arena.region =
          own(ibv_reg_mr(side.world.pd.get(), arena.at(0), arena.size(), static_cast<unsigned>(Arena::kAllRights)),
              "ibv_reg_mr");
    } while (arena.region->rkey >> 8 != stale >> 8 && ++registrations < kMost);
    EXPECT_EQ(arena.region->rkey >> 8, stale >> 8) << registrations << " registrations";
    EXPECT_NE(arena.region->rkey, stale);
    return stale;
  };
  Arena local(a.world, kPage), remote(b.world, kPage);
  const std::uint32_t stale_lkey = stale_of(a, local), stale_rkey = stale_of(b, remote);
  for (const ibv_wr_opcode opcode : kMoves) {
    SCOPED_TRACE(opcode);
    expect_failure(with(opcode, {local.address(0), 100, stale_lkey}), {IBV_WC_LOC_PROT_ERR});
  }
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    SCOPED_TRACE(opcode);
    ibv_send_wr wr = with(opcode, a.arena.sge(0, 100));
    wr.wr.rdma = {remote.address(0), stale_rkey};
    expect_failure(wr, {IBV_WC_REM_ACCESS_ERR});
  }
  expect_failure(atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, remote.address(0), stale_rkey), {IBV_WC_REM_ACCESS_ERR});
  EXPECT_EQ(local.differs(), "");
  EXPECT_EQ(remote.differs(), "");
  // With the key of now it goes.
  reconnect();
  ibv_send_wr write = with(IBV_WR_RDMA_WRITE, local.sge(0, 100));
  write.wr.rdma = {remote.address(200), remote.region->rkey};
  post(a.qp.get(), write);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  remote.expect(200, local.bytes(0, 100));
  EXPECT_EQ(remote.differs(), "");
}

// The key is right, but the host refuses the access to the page: a remote operation error.
TEST_P(Protection, RemotePagesThatTheHostRefuses) {
  Arena pages(b.world, 3 * kPage);
  ASSERT_EQ(mprotect(pages.at(kPage), kPage, PROT_READ), 0);
  ibv_send_wr write = with(IBV_WR_RDMA_WRITE, a.arena.sge(0, 100));
  write.wr.rdma = {pages.address(kPage + 5), pages.region->rkey};
  expect_failure(write, {IBV_WC_REM_OP_ERR, IBV_WC_REM_ACCESS_ERR});
  expect_failure(atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, pages.address(kPage), pages.region->rkey),
                 {IBV_WC_REM_OP_ERR, IBV_WC_REM_ACCESS_ERR});
  EXPECT_EQ(pages.differs(), "");
  write.wr.rdma.remote_addr = pages.address(2 * kPage + 5);
  pages.cut(2 * kPage);
  write.opcode = IBV_WR_RDMA_WRITE;
  list_ = {a.arena.sge(0, 100)};
  expect_failure(write, {IBV_WC_REM_OP_ERR, IBV_WC_REM_ACCESS_ERR});
  write.opcode = IBV_WR_RDMA_READ;
  expect_failure(write, {IBV_WC_REM_OP_ERR, IBV_WC_REM_ACCESS_ERR});
}

TEST_P(Protection, ReceiveBuffers) {
  Arena part(b.world, 6 * kPage, Arena::kAllRights, kBegin, kLength);
  Arena freed(b.world, kPage), sealed(b.world, kPage), holed(b.world, 2 * kPage);
  const Arena unwritable(b.world, kPage, 0);
  const Owned<ibv_pd> sibling = own(ibv_alloc_pd(b.world.context.get()), "ibv_alloc_pd");
  const Owned<ibv_mr> region =
      own(ibv_reg_mr(sibling.get(), b.arena.at(0), kPage, static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE)), "ibv_reg_mr");
  const ibv_sge gone = freed.sge(0, 200), unmapped = holed.sge(kPage + 1, 200);
  holed.cut(kPage);
  freed.region.reset();
  ASSERT_EQ(mprotect(sealed.at(0), kPage, PROT_READ), 0);

  const struct {
    const char* what;
    ibv_sge sink;
  } cases[] = {
      {"wrong lkey", {b.arena.address(0), 200, b.arena.region->lkey ^ 0x5a5a00}},
      {"one byte before", part.sge(kBegin - 1, 200)},
      {"one byte behind", part.sge(kBegin + kLength - 99, 100)},
      {"no right to write", unwritable.sge(0, 200)},
      {"another PD", {b.arena.address(0), 200, region->lkey}},
      {"freed region", gone},
      {"read-only page", sealed.sge(0, 200)},
      {"unmapped page", unmapped},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    expect_receive_failure(c.sink);
    EXPECT_EQ(part.differs(), "");
    EXPECT_EQ(freed.differs(), "");
    EXPECT_EQ(sealed.differs(), "");
    EXPECT_EQ(unwritable.differs(), "");
  }
}

TEST_P(Protection, AMessageLongerThanItsReceiveBuffer) {
  reconnect();
  std::array<ibv_sge, 1> source{a.arena.sge(0, 3000)}, sink{b.arena.sge(kPage, 2999)};
  post_receive(b.qp.get(), sink, 5);
  ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
  post(a.qp.get(), wr);
  const ibv_wc received = take(b.receive_cq.get()), sent = take(a.send_cq.get());
  EXPECT_EQ(received.status, IBV_WC_LOC_LEN_ERR) << ibv_wc_status_str(received.status);
  EXPECT_EQ(sent.status, IBV_WC_REM_INV_REQ_ERR) << ibv_wc_status_str(sent.status);
  b.arena.accept(kPage, 2999);  // undefined: the device may have written a part
  expect_nothing_else_written();
  expect_next_works();
}

TEST_P(Protection, ADestroyedSrqIsNotWrittenTo) {
  ibv_srq_init_attr init{};
  init.attr = {16, 1, 0};
  Owned<ibv_srq> srq = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
  std::array<ibv_sge, 1> source{a.arena.sge(0, 100)}, sink{b.arena.sge(kPage, 200)};
  for (int i = 0; i < 4; ++i) post_receive(srq.get(), sink);
  Path impatient;
  impatient.timeout = 8;  // 1 ms
  impatient.retry_count = 1;
  a.qp = make_qp(a.world, a.send_cq.get(), a.receive_cq.get());
  QpShape shape;
  shape.srq = srq.get();
  b.qp = make_qp(b.world, b.send_cq.get(), b.receive_cq.get(), shape);
  connect_both(a.qp.get(), a.world, b.qp.get(), b.world, impatient);

  EXPECT_EQ(ibv_destroy_srq(srq.get()), EBUSY);
  ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(take(b.receive_cq.get()).status, IBV_WC_SUCCESS);
  b.arena.expect(kPage, a.arena.bytes(0, 100));

  b.qp.reset();
  EXPECT_EQ(ibv_destroy_srq(srq.release()), 0);
  b.arena.refill(seed() + 1);
  post(a.qp.get(), wr);
  const ibv_wc wc = take(a.send_cq.get());
  EXPECT_EQ(wc.status, IBV_WC_RETRY_EXC_ERR) << ibv_wc_status_str(wc.status);
  expect_nothing_else_written();
  expect_next_works();
}

RXNIC_ON_ONE_AND_TWO_NICS(Protection);

}  // namespace
}  // namespace rxnic::live::protection_test
