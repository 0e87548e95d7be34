// SPDX-License-Identifier: Apache-2.0
// What programs do that a capture does not show, for params_check.py: params_program WHAT
//
//   objects     asks for more of every kind of object than small limits allow, and goes on when it is refused
//   clock       reads the NIC's clock
//   pingpong    one SEND at a time, there and back
//   batches     many SENDs with one doorbell
//   stream      long WRITEs, many at a time
//   streams     the same from several QPs
//   datagrams   UD SENDs
//   many        SENDs over many QPs with CQs of their own
//   spread      the same over few QPs, whose numbers have equal low bits
//   armed       SENDs whose completions raise events, many CQs at a time
//   moderated   the same with moderated CQs
//   flushed     receives posted to QPs in the error state
//   late        a receive posted 50 ms of wall time after the SEND that needs it
//   resized     a CQ that holds completions, made larger
//   overloaded  more READs than the responder holds
//   bad_lkey    a receive whose buffer is none
//   steering    flows and RSS QPs, more than small limits allow
//   rendezvous  requests for messages that match tags, all at once
//   tso         a message that the device cuts into segments
//
// The QPs are on the first and the last NIC.
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string_view>
#include <thread>
#include <vector>

#include "testbench/e2e/params_program.h"
#include "testbench/live/verbs_world.h"

namespace rxnic::live {
namespace {

constexpr std::size_t kPage = 4096;

std::uint32_t last_nic() {
  int count = 0;
  ibv_free_device_list(ibv_get_device_list(&count));
  return static_cast<std::uint32_t>(count - 1);
}

struct End {
  explicit End(const World& world, std::size_t pages = 64)
      : send_cq(world.cq()), receive_cq(world.cq()), arena(world, pages * kPage) {}
  Owned<ibv_cq> send_cq, receive_cq;
  Arena arena;
  Owned<ibv_qp> qp;
};

// QPs from the first NIC to the last, each with CQs of its own.
struct Pairs {
  explicit Pairs(std::size_t count, std::size_t pages = 64, const QpShape& shape = {}, const Path& path = {}) {
    for (std::size_t i = 0; i < count; ++i) {
      for (auto* ends : {&from, &to}) {
        const World& world = ends == &from ? near : far;
        End& end = *ends->emplace_back(std::make_unique<End>(world, pages));
        end.qp = make_qp(world, end.send_cq.get(), end.receive_cq.get(), shape);
      }
      connect_both(from[i]->qp.get(), near, to[i]->qp.get(), far, path);
    }
  }
  void expect_receives(std::size_t i, std::size_t count, std::size_t bytes) {
    std::array<ibv_sge, 1> list{to[i]->arena.sge(0, bytes)};
    for (std::size_t n = 0; n < count; ++n) post_receive(to[i]->qp.get(), list);
  }
  void send(std::size_t i, std::size_t bytes) {
    std::array<ibv_sge, 1> list{from[i]->arena.sge(0, bytes)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, list);
    post(from[i]->qp.get(), wr);
  }
  // `count` WRs with one doorbell.
  void post_batch(std::size_t i, ibv_wr_opcode opcode, std::size_t count, std::size_t bytes) {
    std::array<ibv_sge, 1> list{from[i]->arena.sge(0, bytes)};
    std::vector<ibv_send_wr> batch(count, send_wr(opcode, list));
    for (std::size_t n = 0; n < count; ++n) {
      batch[n].next = n + 1 < count ? &batch[n + 1] : nullptr;
      batch[n].wr.rdma = {to[i]->arena.address(0), to[i]->arena.region->rkey};
    }
    post(from[i]->qp.get(), batch.front());
  }
  World near{0}, far{last_nic()};
  std::vector<std::unique_ptr<End>> from, to;
};

void take_some(ibv_cq* cq, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) take(cq);
}

// Calls make() until it is refused or has made `most`.
template <class Make>
auto as_many(std::size_t most, Make make) {
  std::vector<decltype(make())> made;
  while (made.size() < most) {
    try {
      made.push_back(make());
    } catch (const std::exception&) {
      break;
    }
  }
  return made;
}

void objects() {
  constexpr std::size_t kMost = 12;
  const World world(0);
  const auto pds = as_many(kMost, [&] { return own(ibv_alloc_pd(world.context.get()), "ibv_alloc_pd"); });
  std::vector<Owned<ibv_mr>> of_pds;
  static std::array<std::uint8_t, kPage> memory;
  for (const auto& pd : pds) {
    of_pds.emplace_back(ibv_reg_mr(pd.get(), memory.data(), 64, 0));
    if (of_pds.back() == nullptr) of_pds.pop_back();
  }
  of_pds.clear();
  std::vector<std::uint8_t> large(std::size_t{4} << 20);
  const auto regions =
      as_many(kMost, [&] { return own(ibv_reg_mr(world.pd.get(), large.data(), large.size(), 0), "ibv_reg_mr"); });
  const auto cqs = as_many(kMost, [&] { return world.cq(4096); });
  const auto srqs = as_many(kMost, [&] {
    ibv_srq_init_attr init{};
    init.attr = {4096, 1, 0};
    return own(ibv_create_srq(world.pd.get(), &init), "ibv_create_srq");
  });
  if (cqs.empty()) return;
  const auto qps = as_many(kMost, [&] {
    QpShape shape;
    shape.wrs = 1024;
    return make_qp(world, cqs[0].get(), cqs[0].get(), shape);
  });
  for (const auto& qp : qps) {
    try {
      Path path;
      path.rd_atomic = 16;
      connect(qp.get(), world, qp->qp_num, path);
    } catch (const std::exception&) {
    }
  }
  QpShape datagrams;
  datagrams.type = IBV_QPT_UD;
  const auto ud = as_many(1, [&] { return make_qp(world, cqs[0].get(), cqs[0].get(), datagrams); });
  if (ud.empty()) return;
  connect(ud[0].get(), world, 0);
  std::vector<ibv_gid> groups;
  for (std::uint8_t n = 0; n < kMost; ++n) {
    ibv_gid group{};
    group.raw[0] = 0xff;
    group.raw[1] = 0x0e;
    group.raw[15] = n;
    if (ibv_attach_mcast(ud[0].get(), &group, 0) == 0) groups.push_back(group);
  }
  for (const ibv_gid& group : groups) must(ibv_detach_mcast(ud[0].get(), &group, 0), "ibv_detach_mcast");
}

void read_clock() {
  const World world(0);
  for (int i = 0; i < 200; ++i) {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    must(ibv_query_rt_values_ex(world.context.get(), &values), "ibv_query_rt_values_ex");
  }
}

void pingpong() {
  Pairs pair(1);
  std::array<ibv_sge, 1> back{pair.from[0]->arena.sge(0, 32)}, there{pair.to[0]->arena.sge(0, 32)};
  for (int i = 0; i < 50; ++i) {
    pair.expect_receives(0, 1, 32);
    post_receive(pair.from[0]->qp.get(), back);
    pair.send(0, 32);
    take(pair.to[0]->receive_cq.get());
    ibv_send_wr wr = send_wr(IBV_WR_SEND, there);
    post(pair.to[0]->qp.get(), wr);
    take(pair.from[0]->receive_cq.get());
    take(pair.from[0]->send_cq.get());
    take(pair.to[0]->send_cq.get());
  }
}

void batches() {
  constexpr std::size_t kCount = 100;
  Pairs pair(1);
  for (int i = 0; i < 4; ++i) {
    pair.expect_receives(0, kCount, 32);
    pair.post_batch(0, IBV_WR_SEND, kCount, 32);
    take_some(pair.from[0]->send_cq.get(), kCount);
    take_some(pair.to[0]->receive_cq.get(), kCount);
  }
}

void stream() {
  Pairs pair(1);
  pair.post_batch(0, IBV_WR_RDMA_WRITE, 20, 64 * kPage);
  take_some(pair.from[0]->send_cq.get(), 20);
}

void streams() {
  constexpr std::size_t kQps = 4, kWrites = 5;
  Pairs pairs(kQps);
  for (std::size_t i = 0; i < kQps; ++i) pairs.post_batch(i, IBV_WR_RDMA_WRITE, kWrites, 64 * kPage);
  for (auto& end : pairs.from) take_some(end->send_cq.get(), kWrites);
}

void datagrams() {
  QpShape shape;
  shape.type = IBV_QPT_UD;
  Path path;
  Pairs pair(1, 64, shape, path);
  ibv_ah_attr address = address_of(pair.far, path);
  const auto ah = own(ibv_create_ah(pair.near.pd.get(), &address), "ibv_create_ah");
  std::array<ibv_sge, 1> list{pair.from[0]->arena.sge(0, 64)};
  for (int round = 0; round < 4; ++round) {
    pair.expect_receives(0, 100, 128);
    std::vector<ibv_send_wr> batch(100, send_wr(IBV_WR_SEND, list));
    for (std::size_t n = 0; n < batch.size(); ++n) {
      batch[n].next = n + 1 < batch.size() ? &batch[n + 1] : nullptr;
      batch[n].wr.ud = {ah.get(), pair.to[0]->qp->qp_num, path.qkey};
    }
    post(pair.from[0]->qp.get(), batch.front());
    take_some(pair.from[0]->send_cq.get(), 100);
    take_some(pair.to[0]->receive_cq.get(), 100);
  }
}

constexpr std::size_t kMany = 24;

// Between the QPs are 7 others that nobody uses, each with an RQ and two CQs: the low bits of the numbers are equal.
void spread() {
  constexpr std::size_t kPairs = 32, kApart = 8;
  Pairs pairs(kPairs, 1);
  for (int round = 0; round < 8; ++round) {
    for (std::size_t i = 0; i < kPairs; i += kApart) {
      pairs.expect_receives(i, 1, 64);
      pairs.send(i, 64);
      take(pairs.from[i]->send_cq.get());
      take(pairs.to[i]->receive_cq.get());
    }
  }
}

void many() {
  Pairs pairs(kMany, 1);
  for (std::size_t i = 0; i < kMany; ++i) pairs.expect_receives(i, 8, 64);
  for (int round = 0; round < 8; ++round) {
    for (std::size_t i = 0; i < kMany; ++i) pairs.send(i, 64);
  }
  for (std::size_t i = 0; i < kMany; ++i) {
    take_some(pairs.from[i]->send_cq.get(), 8);
    take_some(pairs.to[i]->receive_cq.get(), 8);
  }
}

// The receive CQs of `count` pairs, each with a channel, armed; SENDs to all of them at once, and their events.
void events(std::size_t count, std::uint16_t moderated) {
  Pairs pairs(count, 1);
  std::vector<ibv_comp_channel*> channels;
  std::vector<ibv_cq*> cqs;
  std::vector<Owned<ibv_qp>> qps;
  for (std::size_t i = 0; i < count; ++i) {
    channels.push_back(ibv_create_comp_channel(pairs.far.context.get()));
    cqs.push_back(ibv_create_cq(pairs.far.context.get(), 64, nullptr, channels[i], 0));
    if (moderated != 0) {
      ibv_modify_cq_attr attr{};
      attr.attr_mask = IBV_CQ_ATTR_MODERATE;
      attr.moderate = {100, moderated};
      must(ibv_modify_cq(cqs[i], &attr), "ibv_modify_cq");
    }
    qps.push_back(make_qp(pairs.far, cqs[i], cqs[i]));
    Owned<ibv_qp> sender = make_qp(pairs.near, pairs.from[i]->send_cq.get(), pairs.from[i]->receive_cq.get());
    connect_both(sender.get(), pairs.near, qps[i].get(), pairs.far);
    pairs.from[i]->qp = std::move(sender);
  }
  for (int round = 0; round < 8; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      must(ibv_req_notify_cq(cqs[i], 0), "ibv_req_notify_cq");
      std::array<ibv_sge, 1> list{pairs.to[i]->arena.sge(0, 64)};
      post_receive(qps[i].get(), list);
    }
    for (std::size_t i = 0; i < count; ++i) pairs.send(i, 64);
    for (std::size_t i = 0; i < count; ++i) {
      ibv_cq* cq = nullptr;
      void* context = nullptr;
      must(ibv_get_cq_event(channels[i], &cq, &context), "ibv_get_cq_event");
      ibv_ack_cq_events(cq, 1);
      take(cq);
      take(pairs.from[i]->send_cq.get());
    }
  }
  qps.clear();
  for (std::size_t i = 0; i < count; ++i) {
    ibv_destroy_cq(cqs[i]);
    ibv_destroy_comp_channel(channels[i]);
  }
}

void flushed() {
  constexpr std::size_t kQps = 8;
  Pairs pairs(kQps, 1);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  for (auto& end : pairs.to) must(ibv_modify_qp(end->qp.get(), &attr, IBV_QP_STATE), "ibv_modify_qp(ERR)");
  for (int round = 0; round < 16; ++round) {
    for (std::size_t i = 0; i < kQps; ++i) pairs.expect_receives(i, 1, 64);
  }
  for (auto& end : pairs.to) take_some(end->receive_cq.get(), 16);
}

void late() {
  Path path;
  path.min_rnr_timer = 14;  // 0.96 ms: some 50 of them, when model time passes as wall time does
  Pairs pair(1, 1, {}, path);
  pair.send(0, 64);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  pair.expect_receives(0, 1, 64);
  take(pair.to[0]->receive_cq.get());
  take(pair.from[0]->send_cq.get());
}

void resized() {
  constexpr std::size_t kCount = 100;
  Pairs pair(1);
  for (int round = 0; round < 4; ++round) {
    pair.expect_receives(0, kCount, 32);
    pair.post_batch(0, IBV_WR_SEND, kCount, 32);
    take_some(pair.from[0]->send_cq.get(), kCount);
    must(ibv_resize_cq(pair.to[0]->receive_cq.get(), 512 << round), "ibv_resize_cq");
    take_some(pair.to[0]->receive_cq.get(), kCount);
  }
}

// The responder holds one READ or atomic at a time, the requester sends 16.
void overloaded() {
  Pairs pair(1);
  QpShape shape;
  End &near = *pair.from[0], &far = *pair.to[0];
  near.qp = make_qp(pair.near, near.send_cq.get(), near.receive_cq.get(), shape);
  far.qp = make_qp(pair.far, far.send_cq.get(), far.receive_cq.get(), shape);
  Path many, one;
  many.rd_atomic = 16;
  one.rd_atomic = 1;
  connect(far.qp.get(), pair.near, near.qp->qp_num, one);
  connect(near.qp.get(), pair.far, far.qp->qp_num, many);
  pair.post_batch(0, IBV_WR_RDMA_READ, 16, 8 * kPage);
  take_some(near.send_cq.get(), 16);
}

// A receive whose lkey is of nothing: prints its status.
void bad_lkey() {
  Pairs pair(1);
  std::array<ibv_sge, 1> list{pair.to[0]->arena.sge(0, 64)};
  list[0].lkey ^= 0x5500;
  post_receive(pair.to[0]->qp.get(), list);
  pair.send(0, 64);
  std::printf("%s\n", ibv_wc_status_str(take(pair.to[0]->receive_cq.get()).status));
  take(pair.from[0]->send_cq.get());
}

}  // namespace
}  // namespace rxnic::live

int main(int argc, char** argv) {
  using namespace rxnic::live;
  const std::map<std::string_view, std::function<void()>> all = {{"objects", objects},
                                                                 {"clock", read_clock},
                                                                 {"pingpong", pingpong},
                                                                 {"batches", batches},
                                                                 {"stream", stream},
                                                                 {"datagrams", datagrams},
                                                                 {"streams", streams},
                                                                 {"many", many},
                                                                 {"spread", spread},
                                                                 {"armed", [] { events(kMany, 0); }},
                                                                 {"moderated", [] { events(4, 1); }},
                                                                 {"flushed", flushed},
                                                                 {"late", late},
                                                                 {"resized", resized},
                                                                 {"overloaded", overloaded},
                                                                 {"bad_lkey", bad_lkey},
                                                                 {"rendezvous", rendezvous},
                                                                 {"device_memory", device_memory},
                                                                 {"paging", paging},
                                                                 {"steering", steering},
                                                                 {"tso", tso}};
  const auto what = argc == 2 ? all.find(argv[1]) : all.end();
  if (what == all.end()) {
    std::fprintf(stderr, "usage: params_program WHAT (params_program.cpp)\n");
    return 2;
  }
  try {
    what->second();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "params_program %s: %s\n", argv[1], error.what());
    return 1;
  }
}
