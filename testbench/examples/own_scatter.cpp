// SPDX-License-Identifier: Apache-2.0
// A scatter engine of one's own in the place of the model's. It makes the same pieces (core/memory/scatter_plan), but
// all of a packet in one cycle. Prints how long each engine was busy for the same traffic. Argument: own
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "model/core/memory/scatter_plan.h"
#include "model/nic/nic_blocks.h"
#include "receiver.h"

namespace {

using rxnic::Cycle, rxnic::Activity;

class WideScatter final : public rxnic::GrhScatterPorts {
 public:
  explicit WideScatter(const sc_core::sc_module_name& name) : GrhScatterPorts(name) {}

  Cycle step(Cycle now) override {
    while (next_ < pieces_left_.size() && out.can_push(now)) out.push(now, pieces_left_[next_++]);
    if (next_ < pieces_left_.size()) return rest(now, Activity::kBlocked, rxnic::kNever);
    if (!in.can_pop(now)) return rest(now, Activity::kStarved, in.next(now));
    take(in.pop(now), now);
    return rest(now, Activity::kBusy, now + 1);
  }
  const rxnic::GrhScatterCounters& counters() const override { return counters_; }

 private:
  void take(rxnic::ScatterJob job, Cycle now) {
    refused_.squash_when_behind(job);
    const rxnic::DataSegment* list = nullptr;
    rxnic::ScatterCursor* cursor = nullptr;
    if (job.wqe_slot != rxnic::kNoWqeSlot) {
      list = lists.peek({job.wqe_slot, 0});
      if (job.wqe_slot >= cursors_.size()) cursors_.resize(job.wqe_slot + 1);
      cursor = &cursors_[job.wqe_slot];
    }
    rxnic::PieceList pieces;
    const rxnic::ScatterWork work = plan_scatter(job, list, cursor, refused_, pieces);
    refused_.report(refusals, now);
    pieces_left_.clear(), next_ = 0;
    for (std::size_t n = 0; n < std::max<std::size_t>(pieces.size(), 1); ++n) {
      rxnic::ScatteredSegment s{static_cast<const rxnic::CompletionRequest&>(job)};
      s.access = job.access;
      s.first = n == 0, s.last = n + 1 >= pieces.size();
      if (n < pieces.size()) {
        const rxnic::Piece& piece = pieces[n];
        s.area = piece.area, s.offset = piece.offset, s.key = piece.key, s.va = piece.va, s.bytes = piece.bytes;
      }
      pieces_left_.push_back(s);
    }
    ++counters_.packets;
    counters_.segments += pieces.size();
    counters_.bytes += work.bytes;
  }

  std::vector<rxnic::ScatterCursor> cursors_;  // by slot of the WQE store
  rxnic::Refusals refused_;
  std::vector<rxnic::ScatteredSegment> pieces_left_;
  std::size_t next_ = 0;
  rxnic::GrhScatterCounters counters_;
};

}  // namespace

int sc_main(int argc, char** argv) {
  const bool own = argc > 1 && std::strcmp(argv[1], "own") == 0;
  rxnic::SystemOptions options{.requester = false};
  if (own) {
    options.blocks.grh_scatter = [](const char* name, const rxnic::BlockPlace&) {
      return std::make_unique<WideScatter>(name);
    };
  }
  Receiver receiver("receiver", options, {.queues = 4, .messages = 1000, .bytes = 1024, .elements = 4});
  sc_core::sc_start();
  receiver.system.engine.settle();
  const rxnic::GrhScatterPorts& scatter = receiver.system.nic(0).grh_scatter;
  std::printf("%s: %u of 1000 SENDs completed, %llu pieces; the engine was busy for %llu cycles\n",
              own ? "a scatter engine of one's own" : "the model's scatter engine", receiver.good,
              static_cast<unsigned long long>(scatter.counters().segments),
              static_cast<unsigned long long>(scatter.account()[static_cast<std::size_t>(Activity::kBusy)]));
  return receiver.good == 1000 ? 0 : 1;
}
