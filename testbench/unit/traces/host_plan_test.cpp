// SPDX-License-Identifier: Apache-2.0
#include "traces/host_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "traces/cm_message.h"

namespace rxnic {
namespace {

std::string refusal(const char* text) {
  try {
    parse_host_options(text);
  } catch (const OptionError& e) {
    return e.what();
  }
  return "";
}

TEST(HostOptions, EveryKeyIsRead) {
  const HostOptions o =
      parse_host_options("receive=srq,depth=1024,buffer=4096,sges=2,layout=cyclic,refill=batch:16,cqes=256");
  EXPECT_EQ(o.receive, ReceiveKind::kSrq);
  EXPECT_EQ(o.depth, 1024u);
  EXPECT_EQ(o.buffer, 4096u);
  EXPECT_EQ(o.sges, 2u);
  EXPECT_EQ(o.srq_layout, WqLayout::kCyclic);
  EXPECT_EQ(o.refill_batch, 16u);
  EXPECT_EQ(o.cq_slots, 256u);
  EXPECT_EQ(parse_host_options("receive=rq").receive, ReceiveKind::kRq);
  EXPECT_EQ(parse_host_options("receive=tm_srq").receive, ReceiveKind::kTagMatchingSrq);
  EXPECT_EQ(parse_host_options("layout=linked_list").srq_layout, WqLayout::kLinkedList);
  EXPECT_EQ(parse_host_options("refill=on_completion").refill_batch, 1u);
  EXPECT_EQ(parse_host_options("").depth, 0u);
}

TEST(HostOptions, ARefusalNamesKeyFoundAndExpected) {
  EXPECT_EQ(refusal("depth=abc"), "--host: depth: found 'abc'; expected a number, 1..32767");
  EXPECT_EQ(refusal("depth=0"), "--host: depth: found '0'; expected a number, 1..32767");
  EXPECT_EQ(refusal("depth=32768"), "--host: depth: found '32768'; expected a number, 1..32767");
  EXPECT_EQ(refusal("depth="), "--host: depth: found ''; expected a number, 1..32767");
  EXPECT_EQ(refusal("buffer=9999999999"), "--host: buffer: found '9999999999'; expected a number, 1..1073741824");
  EXPECT_EQ(refusal("sges=33"), "--host: sges: found '33'; expected a number, 1..32");
  EXPECT_EQ(refusal("receive=sq"), "--host: receive: found 'sq'; expected rq, srq or tm_srq");
  EXPECT_EQ(refusal("layout=ring"), "--host: layout: found 'ring'; expected linked_list or cyclic");
  EXPECT_EQ(refusal("refill=batch"), "--host: refill: found 'batch'; expected on_completion or batch:N");
  EXPECT_EQ(refusal("refill=batch:0"), "--host: refill: found '0'; expected a number, 1..32767");
  EXPECT_EQ(refusal("cqes=100"), "--host: cqes: found '100'; expected a power of two");
  EXPECT_EQ(refusal("size=1"),
            "--host: size: found 'an unknown key'; expected receive, depth, buffer, sges, layout, refill or cqes");
  EXPECT_EQ(refusal("depth=1,depth=2"), "--host: depth: found 'a second time'; expected once");
  EXPECT_EQ(refusal("depth"), "--host: depth: found 'no '=''; expected key=value");
  EXPECT_EQ(refusal("depth=1,"), "--host: list: found 'a comma at its end'; expected key=value");
}

SurveyedQp qp(std::uint32_t qpn, Transport transport = Transport::kRc) {
  SurveyedQp q;
  q.qpn = Qpn{qpn};
  q.transport = transport;
  q.peer = Address::ipv4(0x0a000001);
  q.peer_qpn = Qpn{qpn + 0x100};
  q.paired_by = PairedBy::kPsn;
  q.mtu = 1024;
  q.first_psn = Psn{77};
  q.initial_msn = 5;
  q.has_requests = true;
  q.largest_send = 3000;
  return q;
}

ReceiverSurvey survey_of(std::vector<SurveyedQp> qps) {
  ReceiverSurvey s;
  s.receiver = Address::ipv4(0x0a000002);
  s.qps = std::move(qps);
  return s;
}

const RegionPlan& region(const HostPlan& plan, Key key) {
  for (const RegionPlan& r : plan.regions) {
    if (r.mpt.key == raw(key)) return r;
  }
  throw std::out_of_range("no region");
}

TEST(HostPlan, AQpIsWhatTheSurveyFound) {
  const HostPlan p = make_host_plan(survey_of({qp(0x21)}), {});
  const QpContext& c = p.qps.at(0).context;
  EXPECT_EQ(c.valid, 1);
  EXPECT_EQ(c.state, QpState::kRts);
  EXPECT_EQ(c.qpn, Qpn{0x21});
  EXPECT_EQ(c.remote_qpn, Qpn{0x121});
  EXPECT_EQ(c.local, Address::ipv4(0x0a000002));
  EXPECT_EQ(c.remote, Address::ipv4(0x0a000001));
  EXPECT_EQ(c.mtu, 1024);
  EXPECT_EQ(c.expected_psn, Psn{77});
  EXPECT_EQ(c.msn, 5u);
  EXPECT_TRUE(c.resynchronise);
  EXPECT_EQ(c.receive_queue, WqId{0});
  EXPECT_FALSE(c.uses_srq);
  HostOptions strict;
  strict.resynchronise = false;
  EXPECT_FALSE(make_host_plan(survey_of({qp(0x21)}), strict).qps.at(0).context.resynchronise);
}

TEST(HostPlan, ByDefaultEachQpHasAnRqThatHoldsItsLargestMessage) {
  SurveyedQp small = qp(0x22);
  small.largest_send = 10;
  const HostPlan p = make_host_plan(survey_of({qp(0x21), small}), {});
  ASSERT_EQ(p.queues.size(), 2u);
  EXPECT_EQ(p.queues[0].context.kind, WqKind::kRq);
  EXPECT_EQ(p.queues[0].context.layout, WqLayout::kCyclic);
  EXPECT_EQ(p.queues[0].context.number, 0x21u);
  EXPECT_GE(p.queues[0].buffer_bytes, 3000u);
  EXPECT_LT(p.queues[0].buffer_bytes, 3100u);
  EXPECT_EQ(p.queues[1].buffer_bytes, 256u);
  EXPECT_EQ(p.queues[0].depth, 256u);
  EXPECT_EQ(p.queues[0].context.slots, 256u);
  EXPECT_EQ(p.qps[1].queue, 1u);
}

TEST(HostPlan, OneSrqServesAllWhenAsked) {
  const HostPlan p =
      make_host_plan(survey_of({qp(0x21), qp(0x22), qp(1, Transport::kUd)}), parse_host_options("receive=srq"));
  ASSERT_EQ(p.queues.size(), 2u);  // and QP1's RQ
  const QueuePlan& srq = p.queues[p.qps[0].queue];
  EXPECT_EQ(p.qps[0].queue, p.qps[1].queue);
  EXPECT_EQ(srq.context.kind, WqKind::kSrq);
  EXPECT_EQ(srq.context.layout, WqLayout::kLinkedList);
  EXPECT_EQ(srq.depth, 1024u);
  EXPECT_EQ(srq.context.slots, 2048u) << "a list of n slots holds n - 1";
  EXPECT_TRUE(p.qps[0].context.uses_srq);
  EXPECT_FALSE(p.qps[2].context.uses_srq);
}

TEST(HostPlan, StrideHoldsTheSegmentsOfTheLayout) {
  const auto stride = [](const char* options) {
    return make_host_plan(survey_of({qp(0x21)}), parse_host_options(options)).queues.at(0).context.stride;
  };
  EXPECT_EQ(stride(""), 32u);
  EXPECT_EQ(stride("sges=2"), 32u);
  EXPECT_EQ(stride("sges=3"), 64u);
  EXPECT_EQ(stride("receive=srq"), 32u);
  EXPECT_EQ(stride("receive=srq,sges=2"), 64u);
  EXPECT_EQ(stride("receive=srq,sges=2,layout=cyclic"), 32u);
}

TEST(HostPlan, UdBuffersHaveRoomForTheGrh) {
  SurveyedQp ud = qp(0x23, Transport::kUd);
  ud.largest_send = 1024;
  ud.qkey = 9;
  const HostPlan p = make_host_plan(survey_of({ud}), {});
  EXPECT_GE(p.queues.at(0).buffer_bytes, 1064u);
  EXPECT_EQ(p.qps.at(0).context.remote, Address{});
  EXPECT_EQ(p.qps.at(0).context.qkey, 9u);
}

TEST(HostPlan, Qp1GetsBuffersForOneMad) {
  SurveyedQp gsi = qp(1, Transport::kUd);
  gsi.qkey = kGsiQkey;
  const HostPlan p = make_host_plan(survey_of({gsi}), parse_host_options("receive=srq,buffer=64"));
  EXPECT_EQ(p.queues.at(0).buffer_bytes, 296u);
  EXPECT_EQ(p.queues.at(0).context.kind, WqKind::kRq);
  EXPECT_EQ(p.qps.at(0).context.qkey, 0x80010000u);
}

TEST(HostPlan, XrcSrqsAreThoseThatPacketsName) {
  SurveyedQp x = qp(0x22, Transport::kXrc);
  x.xrc_srqs = {Srqn{5}, Srqn{9}};
  const HostPlan p = make_host_plan(survey_of({x, qp(0x30)}), parse_host_options("receive=srq"));
  ASSERT_EQ(p.queues.size(), 3u);
  EXPECT_EQ(p.qps[0].queue, kNoQueue);
  EXPECT_EQ(p.qps[0].context.receive_queue, kNoWq);
  EXPECT_EQ(p.qps[0].context.xrcd, HostPlan::kXrcd);
  EXPECT_EQ(p.queues[0].context.number, 1u);
  EXPECT_EQ(p.queues[1].context.number, 5u);
  EXPECT_EQ(p.queues[1].context.xrcd, HostPlan::kXrcd);
  EXPECT_EQ(p.queues[2].context.number, 9u);
}

TEST(HostPlan, TagMatchingMarksTheSrqAndItsQps) {
  const HostPlan p = make_host_plan(survey_of({qp(0x21), qp(1, Transport::kUd)}), parse_host_options("receive=tm_srq"));
  EXPECT_TRUE(p.queues[p.qps[0].queue].context.tag_matching);
  EXPECT_TRUE(p.qps[0].context.tag_matching);
  EXPECT_FALSE(p.qps[1].context.tag_matching);
}

TEST(HostPlan, ARegionSpansTheAddressesAndHasTheRightsUsed) {
  ReceiverSurvey s = survey_of({});
  s.regions.push_back({Key{0x1234}, 0x10fff, 0x13001, kRemoteRead, 1, 1});
  const HostPlan p = make_host_plan(s, {});
  const RegionPlan& r = region(p, Key{0x1234});
  EXPECT_EQ(r.mpt.va, 0x10fffu);
  EXPECT_EQ(r.mpt.length, 0x2002u);
  EXPECT_EQ(r.mpt.access, kRemoteRead);
  EXPECT_EQ(r.mpt.page_shift, 12);
  EXPECT_EQ(r.mpt.pd, raw(HostPlan::kPd));
  EXPECT_EQ(r.pages.size(), 4u) << "pages 0x10 to 0x13";
  EXPECT_EQ(r.install_before, 0u);
}

TEST(HostPlan, PagesGrowWithTheRegion) {
  struct Case {
    std::uint64_t length;
    unsigned shift;
  };
  for (const Case& c : {Case{std::uint64_t{64} << 20, 12},
                        {(std::uint64_t{64} << 20) + 1, 21},
                        {std::uint64_t{1} << 37, 21},
                        {std::uint64_t{1} << 38, 22},
                        {std::uint64_t{1} << 47, 31}}) {
    ReceiverSurvey s = survey_of({});
    s.regions.push_back({Key{0x1234}, 0, c.length, kRemoteRead, 1, 1});
    const HostPlan p = make_host_plan(s, {});
    EXPECT_EQ(p.regions.at(0).mpt.page_shift, c.shift) << c.length;
    EXPECT_LE(p.regions.at(0).pages.size(), 65536u);
    EXPECT_GE(p.regions.at(0).pages.size() << c.shift, c.length);
  }
}

TEST(HostPlan, DataPagesStayWithin64MiB) {
  ReceiverSurvey s = survey_of({qp(0x21), qp(0x22)});
  s.qps[0].largest_send = s.qps[1].largest_send = 1 << 20;  // 256 MiB of buffers each
  s.regions.push_back({Key{0x1000}, 0, std::uint64_t{1} << 32, kRemoteRead, 1, 1});
  s.regions.push_back({Key{0x2000}, 0x100000, 0x200000, kRemoteAtomic, 1, 1});
  s.atomics.push_back({Key{0x2000}, 0x100008, 41});
  const HostPlan p = make_host_plan(s, {});
  std::uint64_t lowest = ~0ull, highest = 0;
  for (const RegionPlan& r : p.regions) {
    for (const BusAddress page : r.pages) {
      EXPECT_EQ(raw(page) & ((1u << r.mpt.page_shift) - 1), 0u);
      lowest = std::min(lowest, raw(page));
      highest = std::max(highest, raw(page) + (1u << r.mpt.page_shift));
    }
  }
  EXPECT_LE(highest - lowest, std::uint64_t{64} << 20);
  EXPECT_FALSE(p.notes.empty());

  // The pages that hold atomics are nobody else's.
  const RegionPlan& atomics = region(p, Key{0x2000});
  EXPECT_TRUE(p.atomics_comparable);
  const std::uint64_t end = raw(atomics.pages.back()) + 4096;
  for (const RegionPlan& r : p.regions) {
    if (&r == &atomics) continue;
    for (const BusAddress page : r.pages) EXPECT_GE(raw(page), end);
  }
}

TEST(HostPlan, RegionsThatFitShareNothing) {
  ReceiverSurvey s = survey_of({qp(0x21), qp(0x22)});
  s.regions.push_back({Key{0x1000}, 5, 100000, kRemoteRead, 1, 1});
  s.regions.push_back({Key{0x2000}, 5, 100000, kRemoteRead, 1, 1});
  const HostPlan p = make_host_plan(s, {});
  std::set<std::uint64_t> pages;
  std::map<std::uint64_t, std::uint64_t> lists;
  for (const RegionPlan& r : p.regions) {
    EXPECT_FALSE(r.aliased);
    for (const BusAddress page : r.pages) EXPECT_TRUE(pages.insert(raw(page)).second);
    lists[r.mpt.mtt_base] = r.mpt.mtt_base + r.pages.size() * 8;
  }
  ASSERT_EQ(lists.size(), p.regions.size());
  std::uint64_t end = 0;
  for (const auto& [first, last] : lists) {
    EXPECT_GE(first, end);
    end = last;
  }
}

TEST(HostPlan, KeysOfOneIndexReplaceEachOtherWhenTheyAreUsed) {
  ReceiverSurvey s = survey_of({qp(0x21)});
  s.regions.push_back({Key{0x1701}, 0, 100, kRemoteRead, 1, 4});
  s.regions.push_back({Key{0x1702}, 0, 100, kRemoteRead, 1, 9});
  s.regions.push_back({Key{0x0200}, 0, 100, kRemoteRead, 1, 12});
  const HostPlan p = make_host_plan(s, {});
  EXPECT_EQ(region(p, Key{0x1701}).install_before, 0u);
  EXPECT_EQ(region(p, Key{0x1702}).install_before, 9u);
  EXPECT_EQ(region(p, Key{0x0200}).install_before, 0u);
  EXPECT_NE(raw(p.queues.at(0).lkey) >> 8, 2u) << "the host's own keys keep out of the way";
  EXPECT_NE(raw(p.queues.at(0).lkey) >> 8, 1u);
}

TEST(HostPlan, AKeyThatWasInvalidatedHasALifeForEachUse) {  // R8
  ReceiverSurvey s = survey_of({qp(0x21)});
  for (const std::uint64_t first : {4u, 9u, 12u}) {
    s.regions.push_back({Key{0x1701}, first << 12, (first << 12) + 100, kRemoteRead, 1, first, first != 12});
  }
  const HostPlan p = make_host_plan(s, {});
  std::vector<const RegionPlan*> lives;
  for (const RegionPlan& r : p.regions) {
    if (r.mpt.key == 0x1701) lives.push_back(&r);
  }
  ASSERT_EQ(lives.size(), 3u);
  EXPECT_EQ(lives[0]->install_before, 0u);
  EXPECT_EQ(lives[1]->install_before, 9u);
  EXPECT_EQ(lives[2]->install_before, 12u);
  EXPECT_EQ(lives[1]->mpt.va, 9u << 12);
  EXPECT_EQ(lives[1]->mpt.kind, MemoryKind::kFastRegistered);
  EXPECT_EQ(lives[2]->mpt.kind, MemoryKind::kRegion);
}

TEST(HostPlan, AtomicsAreSeededWhereTheirPageIs) {
  ReceiverSurvey s = survey_of({});
  s.regions.push_back({Key{0x2000}, 0x10ff8, 0x12000, kRemoteAtomic, 1, 1});
  s.atomics.push_back({Key{0x2000}, 0x11010, 41});
  HostPlan p = make_host_plan(s, {});
  ASSERT_EQ(p.seeds.size(), 1u);
  EXPECT_EQ(p.seeds[0].value, 41u);
  EXPECT_EQ(p.seeds[0].address, p.regions.at(0).pages.at(1) + 0x10);
  EXPECT_TRUE(p.atomics_comparable);
  s.atomics_unanswered = 1;
  EXPECT_FALSE(make_host_plan(s, {}).atomics_comparable);
}

TEST(HostPlan, AnswersToOwnRequestsHaveABuffer) {
  SurveyedQp q = qp(0x21);
  q.largest_local_read = 5000;
  const HostPlan p = make_host_plan(survey_of({q, qp(0x22)}), {});
  EXPECT_EQ(p.qps[0].answer_bytes, 5000u);
  const RegionPlan& r = region(p, p.qps[0].answer_lkey);
  EXPECT_EQ(r.mpt.va, p.qps[0].answer_va);
  EXPECT_EQ(r.mpt.length, 5000u);
  EXPECT_EQ(r.mpt.access, kLocalWrite);
  EXPECT_EQ(p.qps[1].answer_bytes, 0u);
}

TEST(HostPlan, ManyQpsGetShallowQueues) {
  std::vector<SurveyedQp> many;
  for (std::uint32_t i = 0; i < 2048; ++i) many.push_back(qp(0x100 + i));
  const HostPlan p = make_host_plan(survey_of(std::move(many)), {});
  EXPECT_EQ(p.queues.at(0).depth, 32u);
}

TEST(HostPlan, RnrMomentsBecomeHolds) {
  SurveyedQp q = qp(0x21);
  q.rnr_after_receives = {3, 8};
  EXPECT_EQ(make_host_plan(survey_of({q}), {}).queues.at(0).hold_after, (std::vector<std::uint64_t>{3, 8}));
}

TEST(HostPlan, DataSegmentsDivideTheBufferAndEndTheList) {
  QueuePlan q;
  q.buffer_bytes = 1000;
  q.sges = 3;
  q.lkey = Key{0x300};
  q.buffers_va = 0x10000;
  std::array<DataSegment, 4> out;
  EXPECT_EQ(fill_data_segments(q, 2, out), 4u);
  EXPECT_EQ(out[0].address, 0x10000u + 2000);
  EXPECT_EQ(out[0].length, 333u);
  EXPECT_EQ(out[2].length, 334u);
  EXPECT_EQ(out[2].address, 0x10000u + 2666);
  EXPECT_EQ(out[1].lkey, 0x300u);
  EXPECT_EQ(out[3].lkey, raw(kInvalidKey));
  std::array<DataSegment, 3> full;
  EXPECT_EQ(fill_data_segments(q, 0, full), 3u);
}

}  // namespace
}  // namespace rxnic
