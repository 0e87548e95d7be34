// SPDX-License-Identifier: Apache-2.0
#include "model/nic/on_chip_memory.h"

#include <algorithm>
#include <bit>

#include "model/core/memory/scatter_plan.h"
#include "model/core/memory/translation.h"
#include "model/types/completion.h"
#include "model/types/parsed_packet.h"
#include "model/types/segment.h"
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

constexpr std::uint64_t kReceiveWqe = 8 * (sizeof(NextSegment) + kMaxSge * sizeof(DataSegment));
constexpr std::uint64_t kWqeInUse = kSlot + std::bit_width(kMaxSge) + kLength + kMaxSge * kSegment + kValid;
// The fill level of a WQE: bytes of the message, the element to be written next and the offset in it.
constexpr std::uint64_t kCursor = kLength + std::bit_width(kMaxSge) + kLength;
// What a block refuses for a QP: an epoch, a message, a request of ours, and flags (core/responder/refusal.h).
constexpr std::uint64_t kRefused = 16 + 32 + 32 + 3;

// QPN, PSN, MSN, syndrome, opcode, flags, and what is left of a READ: address, key, length, next PSN.
constexpr std::uint64_t kAnswer = 3 * kNumber + 3 * 8 + kAddress + kKey + kLength + kNumber;

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
    add("rx_parser", "own_addresses", 0, 128, "Addresses of the NIC and its multicast groups.");
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
    add("transport_checker", "undo", packets_in_path(), kUndo, "State of the QP before each packet in the path.");
    add("transport_checker", "responder_resources", 0, kNumber + kNumber + kAddress + kKey + kLength + 4,
        "READ and atomic requests that may be repeated, max_dest_rd_atomic for each QP.");
    add("transport_checker", "own_requests", 0, kNumber + kNumber + kAddress + kKey + kLength + 8,
        "Our own requests without a response.");
    tags();
    wqes();
  }

  void memory() {
    const auto& s = p_.grh_scatter;
    const auto& t = p_.address_translator;
    const std::uint64_t mpt = std::uint64_t{t.mpt_sets} * t.mpt_ways, mtt = std::uint64_t{t.mtt_sets} * t.mtt_ways;
    add("grh_scatter", "cursors", p_.srq_wqe_fetcher.wqe_store_entries, kCursor, "Fill level of each WQE in use.");
    pipeline<ScatteredSegment>("grh_scatter", s.latency_cycles * s.sges_per_cycle);
    add("grh_scatter", "pieces", kMaxPieces, kAddress + kKey + 13 + 1 + 13, "Pieces of the packet at hand.");
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
    add("dma_engine", "read_data", d.tags, 8ull * d.mrrs_bytes, "Data of reads, until it is complete and in order.");
    add("dma_engine", "leaving", d.leaving_depth, Descriptor<CompletionRequest>::kBits,
        "Payload packets whose last write has started.");
    refusals("dma_engine");
  }

  void completions() {
    const auto& c = p_.cqe_generator;
    const std::uint64_t slots = c.compression ? 1 + (c.compression_max + kMiniCqesPerSlot - 1) / kMiniCqesPerSlot : 1;
    add("cqe_generator", "writes", c.write_depth, slots * c.cqe_bytes * 8 + kAddress, "CQEs to be written.");
    add("cqe_generator", "held_events", c.event_depth, kEvent + 64, "Events behind CQEs that have not landed.");
    add("cqe_generator", "events", c.event_depth, kEvent, "Events within the latency of the interrupt.");
    add("cqe_generator", "wqes_completed", p_.srq_wqe_fetcher.wqe_store_entries, 1,
        "WQEs in use that were completed in error.");
    add("cqe_generator", "cq_contexts", 0, kNumber + kAddress + 2 * kLength + kLength + 8,
        "Completion queues: ring, indices, arming, moderation, session.");
    pipeline<AckRequest>("cqe_generator", c.latency_cycles);
    refusals("cqe_generator");
    const auto& a = p_.ack_generator;
    const std::uint64_t answers = std::uint64_t{a.queue_depth} + a.answers_waiting;
    add("ack_generator", "answers", answers, kAnswer + index_bits(answers), "Responses that are due, in lists by QP.");
    add("ack_generator", "flows", answers, kNumber + 3 * index_bits(answers),
        "QPs with responses due: first, last, count.");
    add("ack_generator", "reads_on_their_way", a.read_responses_in_flight, 2 * index_bits(answers),
        "READ responses whose data is being read.");
    add("ack_generator", "packets", a.packet_buffers, 8 * kMaxFrameBytes, "Responses being built.");
    add("ack_generator", "atomic_results", 0, kNumber + kNumber + 64, "Results of atomics that may be repeated.");
    refusals("ack_generator");
  }

  void requester() {
    add("requester", "packets", p_.requester.packet_buffers, 8 * kMaxFrameBytes, "Requests on their way to the port.");
    add("requester", "send_queues", 0, 0, "Send side of each QP, modelled behaviourally.");
  }

 private:
  static constexpr std::uint64_t kEvent = 3 + kNumber;

  void add(const char* block, const char* name, std::uint64_t entries, std::uint64_t bits, const char* holds) {
    list_.push_back({block, name, entries, bits, holds});
  }
  template <class T>
  void pipeline(const char* block, std::uint64_t depth) {
    add(block, "pipeline", depth, Descriptor<T>::kBits, "Descriptors in the block.");
  }
  void refusals(const char* block) { add(block, "refused", qps(), kRefused, "What is refused for each cached QP."); }
  std::uint64_t qps() const { return std::uint64_t{p_.qp_context_cache.sets} * p_.qp_context_cache.ways; }

  void tags() {
    const auto& t = p_.tag_match_cam;
    add("tag_match_cam", "values", t.entries, 64, "Tag of each entry, compared in parallel.");
    add("tag_match_cam", "masks", t.entries, 64, "Bits of each tag that are compared.");
    add("tag_match_cam", "buffers", t.entries, kSegment, "Buffer of each entry.");
    add("tag_match_cam", "ages", t.entries, 2 * index_bits(t.max_tags) + kNumber + kValid,
        "Age, handle and SRQ of each entry.");
    add("tag_match_cam", "walk_buffer", t.overflow_entries_per_read, 8 * sizeof(TagOverflowEntry),
        "Overflow entries that a read has fetched.");
    add("tag_match_cam", "results", t.pipeline_depth, Descriptor<WqeRequest>::kBits + 1,
        "Packets and completions of operations in the block.");
    add("tag_match_cam", "lists", 0, 2 * 16 + 2 * index_bits(t.max_tags + 1), "State of each TM SRQ's list.");
  }
  void wqes() {
    const auto& f = p_.srq_wqe_fetcher;
    add("srq_wqe_fetcher", "prefetched", std::uint64_t{f.queues} * f.prefetch_depth, kReceiveWqe + kSlot + 2,
        "Prefetched WQEs, of the longest kind.");
    add("srq_wqe_fetcher", "prefetch_contexts", f.queues, kNumber + 4 * 32 + 2 * kSlot + 2 * index_bits(f.queues),
        "Queues that have WQEs on the chip.");
    add("srq_wqe_fetcher", "reads", f.reads_in_flight, f.wqes_per_read * kReceiveWqe + index_bits(f.queues) + 32,
        "WQEs being read from memory.");
    add("srq_wqe_fetcher", "wqe_store", f.wqe_store_entries, kWqeInUse + kNumber + 1, "WQEs in use.");
    pipeline<WqeRequest>("srq_wqe_fetcher", f.pipeline_depth);
    add("srq_wqe_fetcher", "queue_contexts", 0, kAddress + 4 * 32 + 2 * kNumber + kSlot + kLength,
        "RQs and SRQs: ring, indices, limit.");
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
    if (link.get() == &nic.landed) continue;  // not hardware: notifies the host model
    all.push_back({"links", link->basename(), link->capacity(), link->value_bits(), "FIFO between two blocks."});
  }
  return all;
}

}  // namespace rxnic
