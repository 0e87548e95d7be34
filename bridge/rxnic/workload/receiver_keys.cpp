// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/page_keys.h"

namespace rxnic {

namespace {

constexpr double kMostRegions = 65536, kMostRegionBytes = 1ull << 40;
constexpr std::string_view kReceiveNames[] = {"rq", "srq", "tm_srq"};
constexpr std::string_view kLayoutNames[] = {"parameter", "linked_list", "cyclic"};
constexpr std::string_view kOrderNames[] = {"completion", "sequential", "shuffled"};
constexpr std::string_view kPageNames[] = {"4K", "2M", "1G"};
constexpr std::string_view kLocalityNames[] = {"uniform", "sequential", "stride", "zipf"};
constexpr std::string_view kCompressionNames[] = {"parameter", "off", "on"};
constexpr std::string_view kCompletionNames[] = {"polled", "events"};
constexpr std::string_view kServiceNames[] = {"none", "fixed", "exponential"};
constexpr std::string_view kTagOrderNames[] = {"in_order", "reversed", "shuffled"};

constexpr const char* kReceiverName = "receiver";
constexpr const char* kTagsName = "receiver.tags";
constexpr const char* kNeedsEvents = "completions=events";
constexpr const char* kNeedsService = "service_time=fixed|exponential";
constexpr const char* kNeedsOrder = "order=reversed|shuffled";
constexpr double kMostSharingQps = 65536, kWholePpm = 1e6, kMostServicePs = 1e12;
constexpr double kMostPageTags = 1u << 20, kOneGib = 1u << 30;

constexpr WorkloadKey kReceiverTable[] = {
    choice_key<&ReceiverPage::receive>(kReceiverName, "receive", kReceiveNames,
                                       "A receive queue for each QP, SRQs, or SRQs with tag matching."),
    integer_key<&ReceiverPage::qps_per_srq>(kReceiverName, "qps_per_srq", "QPs", 0, kMostSharingQps,
                                            "QPs that share an SRQ, in their order; 0: all of them share one.",
                                            "receive=srq|tm_srq"),
    integer_key<&ReceiverPage::depth>(
        kReceiverName, "depth", "WQEs", 0, 32767,
        "Receive WQEs that the host keeps posted to each queue; 0: 1024 to an SRQ, 256 to an RQ, "
        "fewer when there are more than 256 RQs."),
    integer_key<&ReceiverPage::buffer>(kReceiverName, "buffer", "bytes", 0, kOneGib,
                                       "Of the buffer behind each WQE; 0: the largest message fits."),
    integer_key<&ReceiverPage::sges>(kReceiverName, "sges", "SGEs", 1, kMaxSge,
                                     "Scatter elements of each WQE, among which its buffer is divided evenly."),
    text_key<&ReceiverPage::sge_bytes>(
        KeyType::kText, kReceiverName, "sge_bytes",
        "The bytes of each scatter element, joined by '+', as \"64+4032\"; empty: as sges says."),
    integer_key<&ReceiverPage::refill>(kReceiverName, "refill", "WQEs", 1, 32767,
                                       "Completed WQEs that are posted again with one doorbell."),
    choice_key<&ReceiverPage::layout>(kReceiverName, "layout", kLayoutNames,
                                      "Of an SRQ; parameter: as srq_wqe_fetcher.srq_layout says.",
                                      "receive=srq|tm_srq"),
    choice_key<&ReceiverPage::wqe_order>(
        kReceiverName, "wqe_order", kOrderNames,
        "In which the WQEs of a linked list are posted: as they completed, as they lie in memory, "
        "or at random.",
        "receive=srq|tm_srq and layout=parameter|linked_list"),
    choice_key<&ReceiverPage::page>(kReceiverName, "page", kPageNames, "Pages of memory regions and buffers."),
    integer_key<&ReceiverPage::regions>(kReceiverName, "regions", "regions", 1, kMostRegions,
                                        "Memory regions that WRITEs, READs and atomics go to."),
    integer_key<&ReceiverPage::region_bytes>(
        kReceiverName, "region_bytes", "bytes", 0, kMostRegionBytes,
        "Of each region; 0: 1 MiB, and four times the largest message at least. It always has room for one."),
    choice_key<&ReceiverPage::locality>(
        kReceiverName, "locality", kLocalityNames,
        "Of targets: any place; one behind the other through all regions; `stride` behind the one "
        "before; any place of a region that is chosen by Zipf's law."),
    integer_key<&ReceiverPage::stride>(kReceiverName, "stride", "bytes", 1, kOneGib, "From a target to the next one.",
                                       "locality=stride"),
    number_key<&ReceiverPage::region_zipf_s>(kReceiverName, "region_zipf_s", "exponent", 0, 8,
                                             "Region k is chosen with a weight of 1 / k^s.", "locality=zipf"),
    integer_key<&ReceiverPage::qps_per_cq>(
        kReceiverName, "qps_per_cq", "QPs", 0, kMostSharingQps,
        "QPs that share a completion queue, in their order; 0: all of them share one."),
    integer_key<&ReceiverPage::cqes>(
        kReceiverName, "cqes", "slots", 0, 1u << 22,
        "Of each completion queue, a power of two; 0: 65536, fewer for more than 16 queues."),
    choice_key<&ReceiverPage::compression>(kReceiverName, "compression", kCompressionNames,
                                           "Whether the host asks for compressed completions; parameter: as "
                                           "cqe_generator.compression says."),
    choice_key<&ReceiverPage::completions>(kReceiverName, "completions", kCompletionNames,
                                           "The host polls its completion queues, or sleeps until their events."),
    integer_key<&ReceiverPage::moderation_count>(kReceiverName, "moderation_count", "completions", 0, 65535,
                                                 "For one event; 0: an event for each.", kNeedsEvents),
    integer_key<&ReceiverPage::moderation_period_us>(kReceiverName, "moderation_period", "us", 0, 65535,
                                                     "The longest that an event is deferred; 0: no limit.",
                                                     kNeedsEvents),
    choice_key<&ReceiverPage::service_time>(
        kReceiverName, "service_time", kServiceNames,
        "The program spends no time on a message before it posts the buffer again, always as "
        "long, or a time of the exponential distribution."),
    integer_key<&ReceiverPage::service>(kReceiverName, "service", "ps", 0, kMostServicePs, "Of a message, in the mean.",
                                        kNeedsService),
    integer_key<&ReceiverPage::workers>(kReceiverName, "workers", "workers", 1, 65536,
                                        "Of the program, which serve one message each at a time.", kNeedsService),
    integer_key<&TagsPage::ahead>(kTagsName, "ahead", "tags", 1, kMostPageTags,
                                  "Tags of the next messages that are kept posted; at most tag_match_cam.max_tags."),
    choice_key<&TagsPage::order>(kTagsName, "order", kTagOrderNames,
                                 "Of posting against arrival, within each window of messages."),
    integer_key<&TagsPage::window>(kTagsName, "window", "messages", 2, kMostPageTags, "Whose tags change their order.",
                                   kNeedsOrder),
    integer_key<&TagsPage::unexpected_ppm>(kTagsName, "unexpected_ppm", "ppm", 0, kWholePpm,
                                           "Share of the messages that come before their receive is posted."),
    integer_key<&TagsPage::unexpected_lag>(kTagsName, "unexpected_lag", "messages", 0, kMostPageTags,
                                           "That come before such a receive is posted."),
    integer_key<&TagsPage::any_source_ppm>(kTagsName, "any_source_ppm", "ppm", 0, kWholePpm,
                                           "Share of the tags that are posted with MPI_ANY_SOURCE."),
    integer_key<&TagsPage::any_tag_ppm>(kTagsName, "any_tag_ppm", "ppm", 0, kWholePpm,
                                        "Share of the tags that are posted with MPI_ANY_TAG."),
    integer_key<&TagsPage::delete_ppm>(
        kTagsName, "delete_ppm", "ppm", 0, kWholePpm,
        "Share of the tags that are deleted once they are posted, and then posted again."),
    integer_key<&TagsPage::sync_lag>(kTagsName, "sync_lag", "messages", 0, 32767,
                                     "Unexpected messages that the host leaves unreported to the NIC at most."),
    integer_key<&TagsPage::failing_ppm>(kTagsName, "failing_ppm", "ppm", 0, kWholePpm,
                                        "Share of the appends that an operation follows which fails."),
};

}  // namespace

std::span<const WorkloadKey> receiver_keys() { return kReceiverTable; }

HostOptions host_options(const ReceiverPage& page) {
  constexpr unsigned kPageShifts[] = {12, 21, 30};
  HostOptions o;
  o.receive = static_cast<ReceiveKind>(page.receive);
  o.layout_chosen = page.layout != PageLayout::kByParameter;
  o.srq_layout = page.layout == PageLayout::kCyclic ? WqLayout::kCyclic : WqLayout::kLinkedList;
  o.depth = static_cast<std::uint32_t>(page.depth);
  o.buffer = static_cast<std::uint32_t>(page.buffer);
  o.sges = static_cast<std::uint32_t>(page.sges);
  if (!page.sge_bytes.empty()) set_host_option(o, "sge_bytes", page.sge_bytes);
  o.refill_batch = static_cast<std::uint32_t>(page.refill);
  o.qps_per_srq = static_cast<std::uint32_t>(page.qps_per_srq);
  o.qps_per_cq = static_cast<std::uint32_t>(page.qps_per_cq);
  o.cq_slots = static_cast<std::uint32_t>(page.cqes);
  o.page_shift = kPageShifts[static_cast<std::size_t>(page.page)];
  o.wqe_order = page.wqe_order;
  o.cq_compression = page.compression;
  o.completions = {page.completions == PageCompletions::kEvents, static_cast<std::uint16_t>(page.moderation_count),
                   static_cast<std::uint16_t>(page.moderation_period_us)};
  if (page.service_time != PageService::kNone) {
    const bool fixed = page.service_time == PageService::kFixed;
    o.application = {static_cast<std::uint32_t>(page.workers), page.service,
                     fixed ? ServiceTime::kFixed : ServiceTime::kExponential};
  }
  if (page.receive != PageReceive::kTagMatchingSrq) return o;
  const TagsPage& t = page.tags;
  const auto ppm = [](std::uint64_t share) { return static_cast<std::uint32_t>(share); };
  o.tags = static_cast<std::uint32_t>(t.ahead);
  o.tag_policy.order = t.order;
  o.tag_policy.window = t.order == TagOrder::kInOrder ? 1 : static_cast<std::uint32_t>(t.window);
  o.tag_policy.unexpected_ppm = ppm(t.unexpected_ppm);
  o.tag_policy.unexpected_lag = static_cast<std::uint32_t>(t.unexpected_lag);
  o.tag_policy.any_source_ppm = ppm(t.any_source_ppm);
  o.tag_policy.any_tag_ppm = ppm(t.any_tag_ppm);
  o.tag_policy.delete_ppm = ppm(t.delete_ppm);
  o.tag_policy.failing_ppm = ppm(t.failing_ppm);
  o.tag_policy.sync_lag = static_cast<std::uint32_t>(t.sync_lag);
  return o;
}

}  // namespace rxnic
