// SPDX-License-Identifier: Apache-2.0
// Traffic through objects that are made or changed in an unusual way. These are objects in a parent domain with a
// program's own allocators (ibv_alloc_parent_domain(3)), and regions that are registered anew (ibv_rereg_mr(3)). They
// are also address handles made of a completion (ibv_create_ah_from_wc(3)), and the MAC address of a GID.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::lifecycle_test {
namespace {

constexpr std::size_t kGrh = 40, kBytes = 500;
constexpr std::uint64_t kOfQp = 1, kOfSrq = 2;  // resource types of allocators (bridge/verbs/README.md)
using MacAddress = std::array<std::uint8_t, 6>;

// A program's allocator: what it gave and has not got back.
struct Allocators {
  struct Given {
    std::uint64_t type = 0;
    std::size_t bytes = 0;
  };
  static constexpr std::uint8_t kFill = 0xa5;

  static void* allocate(ibv_pd* domain, void* context, std::size_t bytes, std::size_t alignment, std::uint64_t type) {
    Allocators& self = *static_cast<Allocators*>(context);
    EXPECT_EQ(domain, self.domain);
    void* memory = nullptr;
    if (posix_memalign(&memory, std::max(alignment, sizeof(void*)), bytes) != 0) return nullptr;
    std::memset(memory, kFill, bytes);
    self.held[memory] = {type, bytes};
    ++self.allocated[type];
    return memory;
  }
  static void release(ibv_pd* domain, void* context, void* memory, std::uint64_t type) {
    Allocators& self = *static_cast<Allocators*>(context);
    EXPECT_EQ(domain, self.domain);
    const auto given = self.held.find(memory);
    ASSERT_NE(given, self.held.end()) << "freed, but not allocated here";
    EXPECT_EQ(given->second.type, type);
    self.held.erase(given);
    ++self.freed[type];
    std::free(memory);
  }
  // True when something has been written into a piece of that type. A QP on an SRQ has no receives to record.
  bool is_used(std::uint64_t type) const {
    return std::ranges::any_of(held, [type](const auto& piece) {
      const auto* const bytes = static_cast<const std::uint8_t*>(piece.first);
      return piece.second.type == type &&
             std::any_of(bytes, bytes + piece.second.bytes, [](std::uint8_t byte) { return byte != kFill; });
    });
  }

  ibv_pd* domain = nullptr;
  std::map<void*, Given> held;
  std::map<std::uint64_t, std::uint32_t> allocated, freed;  // by resource type
};

// Another protection domain of a world's context.
Owned<ibv_pd> another_pd(const World& world) { return own(ibv_alloc_pd(world.context.get()), "ibv_alloc_pd"); }

class Lifecycle : public PairTest {
 protected:
  void exchange(ibv_srq* srq, ibv_cq* cq_of_b);
  // A writes from `from` to `to` of B's arena, with the present key of the region `mr`.
  ibv_wc_status write(const ibv_mr* mr, std::size_t from, std::size_t to, std::size_t bytes = kBytes) {
    return carry_out(IBV_WR_RDMA_WRITE, a.arena.sge(from, bytes), b.arena.address(to), mr->rkey);
  }
  void expect_written(const ibv_mr* mr, std::size_t from, std::size_t to, std::size_t bytes = kBytes) {
    EXPECT_EQ(write(mr, from, to, bytes), IBV_WC_SUCCESS);
    b.arena.expect(to, a.arena.bytes(from, bytes));
    expect_nothing_else_written();
  }
  void expect_read(const ibv_mr* mr, std::size_t from, std::size_t to, std::size_t bytes = kBytes) {
    EXPECT_EQ(carry_out(IBV_WR_RDMA_READ, a.arena.sge(to, bytes), b.arena.address(from), mr->rkey), IBV_WC_SUCCESS);
    a.arena.expect(to, b.arena.bytes(from, bytes));
    expect_nothing_else_written();
  }
  // The request is refused, and changes nothing; new QPs take the place of those that have failed.
  void expect_refused(const ibv_mr* mr, ibv_wr_opcode opcode, std::size_t at, std::size_t bytes = kBytes) {
    EXPECT_EQ(carry_out(opcode, a.arena.sge(0, bytes), b.arena.address(at), mr->rkey), IBV_WC_REM_ACCESS_ERR);
    expect_nothing_else_written();
    reconnect();
  }
  Owned<ibv_mr> registered(std::size_t offset, std::size_t bytes, int access) {
    return own(ibv_reg_mr(b.world.pd.get(), b.arena.at(offset), bytes, access), "ibv_reg_mr");
  }
  // B sends from its arena with the key of the region `mr`.
  ibv_wc_status send_from(const ibv_mr* mr, std::size_t from, std::size_t to) {
    std::array<ibv_sge, 1> sink{a.arena.sge(to, kBytes)};
    std::array<ibv_sge, 1> source{ibv_sge{b.arena.address(from), kBytes, mr->lkey}};
    post_receive(a.qp.get(), sink);
    ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
    post(b.qp.get(), wr);
    const ibv_wc_status status = take(b.send_cq.get()).status;
    if (status == IBV_WC_SUCCESS) {
      EXPECT_EQ(take(a.receive_cq.get()).status, IBV_WC_SUCCESS);
      a.arena.expect(to, b.arena.bytes(from, kBytes));
    }
    return status;
  }

  // A datagram of A's comes to B, which answers it by the handle that `make` makes of its completion and its GRH.
  template <class Make>
  void reply(const Path& path, Make make);

  static constexpr int kAccess = Arena::kAllRights;
  const Patience patience_{std::chrono::seconds{20}};
};

// Messages, WRITEs and READs between A and a B whose QP takes its receives from the SRQ.
void Lifecycle::exchange(ibv_srq* srq, ibv_cq* cq_of_b) {
  for (std::uint32_t n = 0; n < 40; ++n) {
    const std::size_t at = n * 1200;
    std::array<ibv_sge, 1> sink{b.arena.sge(at, 1200)};
    post_receive(srq, sink, n);
    EXPECT_EQ(carry_out(IBV_WR_SEND, a.arena.sge(n, 100 + n), 0, 0), IBV_WC_SUCCESS);
    const ibv_wc wc = take(cq_of_b);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.wr_id, n);
    EXPECT_EQ(wc.byte_len, 100 + n);
    b.arena.expect(at, a.arena.bytes(n, 100 + n));

    std::array<ibv_sge, 1> back{a.arena.sge(at, 1100)}, source{b.arena.sge(at, 1100)};
    post_receive(a.qp.get(), back, n);
    ibv_send_wr wr = send_wr(IBV_WR_SEND, source, 100 + n);
    post(b.qp.get(), wr);
    const ibv_wc sent = take(cq_of_b);
    EXPECT_EQ(sent.status, IBV_WC_SUCCESS) << ibv_wc_status_str(sent.status);
    EXPECT_EQ(sent.wr_id, 100 + n);
    EXPECT_EQ(take(a.receive_cq.get()).status, IBV_WC_SUCCESS);
    a.arena.expect(at, b.arena.bytes(at, 1100));
  }
  expect_written(b.arena.region.get(), 3, 50 * 1024, 3000);
  expect_read(b.arena.region.get(), 52 * 1024, 54 * 1024, 3000);
}

TEST_P(Lifecycle, AParentDomainsAllocatorsHoldWhatItsQpAndSrqRecord) {
  Allocators allocators;
  ibv_td_init_attr of_thread{};
  ibv_td* const thread = ibv_alloc_td(b.world.context.get(), &of_thread);
  ASSERT_NE(thread, nullptr);
  ibv_parent_domain_init_attr of_domain{};
  of_domain.pd = b.world.pd.get();
  of_domain.td = thread;
  of_domain.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  of_domain.alloc = Allocators::allocate;
  of_domain.free = Allocators::release;
  of_domain.pd_context = &allocators;
  Owned<ibv_pd> domain = own(ibv_alloc_parent_domain(b.world.context.get(), &of_domain), "ibv_alloc_parent_domain");
  allocators.domain = domain.get();
  for (std::uint32_t round = 1; round <= 3; ++round) {
    ibv_cq_init_attr_ex of_cq{};
    of_cq.cqe = 64;
    of_cq.wc_flags = IBV_WC_STANDARD_FLAGS;
    of_cq.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
    of_cq.parent_domain = domain.get();
    ibv_cq_ex* const made = ibv_create_cq_ex(b.world.context.get(), &of_cq);
    ASSERT_NE(made, nullptr);
    Owned<ibv_cq> cq(ibv_cq_ex_to_cq(made));
    ibv_srq_init_attr of_srq{};
    of_srq.attr = {8, 2, 0};
    Owned<ibv_srq> srq = own(ibv_create_srq(domain.get(), &of_srq), "ibv_create_srq");
    ibv_qp_init_attr of_qp{};
    of_qp.send_cq = of_qp.recv_cq = cq.get();
    of_qp.srq = srq.get();
    of_qp.qp_type = IBV_QPT_RC;
    of_qp.cap = {8, 0, 2, 0, 0};
    b.qp = own(ibv_create_qp(domain.get(), &of_qp), "ibv_create_qp");
    EXPECT_EQ(b.qp->pd, domain.get());
    a.qp = make_qp(a.world, a.send_cq.get(), a.receive_cq.get());
    connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
    for (const std::uint64_t type : {kOfQp, kOfSrq}) EXPECT_GE(allocators.allocated[type], round) << type;
    // Regions of the protection domain and those of the parent domain are of the same domain.
    exchange(srq.get(), cq.get());
    const Owned<ibv_mr> of_parent = own(ibv_reg_mr(domain.get(), b.arena.at(0), b.arena.size(), kAccess), "ibv_reg_mr");
    expect_written(of_parent.get(), 7, 60 * 1024);
    for (const std::uint64_t type : {kOfQp, kOfSrq}) EXPECT_TRUE(allocators.is_used(type)) << type;
    EXPECT_EQ(ibv_dealloc_pd(domain.get()), EBUSY);
    b.qp.reset();
    srq.reset();
    EXPECT_TRUE(allocators.held.empty());
    EXPECT_EQ(allocators.freed, allocators.allocated);
  }
  EXPECT_EQ(ibv_dealloc_td(thread), EBUSY);
  domain.reset();
  EXPECT_EQ(ibv_dealloc_td(thread), 0);
}

TEST_P(Lifecycle, ARegionThatIsMovedIsReachedWhereItIsNow) {
  reconnect();
  const Owned<ibv_mr> mr = registered(8 * kPage, 3 * kPage, kAccess);
  expect_written(mr.get(), 0, 8 * kPage + 10, 2 * kPage);
  EXPECT_EQ(send_from(mr.get(), 9 * kPage, 40 * kPage), IBV_WC_SUCCESS);
  expect_refused(mr.get(), IBV_WR_RDMA_WRITE, 20 * kPage);
  // Elsewhere, of another length, and not at the beginning of a page.
  const std::size_t now = 20 * kPage + 100, bytes = 5 * kPage;
  ASSERT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, b.arena.at(now), bytes, 0), 0);
  EXPECT_EQ(mr->addr, b.arena.at(now));
  EXPECT_EQ(mr->length, bytes);
  expect_written(mr.get(), 77, now, bytes);
  expect_read(mr.get(), now + 123, 30 * kPage, 4 * kPage);
  EXPECT_EQ(send_from(mr.get(), now + 5, 50 * kPage), IBV_WC_SUCCESS);
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    expect_refused(mr.get(), opcode, 8 * kPage + 10);
    expect_refused(mr.get(), opcode, now - 1);
    expect_refused(mr.get(), opcode, now + bytes - kBytes + 1);
  }
  EXPECT_EQ(send_from(mr.get(), 9 * kPage, 40 * kPage), IBV_WC_LOC_PROT_ERR);
  expect_nothing_else_written();
  reconnect();
  // And back, smaller.
  ASSERT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, b.arena.at(8 * kPage), 600, 0), 0);
  expect_written(mr.get(), 200, 8 * kPage + 100);
  expect_refused(mr.get(), IBV_WR_RDMA_WRITE, 8 * kPage + 101);
  expect_refused(mr.get(), IBV_WR_RDMA_WRITE, now);
}

TEST_P(Lifecycle, ARegionThatHasAnotherPdIsForTheQpsOfThat) {
  const Owned<ibv_pd> other = another_pd(b.world);
  const auto connect_in = [&](ibv_pd* pd) {
    ibv_qp_init_attr init{};
    init.send_cq = b.send_cq.get();
    init.recv_cq = b.receive_cq.get();
    init.qp_type = IBV_QPT_RC;
    init.cap = {4, 4, 1, 1, 0};
    a.qp = make_qp(a.world, a.send_cq.get(), a.receive_cq.get());
    b.qp = own(ibv_create_qp(pd, &init), "ibv_create_qp");
    connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
  };
  const Owned<ibv_mr> mr = registered(4 * kPage, 4 * kPage, kAccess);
  for (int round = 0; round < 2; ++round) {
    ibv_pd* const in = round == 0 ? b.world.pd.get() : other.get();
    ibv_pd* const out = round == 0 ? other.get() : b.world.pd.get();
    if (round == 1) {
      ASSERT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_PD, other.get(), nullptr, 0, 0), 0);
      EXPECT_EQ(mr->pd, other.get());
    }
    connect_in(in);
    expect_written(mr.get(), 10 + round, 4 * kPage + 3, 3 * kPage);
    expect_read(mr.get(), 5 * kPage, 20 * kPage);
    EXPECT_EQ(send_from(mr.get(), 6 * kPage, 30 * kPage), IBV_WC_SUCCESS);
    connect_in(out);
    EXPECT_EQ(write(mr.get(), 0, 4 * kPage), IBV_WC_REM_ACCESS_ERR);
    connect_in(out);
    EXPECT_EQ(send_from(mr.get(), 6 * kPage, 30 * kPage), IBV_WC_LOC_PROT_ERR);
    expect_nothing_else_written();
  }
  EXPECT_EQ(ibv_dealloc_pd(other.get()), EBUSY) << "the region is in it";
}

TEST_P(Lifecycle, ARegionWithOtherRightsHasTheseAlone) {
  reconnect();
  const Owned<ibv_mr> mr = registered(4 * kPage, 4 * kPage, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  const auto change = [&](int access) {
    ASSERT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, access), 0);
  };
  expect_read(mr.get(), 4 * kPage, 20 * kPage, 2 * kPage);
  expect_refused(mr.get(), IBV_WR_RDMA_WRITE, 4 * kPage);
  change(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  expect_written(mr.get(), 0, 4 * kPage + 50, 3 * kPage);
  expect_refused(mr.get(), IBV_WR_RDMA_READ, 4 * kPage);
  change(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  expect_written(mr.get(), 9, 5 * kPage);
  expect_read(mr.get(), 5 * kPage, 22 * kPage);
  change(0);
  expect_refused(mr.get(), IBV_WR_RDMA_WRITE, 4 * kPage);
  expect_refused(mr.get(), IBV_WR_RDMA_READ, 4 * kPage);
  EXPECT_EQ(send_from(mr.get(), 6 * kPage, 30 * kPage), IBV_WC_SUCCESS) << "local reads need no right";
  // A refusal changes nothing: remote WRITEs need the local right.
  EXPECT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE),
            IBV_REREG_MR_ERR_INPUT);
  expect_refused(mr.get(), IBV_WR_RDMA_WRITE, 4 * kPage);
  // All of it at once.
  const Owned<ibv_pd> other = another_pd(b.world);
  ASSERT_EQ(
      ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_TRANSLATION,
                   other.get(), b.arena.at(0), b.arena.size(), kAccess),
      0);
  expect_refused(mr.get(), IBV_WR_RDMA_WRITE, 4 * kPage);
  ASSERT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_PD, b.world.pd.get(), nullptr, 0, 0), 0);
  expect_written(mr.get(), 1, 60 * kPage);
}

template <class Make>
void Lifecycle::reply(const Path& path, Make make) {
  reconnect({.type = IBV_QPT_UD}, path);
  ibv_ah_attr to = address_of(b.world, path);
  to.grh.traffic_class = 0x60;
  to.grh.flow_label = 0x12345;
  const Owned<ibv_ah> ah = own(ibv_create_ah(a.world.pd.get(), &to), "ibv_create_ah");
  std::array<ibv_sge, 1> source{a.arena.sge(11, kBytes)}, sink{b.arena.sge(kPage, kGrh + kBytes)};
  post_receive(b.qp.get(), sink);
  ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
  wr.wr.ud = {ah.get(), b.qp->qp_num, path.qkey};
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  ibv_wc came = take(b.receive_cq.get());
  ASSERT_EQ(came.status, IBV_WC_SUCCESS) << ibv_wc_status_str(came.status);
  ASSERT_TRUE(came.wc_flags & IBV_WC_GRH);
  b.arena.accept(kPage, kGrh);
  b.arena.expect(kPage + kGrh, a.arena.bytes(11, kBytes));

  const Owned<ibv_ah> back = make(came, reinterpret_cast<ibv_grh*>(b.arena.at(kPage)));
  std::array<ibv_sge, 1> answer{b.arena.sge(8 * kPage + 1, kBytes)}, place{a.arena.sge(9 * kPage, kGrh + kBytes)};
  post_receive(a.qp.get(), place);
  wr = send_wr(IBV_WR_SEND, answer);
  wr.wr.ud = {back.get(), came.src_qp, path.qkey};
  post(b.qp.get(), wr);
  EXPECT_EQ(take(b.send_cq.get()).status, IBV_WC_SUCCESS);
  const ibv_wc wc = take(a.receive_cq.get());
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
  EXPECT_EQ(wc.src_qp, b.qp->qp_num);
  EXPECT_EQ(wc.byte_len, kGrh + kBytes);
  a.arena.accept(9 * kPage, kGrh);
  a.arena.expect(9 * kPage + kGrh, b.arena.bytes(8 * kPage + 1, kBytes));
  expect_nothing_else_written();

  // The reply's headers: back from B to A, with the class and the label of what it answers.
  const std::span<const std::uint8_t> header = a.arena.bytes(9 * kPage, kGrh);
  const ibv_gid from = b.world.gid(path.gid_index), dest = a.world.gid(path.gid_index);
  if (path.gid_index == 2) {  // IPv4
    EXPECT_EQ(header[21], 0x60);
    EXPECT_TRUE(std::equal(from.raw + 12, from.raw + 16, header.begin() + 32));
    EXPECT_TRUE(std::equal(dest.raw + 12, dest.raw + 16, header.begin() + 36));
  } else {
    EXPECT_EQ(header[0], 0x66);
    EXPECT_EQ(header[1] & 0xf, 0x1);
    EXPECT_EQ(header[2], 0x23);
    EXPECT_EQ(header[3], 0x45);
    EXPECT_TRUE(std::equal(std::begin(from.raw), std::end(from.raw), header.begin() + 8));
    EXPECT_TRUE(std::equal(std::begin(dest.raw), std::end(dest.raw), header.begin() + 24));
  }
}

TEST_P(Lifecycle, ADatagramIsAnsweredByAHandleMadeOfItsCompletion) {
  for (const int gid_index : {0, 1, 2}) {
    SCOPED_TRACE(gid_index);
    Path path;
    path.gid_index = gid_index;
    reply(path, [&](ibv_wc& wc, ibv_grh* grh) {
      return own(ibv_create_ah_from_wc(b.world.pd.get(), &wc, grh, 1), "ibv_create_ah_from_wc");
    });
    reply(path, [&](ibv_wc& wc, ibv_grh* grh) {
      ibv_ah_attr attr{};
      EXPECT_EQ(ibv_init_ah_from_wc(b.world.context.get(), 1, &wc, grh, &attr), 0);
      const ibv_gid sender = a.world.gid(gid_index);
      EXPECT_EQ(std::memcmp(attr.grh.dgid.raw, sender.raw, sizeof sender.raw), 0);
      EXPECT_EQ(attr.is_global, 1);
      EXPECT_EQ(attr.port_num, 1);
      EXPECT_EQ(attr.grh.sgid_index, gid_index);
      EXPECT_EQ(attr.grh.traffic_class, 0x60);
      EXPECT_EQ(attr.grh.flow_label, gid_index == 2 ? 0u : 0x12345u);
      // A completion that has no GRH says too little.
      ibv_wc without = wc;
      without.wc_flags &= ~0u ^ IBV_WC_GRH;
      ibv_ah_attr none{};
      EXPECT_NE(ibv_init_ah_from_wc(b.world.context.get(), 1, &without, grh, &none), 0);
      EXPECT_EQ(ibv_create_ah_from_wc(b.world.pd.get(), &without, grh, 1), nullptr);
      return own(ibv_create_ah(b.world.pd.get(), &attr), "ibv_create_ah");
    });
  }
}

RXNIC_ON_ONE_AND_TWO_NICS(Lifecycle);

// Apart from the others: its frames are not RDMA.
class PeerAddress : public PairTest {};

// A frame to the MAC address of a peer's GID comes to that peer.
TEST_P(PeerAddress, AFrameToTheMacAddressOfAGidComesToThePeer) {
  constexpr std::size_t kFrame = 200;
  const Owned<ibv_qp> sender = make_qp(a.world, a.send_cq.get(), a.receive_cq.get(), {.type = IBV_QPT_RAW_PACKET});
  const Owned<ibv_qp> receiver = make_qp(b.world, b.send_cq.get(), b.receive_cq.get(), {.type = IBV_QPT_RAW_PACKET});
  for (ibv_qp* const qp : {sender.get(), receiver.get()}) {
    ibv_qp_attr attr{};
    attr.port_num = 1;
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      attr.qp_state = state;
      must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0)), "ibv_modify_qp");
    }
  }
  MacAddress last{};
  for (const int gid_index : {0, 1, 2}) {
    ibv_ah_attr to = address_of(b.world, {.gid_index = gid_index});
    MacAddress mac{};
    std::uint16_t vlan = 7;
    ASSERT_EQ(ibv_resolve_eth_l2_from_gid(a.world.context.get(), &to, mac.data(), &vlan), 0);
    EXPECT_EQ(vlan, 0xffff) << "none";
    if (gid_index > 0) {
      EXPECT_EQ(mac, last);
    }
    last = mac;
    struct {
      ibv_flow_attr attributes;
      ibv_flow_spec_eth ethernet;
    } wanted{};
    wanted.attributes.type = IBV_FLOW_ATTR_NORMAL;
    wanted.attributes.size = sizeof wanted;
    wanted.attributes.num_of_specs = 1;
    wanted.attributes.port = 1;
    wanted.ethernet.type = IBV_FLOW_SPEC_ETH;
    wanted.ethernet.size = sizeof wanted.ethernet;
    std::ranges::copy(mac, wanted.ethernet.val.dst_mac);
    std::memset(wanted.ethernet.mask.dst_mac, 0xff, mac.size());
    ibv_flow* const flow = ibv_create_flow(receiver.get(), &wanted.attributes);
    ASSERT_NE(flow, nullptr);
    std::ranges::copy(mac, a.arena.at(0));
    const std::array<std::uint8_t, 8> source_and_type{0x02, 0xaa, 0, 0, 0, 1, 0x88, 0xb5};
    std::ranges::copy(source_and_type, a.arena.at(mac.size()));
    a.arena.accept(0, mac.size() + source_and_type.size());
    std::array<ibv_sge, 1> source{a.arena.sge(0, kFrame)}, sink{b.arena.sge(gid_index * kPage, kFrame)};
    post_receive(receiver.get(), sink);
    ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
    post(sender.get(), wr);
    EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(take(b.receive_cq.get()).byte_len, kFrame);
    b.arena.expect(gid_index * kPage, a.arena.bytes(0, kFrame));
    expect_nothing_else_written();
    EXPECT_EQ(ibv_destroy_flow(flow), 0);
  }
  // A multicast group: 01:00:5e and the low 23 bits of its IPv4 address.
  ibv_ah_attr group = address_of(b.world, {});
  group.grh.dgid = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 129, 2, 3}};
  MacAddress mac{};
  ASSERT_EQ(ibv_resolve_eth_l2_from_gid(a.world.context.get(), &group, mac.data(), nullptr), 0);
  EXPECT_EQ(mac, (MacAddress{0x01, 0x00, 0x5e, 1, 2, 3}));
}

RXNIC_ON_ONE_AND_TWO_NICS(PeerAddress);

}  // namespace
}  // namespace rxnic::live::lifecycle_test
