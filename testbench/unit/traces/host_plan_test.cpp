// SPDX-License-Identifier: Apache-2.0
#include "traces/host_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "traces/cm_message.h"

namespace rxnic::host_plan_test {
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
  EXPECT_EQ(parse_host_options("").page_shift, 12u);
  EXPECT_EQ(parse_host_options("page=4K").page_shift, 12u);
  EXPECT_EQ(parse_host_options("page=2M").page_shift, 21u);
  EXPECT_EQ(parse_host_options("page=1G").page_shift, 30u);
  EXPECT_EQ(parse_host_options("").wqe_order, WqeOrder::kCompletion);
  EXPECT_EQ(parse_host_options("wqe_order=completion").wqe_order, WqeOrder::kCompletion);
  EXPECT_EQ(parse_host_options("wqe_order=sequential").wqe_order, WqeOrder::kSequential);
  EXPECT_EQ(parse_host_options("wqe_order=shuffled").wqe_order, WqeOrder::kShuffled);
  EXPECT_EQ(parse_host_options("").cq_compression, CqCompression::kByParameter);
  EXPECT_EQ(parse_host_options("cq_compression=on").cq_compression, CqCompression::kOn);
  EXPECT_EQ(parse_host_options("cq_compression=off").cq_compression, CqCompression::kOff);
  const HostOptions tags = parse_host_options("tags=64,mask=0xff00,receive=tm_srq");
  EXPECT_EQ(tags.tags, 64u);
  EXPECT_EQ(tags.tag_mask, 0xff00u);
  EXPECT_EQ(parse_host_options("tags=64,receive=tm_srq").tag_mask, ~std::uint64_t{0});
  EXPECT_EQ(parse_host_options("tags=1,receive=tm_srq,mask=0").tag_mask, 0u);
}

TEST(HostOptions, TheProgramIsRead) {
  const HostOptions o = parse_host_options(
      "receive=srq,qps_per_srq=4,qps_per_cq=2,sge_bytes=64+4032,completions=events,moderation_count=16,"
      "moderation_period=8,service=1500,service_time=exponential,workers=3");
  EXPECT_EQ(o.qps_per_srq, 4u);
  EXPECT_EQ(o.qps_per_cq, 2u);
  EXPECT_EQ(o.sge_bytes, (std::vector<std::uint32_t>{64, 4032}));
  EXPECT_EQ(o.sges, 2u);
  EXPECT_EQ(o.buffer, 4096u);
  EXPECT_TRUE(o.completions.events);
  EXPECT_EQ(o.completions.moderation_count, 16u);
  EXPECT_EQ(o.completions.moderation_period_us, 8u);
  EXPECT_EQ(o.application.service_ps, 1'500'000u);
  EXPECT_EQ(o.application.distribution, ServiceTime::kExponential);
  EXPECT_EQ(o.application.workers, 3u);
  const HostOptions tags = parse_host_options(
      "receive=tm_srq,tags=64,tag_order=shuffled,tag_window=8,unexpected_ppm=1000,unexpected_lag=5,any_source_ppm=1,"
      "any_tag_ppm=2,delete_ppm=3,sync_lag=4,failing_ppm=6");
  EXPECT_EQ(tags.tag_policy, (TagPolicy{TagOrder::kShuffled, 8, 1000, 5, 1, 2, 3, 4, 6}));
  EXPECT_EQ(parse_host_options("").tag_policy, TagPolicy{});
}

TEST(HostOptions, AKeyThatNeedsAnotherIsRefusedWithoutIt) {
  EXPECT_EQ(refusal("qps_per_srq=2"), "--host: qps_per_srq: found '2'; expected receive=srq or tm_srq with it");
  EXPECT_EQ(refusal("workers=2"), "--host: workers: found '2'; expected service with it");
  EXPECT_EQ(refusal("service_time=fixed"), "--host: service_time: found 'fixed'; expected service with it");
  EXPECT_EQ(refusal("moderation_count=2"), "--host: moderation_count: found '2'; expected completions=events with it");
  EXPECT_EQ(refusal("sge_bytes=8+8,buffer=64"), "--host: buffer: found '64'; expected it or sge_bytes");
  EXPECT_EQ(refusal("sge_bytes=8+x"), "--host: sge_bytes: found 'x'; expected a number, 1..1073741824");
  EXPECT_EQ(refusal("sge_bytes=1073741824+1"),
            "--host: sge_bytes: found '2 SGEs of 1073741825 bytes'; expected 1..32 SGEs of up to 2^30 bytes in all");
  EXPECT_EQ(refusal("receive=tm_srq,delete_ppm=5"), "--host: delete_ppm: found '5'; expected tags=N with it");
  EXPECT_EQ(refusal("receive=tm_srq,tags=4,unexpected_lag=5"),
            "--host: unexpected_lag: found '5'; expected unexpected_ppm with it");
  EXPECT_EQ(refusal("receive=tm_srq,tags=4,tag_window=5"),
            "--host: tag_window: found '5'; expected tag_order=reversed or shuffled with it");
  EXPECT_EQ(refusal("receive=tm_srq,tags=4,tag_order=reversed"),
            "--host: tag_order: found 'reversed'; expected tag_window with it");
  EXPECT_EQ(refusal("receive=tm_srq,tags=4,qps_per_srq=5"),
            "--host: tags: found '4'; expected one SRQ, without qps_per_srq");
  EXPECT_EQ(refusal("service=1000000001"), "--host: service: found '1000000001'; expected a number, 0..1000000000");
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
            "--host: size: found 'an unknown key'; expected receive, qps_per_srq, qps_per_cq, depth, buffer, sges, "
            "sge_bytes, layout, refill, cqes, page, wqe_order, cq_compression, completions, moderation_count, "
            "moderation_period, service, service_time, workers, tags, mask, tag_order, tag_window, unexpected_ppm, "
            "unexpected_lag, any_source_ppm, any_tag_ppm, delete_ppm, sync_lag or failing_ppm");
  EXPECT_EQ(refusal("page=4k"), "--host: page: found '4k'; expected 4K, 2M or 1G");
  EXPECT_EQ(refusal("wqe_order=random"),
            "--host: wqe_order: found 'random'; expected sequential, shuffled or completion");
  EXPECT_EQ(refusal("cq_compression=yes"), "--host: cq_compression: found 'yes'; expected on or off");
  EXPECT_EQ(refusal("tags=0"), "--host: tags: found '0'; expected a number, 1..1048576");
  EXPECT_EQ(refusal("tags=4"), "--host: tags: found '4'; expected receive=tm_srq with it");
  EXPECT_EQ(refusal("tags=4,receive=srq"), "--host: tags: found '4'; expected receive=tm_srq with it");
  EXPECT_EQ(refusal("mask=ff,receive=tm_srq"), "--host: mask: found 'ff'; expected tags=N with it");
  for (const std::string mask : {"", "0x", "fg", "-1", "11112222333344445"}) {
    EXPECT_EQ(refusal(("receive=tm_srq,tags=4,mask=" + mask).c_str()),
              "--host: mask: found '" + mask + "'; expected 1 to 16 hexadecimal digits");
  }
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

bool has_note(const HostPlan& plan, const std::string& part) {
  return std::any_of(plan.notes.begin(), plan.notes.end(),
                     [&part](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST(HostPlan, SrqsAndCqsAreSharedByNeighbours) {  // R2, R11
  std::vector<SurveyedQp> qps;
  for (std::uint32_t n = 0; n < 5; ++n) qps.push_back(qp(0x21 + n));
  const HostPlan plan = make_host_plan(survey_of(qps), parse_host_options("receive=srq,qps_per_srq=2,qps_per_cq=3"));
  ASSERT_EQ(plan.queues.size(), 3u);
  ASSERT_EQ(plan.cqs.size(), 2u);
  std::set<std::uint32_t> numbers;
  for (const QueuePlan& q : plan.queues) numbers.insert(q.context.number);
  EXPECT_EQ(numbers.size(), 3u);
  for (std::uint32_t n = 0; n < 5; ++n) {
    EXPECT_EQ(plan.qps[n].queue, n / 2);
    EXPECT_EQ(raw(plan.qps[n].context.receive_cq), n / 3);
  }
  EXPECT_EQ(make_host_plan(survey_of(qps), parse_host_options("receive=srq")).queues.size(), 1u);
  EXPECT_EQ(plan.cqs[0].slots, 65536u);
  EXPECT_GE(raw(plan.cqs[1].base), raw(plan.cqs[0].base) + 65536u * 64);
}

TEST(HostPlan, ManyCqsAreSmallUnlessTheyAreAskedToBeLarge) {
  std::vector<SurveyedQp> qps;
  for (std::uint32_t n = 0; n < 64; ++n) qps.push_back(qp(0x21 + n));
  const auto slots = [&](const char* host) {
    return make_host_plan(survey_of(qps), parse_host_options(host)).cqs[63].slots;
  };
  EXPECT_EQ(slots("qps_per_cq=1"), 16384u);
  EXPECT_EQ(slots("qps_per_cq=1,cqes=1024"), 1024u);
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

// R4: the size of the options, but for page lists that would be too long; the notes say so.
TEST(HostPlan, PagesHaveTheSizeThatTheOptionsSay) {
  struct Case {
    const char* options;
    std::uint64_t length;
    unsigned shift;
    const char* note;
  };
  for (const Case& c :
       {Case{"", std::uint64_t{64} << 20, 12, "pages of 4 KiB"},
        {"", (std::uint64_t{64} << 20) + 1, 12, "pages of 4 KiB"},
        {"page=4K", std::uint64_t{4} << 30, 12, "pages of 4 KiB"},
        {"page=4K", (std::uint64_t{4} << 30) + 1, 13, "1 of 1 regions have larger pages, of up to 8 KiB"},
        {"page=4K", std::uint64_t{1} << 47, 27, "1 of 1 regions have larger pages, of up to 128 MiB"},
        {"page=2M", 4096, 21, "pages of 2 MiB"},
        {"page=2M", std::uint64_t{1} << 41, 21, "pages of 2 MiB"},
        {"page=1G", 4096, 30, "pages of 1 GiB"}}) {
    ReceiverSurvey s = survey_of({});
    s.regions.push_back({Key{0x1234}, 0, c.length, kRemoteRead, 1, 1});
    const HostPlan p = make_host_plan(s, parse_host_options(c.options));
    EXPECT_EQ(p.regions.at(0).mpt.page_shift, c.shift) << c.length;
    EXPECT_LE(p.regions.at(0).pages.size(), std::size_t{1} << 20);
    EXPECT_GE(p.regions.at(0).pages.size() << c.shift, c.length);
    EXPECT_TRUE(has_note(p, c.note)) << c.options << " " << c.length;
    EXPECT_EQ(has_note(p, "larger pages"), std::string(c.note).find("larger pages") != std::string::npos);
  }
}

TEST(HostPlan, AtomicsHaveLargePagesOfTheirOwn) {  // R5
  ReceiverSurvey s = survey_of({qp(0x21)});
  for (std::uint32_t n = 0; n < 40; ++n) {
    s.regions.push_back({Key{0x2000 + 256 * n}, 0x100000, 0x200000, kRemoteAtomic, 1, 1});
    s.atomics.push_back({Key{0x2000 + 256 * n}, 0x100008, n});
  }
  s.regions.push_back({Key{0x1000}, 0, std::uint64_t{1} << 32, kRemoteRead, 1, 1});
  const HostPlan p = make_host_plan(s, parse_host_options("page=1G"));
  EXPECT_TRUE(p.atomics_comparable);
  std::set<std::uint64_t> seeded;
  for (const SeedPlan& seed : p.seeds) EXPECT_TRUE(seeded.insert(raw(seed.address)).second);
  std::map<std::uint64_t, std::uint64_t> users;
  for (const RegionPlan& r : p.regions) {
    for (const BusAddress page : r.pages) ++users[raw(page)];
  }
  for (std::uint32_t n = 0; n < 40; ++n) EXPECT_EQ(users.at(raw(region(p, Key{0x2000 + 256 * n}).pages.at(0))), 1u);
}

TEST(HostPlan, CompressionIsWhatTheOptionOrTheParameterSays) {
  const auto compresses = [](const char* text, bool parameter) {
    HostOptions o = parse_host_options(text);
    o.compress_by_default = parameter;
    return make_host_plan(survey_of({qp(0x21)}), o).cqs.at(0).compress;
  };
  for (const bool parameter : {false, true}) {
    EXPECT_EQ(compresses("", parameter), parameter);
    EXPECT_TRUE(compresses("cq_compression=on", parameter));
    EXPECT_FALSE(compresses("cq_compression=off", parameter));
  }
}

TEST(HostPlan, TagsAreThoseOfTheCaptureWithBuffersOfTheirOwn) {  // R9
  ReceiverSurvey s = survey_of({qp(0x21)});
  s.tags = {5, 7, 5};
  const HostPlan p = make_host_plan(s, parse_host_options("receive=tm_srq,tags=16,mask=f"));
  ASSERT_EQ(p.tag_lists.size(), 1u);
  const TagPlan& t = p.tag_lists[0];
  EXPECT_TRUE(p.queues.at(t.queue).context.tag_matching);
  EXPECT_EQ(t.entries, 16u);
  EXPECT_EQ(t.mask, 0xfu);
  EXPECT_EQ(t.tags, s.tags);
  EXPECT_EQ(t.buffer_bytes, p.queues[t.queue].buffer_bytes);
  EXPECT_EQ(region(p, t.lkey).mpt.va, t.buffers_va);
  EXPECT_EQ(region(p, t.lkey).mpt.length, std::uint64_t{16} * t.buffer_bytes);
  EXPECT_TRUE(has_note(p, "16 tags are kept posted, those of 3 tagged messages"));
  EXPECT_TRUE(make_host_plan(s, parse_host_options("receive=tm_srq")).tag_lists.empty());
}

TEST(HostPlan, AnOrderThatActsOnNothingIsNoted) {
  const auto note = [](const char* text) {
    return has_note(make_host_plan(survey_of({qp(0x21)}), parse_host_options(text)), "wqe_order has no effect");
  };
  EXPECT_TRUE(note("wqe_order=shuffled"));
  EXPECT_TRUE(note("receive=srq,layout=cyclic,wqe_order=sequential"));
  EXPECT_FALSE(note("receive=srq,layout=linked_list,wqe_order=shuffled"));
  EXPECT_FALSE(note("receive=rq"));
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
}  // namespace rxnic::host_plan_test
