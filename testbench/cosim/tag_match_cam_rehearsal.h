// SPDX-License-Identifier: Apache-2.0
// What is rare in random traffic of the tag matcher, once, with one list, in fixed cycles. Each stage needs a state
// that random packets and operations hardly ever leave alone for long enough.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "model/core/tag_matching/tag_match_list.h"
#include "model/params/params.h"
#include "model/types/tag_matching.h"
#include "testbench/unit/model/engine/bench.h"

namespace rxnic::tag_match_cam_scene {

// The scene around the block. What is given to one of these functions comes in the order of its cycles.
struct Rehearsed {
  std::function<void(Cycle, const TagOperation&)> post;
  std::function<void(Cycle, WqId, std::uint64_t tag)> search;
  std::function<void(Cycle, WqId, std::uint32_t handle)> give_back;
  std::function<void(Cycle, bool create, WqId)> change_list;
  std::function<void(Cycle, std::uint64_t latency)> set_latency;  // of the memory
  std::function<void(Cycle, bool fails)> set_failing;             // its reads
  std::function<void(Cycle, bool lies)> set_lying;                // its reads: of each the first entry is dead
  std::function<void(Cycle, bool come_back)> set_returns;         // whether matches come back
};

class Rehearsal {
 public:
  // `counts`: there is time for more unexpected messages than 16 bits count.
  Rehearsal(const TagMatchCamParams& params, std::uint32_t most_returns, bool counts, Rehearsed scene)
      : t_(params), most_returns_(most_returns), counts_(counts), scene_(std::move(scene)) {}

  // The first cycle after it.
  Cycle run() {
    post(0, t_.entries);
    match_and_return_in_one_cycle();
    search_while_the_list_is_made_again();
    post(0, t_.entries);
    post(t_.entries, t_.entries + 6);  // to the overflow
    at_ += 200;
    walk();
    post(0, 16);  // fill it again
    at_ += 300;
    lose_the_list();
    ask_for_syncs();
    compact();
    meet_a_younger_one();
    lose_the_list_before_the_walk();
    return_the_oldest();
    lose_an_entry();
    return_and_match_in_one_cycle();
    return_the_youngest();
    return_behind_one_that_fails();
    if (t_.max_tags <= 32) fill_the_ring();  // a larger one takes too long
    if (counts_ && t_.hazard != SearchHazard::kStall) count_beyond_16_bits();
    renew_lists();
    for (std::uint32_t n = 0; n < 3; ++n) scene_.change_list(at_, true, WqId{t_.lists + 1 - n});  // one too many
    scene_.set_returns(at_, true);
    return at_ + 100;
  }

 private:
  static constexpr std::uint64_t kLong = 400;  // latency of memory
  static std::uint64_t tag_of(std::uint32_t handle) { return 0xabc'0000'0000u + handle; }

  void post_tag(std::uint32_t handle, std::uint64_t tag, WqId srq = WqId{0}) {
    TagOperation op;
    op.opcode = TagOpcode::kAdd;
    op.srq = srq;
    op.entry = {handle, tag, ~std::uint64_t{0}, {4096, 1, tag}};
    scene_.post(at_, op);
    at_ += t_.append_cycles + 1;
  }
  void post_to_another_list(std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t n = from; n < to; ++n) post_tag(n, tag_of(n), WqId{1});
  }
  void post(std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t n = from; n < to; ++n) post_tag(n, tag_of(n));
  }
  void search_at(Cycle at, std::uint64_t tag, WqId srq = WqId{0}) { scene_.search(at, srq, tag); }
  void give_back(Cycle at, std::uint32_t handle, WqId srq = WqId{0}) { scene_.give_back(at, srq, handle); }
  void search(std::uint32_t handle) {
    search_at(at_, tag_of(handle));
    at_ += 20;
  }
  void remove(std::uint32_t handle, std::uint64_t later = 0) {
    TagOperation op;
    op.opcode = TagOpcode::kDelete;
    op.srq = WqId{0};
    op.entry.handle = handle;
    scene_.post(at_ + later, op);
  }
  void sync(std::uint16_t unexpected) {
    TagOperation op;
    op.opcode = TagOpcode::kSync;
    op.srq = WqId{0};
    op.tm_sync = true;
    op.unexpected_count = unexpected;
    scene_.post(at_, op);
    at_ += 4;
  }
  void renew_list(WqId srq = WqId{0}) {
    scene_.change_list(at_, false, srq);
    scene_.change_list(at_, true, srq);
    at_ += 20;
  }
  void renew_lists() {
    renew_list(WqId{0});
    renew_list(WqId{1});
  }

  // A match in the overflow while a match of the same handle comes back, from before its tag was posted again. The
  // entry that is put back is the one that has just matched (R14). The CAM is full of the tags 0 and on, before and
  // after.
  void match_and_return_in_one_cycle() {
    const std::uint32_t other = t_.max_tags - 1;
    const std::uint64_t again = tag_of(t_.max_tags);
    scene_.set_returns(at_, false);
    search(0);
    post_tag(other, tag_of(other));
    post_tag(0, again);  // to the overflow
    at_ += 200;
    scene_.set_latency(at_, kLong);
    search(1);  // makes room, for which the overflow is read
    search_at(at_, again);
    // In one of these cycles the read has come; in those before and after it the handle has not matched.
    for (std::uint64_t n = 20; n < kLong + 60; ++n) give_back(at_ + n, 0);
    at_ += kLong + 200;
    search_at(at_, again);
    at_ += 20;
    search(other);
    scene_.set_returns(at_, true);
    post(0, 2);
  }

  // Messages, each with a tag of the list, in every cycle in which there may be a message. In one of these cycles the
  // list is removed and made again, without tags (R15).
  void search_while_the_list_is_made_again() {
    scene_.set_returns(at_, false);
    for (std::uint32_t n = 0; n + 2 < t_.entries && n < 24; ++n) search_at(at_ + n, tag_of(2 + n));
    scene_.change_list(at_ + 8, true, WqId{0});
    at_ += 400;
    scene_.set_returns(at_, true);
  }

  // An entry goes back between others of the overflow; a search has a match in the CAM while older entries are on
  // their way.
  void walk() {
    scene_.set_latency(at_, 100);
    search(t_.entries + 3);  // its match comes back
    at_ += 2000;
    scene_.set_latency(at_, kLong);
    scene_.set_returns(at_, false);
    for (std::uint32_t n = 0; n < 10; ++n) search(n);  // more than there is in the overflow, dead ones with it
    if (t_.refill_reads < 8) at_ += 300;               // otherwise they are all on their way
    post(0, 1);
    search(0);
    at_ += 2000;
  }

  // The list goes during a walk; a read fails.
  void lose_the_list() {
    for (const bool fails : {false, true}) {
      scene_.set_failing(at_, fails);
      search(t_.max_tags);  // no tag: walks to the end
      if (!fails) scene_.change_list(at_, false, WqId{0});
      if (!fails) scene_.change_list(at_ + 500, true, WqId{0});
      at_ += 600;
      if (!fails) post(0, t_.entries + 6);
      at_ += 200;
    }
    at_ += 1000;
    scene_.set_failing(at_, false);
    renew_list();
  }

  // Unexpected messages up to the last that asks for no sync, and one more (R12). The list has counted none.
  void ask_for_syncs() {
    std::uint16_t unexpected = 0;
    for (std::uint32_t n = 0; n < 8; ++n) {
      sync(static_cast<std::uint16_t>(unexpected - TagMatchList::kMostUnacknowledged + 1));
      for (std::uint32_t more = 0; more < 2; ++more) search(t_.max_tags);
      unexpected += 2;
    }
    sync(unexpected);
  }

  // More dead entries than live ones, twice: the overflow is compacted. The first time it is compacted to the end; the
  // second, until there is room in the CAM, so that readers meet the gap (R8).
  void compact() {
    constexpr std::uint32_t kLive = 3;  // the first of the overflow, and the last ones
    const std::uint32_t in_read = t_.overflow_entries_per_read;
    const std::uint32_t dead = std::max(in_read, kLive + 1);
    post(0, t_.entries + dead + kLive);
    const auto kill = [&](std::uint32_t nth) {
      search(t_.entries + nth);
      at_ += 200;
    };
    scene_.set_latency(at_, 20);
    at_ += 100;
    for (std::uint32_t n = 1; n <= dead; ++n) kill(n);
    at_ += 500;
    for (std::uint32_t n = 1; n <= dead; ++n) post(t_.entries + n, t_.entries + n + 1);
    at_ += 200;
    // In the order of their ages: 0, dead + 1, dead + 2, 1, 2, ...
    kill(dead + 1);
    kill(dead + 2);
    for (std::uint32_t n = 1; n + kLive <= dead; ++n) kill(n);
    scene_.set_latency(at_, kLong);
    search(t_.entries + dead - 2);  // the last that dies: so many reads find it
    at_ += (dead / in_read + 1) * kLong;
    at_ += in_read > 1 ? kLong / 2 : kLong + kLong / 2;  // during a read that leaves the gap behind the first entry
    search(0);
    at_ += 8 * kLong;
  }

  // A search with a match in the CAM waits for older entries. The first entry that is younger decides the search,
  // although one more is on its way (R7). Then an entry of the overflow is removed (R8). The CAM is full, and two
  // entries are in the overflow.
  void meet_a_younger_one() {
    search(1);
    at_ += 4 * kLong;  // one is left there
    search(2);         // it is on its way
    search(3);
    post(1, 2);  // to the CAM
    post(2, 4);  // to the overflow
    search(4);   // they are on their way, one after the other
    search(5);
    search(1);
    at_ += 4 * kLong;
    post(4, 6);  // the second one to the overflow
    remove(5);
    at_ += 2 * kLong;
    post(5, 6);
    at_ += 100;
  }

  // It goes while a search that has to walk has not even its result in the CAM (R7, R15).
  void lose_the_list_before_the_walk() {
    search_at(at_, tag_of(t_.max_tags));
    scene_.change_list(at_ + 1, false, WqId{0});
    at_ += 2 * kLong;
    scene_.change_list(at_, true, WqId{0});
    at_ += 20;
  }

  // Returns the match that is longest ago of all that may come back (R14).
  void return_the_oldest() {
    scene_.set_latency(at_, 20);
    post(0, 10);
    search(0);
    for (std::uint32_t n = 1; n < most_returns_; ++n) {
      search(1 + n % 8);
      post(1 + n % 8, 2 + n % 8);
    }
    give_back(at_, 0);
    at_ += 20;
    search(0);
  }

  // The bytes say that the only entry of the overflow is dead, although it has not matched (R9).
  void lose_an_entry() {
    renew_lists();
    post(0, t_.entries + 1);
    at_ += 200;
    scene_.set_lying(at_, true);
    search(1);  // makes room
    at_ += 200;
    scene_.set_lying(at_, false);
    search(t_.max_tags);
    at_ += 200;
  }

  // In the cycle in which the CAM is free again, a match that came back is written to the overflow. In that cycle, too,
  // a message takes the entry of another tag. This tag is removed: too late.
  void return_and_match_in_one_cycle() {
    renew_lists();
    post(0, t_.entries);
    at_ += 100;
    search(t_.entries - 1);
    post_to_another_list(0, 1);
    at_ += 100;
    remove(t_.max_tags - 1);  // which is not posted, but occupies the CAM
    give_back(at_ + 1, t_.entries - 1);
    search_at(at_ + 2, tag_of(2));
    remove(2, t_.append_cycles);
    at_ += 200;
  }

  // A match that is younger than all of the overflow, whose entries are those that made room in the CAM for others that
  // came back. It goes to their end (R14); once more, while the overflow is compacted (R8).
  void return_the_youngest() {
    for (const bool compacts : {false, true}) {
      renew_lists();
      // As many as the compaction reads twice, few of which live.
      const std::uint32_t some = compacts ? std::max(t_.overflow_entries_per_read + 2, 7u) : 3;
      scene_.set_latency(at_, 20);
      post(0, t_.entries);
      at_ += 100;
      const std::uint32_t youngest = t_.entries - 1;
      search(youngest);
      for (std::uint32_t n = 0; n < some; ++n) search(n);
      post_to_another_list(0, some + 1);
      at_ += 100;
      for (std::uint32_t n = 0; n < some; ++n) {
        give_back(at_, n);
        at_ += 60;
      }
      // The overflow: so many in front of the youngest.
      if (compacts) {
        for (std::uint32_t n = 2; n + 1 < some; ++n) {
          search(youngest - n);
          at_ += 200;
        }
        scene_.set_latency(at_, 100);
        search(youngest - some + 1);                             // the second one
        at_ += t_.overflow_entries_per_read == 1 ? 500u : 120u;  // its walk, and some of the compaction
      }
      give_back(at_, youngest);
      // While it is looked where it belongs there comes more than there is place for: of tags that are not posted.
      for (std::uint32_t n = 0; n <= most_returns_; ++n) give_back(at_ + 1, t_.max_tags - 1);
      at_ += 2000;
      search(youngest);
      at_ += 1000;
    }
  }

  // A match comes back that belongs among the entries of its overflow, and their read fails (R9). Behind it there is a
  // match of another list. The youngest entry of that list makes room in the same cycle, as the CAM is full (R14).
  void return_behind_one_that_fails() {
    renew_lists();
    scene_.set_latency(at_, 20);
    post(0, t_.entries);
    at_ += 100;
    const std::uint32_t youngest = t_.entries - 1, some = 3;
    search(youngest);
    for (std::uint32_t n = 0; n < some; ++n) search(n);
    post_to_another_list(0, some + 1);
    at_ += 100;
    for (std::uint32_t n = 0; n < some; ++n) {  // in front of the overflow
      give_back(at_, n);
      at_ += 60;
    }
    scene_.set_latency(at_, 100);
    search_at(at_, tag_of(0), WqId{1});  // makes room for the oldest entry of the overflow
    at_ += 400;
    scene_.set_failing(at_, true);
    give_back(at_, youngest);
    give_back(at_ + 1, 0, WqId{1});
    at_ += 400;
    scene_.set_failing(at_, false);
    renew_lists();
  }

  // Another list has the CAM, and all tags of this list are in its overflow, with as many dead ones. So all slots of
  // the ring are in use. An append waits, and a match that comes back, until the ring has been compacted (R8).
  void fill_the_ring() {
    renew_lists();
    scene_.set_latency(at_, 5);
    post_to_another_list(0, t_.entries);
    post(0, t_.max_tags);
    at_ += 100;
    const auto kill = [&](std::uint32_t handle, bool posts) {
      search_at(at_, tag_of(handle));
      at_ += 3;
      if (posts) post(handle, handle + 1);  // at once: before there is a compaction
      at_ += 150;
    };
    for (std::uint32_t n = 0; n <= t_.max_tags; ++n) kill(1 + n % (t_.max_tags - 1), true);
    at_ += 500;
    for (std::uint32_t n = 0; n < t_.max_tags; ++n) kill(1 + n % (t_.max_tags - 1), true);
    scene_.set_latency(at_, 60);
    kill(3, false);
    at_ += 400;
    give_back(at_, 3);
    at_ += 2000;
  }

  // Software has seen all unexpected messages but a few, again and again, until their number is 0 again (R12).
  void count_beyond_16_bits() {
    constexpr std::uint32_t kBeyond = 40, kSeldom = 4096;
    renew_lists();
    scene_.set_returns(at_, false);
    for (std::uint32_t n = 1; n <= 0x10000 + kBeyond; ++n) {
      search_at(at_, tag_of(t_.max_tags));
      at_ += 1;
      const bool near = n + kBeyond > 0x10000;
      if (!near && n % kSeldom != 0) continue;
      at_ += 20;
      if (n % 3 != 0) sync(static_cast<std::uint16_t>(n - (near ? n % 3 - 1 : 0)));
      if (near && n % 8 == 0) sync(static_cast<std::uint16_t>(n - TagMatchList::kMostUnacknowledged - n % 16 / 8));
    }
  }

  const TagMatchCamParams t_;
  const std::uint32_t most_returns_;
  const bool counts_;
  const Rehearsed scene_;
  Cycle at_{8};
};

}  // namespace rxnic::tag_match_cam_scene
