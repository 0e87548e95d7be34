// SPDX-License-Identifier: Apache-2.0
// The tag matcher in an environment that keeps it busy: first what is rare, once, then random traffic. The traffic has
// packets, operations, returned matches, lists that come and go, memory that fails now and then, and random
// back-pressure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>

#include "model/core/tag_matching/tag_returns.h"
#include "model/types/descriptor_bits.h"
#include "testbench/cosim/edges.h"
#include "testbench/cosim/random.h"
#include "testbench/cosim/tag_match_cam_configurations.h"
#include "testbench/cosim/tag_match_cam_rehearsal.h"
#include "testbench/unit/model/blocks/tag_match_cam_harness.h"

namespace rxnic::tag_match_cam_scene {

inline constexpr std::uint32_t kLines = 8;

// What happens to reads of the overflow.
struct ReadFaults {
  Random random;
  bool breaks = false;  // a read fails, now and then
  bool fails = false;   // always
  bool lies = false;    // an entry that is read is another one, now and then, or dead
  bool buries = false;  // the first one of a read is always dead

  void act_on(FaultyMemory& memory) {
    memory.keeps_log = false;
    memory.is_unreadable = [this](BusAddress) { return fails || (breaks && random.one_in(16)); };
    memory.on_read = [this](std::span<std::uint8_t> to) {
      if (buries) std::memset(&to[kLive], 0, sizeof StoredTag::live);
      if (lies && random.one_in(8)) spoil(to.subspan(random.below(to.size() / kEntry) * kEntry));
    };
  }

 private:
  static constexpr std::size_t kEntry = sizeof(TagOverflowEntry), kLive = offsetof(StoredTag, live);
  void spoil(std::span<std::uint8_t> entry) {
    std::uint32_t word = random.one_in(2) ? 0 : random.one_in(2) ? random.below(64) : 1u << random.below(32);
    std::memcpy(&entry[random.one_in(2) ? kLive : offsetof(StoredTag, handle)], &word, sizeof word);
  }
};

// The block, and an environment that keeps it busy; less so for some thousand cycles now and then.
class Scene : public TagMatchCamHarness {
 public:
  // `adapts`: operations are made by what the model's block knows.
  Scene(Bench& b, const Params& params, std::uint64_t seed, std::uint64_t cycles, bool adapts = true)
      : Scene(b, params, Random(seed), seed, cycles, adapts) {}
  const Edges& edges() const { return edges_; }

 private:
  Scene(Bench& b, const Params& params, Random random, std::uint64_t seed, std::uint64_t cycles, bool adapts)
      : TagMatchCamHarness(b, params,
                           {.in = 2 + random.below(4),
                            .operations = 2 + random.below(4),
                            .returned = 2 + random.below(4),
                            .lists = 2,
                            .list_done = 2,
                            .out = 2 + random.below(6),
                            .read_cycles = 5 + random.below(60),
                            .dma = params.dma_engine.queue_depth}),
        random_(random),
        edges_(seed),
        cycles_(cycles),
        adapts_(adapts),
        most_(params.tag_match_cam.max_tags),
        entries_(params.tag_match_cam.entries),
        srqs_(params.tag_match_cam.lists + 2),
        faults_{Random(seed)} {
    faults_.act_on(host);
    if (adapts) {
      const bool counts = cycles >= kCountsFrom;
      random_from_ = Rehearsal(params.tag_match_cam, most_tag_returns(params), counts, rehearsed()).run();
    }
    out.accept_when([this, seed](Cycle c) { return c < random_from_ || accepts(c, seed, 5); });
    memory.accept_when([this, seed](Cycle c) { return c < random_from_ || accepts(c, seed + 2, 4); });
    list_done.accept_when([this, seed](Cycle c) { return c < random_from_ || accepts(c, seed + 1, 3); });
    out.on_value([this](Cycle now, const WqeRequest& p) { maybe_return(now, p); });
    for (std::uint32_t n = 0; n + 1 < params.tag_match_cam.lists; ++n) dut.create(numbered(n), {});
    bench.at(random_from_, [this](Cycle now) { send_more(now); });
  }

  // In spans of 256 cycles always, or in one cycle of some.
  static bool accepts(Cycle c, std::uint64_t seed, std::uint64_t kinds) {
    const std::uint64_t span = (c.count >> 8) * 0x9e3779b97f4a7c15u ^ seed;
    const std::uint64_t mixed = (c.count + span) * 0xd1342543de82ef95u >> 40;
    return mixed % (std::uint64_t{1} << (span >> 20) % kinds) == 0;
  }

  // Three have an overflow, most of the time. Some differ from these in one bit, and the others have numbers with any.
  static WqId numbered(std::uint32_t n) {
    return WqId{n < 3 ? n : n == 3 ? 1u << 23 : n == 4 ? 1u << 15 | 1 : n * 0x9e37u & 0xffff};
  }
  WqId any_queue() { return numbered(random_.below(srqs_)); }
  WqId other_queue() { return numbered(3 + random_.below(srqs_ - 3)); }
  TagListCommand creation_of(WqId srq) {
    return {true, srq, Pdn{static_cast<std::uint32_t>(random_.bits())}, Cqn{random_.below(1u << 24)}};
  }
  std::uint64_t tag() {
    const std::uint64_t of_kind = (random_.one_in(3) ? other_tags_ : 0) + random_.below(kinds_);
    return edges_.one_in(8) ? of_kind ^ edges_.bit(64) : of_kind;
  }
  WqId srq() { return random_.one_in(30) ? any_queue() : WqId{random_.below(3)}; }

  WqeRequest packet() {
    std::array<std::uint32_t, words_of_bits(Descriptor<WqeRequest>::kBits)> bits;
    for (std::uint32_t& word : bits) word = static_cast<std::uint32_t>(random_.bits());
    WqeRequest p = unpack<WqeRequest>(bits.data());
    constexpr std::array<Operation, 8> kOperations{
        Operation::kSendFirst,   Operation::kSendMiddle, Operation::kSendLast,    Operation::kSendOnly,
        Operation::kSendOnlyImm, Operation::kSendOnly,   Operation::kWriteMiddle, Operation::kReadResponseFirst};
    if (!random_.one_in(8)) p.opcode = opcode_of(Transport::kRc, kOperations[random_.below(kOperations.size())]);
    p.buffer = kNoPacket;  // a packet that no observer stamps
    p.line = random_.below(kLines);
    if (!random_.one_in(6)) p.role = PacketRole::kReceived;
    if (!random_.one_in(6)) p.outcome = Outcome::kExecute;
    if (!random_.one_in(3)) p.takes_wqe = true;
    p.receive_queue = srq();
    p.tmh_opcode = static_cast<std::uint8_t>(random_.one_in(8)   ? random_.bits()
                                             : random_.one_in(3) ? random_.below(4)
                                                                 : 3);
    p.tag = tag();
    if (!random_.one_in(3)) p.rendezvous = p.tmh_opcode == 1;
    p.local_bytes = random_.one_in(2) ? 4096 + random_.below(2) : random_.below(10'000);
    if (edges_.one_in(4)) p.local_bytes = edges_.length();
    return p;
  }

  TagOperation operation() {
    TagOperation op;
    op.srq = srq();
    const TagMatchList* const list = adapts_ ? model.list(op.srq) : nullptr;
    std::uint32_t kind = list != nullptr && !list->in_phase() && !random_.one_in(3) ? 15 : random_.below(16);
    if (fills_ && !adapts_ && kind < 14) kind = 0;
    op.opcode = kind < adds_ ? TagOpcode::kAdd : kind < 14 ? TagOpcode::kDelete : TagOpcode::kSync;
    op.signaled = random_.one_in(3);
    op.wqe_index = static_cast<std::uint32_t>(random_.bits());
    op.tm_sync = op.opcode == TagOpcode::kSync ? !random_.one_in(4) : random_.one_in(8);
    op.unexpected_count = random_.one_in(80) ? static_cast<std::uint16_t>(random_.bits())
                          : list == nullptr  ? std::uint16_t{}
                                             : list->unexpected();
    if (list != nullptr && random_.one_in(80)) op.unexpected_count = short_of_sync(*list, random_.below(3));
    op.entry.handle = random_.one_in(100)  ? static_cast<std::uint32_t>(random_.bits())
                      : fills_ && !adapts_ ? handle_++ % most_
                                           : random_.below(most_ + 1);
    op.entry.mask = random_.one_in(4) ? random_.bits() : ~std::uint64_t{0};
    if (edges_.one_in(6)) op.entry.mask = ~edges_.bit(64);
    op.entry.tag = tag() & op.entry.mask;
    if (op.opcode == TagOpcode::kAdd) tags_[{raw(op.srq), op.entry.handle}] = op.entry.tag;
    op.entry.buffer = {random_.one_in(2) ? 4096 : static_cast<std::uint32_t>(random_.bits()),
                       static_cast<std::uint32_t>(random_.bits()), random_.bits()};
    if (edges_.one_in(4)) op.entry.buffer.length = edges_.length();
    return op;
  }

  // As many messages that software has not seen as need no sync, save so many.
  static std::uint16_t short_of_sync(const TagMatchList& list, std::uint32_t messages) {
    return static_cast<std::uint16_t>(list.unexpected() - TagMatchList::kMostUnacknowledged + messages);
  }

  void maybe_return(Cycle now, const WqeRequest& p) {
    if (p.role == PacketRole::kTagOperation || !comes_back_) return;
    if (now >= random_from_ && !random_.one_in(mode_ == Mode::kDrain ? 3 : returns_)) return;
    const bool match = p.tag_verdict == TagVerdict::kMatched && !p.takes_wqe;
    if (!match && p.tag_verdict != TagVerdict::kUnexpected) return;
    if (returned.pushed() + 8 < asked_) return;
    ++asked_;
    returned.push(now + 1, {p.receive_queue, match ? p.wqe_index : kNoTagEntry});
  }

  Rehearsed rehearsed() {
    return {
        .post =
            [this](Cycle at, const TagOperation& op) {
              operations.push(at, op);
              ++posted_;
            },
        .search = [this](Cycle at, WqId srq, std::uint64_t tag) { search_for(at, srq, tag); },
        .give_back =
            [this](Cycle at, WqId srq, std::uint32_t handle) {
              returned.push(at, {srq, handle});
              ++asked_;
            },
        .change_list =
            [this](Cycle at, bool create, WqId srq) {
              lists.push(at, {create, numbered(raw(srq)), {}, {}});
            },
        .set_latency =
            [this](Cycle at, std::uint64_t latency) {
              bench.at(at, [this, latency](Cycle) { memory.set_latency(latency); });
            },
        .set_failing = [this](Cycle at, bool fails) { bench.at(at, [this, fails](Cycle) { faults_.fails = fails; }); },
        .set_lying = [this](Cycle at, bool lies) { bench.at(at, [this, lies](Cycle) { faults_.buries = lies; }); },
        .set_returns = [this](Cycle at,
                              bool come_back) { bench.at(at, [this, come_back](Cycle) { comes_back_ = come_back; }); },
    };
  }

  // What comes is made as time goes on; tags are few or many, posted or searched for, for a while.
  void send_more(Cycle now) {
    if (random_.one_in(128)) other_tags_ = random_.bits() << 12;
    if (random_.one_in(16)) kinds_ = 1 + random_.below(random_.one_in(4) ? 200 : 8);
    if (random_.one_in(16)) adds_ = 4 + random_.below(10);
    if (random_.one_in(16)) returns_ = random_.one_in(3) ? 2 : 40;
    if (random_.one_in(64)) faults_.breaks = random_.one_in(5);
    if (random_.one_in(64)) faults_.lies = random_.one_in(8);
    if (random_.one_in(128)) pauses_ = random_.one_in(8);
    if (random_.one_in(256)) fills_ = !random_.one_in(3);
    if (adapts_) steer(now);
    if (random_.one_in(64)) memory.set_latency(random_.one_in(4) ? 300 : 5 + random_.below(60));
    const bool quiet = mode_ == Mode::kThin && !random_.one_in(8);
    const std::uint32_t pace = pauses_ ? 200 : mode_ != Mode::kMixed ? 20 : random_.one_in(3) ? 1 : 8;
    for (std::uint64_t at = 4 + random_.below(pauses_ ? 200 : 4); at < kSpan && !quiet; at += random_.below(pace * 6)) {
      if (sent_ - in.pushed() >= 64) break;
      in.push(Cycle{now.count + at}, packet());
      ++sent_;
    }
    for (std::uint64_t at = 4 + random_.below(pauses_ ? 200 : 4); at < kSpan && !quiet;
         at += random_.below(fills_ && !adapts_ ? 5 : pace * 5)) {
      if (posted_ - operations.pushed() >= 64) break;
      operations.push(Cycle{now.count + at}, operation());
      ++posted_;
    }
    if (random_.one_in(24)) lists.push(now, creation_of(any_queue()));
    if (random_.one_in(24)) {  // most entries are of two lists
      TagListCommand c = creation_of(numbered(random_.one_in(32) ? random_.below(2) : 2 + random_.below(srqs_ - 2)));
      c.create = random_.one_in(2);
      lists.push(now, c);
      if (!c.create) lists.push(now + random_.below(30), creation_of(c.queue));
    }
    if (now.count + kSpan < cycles_) bench.at(now + kSpan, [this](Cycle later) { send_more(later); });
  }

  // Again and again the CAM is filled, until there is some overflow, which goes back then; in between, anything.
  void steer(Cycle now) {
    std::uint32_t waiting = 0;
    for (std::uint32_t n = 0; n < 3; ++n)
      waiting += model.list(WqId{n}) == nullptr ? 0 : model.list(WqId{n})->in_overflow();
    if (mode_ == Mode::kFill && waiting > 30) mode_ = random_.one_in(4) ? Mode::kThin : Mode::kDrain;
    if (mode_ == Mode::kThin && (waiting < 8 || random_.one_in(100))) mode_ = Mode::kDrain;
    if (mode_ == Mode::kDrain && waiting == 0) mode_ = random_.one_in(4) ? Mode::kMixed : Mode::kFill;
    if (mode_ == Mode::kMixed && random_.one_in(60)) mode_ = Mode::kFill;
    for (std::uint32_t n = 0; n < 3; ++n) {
      if (model.list(WqId{n}) != nullptr || !random_.one_in(8)) continue;  // another one has its place
      lists.push(now, {false, other_queue(), {}, {}});
      lists.push(now, creation_of(WqId{n}));
    }
    if (mode_ == Mode::kFill) fill(now);
    if (mode_ == Mode::kThin) thin(now);
    if (mode_ != Mode::kDrain) return;
    if (waiting < 8) memory.set_latency(150);
    meet_the_overflow(now);
    for (std::uint32_t n = 0; n < 3; ++n) search_the_cam(now + 8 * n);
    if (dut.counters().bad_reads == bad_reads_) return;
    bad_reads_ = dut.counters().bad_reads;  // a list has failed
    for (std::uint32_t n = 0; n < 3; ++n) {
      lists.push(now + 100, {false, WqId{n}, {}, {}});
      lists.push(now + 102, creation_of(WqId{n}));
    }
  }

  void fill(Cycle now) {
    for (std::uint64_t at = 0; at < kSpan && posted_ - operations.pushed() < 64; at += 2) {
      TagOperation op = operation();
      op.opcode = TagOpcode::kAdd;
      op.srq = WqId{random_.one_in(20) ? 2 : random_.below(2)};
      const TagMatchList* const list = model.list(op.srq);
      for (std::uint32_t n = 0; list != nullptr && n < 64 && !list->accepts(handle_); ++n)
        handle_ = (handle_ + 1) % most_;
      op.entry.handle = handle_;
      handle_ = (handle_ + 1) % most_;
      if (random_.one_in(2)) {  // which no older one matches
        op.entry.tag = random_.bits();
        op.entry.mask = ~std::uint64_t{0};
      }
      tags_[{raw(op.srq), op.entry.handle}] = op.entry.tag;
      operations.push(now + at, op);
      ++posted_;
    }
  }

  // Some entries of the overflow go, while the CAM stays full but for a moment: the others are compacted.
  void thin(Cycle now) {
    memory.set_latency(random_.one_in(4) ? 100 : 5 + random_.below(20));
    if (sent_ > in.pushed() + 1) return;
    const WqId queue{random_.below(3)};
    const TagMatchList* const list = model.list(queue);
    if (list == nullptr || list->in_overflow() == 0) return;
    std::uint32_t handle = random_.below(most_);
    for (std::uint32_t n = 0; n < most_ && !list->in_overflow(handle); ++n) handle = (handle + 1) % most_;
    search_for(now, queue, tags_[{raw(queue), handle}]);
    if (random_.one_in(16)) search_the_cam(now + 10);
  }

  void search_the_cam(Cycle when) {
    const WqId queue{random_.below(3)};
    const TagMatchList* const list = model.list(queue);
    std::uint32_t handle = random_.below(most_);
    for (std::uint32_t n = 0; list != nullptr && n < 64 && !list->in_cam(handle); ++n) handle = (handle + 1) % most_;
    if (list != nullptr && list->in_cam(handle)) search_for(when, queue, list->entry(handle).tag);
  }

  // On a list with an overflow: an entry of the overflow is searched for or removed, or the list goes meanwhile. Or a
  // tag is posted and searched for at once. When the overflow is on its way into the CAM, the tag goes to the CAM,
  // although older entries are not there yet.
  void meet_the_overflow(Cycle now) {
    const WqId queue{random_.below(3)};
    const TagMatchList* const list = model.list(queue);
    if (list == nullptr || list->in_overflow() == 0) return;
    if (!list->in_phase()) {
      TagOperation op;
      op.opcode = TagOpcode::kSync;
      op.srq = queue;
      op.tm_sync = true;
      op.unexpected_count = list->unexpected();
      operations.push(now, op);
      ++posted_;
    } else if (model.entries_used() < entries_) {
      TagOperation op;
      op.opcode = TagOpcode::kAdd;
      op.srq = queue;
      while (op.entry.handle < most_ && (list->in_cam(op.entry.handle) || list->in_overflow(op.entry.handle))) {
        ++op.entry.handle;
      }
      op.entry.tag = random_.bits();  // which no older one matches
      op.entry.mask = ~std::uint64_t{0};
      operations.push(now, op);
      ++posted_;
      search_for(now + random_.below(4), queue, op.entry.tag);
      return;
    }
    std::uint32_t handle = random_.below(most_);
    for (std::uint32_t n = 0; n < most_ && !list->in_overflow(handle); ++n) handle = (handle + 1) % most_;
    if (random_.one_in(3)) {
      TagOperation op;
      op.opcode = TagOpcode::kDelete;
      op.srq = queue;
      op.entry.handle = handle;
      operations.push(now, op);
      ++posted_;
    } else {
      search_for(now, queue, tags_[{raw(queue), handle}]);
      if (random_.one_in(8)) lists.push(now + 10 + random_.below(40), {false, queue, {}, {}});
    }
  }

  void search_for(Cycle when, WqId queue, std::uint64_t tag) {
    WqeRequest p = packet();
    p.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
    p.role = PacketRole::kReceived;
    p.outcome = Outcome::kExecute;
    p.takes_wqe = true;
    p.receive_queue = queue;
    p.tmh_opcode = static_cast<std::uint8_t>(TmhOpcode::kEager);
    p.tag = tag;
    in.push(when, p);
    ++sent_;
  }

  static constexpr std::uint64_t kSpan = 32;
  static constexpr std::uint64_t kCountsFrom = 150'000;  // cycles: so many have time for 65,536 messages
  Random random_;
  Edges edges_;
  const std::uint64_t cycles_;
  const bool adapts_;
  const std::uint32_t most_, entries_, srqs_;
  ReadFaults faults_;
  std::size_t sent_ = 0, posted_ = 0, asked_ = 0;
  std::uint64_t other_tags_ = 0xfedc'ba98'7654'3000u;
  std::uint32_t kinds_ = 20, adds_ = 10, returns_ = 40;
  enum class Mode : std::uint8_t { kFill, kThin, kDrain, kMixed };
  Mode mode_ = Mode::kFill;
  bool pauses_ = false, fills_ = true, comes_back_ = true;
  Cycle random_from_{};
  std::uint64_t bad_reads_ = 0;
  std::uint32_t handle_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> tags_;  // posted last, by list and handle
};

}  // namespace rxnic::tag_match_cam_scene
