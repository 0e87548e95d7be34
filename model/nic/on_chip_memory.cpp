// SPDX-License-Identifier: Apache-2.0
#include "model/nic/on_chip_memory.h"

#include <algorithm>
#include <bit>

#include "model/core/memory/context_cache.h"
#include "model/core/memory/scatter_plan.h"
#include "model/core/memory/translation.h"
#include "model/core/tag_matching/tag_returns.h"
#include "model/types/completion.h"
#include "model/types/flow.h"
#include "model/types/parsed_packet.h"
#include "model/types/segment.h"
#include "model/types/send_work_queue.h"
#include "model/types/tag_matching.h"

namespace rxnic {

namespace {

// Widths of numbers in bits, as in the device ABI and on the wire.
constexpr std::uint64_t kNumber = 24;  // QPN, CQN, SRQN, PSN, MSN
constexpr std::uint64_t kKey = 32;
constexpr std::uint64_t kAddress = 64;
constexpr std::uint64_t kLength = 32;
constexpr std::uint64_t kSegment = kAddress + kLength + kKey;
constexpr std::uint64_t kSlot = 16;  // of a work queue: 65,536 WQEs at most
constexpr std::uint64_t kValid = 1;
constexpr std::uint64_t kSequence = 64;  // number of an append to a tag list

constexpr std::uint64_t kReceiveWqe = 8 * (sizeof(NextSegment) + kMaxSge * sizeof(DataSegment));
constexpr std::uint64_t kWqeInUse = kSlot + std::bit_width(kMaxSge) + kLength + kMaxSge * kSegment + kValid;
// The fill level of a WQE: bytes of the message, the element to be written next and the offset in it.
constexpr std::uint64_t kCursor = kLength + std::bit_width(kMaxSge) + kLength;
// What a block refuses for a QP: an epoch, a message, a request of ours, and flags (core/responder/refusal.h).
constexpr std::uint64_t kRefused = 16 + 32 + 32 + 3;

// QPN, PSN, MSN, syndrome, opcode and flags. For a READ also what is left of it (address, key, length, next PSN). For
// an atomic also where it is done (address, key) and with what (two operands).
constexpr std::uint64_t kAnswer = 3 * kNumber + 3 * 8 + kAddress + kKey + std::max(kLength + kNumber, 2 * kAddress);

// A READ or an atomic that may be asked for again: operation, PSNs, where, how much.
constexpr std::uint64_t kSavedRequest = kValid + 2 + 2 * kNumber + kAddress + kKey + kLength;

// The send side of a QP between two packets. Ring: base, slots and stride (as shifts), signals; producer index, next
// WQE. What the connection says: PSNs: next, first without an answer, end of what was sent, of READs and atomics, and
// of what these have placed. The packet to be sent next (WQE, number), READs and atomics outstanding, packets since the
// last that asked for an ACK. Retries left, RNR retries left, what each starts from, timeout, MTU, rights to READs. The
// timer. State and flags (waits, went back, stopped, failed), status and number of the WQE that ended it. A path:
// AddressVector, remote QPN, Q_Key, P_Key, PD.
constexpr std::uint64_t kSendQueue = (kAddress + 5 + 4 + 1 + 2 * 32) + (5 * kNumber + 32 + kNumber + 8 + 16) +
                                     (4 * 3 + 5 + 3 + 8) + 64 + (3 + 4 + 5 + 32) +
                                     (8 * sizeof(AddressVector) + kNumber + 32 + 16 + 32);

// core/requester/send_rate.h: two rates in kb/s, alpha, two stages, bytes sent, two timers, when the next packet may
// leave.
constexpr std::uint64_t kSendRate = kValid + 2 * 31 + 21 + 2 * 5 + 30 + 3 * 64;

// core/responder/checked_packet.h, ResponderUndo: two numbers, the message, and of a WRITE address, key and lengths.
constexpr std::uint64_t kUndo = 2 * kNumber + 2 + kAddress + kKey + 3 * kLength;

// A number below n.
constexpr std::uint64_t index_bits(std::uint64_t n) {
  return n <= 1 ? 0 : static_cast<std::uint64_t>(std::bit_width(n - 1));
}
// Tag of a cache line that is found by a key of `key_bits`, with what replacement needs.
constexpr std::uint64_t tag_bits(std::uint64_t key_bits, std::uint64_t sets, std::uint64_t ways) {
  return key_bits - index_bits(sets) + kValid + index_bits(ways);
}

class List {
 public:
  explicit List(const Params& params) : p_(params) {}
  std::vector<OnChipMemory> take() { return std::move(list_); }

  void receive() {
    add("rx_buffer", "frames", p_.wire.rx_buffer_bytes, 8, "Frames between the port and the parser, by bytes.");
    add("rx_parser", "payload", packets_in_path(), 8 * kMaxFrameBytes,
        "Frames of the packets in the links and blocks from the parser to the DMA engine.");
    add("rx_parser", "own_addresses", p_.rx_parser.own_addresses, Descriptor<Address>::kBits + kNumber + kValid,
        "Addresses of the NIC, and the QPs of its multicast groups.");
    add("rx_parser", "flows", p_.rx_parser.flows, 8 * 2 * kFlowKeyBytes + kNumber + 16 + 2 + 2 * 64 + kValid,
        "Flow steering: value, mask, QPN, priority, kind and counts of each rule.");
    add("rx_parser", "rss_contexts", p_.rx_parser.rss_contexts,
        kNumber + 8 * (kHashKeyBytes + 1) + index_bits(kMostLogRssEntries + 1) + kMostRssEntries * kNumber + kValid,
        "RSS: QPN, hash key, fields, and the indirection table.");
    pipeline<ParsedPacket>("rx_parser", p_.rx_parser.header_cycles);
    const auto& c = p_.qp_context_cache;
    add("qp_context_cache", "contexts", qps(), 8 * kQpContextBytes, "Cache of the contexts in host memory.");
    add("qp_context_cache", "tags", qps(), tag_bits(kNumber, c.sets, c.ways) + 1, "QPN and dirty bit of each line.");
    add("qp_context_cache", "pins", qps(), index_bits(2 * packets_in_path()),
        "Packets and notices that refer to each line.");
    add("qp_context_cache", "misses", c.misses_in_flight, kNumber + index_bits(qps()) + kNumber,
        "Contexts being read from memory: QPN, line, QPN of the evicted context.");
    pipeline<ContextPacket>("qp_context_cache", c.hit_cycles + 1 + 1);
    pipeline<WqeRequest>("transport_checker", p_.transport_checker.latency_cycles);
    add("transport_checker", "undo", packets_in_path(), kUndo, "What a QP was before each packet in the path.");
    const std::uint64_t resources = p_.transport_checker.responder_resources;
    const std::uint64_t requests = p_.transport_checker.own_requests;
    add("transport_checker", "responder_resources", resources, kSavedRequest + 2 * index_bits(resources),
        "READ and atomic requests that may be asked for again, in rings by QP.");
    add("transport_checker", "resource_rings", resources, kNumber + index_bits(resources) + 8,
        "QPs that have some of these, one at least: QPN, oldest, count.");
    add("transport_checker", "own_requests", requests,
        Descriptor<RequestNotice>::kBits - kNumber - 1 + 2 * index_bits(requests),
        "Requests of our own without an answer, in lists by QP.");
    add("transport_checker", "request_lists", p_.requester.send_queues,
        3 * kNumber + 32 + 2 + 2 * index_bits(requests) + kValid,
        "QPs that sent requests: QPN, newest PSN, next WQE to complete, responses of a READ, first and last request.");
    add("transport_checker", "srqs", p_.device.max_srqs, kNumber + 32 + kNumber + 32 + 32 + kValid,
        "SRQs that packets name: SRQN, queue, CQ, XRC domain, PD.");
    tags();
    wqes();
  }

  void memory() {
    const auto& s = p_.grh_scatter;
    const auto& t = p_.address_translator;
    const std::uint64_t mpt = std::uint64_t{t.mpt_sets} * t.mpt_ways, mtt = std::uint64_t{t.mtt_sets} * t.mtt_ways;
    add("grh_scatter", "cursors", p_.srq_wqe_fetcher.wqe_store_entries, kCursor, "Fill level of each WQE in use.");
    pipeline<ScatteredSegment>("grh_scatter", s.latency_cycles * s.sges_per_cycle + s.sges_per_cycle - 1);
    add("grh_scatter", "job", 1, Descriptor<ScatterJob>::kBits + kCursor + 2 * 13 + 1,
        "The packet at hand, its place in the list, and what is left of its GRH area and payload.");
    refusals("grh_scatter");
    add("address_translator", "mpt_entries", mpt, 8 * sizeof(MptEntry), "Cache of the regions in host memory.");
    add("address_translator", "mpt_tags", mpt, tag_bits(kNumber, t.mpt_sets, t.mpt_ways), "Key of each line.");
    add("address_translator", "mtt_lines", mtt, 8 * kMttLineBytes, "Lines of page addresses.");
    add("address_translator", "mtt_tags", mtt, tag_bits(kAddress - index_bits(kMttLineBytes), t.mtt_sets, t.mtt_ways),
        "Address of each line.");
    add("address_translator", "walks", t.walks_in_flight, 8 * kMttLineBytes + kAddress + 3,
        "Lines being read from memory.");
    pipeline<SegmentWrite>("address_translator", t.hit_cycles + 1);
    add("address_translator", "gathers", t.hit_cycles + 1, Descriptor<GatherRead>::kBits,
        "Segments of READ responses.");
    refusals("address_translator");
    const auto& d = p_.dma_engine;
    add("dma_engine", "tags", d.tags, 32 + index_bits(kDmaClients + 1) + 8 + 4,
        "Read requests in flight: cookie, client, syndrome, whether it ends its segment and its read.");
    add("dma_engine", "read_data", d.read_buffer_bytes / 16, 8 * 16, "Data of reads, until it is complete.");
    add("dma_engine", "completion_headers", d.completion_credits, 96, "Headers of the completions of reads: 12 bytes.");
    add("dma_engine", "leaving", d.leaving_depth, Descriptor<CompletionRequest>::kBits,
        "Payload packets whose last write has started.");
    add("dma_engine", "device_memory", d.device_memory_bytes, 8,
        "The device's own memory, of which programs allocate.");
    add("dma_engine", "send_wqes", 2, 8 * p_.requester.doorbell_wqe_bytes,
        "WQEs that came with their doorbells, on their way to the requester.");
    refusals("dma_engine");
  }

  void completions() {
    const auto& c = p_.cqe_generator;
    const std::uint64_t slots = c.compression ? 1 + (c.compression_max + kMiniCqesPerSlot - 1) / kMiniCqesPerSlot : 1;
    add("cqe_generator", "writes", c.write_depth, slots * 8 * sizeof(Cqe) + kAddress, "CQEs to be written.");
    add("cqe_generator", "leaving", (std::uint64_t{p_.dma_engine.queue_depth} + 1) * slots, 8 * sizeof(Cqe),
        "CQEs that are written, until the DMA engine has taken them.");
    add("cqe_generator", "queue", c.cq_misses_in_flight + 1, Descriptor<CompletionRequest>::kBits,
        "Packets that wait for CQ contexts.");
    add("cqe_generator", "held_events", c.event_depth, kEvent + 64, "Events behind CQEs that have not landed.");
    add("cqe_generator", "events", c.event_depth, kEvent, "Events within the latency of the interrupt.");
    add("cqe_generator", "flush_list", qps(), Descriptor<FlushRequest>::kBits,
        "QPs in the error state whose flush is to be asked for: a place for each cached QP.");
    add("cqe_generator", "failed_list", qps(), kNumber + index_bits(qps()),
        "QPs in the error state that the requester is to be notified of: a place for each cached QP.");
    add("cqe_generator", "srq_numbers", std::uint64_t{p_.requester.send_queues} + p_.device.max_srqs, kNumber + kValid,
        "SRQN of each receive queue that is an SRQ, for its CQEs.");
    add("cqe_generator", "wqes_completed", p_.srq_wqe_fetcher.wqe_store_entries, 1,
        "WQEs in use that were completed in error.");
    const ContextCacheSizes cqs{c.cq_contexts, c.cq_context_ways, c.cq_misses_in_flight};
    add("cqe_generator", "cq_contexts", cqs.entries, 8 * kCqContextBytes,
        "CQ contexts over those in host memory: ring, indices, arming, moderation.");
    contexts("cqe_generator", "cq", cqs);
    if (c.compression) {
      add("cqe_generator", "cq_sessions", cqs.entries,
          8 * sizeof(Cqe) + c.compression_max * 8 * sizeof(MiniCqe) + index_bits(c.compression_max + 1) + kTimer,
          "Open compressed session of each line: title, mini CQEs, when it ends.");
      add("cqe_generator", "cq_session_list", cqs.entries, 2 * index_bits(cqs.entries + 1),
          "Lines with an open session, in the order in which they end: the next one, and the one before.");
    }
    add("cqe_generator", "moderation_timers", c.moderation_timers, kNumber + kTimer, "CQs with an event due later.");
    pipeline<AckRequest>("cqe_generator", c.latency_cycles);
    refusals("cqe_generator");
    const auto& a = p_.ack_generator;
    const std::uint64_t answers = std::uint64_t{a.queue_depth} + a.answers_waiting;
    add("ack_generator", "answers", answers, kAnswer + 2 * index_bits(answers),
        "Responses that are due, in lists by QP; atomics, by bucket, too.");
    add("ack_generator", "flows", answers,
        kNumber + 3 * index_bits(answers) + 3 * index_bits(a.read_responses_in_flight) + 1,
        "QPs with responses due: first, last, count; of READ data on its way, too.");
    add("ack_generator", "reads_on_their_way", a.read_responses_in_flight,
        2 * index_bits(answers) + index_bits(a.packet_buffers) + 8 + 2 + index_bits(a.read_responses_in_flight),
        "READ responses whose data was asked for, in lists by QP: buffer, syndrome, whether it has come.");
    add("ack_generator", "packets", a.packet_buffers, 8 * kMaxFrameBytes, "Responses being made.");
    add("ack_generator", "held", a.queue_depth / 2, index_bits(answers) + 64, "QPs whose ACK is held, and until when.");
    add("ack_generator", "failed", qps(), Descriptor<QpFailure>::kBits,
        "QPs that failed here and are to be reported: a place for each cached QP.");
    add("ack_generator", "atomic_buckets", a.atomic_buckets, kValid + 2 * index_bits(answers),
        "Buckets of the addresses of atomics: in use, and the first and the last that wait, in lists.");
    add("ack_generator", "atomic_results", p_.transport_checker.responder_resources, kNumber + kNumber + 64 + kValid,
        "Results of atomics that may be asked for again, by responder resource: QPN, PSN, value.");
    add("ack_generator", "cnp_timers", a.cnp_timers, kNumber + Descriptor<Address>::kBits + 64,
        "QPs or addresses whose last CNP was sent less than the interval ago.");
    add("ack_generator", "cnps", a.cnp_depth, kNumber + 8 * kMostHeaderBytes, "CNPs due: QP, headers of the way back.");
    refusals("ack_generator");
    add("command_processor", "buffer", p_.command_processor.buffer_bytes, 8,
        "Mailbox of the command at hand, or CQEs that move to another ring.");
    add("command_processor", "command", 1,
        std::max<std::uint64_t>(Descriptor<DriverCommand>::kBits, Descriptor<WindowRequest>::kBits) +
            2 * sizeof(MptEntry) * 8,
        "The command at hand, the region or window that it frees or changes, and the region that the window is bound "
        "to.");
  }

  void requester() {
    add("requester", "packets", p_.requester.packet_buffers, 8 * kMostHeaderBytes,
        "Headers of requests on their way to the port.");
    add("requester", "payload", p_.requester.payload_buffer_bytes + kMaxMtu, 8, "Their payload.");
    // No hardware: WQEs that were read and have not begun, and copies of WQEs until their answer. Reading them again
    // costs what R4 of blocks/requester.h says.
    const std::uint64_t queues = p_.requester.send_queues;
    add("requester", "send_queues", queues, kSendQueue, "Send side of each QP.");
    add("requester", "send_rates", queues, kSendRate, "Reduced rate of each QP.");
    const std::uint64_t rendezvous = p_.requester.rendezvous;
    add("requester", "rendezvous", rendezvous, Descriptor<RendezvousRequest>::kBits - 1 + index_bits(rendezvous) + 1,
        "Messages that the device reads from their sender, in lists by QP; whether it is FIN's turn.");
    add("requester", "rendezvous_lists", queues, 2 * index_bits(rendezvous) + kValid, "First and last of each QP.");
    add("requester", "wqes", queues, 8 * kMaxSendStride, "WQE of each QP that is being sent, of the longest kind.");
    add("requester", "made", p_.requester.packet_buffers,
        Descriptor<WireFrame>::kBits + kNumber + 3 + Descriptor<SendCompletion>::kBits,
        "Packets that wait for their payload: QP, completion.");
    add("requester", "pieces", kMaxSge, Descriptor<DataSegment>::kBits, "Segments of the packet at hand.");
    add("requester", "asking", 2 * queues, kNumber + 1, "QPs with WQEs to read, and to read again.");
    add("requester", "windows", queues, kNumber + 1,
        "QPs with a window to bind or a key to invalidate, and those that wait for it.");
    add("requester", "flushing", queues, index_bits(queues), "QPs with WQEs to flush, in the order of their failures.");
    add("requester", "resets", queues, kNumber, "QPs that the receive path is to forget.");
    add("requester", "successes", p_.requester.packet_buffers, Descriptor<SendCompletion>::kBits,
        "Completions of UC and UD, and of windows, on their way.");
  }

 private:
  static constexpr std::uint64_t kEvent = 3 + kNumber;
  static constexpr std::uint64_t kTimer = 64;  // a cycle

  void add(const char* block, const std::string& name, std::uint64_t entries, std::uint64_t bits, const char* holds) {
    list_.push_back({block, name, entries, bits, holds});
  }
  template <class T>
  void pipeline(const char* block, std::uint64_t depth) {
    add(block, "pipeline", depth, Descriptor<T>::kBits, "Descriptors in the block.");
  }
  // What a cache of contexts holds besides them (core/memory/context_cache.h).
  void contexts(const char* block, const std::string& of, const ContextCacheSizes& s) {
    add(block, of + "_tags", s.entries, tag_bits(kNumber, s.sets(), s.set_ways()) + 2,
        "Number of each line, dirty, read ahead and not used.");
    add(block, of + "_misses", s.misses, 2 * kNumber + index_bits(s.entries),
        "Contexts on their way from memory: number, line, number of the one that made room.");
  }
  void refusals(const char* block) { add(block, "refused", qps(), kRefused, "What is refused for each cached QP."); }
  std::uint64_t qps() const { return std::uint64_t{p_.qp_context_cache.sets} * p_.qp_context_cache.ways; }

  void tags() {
    const auto& t = p_.tag_match_cam;
    add("tag_match_cam", "values", t.entries, 64, "Tag of each entry, compared in parallel.");
    add("tag_match_cam", "masks", t.entries, 64, "Bits of each tag that are compared.");
    add("tag_match_cam", "buffers", t.entries, kSegment, "Buffer of each entry.");
    // A hashed CAM chains its entries, in buckets and, those with a wildcard, by age.
    const std::uint64_t chains = t.organisation == TagOrganisation::kHashed ? 2 * index_bits(t.entries) : 0;
    add("tag_match_cam", "ages", t.entries, kSequence + index_bits(t.max_tags) + kNumber + kValid + chains,
        "Age, handle and SRQ of each entry.");
    add("tag_match_cam", "handles", std::uint64_t{t.lists} * t.max_tags, 2,
        "Of each handle: free, in the CAM, in the overflow, or matched.");
    add("tag_match_cam", "undo", most_tag_returns(p_), 2 * 64 + kSegment + kSequence + index_bits(t.max_tags) + kNumber,
        "Entries of matches that may be taken back.");
    add("tag_match_cam", "returns", most_tag_returns(p_), index_bits(t.max_tags) + index_bits(t.lists) + 1,
        "Matches that were returned: list, if it is still there, and handle.");
    add("tag_match_cam", "walk_buffer", std::uint64_t{t.refill_reads} * t.overflow_entries_per_read,
        8 * sizeof(TagOverflowEntry), "Overflow entries that reads have fetched.");
    add("tag_match_cam", "bursts", t.refill_reads,
        kNumber + index_bits(2 * std::uint64_t{t.max_tags}) + std::bit_width(t.overflow_entries_per_read) + 2 + 2,
        "Reads of the overflow: list, slot, entries, kind, state.");
    add("tag_match_cam", "leaving", std::uint64_t{p_.dma_engine.queue_depth} + 1, 8 * sizeof(TagOverflowEntry),
        "Overflow entries that are written, until the DMA engine has taken them.");
    add("tag_match_cam", "results", t.pipeline_depth, Descriptor<WqeRequest>::kBits + 1,
        "Packets and completions of operations in the block.");
    add("tag_match_cam", "lists", t.lists,
        kNumber + 32 + kNumber + 32 + 2 * 16 + 2 * index_bits(t.max_tags + 1) + 2 * kSequence +
            5 * (index_bits(2 * std::uint64_t{t.max_tags}) + 1) + 2 + kValid,
        "TM SRQs: number, queue, CQ, PD, messages that were not expected, tags in the CAM and in the overflow, next "
        "and "
        "oldest number, slots of the overflow.");
  }
  void wqes() {
    const auto& f = p_.srq_wqe_fetcher;
    add("srq_wqe_fetcher", "prefetched", std::uint64_t{f.queues} * f.prefetch_depth, kReceiveWqe + kSlot + 2,
        "Prefetched WQEs, of the longest kind.");
    add("srq_wqe_fetcher", "prefetch_contexts", f.queues,
        kNumber + 4 * 32 + 2 * kSlot + 2 * index_bits(f.queues) + index_bits(f.prefetch_depth + 1) + 1,
        "Queues that have WQEs on the chip.");
    const std::uint64_t of_read = std::max(f.wqes_per_read * kReceiveWqe, 8 * sizeof(NextSegment) + kReceiveWqe);
    add("srq_wqe_fetcher", "reads", f.reads_in_flight, of_read + index_bits(f.queues) + 32,
        "WQEs being read from memory.");
    add("srq_wqe_fetcher", "wqe_store", f.wqe_store_entries, kWqeInUse + kNumber + 1, "WQEs in use.");
    pipeline<WqeRequest>("srq_wqe_fetcher", f.pipeline_depth);
    add("srq_wqe_fetcher", "open_wqes", f.pipeline_depth, Descriptor<OpenWqe>::kBits,
        "What the context of each packet's QP says of its WQE.");
    const ContextCacheSizes queues{f.queue_contexts, f.queue_context_ways, f.queue_misses_in_flight};
    add("srq_wqe_fetcher", "queue_contexts", queues.entries,
        8 * kWqContextBytes + index_bits(f.queues + 1) + index_bits(f.reads_in_flight + 1) +
            index_bits(f.pipeline_depth + 1) + kValid,
        "RQs and SRQs over those in host memory: ring, indices, limit; prefetch context, reads in flight, packets that "
        "ask, closing.");
    contexts("srq_wqe_fetcher", "queue", queues);
    add("srq_wqe_fetcher", "free_numbers", std::uint64_t{p_.requester.send_queues} + p_.device.max_srqs, kNumber,
        "Numbers of queues that were destroyed.");
    add("srq_wqe_fetcher", "flush_requests", qps(), Descriptor<FlushRequest>::kBits + Descriptor<OpenWqe>::kBits,
        "QPs whose receive queue is to be flushed: a place for each cached QP.");
    add("srq_wqe_fetcher", "late_flushes", f.late_flushes, 32, "RQs that are to be flushed again.");
    refusals("srq_wqe_fetcher");
  }
  // Most packets in the links and blocks from the parser to the DMA engine.
  std::uint64_t packets_in_path() const {
    return p_.rx_parser.header_cycles + p_.rx_parser.out_depth + p_.qp_context_cache.hit_cycles + 2 +
           p_.qp_context_cache.queue_depth + p_.transport_checker.latency_cycles +
           2 * p_.transport_checker.queue_depth + p_.tag_match_cam.pipeline_depth + p_.tag_match_cam.queue_depth +
           p_.srq_wqe_fetcher.pipeline_depth + p_.srq_wqe_fetcher.queue_depth + p_.grh_scatter.latency_cycles +
           p_.grh_scatter.queue_depth + p_.address_translator.hit_cycles + 2 + p_.address_translator.queue_depth + 1 +
           p_.dma_engine.leaving_depth;
  }

  const Params& p_;
  std::vector<OnChipMemory> list_;
};

}  // namespace

std::vector<OnChipMemory> on_chip_memories(const Params& params, const Nic& nic) {
  List list(params);
  list.receive();
  list.memory();
  list.completions();
  if (nic.requester != nullptr) list.requester();
  std::vector<OnChipMemory> all = list.take();
  for (const auto& link : nic.links()) {
    if (nic.notifies_host(*link)) continue;
    all.push_back({"links", link->basename(), link->capacity(), link->value_bits(), "FIFO between two blocks."});
  }
  return all;
}

}  // namespace rxnic
