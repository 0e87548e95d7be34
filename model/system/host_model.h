// SPDX-License-Identifier: Apache-2.0
// The host of a bare capture: a driver and a program that polls its CQs and posts its buffers again.
//
//   R1  A CQE is polled poll_latency after it became visible; everything visible by then is polled together. Visible is
//       what `landed` has reported, not what the device has merely begun to write.
//   R2  A polled receive's buffer is posted again repost_latency later; its doorbell arrives doorbell_latency after
//       that.
//   R3  Each poll moves the consumer index with one doorbell per CQ.
//   R4  A completion in error ends the posting to an RQ: its QP is in the error state.
//   R5  What a polled completion asks of a tag list (tag_program.h, tag_schedule.h) is given to the device
//       repost_latency later, in order. A receive that is due at a time of its own is given then.
//   R6  `ready`, once: the device has taken the doorbells of the first receive WQEs, and the first tags.
//   R7  With an application (application.h) a received message is served first. Then its buffer, or its tag, is posted
//       again.
//   R8  An armed CQ: the program arms it, and polls it poll_latency after its event. The doorbell that moves the
//       consumer index arms it again.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "model/blocks/written_completions.h"
#include "model/engine/delay_line.h"
#include "model/engine/link.h"
#include "model/nic/host_ports.h"
#include "model/params/params.h"
#include "model/system/application.h"
#include "model/system/flat_index.h"
#include "model/system/latencies.h"
#include "model/system/receive_ring.h"
#include "model/system/tag_program.h"
#include "model/system/tag_schedule.h"
#include "model/types/command.h"
#include "model/types/completion.h"
#include "model/types/dma.h"
#include "model/types/tag_matching.h"

namespace rxnic {

struct HostCounters {
  std::uint64_t cqes = 0;           // completions polled
  std::uint64_t error_cqes = 0;     // of them with an error status
  std::uint64_t receive_bytes = 0;  // byte_count of successful receives
  std::uint64_t doorbells = 0;      // rung
};

class CqeObserver {
 public:
  virtual ~CqeObserver() = default;
  virtual void on_cqe(Cqn cq, const Cqe& cqe, Cycle polled) = 0;
};

// No page request comes: its regions are not on demand.
class HostModel final : public Block, public HostPorts {
 public:
  HostModel(const sc_core::sc_module_name& name, const Params& params, HostMemory& memory);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;

  // Before the simulation starts: the CQ is filled with ones, the queue gets its first WQEs.
  // `armed`: the program waits for its events (R8).
  void add_cq(const CqContext& cq, bool armed = false);
  // `hold_after`: the program posts no more than that many WQEs until the device has answered RNR on the queue. Then
  // the next entry counts; after the last entry there is no limit.
  void add_queue(const ReceiveRingParams& params, const std::vector<std::uint64_t>& hold_after = {});
  void add_tag_list(TagListParams params);
  void add_tag_list(const TagListParams& params, std::vector<TagPost> posts);
  void set_application(const ApplicationPlan& plan, std::uint64_t seed) {
    application_ = Application(plan, period_ps_, seed);
  }
  // The device sent an RNR NAK for a message of this RQ's QP in cycle `now`; the program knows in the next one.
  void on_rnr_nak(Qpn qpn, Cycle now);
  void set_observer(CqeObserver* observer) { observer_ = observer; }
  const HostCounters& counters() const { return counters_; }
  // The unexpected messages that the searches of the programs of tags passed, one search a receive.
  Histogram unexpected_depths() const;
  // Is notified of the receive completions that can be seen, when the completion generator notifies written().
  void set_latencies(Latencies* latencies) { latencies_ = latencies; }
  WrittenCompletions& written() { return written_; }

  Out<StepDone> ready{"ready"};

 private:
  struct Cq {
    CqContext context;
    std::uint32_t consumer = 0;  // slots
    std::uint32_t visible = 0;   // completions that have landed and are not polled
    bool polled_soon = false;    // a poll is scheduled
    bool armed = false;          // (R8)
  };
  struct Due {
    enum class Kind : std::uint8_t { kPoll, kPost, kRing, kConsumer, kArm } kind = Kind::kPoll;
    std::uint32_t index = 0;  // of the CQ or the queue
    std::uint32_t value = 0;  // kRing: producer index; kConsumer, kArm: consumer index
  };
  void poll(std::uint32_t index, Cycle now);
  BusAddress cqe_address(const CqContext& cq, std::uint32_t slot) const;
  struct TagStep {
    std::uint32_t list = 0;
    TagProgram::Action action;
  };
  using TagList = std::variant<TagProgram, TagSchedule>;
  // A message that the application serves, and what is given back then: a WQE of a queue, or an entry of a tag list.
  struct Served {
    Cycle done;
    std::uint64_t number = 0;
    std::uint32_t queue = 0, slot = 0;
    bool of_tags = false;
    TagStep step;
    bool operator>(const Served& other) const { return std::tie(done, number) > std::tie(other.done, other.number); }
  };
  // Bits of inputs_.
  static constexpr std::uint64_t kLanded = 1, kReceiveEvents = 2, kCompletionEvents = 4, kPageRequests = 8;
  static constexpr std::uint64_t kEvents = kReceiveEvents | kCompletionEvents | kPageRequests;
  bool take_events(Cycle now);
  bool take_landed(Cycle now);
  bool ring(const Due& due, Cycle now);
  void take(const Cq& cq, const Cqe& cqe, Cycle now);
  bool send_tag(const TagStep& step, Cycle now);
  void tag_completed(const Cqe& cqe, Cycle now);
  void schedule_tag(const TagStep& step, Cycle now);
  bool post_due(Cycle now);
  Cycle next_post() const;
  bool finish_served(Cycle now);
  void give_back(std::uint32_t queue, std::uint32_t slot, Cycle now);
  void schedule_post(std::uint32_t queue, Cycle now);
  void lift_hold(Qpn qpn, Cycle now);
  Cycle cycles(std::uint64_t ps) const { return Cycle{(ps + period_ps_ - 1) / period_ps_}; }

  std::uint64_t period_ps_;
  std::uint32_t cqe_bytes_;  // stride of a CQ
  std::uint32_t max_tags_;   // of a tag list
  Cycle poll_latency_, repost_latency_, doorbell_latency_;
  HostMemory& memory_;
  std::uint64_t inputs_ = 0;  // bit by input whose link is not empty
  CqeObserver* observer_ = nullptr;
  Latencies* latencies_ = nullptr;
  WrittenCompletions written_;
  std::vector<Cq> cqs_;
  FlatIndex cq_index_;  // by CQN
  std::vector<ReceiveRing> queues_;
  std::vector<std::vector<std::uint64_t>> holds_;  // by queue: what is left of hold_after, last first
  std::vector<std::uint8_t> post_soon_;            // by queue: a post is scheduled
  FlatIndex queue_index_;                          // by kind and number
  std::vector<TagList> tag_lists_;
  bool scheduled_ = false;                                      // one of them is a TagSchedule
  std::unordered_map<std::uint32_t, std::uint32_t> tag_index_;  // by SRQN
  DelayLine<TagStep> tag_steps_;
  DelayLine<Qpn> naks_;
  DelayLine<Due> polls_, posts_, doorbells_;
  Application application_;  // (R7)
  std::priority_queue<Served, std::vector<Served>, std::greater<>> serving_;
  std::uint64_t served_ = 0;
  bool first_posted_ = false;  // (R6)
  HostCounters counters_;
  StateHash digest_;  // of all CQEs and when they were polled
};

}  // namespace rxnic
