// SPDX-License-Identifier: Apache-2.0
// Every on-chip memory of `rxnic params --memory` has a size, and when the memory is full something defined happens. It
// is a wait, a refusal, or the full state of another memory that bounds this one. A case for each, the tests that fill
// it and see it drain, and a NIC with the shortest possible links.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/nic/on_chip_memory.h"
#include "model/params/config.h"
#include "testbench/unit/model/nic/test_host.h"

namespace rxnic::memory_sizes_test {
namespace {

struct MemoryCase {
  const char* memory;  // block.name
  const char* full;    // what happens
  const char* test;    // fills it and sees it drain; nullptr: it is bounded by construction, as `full` says
};

constexpr const char* kOnePerStage = "one place for each stage; the block takes nothing while it is full";
constexpr const char* kOnePerLine = "one place for each line of the context cache";
constexpr const char* kOneCommand = "one command is carried out at a time, and waits for its answers";

constexpr MemoryCase kCases[] = {
    {"rx_buffer.frames", "held on the wire, or rx_buffer_full", "RxBuffer.WithPauseItWaitsOnTheWire"},
    {"rx_parser.payload", "frames of the packets in the path, which the links bound", nullptr},
    {"rx_parser.own_addresses", "ENOMEM", "RxParser.OneAddressOrGroupMoreIsRefused"},
    {"rx_parser.flows", "ENOMEM", "RxParserSteering.OneFlowOrContextMoreIsRefused"},
    {"rx_parser.rss_contexts", "ENOMEM", "RxParserSteering.OneFlowOrContextMoreIsRefused"},
    {"rx_parser.pipeline", kOnePerStage, nullptr},
    {"qp_context_cache.contexts", "wait_context_way", "QpContextCache.PinnedContextsAreNotEvicted"},
    {"qp_context_cache.tags", kOnePerLine, nullptr},
    {"qp_context_cache.pins", kOnePerLine, nullptr},
    {"qp_context_cache.misses", "wait_context", "QpContextCache.MissesInFlightAreBounded"},
    {"qp_context_cache.pipeline", kOnePerStage, nullptr},
    {"transport_checker.pipeline", kOnePerStage, "TransportChecker.NothingIsLostBehindABlockedLink"},
    {"transport_checker.undo", "one for each packet in the path", nullptr},
    {"transport_checker.responder_resources", "ENOMEM", "SmallNicTest.AQpHasItsResourcesFromReadinessToReset"},
    {"transport_checker.resource_rings", "each has a responder resource", nullptr},
    {"transport_checker.own_requests", "wait_response, table_waits", "ShortestLinks.OwnRequestsAreWaitedFor"},
    {"transport_checker.request_lists", "one for each send queue", nullptr},
    {"transport_checker.srqs", "ENOMEM", "SmallNicTest.OneSrqMoreIsRefusedUntilOneIsGone"},
    {"tag_match_cam.values", "entries go to the overflow", "TagMatchCam.TheCamIsSharedByAllLists"},
    {"tag_match_cam.masks", "as values", "TagMatchCam.TheCamIsSharedByAllLists"},
    {"tag_match_cam.buffers", "as values", "TagMatchCam.TheCamIsSharedByAllLists"},
    {"tag_match_cam.ages", "as values", "TagMatchCam.TheCamIsSharedByAllLists"},
    {"tag_match_cam.handles", "one for each tag of each list", "TagMatchCam.AppendToAFullListFails"},
    {"tag_match_cam.undo", "one for each packet on its way to the WQE fetcher", nullptr},
    {"tag_match_cam.returns", "one for each match that the WQE fetcher may return", nullptr},
    {"tag_match_cam.walk_buffer", "as bursts", "TagMatchCamRefill.SoManyReadsAreInFlight"},
    {"tag_match_cam.bursts", "no more is read", "TagMatchCamRefill.SoManyReadsAreInFlight"},
    {"tag_match_cam.leaving", "one for each request in the link to the DMA engine", nullptr},
    {"tag_match_cam.results", "the block takes nothing", "TagMatchCam.BlockedOutputLosesNothing"},
    {"tag_match_cam.lists", "ENOMEM", "TagMatchCam.OneListMoreIsRefused"},
    {"srq_wqe_fetcher.prefetched", "no more is read ahead", "SrqWqeFetcher.RingWrapsManyTimes"},
    {"srq_wqe_fetcher.prefetch_contexts", "another queue is evicted", "SrqWqeFetcher.EvictedQueuesAreReadAgain"},
    {"srq_wqe_fetcher.reads", "wait_wqe", "SrqWqeFetcher.NoMoreReadsAreInFlightThanTheDeviceHas"},
    {"srq_wqe_fetcher.wqe_store", "wait_wqe_store, or wqe_store_full", "NicSizes.AFullStoreWaitsAndDrains"},
    {"srq_wqe_fetcher.pipeline", "the block takes nothing", "SrqWqeFetcher.ThePipelineHoldsSoManyPackets"},
    {"srq_wqe_fetcher.open_wqes", "as pipeline", nullptr},
    {"srq_wqe_fetcher.free_numbers", "one for each RQ and SRQ", nullptr},
    {"srq_wqe_fetcher.queue_contexts", "wait_context_way", "SrqWqeFetcherContexts.LinesWithReadsInFlightAreWaitedFor"},
    {"srq_wqe_fetcher.queue_tags", "as queue_contexts", nullptr},
    {"srq_wqe_fetcher.queue_misses", "wait_queue_context", "NicContexts.AThousandQueuesOnEightLinesLoseNothing"},
    {"srq_wqe_fetcher.flush_requests", kOnePerLine, "SrqWqeFetcher.ManyFlushesAreServedOneAfterTheOther"},
    {"srq_wqe_fetcher.late_flushes", "doorbell_waits", "SrqWqeFetcher.ADoorbellWaitsForAPlaceAmongTheLateFlushes"},
    {"srq_wqe_fetcher.refused", kOnePerLine, nullptr},
    {"grh_scatter.cursors", "one for each WQE in use", nullptr},
    {"grh_scatter.pipeline", kOnePerStage, "GrhScatter.AFullLinkHoldsPiecesAndPacketsBack"},
    {"grh_scatter.job", "the next packet waits", "GrhScatter.ElementsOccupyIt"},
    {"grh_scatter.refused", kOnePerLine, nullptr},
    {"address_translator.mpt_entries", "another region is evicted",
     "AddressTranslator.SmallestCachesStillMakeProgress"},
    {"address_translator.mpt_tags", "as mpt_entries", nullptr},
    {"address_translator.mtt_lines", "another line is evicted", "AddressTranslator.SmallestCachesStillMakeProgress"},
    {"address_translator.mtt_tags", "as mtt_lines", nullptr},
    {"address_translator.walks", "wait_translation", "AddressTranslator.WalksInFlightAreBounded"},
    {"address_translator.pipeline", kOnePerStage, nullptr},
    {"address_translator.gathers", kOnePerStage, nullptr},
    {"address_translator.refused", kOnePerLine, nullptr},
    {"dma_engine.tags", "wait_dma_tag", "DmaEngine.TagsBoundTheReadsInFlight"},
    {"dma_engine.read_data", "wait_dma_credit", "DmaEngineCredit.ReadsHaveRoomForTheirData"},
    {"dma_engine.completion_headers", "wait_dma_credit", "DmaEngineCredit.ReadsHaveRoomForTheirCompletions"},
    {"dma_engine.device_memory", "ENOMEM", "DriverLimits.DeviceMemoryIsAllocatedUntilThereIsNoMore"},
    {"dma_engine.leaving", "blocked", "DmaEngine.SoManyPacketsWaitToBeHandedOn"},
    {"dma_engine.refused", kOnePerLine, nullptr},
    {"cqe_generator.writes", "blocked", "CqeGenerator.APacketWaitsForRoomForItsWrites"},
    {"cqe_generator.leaving", "one for each request in the link to the DMA engine", nullptr},
    {"cqe_generator.queue", "no packet is taken", "CqeGeneratorContexts.SoManyPacketsWaitForTheirContexts"},
    {"cqe_generator.held_events", "blocked", "CqeGenerator.APacketWaitsForRoomForItsEvents"},
    {"cqe_generator.events", "blocked", "CqeGenerator.APacketWaitsForRoomForItsEvents"},
    {"cqe_generator.flush_list", kOnePerLine, "CqeGenerator.FlushRequestsWaitForRoomAndHoldUpNothing"},
    {"cqe_generator.failed_list", kOnePerLine, "CqeGenerator.FlushRequestsWaitForRoomAndHoldUpNothing"},
    {"cqe_generator.srq_numbers", "one for each RQ and SRQ", nullptr},
    {"cqe_generator.wqes_completed", "one for each WQE in use", nullptr},
    {"cqe_generator.cq_contexts", "wait_context_way", "CqeGeneratorContexts.OpenSessionsKeepTheirLinesAndEnd"},
    {"cqe_generator.cq_tags", "as cq_contexts", nullptr},
    {"cqe_generator.cq_misses", "wait_cq_context", "NicContexts.AThousandQueuesOnEightLinesLoseNothing"},
    {"cqe_generator.moderation_timers", "the event is raised at once",
     "CqeGeneratorContexts.WithoutATimerAnEventIsRaisedAtOnce"},
    {"cqe_generator.pipeline", kOnePerStage, "CqeGenerator.AFullDmaLinkHoldsThePacketsBack"},
    {"cqe_generator.refused", kOnePerLine, nullptr},
    {"ack_generator.answers", "wait_response", "AckGenerator.ARequestWaitsWhileTooManyAnswersWait"},
    {"ack_generator.flows", "each has an answer", nullptr},
    {"ack_generator.reads_on_their_way", "the READ waits", "AckGenerator.NoMoreReadsWaitForMemoryThanAllowed"},
    {"ack_generator.packets", "wait_response", "AckGenerator.AReadWaitsForAResponseBuffer"},
    {"ack_generator.held", "the ACK is not held", "AckGenerator.AcksOfDifferentQpsAreNotJoined"},
    {"ack_generator.failed", kOnePerLine, "AckGenerator.WhatWaitsToBeReportedIsOneFailureOfAQp"},
    {"ack_generator.atomic_buckets", "atomics of a bucket wait for each other",
     "AckGenerator.AtomicsOfOneBucketAreDoneOneAfterTheOther"},
    {"ack_generator.atomic_results", "one for each responder resource", nullptr},
    {"ack_generator.cnp_timers", "no CNP is sent", "AckGenerator.WithoutATimerAMarkedPacketGivesNoCnp"},
    {"ack_generator.cnps", "no CNP is sent", "AckGenerator.SoManyCnpsWaitForTheBuilder"},
    {"ack_generator.refused", kOnePerLine, nullptr},
    {"command_processor.buffer", kOneCommand, nullptr},
    {"command_processor.command", kOneCommand, nullptr},
    {"dma_engine.send_wqes", "those of dma_engine_send_rung", nullptr},
    {"requester.packets", "blocked", "ShortestLinks.EveryLinkIsFilledAndDrains"},
    {"requester.send_queues", "ENOMEM", "SmallNicTest.OneQpMoreIsRefusedUntilOneIsGone"},
    {"requester.rendezvous", "rendezvous_full", "NicRendezvous.ATableOfOneRefusesTheNextAndDrains"},
    {"requester.rendezvous_lists", "one for each send queue", nullptr},
    {"requester.send_rates", "one for each send queue", nullptr},
    {"requester.payload", "wait_dma_data", "Requester.NoPacketIsMadeWhileThePayloadBufferIsFull"},
    {"requester.made", "its packets: requester.packets", "Requester.NoMorePacketsAreMadeThanItHasBuffersFor"},
    {"requester.pieces", "the next packet waits", "Requester.PayloadIsReadByDmaASegmentACycle"},
    {"requester.asking", "two for each send queue", nullptr},
    {"requester.wqes", "one for each send queue", nullptr},
    {"requester.windows", "one for each send queue", "RequesterWindows.AFullLinkHoldsTheNextOneBack"},
    {"requester.flushing", "one for each send queue", nullptr},
    {"requester.resets", "one for each send queue: ENOMEM", "Requester.OneQpMoreIsRefusedUntilOneIsGone"},
    {"requester.successes", "blocked", "Requester.UnreliableRequestsWaitForRoomForTheirCompletions"},
};

// Links that EveryLinkIsFilledAndDrains does not fill: why, or the test that does.
constexpr const char* kTakenAtOnce = "its reader takes all that there is in each cycle";
constexpr const char* kOneACycle = "one value comes and one goes in each cycle";
constexpr const char* kOfTags = "TagMatchCam.BlockedOutputLosesNothing";
constexpr std::pair<const char*, const char*> kNotFilled[] = {
    {"ack_generator_command_done", kOneCommand},
    {"ack_generator_dma", kOneACycle},
    {"ack_generator_dma_done", kOneACycle},
    {"ack_generator_failures", "AckGenerator.WhatWaitsToBeReportedIsOneFailureOfAQp"},
    {"ack_generator_refusals", kTakenAtOnce},
    {"address_translator_command_replies", kOneCommand},
    {"address_translator_dma", kOneACycle},
    {"address_translator_dma_done", kOneACycle},
    {"address_translator_page_requests", "one for each of its two inputs"},
    {"address_translator_refusals", kTakenAtOnce},
    {"command_processor_contexts", kOneCommand},
    {"command_replies", "no hardware"},
    {"command_processor_replies", "CommandProcessor.AFullLinkOfRepliesHoldsTheNextCommandBack"},
    {"command_processor_cqs", kOneCommand},
    {"command_processor_dma", kOneCommand},
    {"command_processor_dma_done", kOneCommand},
    {"command_processor_fences", kOneCommand},
    {"command_processor_steering", kOneCommand},
    {"command_processor_qps", kOneCommand},
    {"command_processor_regions", kOneCommand},
    {"command_processor_retirements", kOneCommand},
    {"command_processor_send_queues", kOneCommand},
    {"command_processor_srqs", kOneCommand},
    {"command_processor_tag_lists", kOneCommand},
    {"command_processor_windows_done", kTakenAtOnce},
    {"command_processor_wqs", kOneCommand},
    {"command_queue", "the driver keeps the commands that find no place"},
    {"completion_doorbells", kOneACycle},
    {"completion_events", "no hardware"},
    {"cqe_generator_command_replies", kOneCommand},
    {"cqe_generator_context_dma", kOneACycle},
    {"cqe_generator_context_dma_done", kOneACycle},
    {"cqe_generator_dma_done", kOneACycle},
    {"cqe_generator_events", "CqeGenerator.APacketWaitsForRoomForItsEvents"},
    {"cqe_generator_failed", "CqeGenerator.FlushRequestsWaitForRoomAndHoldUpNothing"},
    {"cqe_generator_flushes", "CqeGenerator.FlushRequestsWaitForRoomAndHoldUpNothing"},
    {"cqe_generator_refusals", kTakenAtOnce},
    {"cqe_generator_released", kTakenAtOnce},
    {"dma_engine_commands_given", kOneCommand},
    {"dma_engine_completion_rung", kOneACycle},
    {"dma_engine_fenced", kOneCommand},
    {"dma_engine_gathered", "AckGenerator.NoMoreReadsWaitForMemoryThanAllowed"},
    {"dma_engine_receive_rung", "SrqWqeFetcher.ADoorbellWaitsForAPlaceAmongTheLateFlushes"},
    {"dma_engine_refusals", kTakenAtOnce},
    {"dma_engine_send_rung", kTakenAtOnce},
    {"dma_engine_tags_given", kOfTags},
    {"grh_scatter_refusals", kTakenAtOnce},
    {"landed", "no hardware"},
    {"qp_context_cache_context_replies", kOneCommand},
    {"qp_context_cache_dma_done", kOneACycle},
    {"receive_doorbells", kOneACycle},
    {"dma_engine_page_replied", "replies to two requests, far apart"},
    {"page_replies", "replies to two requests, far apart"},
    {"page_requests", "no hardware"},
    {"receive_events", "no hardware"},
    {"requester_command_done", kOneCommand},
    {"requester_events", "DmaEngineHost.EventsOfAllSourcesTakeTurns"},
    {"requester_payload_dma", kOneACycle},
    {"requester_payload_dma_done", kTakenAtOnce},
    {"requester_windows", "RequesterWindows.AFullLinkHoldsTheNextOneBack"},
    {"requester_wqe_dma", kOneACycle},
    {"requester_wqe_dma_done", kTakenAtOnce},
    {"requests", kTakenAtOnce},
    {"rx_parser_command_done", kOneCommand},
    {"send_events", "no hardware"},
    {"srq_wqe_fetcher_command_replies", kOneCommand},
    {"srq_wqe_fetcher_context_dma", kOneACycle},
    {"srq_wqe_fetcher_context_dma_done", kOneACycle},
    {"srq_wqe_fetcher_dma_done", kOneACycle},
    {"srq_wqe_fetcher_events", "DmaEngineHost.EventsOfAllSourcesTakeTurns"},
    {"srq_wqe_fetcher_refusals", kTakenAtOnce},
    {"srq_wqe_fetcher_returned", kTakenAtOnce},
    {"tag_match_cam_dma", "TagMatchCam.AllEngineModesAgreeOnRandomTraffic"},
    {"tag_match_cam_dma_done", kTakenAtOnce},
    {"tag_match_cam_list_done", kOneCommand},
    {"tag_match_cam_out", kOfTags},
    {"tag_operations", kOfTags},
    {"transport_checker_command_replies", kOneCommand},
    {"transport_checker_places", kTakenAtOnce},
    {"cqe_generator_rendezvous", kTakenAtOnce},
    {"requester_rendezvous_places", kTakenAtOnce},
    {"transport_checker_srq_done", kOneCommand},
    {"transport_checker_to_cam", kOfTags},
};

const MemoryCase* case_of(const std::string& memory) {
  const auto it =
      std::find_if(std::begin(kCases), std::end(kCases), [&](const MemoryCase& c) { return memory == c.memory; });
  return it == std::end(kCases) ? nullptr : &*it;
}

std::vector<OnChipMemory> memories(const char* config) {
  const Params params = load_config(config);
  Bench bench;
  Nic& nic = bench.keep<Nic>("nic", params, bench.keep<LocalMemory>(), bench.engine(), NicOptions{.requester = true});
  return on_chip_memories(params, nic);
}

bool is_test(const std::string& name) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int n = 0; n < suite.total_test_count(); ++n) {
      if (name == std::string(suite.name()) + "." + suite.GetTestInfo(n)->name()) return true;
    }
  }
  return false;
}

TEST(MemorySizes, EveryMemoryHasASizeAndACase) {
  for (const char* config : {"nic_100g_gen3", "nic_400g_gen5", "tiny"}) {
    for (const OnChipMemory& m : memories(config)) {
      const std::string name = m.block + "." + m.name;
      EXPECT_GT(m.entries, 0u) << config << ": " << name;
      EXPECT_GT(m.entry_bits, 0u) << config << ": " << name;
      EXPECT_TRUE(m.block == "links" || case_of(name) != nullptr) << name << " is full in no test";
    }
  }
}

TEST(MemorySizes, EveryCaseIsOfAMemoryAndItsTestExists) {
  std::map<std::string, int> listed;
  for (const OnChipMemory& m : memories("tiny")) ++listed[m.block + "." + m.name];
  for (const MemoryCase& c : kCases) {
    EXPECT_EQ(listed[c.memory], 1) << c.memory;
    EXPECT_TRUE(c.test == nullptr || is_test(c.test)) << c.memory << ": " << c.test;
  }
  for (const auto& [link, why] : kNotFilled) {
    EXPECT_EQ(listed["links." + std::string(link)], std::string(why) == "no hardware" ? 0 : 1) << link;
    EXPECT_TRUE(std::string(why).find('.') == std::string::npos || is_test(why)) << link << ": " << why;
  }
}

// Two NICs with the shortest links, and as many requests of all kinds as twelve pairs of QPs can have at once.
class ShortestLinks : public testing::Test {
 protected:
  static std::vector<std::string> shortest(std::vector<std::string> more) {
    more.insert(more.begin(), {"nic.doorbell_depth=2", "nic.event_depth=2", "nic.notice_depth=2"});
    return more;
  }
  void make(std::vector<std::string> more = {}) {
    qps.clear();
    nics.reset();
    bench.reset();  // one kernel at a time
    bench = std::make_unique<Bench>(EngineMode::kFast, 2325);
    nics = std::make_unique<TwoNics>(*bench, load_config("tiny", shortest(std::move(more))));
    for (std::uint32_t n = 0; n < kPairs; ++n) {
      qps.push_back(nics->connected(reliable(n) ? Transport::kRc : Transport::kUc));
    }
    regions = {nics->a.region(kRegionBytes), nics->b.region(kRegionBytes)};
  }
  static bool reliable(std::uint32_t pair) { return pair % 4 != 3; }
  // Each QP, both ways: SEND, WRITE, READ, atomic; `rkey_change` is added to their rkey.
  void ask(std::uint32_t rounds, std::uint32_t rkey_change = 0) {
    for (std::uint32_t n = 0; n < rounds * kPairs; ++n) {
      const std::uint32_t pair = n % kPairs;
      for (const bool forward : {true, false}) {
        TestHost& from = forward ? nics->a : nics->b;
        TestHost& to = forward ? nics->b : nics->a;
        HostQp& q = forward ? *qps[pair].first : *qps[pair].second;
        HostQp& peer = forward ? *qps[pair].second : *qps[pair].first;
        const HostRegion& here = regions[forward ? 0 : 1];
        const HostRegion& there = regions[forward ? 1 : 0];
        const Key rkey{raw(there.key) + rkey_change};
        to.receive(peer, there.piece(kRegionBytes / 2 + 64 * pair, 64));
        from.send(q, {.inline_data = std::vector<std::uint8_t>(16, 1)});
        from.send(q, {.opcode = SendOpcode::kWrite, .sges = {here.piece(0, 3000)}, .va = there.va, .rkey = rkey});
        if (!reliable(pair)) continue;
        from.send(q, {.opcode = SendOpcode::kRead, .sges = {here.piece(0, 3000)}, .va = there.va, .rkey = rkey});
        from.send(q, {.opcode = SendOpcode::kFetchAdd,
                      .sges = {here.piece(8192, 8)},
                      .va = (there.va + 7) / 8 * 8,
                      .rkey = rkey,
                      .compare_add = 1});
      }
    }
  }
  std::uint64_t cycles(Block& block, Activity a) {
    bench->engine().settle();
    return block.account()[static_cast<std::size_t>(a)];
  }
  static constexpr std::uint32_t kPairs = 12, kRegionBytes = 32 << 10;
  std::unique_ptr<Bench> bench;
  std::unique_ptr<TwoNics> nics;
  std::vector<std::pair<HostQp*, HostQp*>> qps;
  std::vector<HostRegion> regions;
};

TEST_F(ShortestLinks, EveryLinkIsFilledAndDrains) {
  std::map<std::string, std::uint32_t> most, places;
  const std::vector<std::string> few_buffers{"requester.packet_buffers=4"};
  const std::vector<std::string> slow{"dma_engine.tags=1", "ack_generator.response_cycles=32",
                                      "ack_generator.read_responses_in_flight=8"};
  for (const auto& [overrides, rkey_change] :
       {std::pair{few_buffers, 0u}, std::pair{few_buffers, 0x5500u}, std::pair{slow, 0u}}) {
    make(overrides);
    for (const auto& [host, cq] : {std::pair{&nics->a, nics->cq_a}, std::pair{&nics->b, nics->cq_b}}) {
      host->arm(cq, false);
    }
    ask(8, rkey_change);
    bench->run();
    nics->expect_quiet();
    for (TestHost* host : {&nics->a, &nics->b}) {
      for (const auto& link : host->nic.links()) {
        EXPECT_EQ(link->size(), 0u) << link->basename();
        most[link->basename()] = std::max(most[link->basename()], link->high_water());
        places[link->basename()] = link->capacity();
      }
      EXPECT_GT(cycles(*host->nic.requester, Activity::kBlocked), 0u);
    }
  }
  for (const auto& [link, n] : most) {
    const bool named = std::any_of(std::begin(kNotFilled), std::end(kNotFilled),
                                   [&name = link](const auto& l) { return name == l.first; });
    EXPECT_TRUE(n == places[link] || named) << link << ": " << n << " of " << places[link] << ", and no reason why";
  }
}

// A table of three requests for the nine QPs of RC: they take turns, and all of them succeed.
TEST_F(ShortestLinks, OwnRequestsAreWaitedFor) {
  make({"transport_checker.own_requests=3"});
  ask(4);
  bench->run();
  nics->expect_quiet();
  for (TestHost* host : {&nics->a, &nics->b}) {
    EXPECT_EQ(host->count(WcStatus::kSuccess), host->completions.size());
    EXPECT_EQ(host->completions.size(), 4u * (9 * 5 + 3 * 3)) << "what was sent, and a receive for each SEND";
    EXPECT_GT(host->nic.requester->counters().table_waits, 20u);
    EXPECT_GT(cycles(*host->nic.requester, Activity::kWaitResponse), 1000u);
    EXPECT_EQ(host->nic.transport_checker.request_counters().refused, 0u);
    EXPECT_EQ(host->nic.transport_checker.request_counters().completed, 4u * 9 * 4);
  }
}

}  // namespace
}  // namespace rxnic::memory_sizes_test
