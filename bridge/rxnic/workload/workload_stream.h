// SPDX-License-Identifier: Apache-2.0
// The senders and the network of a page as the NIC's stimulus. What the NIC answers decides what they send next.
//
//   R1  Each peer has a link of its own to a switch. Its QPs with something to send take turns, packet by packet. The
//       switch sends what comes to the NIC, in that order, as fast as the NIC's line takes it; it loses nothing by
//       itself.
//   R2  An answer gets to its peer `delay` after its last byte has left the NIC. So does a packet to the NIC after its
//       last byte has left the peer.
//   R3  What the senders do until `delay` after the present follows from what the NIC has sent so far: it is done then,
//       and no earlier. The result is that of any order in which the NIC's blocks are stepped.
//   R4  It ends behind the last of `packets` frames, or when nobody has anything to send any more.
#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "bridge/rxnic/output/progress.h"
#include "bridge/rxnic/workload/network.h"
#include "bridge/rxnic/workload/sender_group.h"
#include "model/system/simulation.h"
#include "model/system/wire_source.h"

namespace rxnic {

struct SenderCounts {
  std::uint64_t messages = 0, answered = 0;  // begun, and of them ended
  std::uint64_t repeated = 0;                // packets that were sent before
  std::uint64_t timeouts = 0, failed_qps = 0;
};

class WorkloadStream final : public StimulusStream, public FrameObserver {
 public:
  // `link_gbps` of the NIC. The page and the layout must outlive it, and the job of [mpi].
  WorkloadStream(const WorkloadPage& page, const WorkloadLayout& layout, std::uint64_t link_gbps, Progress& progress,
                 const MpiJob* job = nullptr);
  // Before the run.
  void begin(Simulation& simulation);

  bool next(Stimulus& item) override;
  void on_frame(const Packet& p, std::uint64_t time_ps) override;
  // Sees each frame for the NIC.
  void set_copy(std::function<void(Bytes frame, std::uint64_t time_ps)> copy) { copy_ = std::move(copy); }

  std::uint64_t packets() const { return packets_; }
  SenderCounts counts() const;
  const NetworkCounts& network() const { return network_.counts(); }

 private:
  enum class EventKind : std::uint8_t { kAnswer, kAlarm, kArrival, kPost, kLinkDone };
  struct Event {
    std::uint64_t time_ps = 0;
    EventKind kind = EventKind::kPost;
    std::uint64_t order = 0;  // among those of one kind at the same time
    std::uint32_t index = 0;  // of the QP, the group, the peer or the answer
    bool operator>(const Event& o) const {
      if (time_ps != o.time_ps) return time_ps > o.time_ps;
      return kind != o.kind ? kind > o.kind : order > o.order;
    }
  };
  struct Answer {
    Headers h;
    std::uint32_t qp = 0;
  };
  // A peer's link: what it is sending, and the QPs with something to send.
  struct Link {
    double free_ps = 0;
    double ps_per_byte = 0;
    bool busy = false;
    std::uint32_t qp = 0;
    Headers h;
    SenderPayload payload;
    std::deque<std::uint32_t> turns;
  };

  void at(std::uint64_t time_ps, EventKind kind, std::uint64_t order, std::uint32_t index);
  std::uint64_t now_ps() const;
  void drop_old_alarms();
  void take(const Event& e);
  void link_done(std::uint32_t peer, std::uint64_t now_ps);
  void start_link(std::uint32_t peer, std::uint64_t now_ps);
  void activate(std::uint32_t qp, std::uint64_t now_ps);
  void post(std::uint32_t qp, std::uint64_t now_ps);
  void answered(std::uint32_t qp, std::uint32_t messages, std::uint64_t now_ps);
  void post_later(std::size_t group, std::uint64_t now_ps);
  void set_alarm(std::uint32_t qp);
  void note_failure(std::uint32_t qp, std::uint64_t now_ps);
  std::span<std::uint8_t> build_frame(Headers& h, const SenderPayload& payload);

  const WorkloadPage& page_;
  const WorkloadLayout& layout_;
  Progress& progress_;
  Simulation* simulation_ = nullptr;
  std::uint64_t delay_ps_;
  std::vector<SenderQp::Limits> limits_;  // by group
  std::uint64_t tagged_ = 0;              // messages
  std::vector<SenderGroup> groups_;
  std::vector<SenderQp> qps_;
  std::vector<std::uint8_t> turns_taken_;  // by QP: it stands in its link's turns
  std::vector<std::uint8_t> failure_noted_;
  std::vector<std::uint64_t> alarms_;  // by QP: when it is looked at; 0: not at all
  std::vector<Link> links_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Answer> answers_;
  std::vector<std::uint32_t> free_answers_;
  std::vector<std::uint32_t> posts_;  // scratch
  WorkloadNetwork network_;
  std::function<void(Bytes, std::uint64_t)> copy_;
  std::uint64_t answers_seen_ = 0, packets_ = 0, answered_ = 0, failed_ = 0;
  std::vector<std::uint8_t> pattern_;
  alignas(64) std::array<std::uint8_t, kMaxFrameBytes> frame_{};
};

}  // namespace rxnic
