// SPDX-License-Identifier: Apache-2.0
// Keeps what happens in a run, as the blocks' observers see it, for --events.
//
//   R1  Nothing in the model depends on it: the state hash is that of a run without it.
//   R2  Packets, completions, frames, activities and incidents are the same in all engine modes and step orders. Rows
//       wait until the cycles before a checkpoint are over, and are sorted then. Counters are the same in all step
//       orders; a mode that skips cycles may count a packet sooner.
//   R3  What is not asked for (EventRequest) has no row. Activities and counters follow the time alone, and so do
//       frames that answer no packet that is known.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridge/rxnic/events/event_file.h"
#include "bridge/rxnic/events/event_request.h"
#include "model/blocks/written_completions.h"
#include "model/engine/engine.h"
#include "model/nic/fabric.h"
#include "model/nic/nic.h"
#include "model/system/run_result.h"
#include "model/system/wire_sink.h"

namespace rxnic {

class EventRecorder final {
 public:
  // What a NIC's blocks notify; passes packets on to `next`.
  class OfNic final : public PacketObserver, public VisibleObserver, public FrameObserver, public QpObserver {
   public:
    OfNic(EventRecorder& events, std::uint32_t nic) : events_(events), nic_(nic) {}
    void pass_on_to(PacketObserver* packets, FrameObserver* frames) { packets_ = packets, frames_ = frames; }
    void on_retire(const AckRequest& p, const Packet& buffer, Cycle now) override;
    void on_not_rdma(const Packet& buffer, Cycle now) override;
    void on_written(Cqn cq, const Cqe& cqe, const MessageTimes& times, Cycle now) override;
    void on_visible(Cycle started, Cycle now) override;
    void on_frame(const Packet& p, std::uint64_t time_ps) override;
    void on_qp_event(const QpEvent& event, Cycle now) override;

   private:
    EventRecorder& events_;
    std::uint32_t nic_;
    PacketObserver* packets_ = nullptr;
    FrameObserver* frames_ = nullptr;
    std::deque<CompletionRow> written_;
  };

  // Before the simulation starts, when the engine has all of its blocks. `about`: what was run, for the description.
  // Throws std::runtime_error: the file cannot be written.
  EventRecorder(const EventRequest& request, const RunResult& about, Engine& engine, std::uint32_t nics);
  ~EventRecorder();
  OfNic& nic(std::uint32_t n) { return *nics_[n]; }
  // A frame that left a NIC of a fabric.
  void on_frame(std::uint32_t nic, Bytes frame, LinkLayer link, std::uint64_t answered, std::uint64_t time_ps);
  // After the run. Returns what the user should know: how many rows the limit has left out. Throws std::runtime_error.
  std::string finish();

 private:
  // What a block notifies. A change stands when a later cycle has come.
  class OfBlock final : public ActivityObserver {
   public:
    OfBlock(EventRecorder& events, Block& block, std::uint64_t place) : block_(block), events_(events), place_(place) {}
    void on_activity(const Block&, Activity activity, Cycle from) override;
    void settle(std::uint64_t before);
    void finish();
    Block& block() const { return block_; }
    std::vector<ActivityRow>& rows() { return rows_; }

   private:
    void stand();
    Block& block_;
    EventRecorder& events_;
    std::uint64_t place_;
    std::uint64_t from_ = 0, activity_ = 0;     // the latest change
    std::uint64_t stood_from_ = 0, stood_ = 0;  // the one before
    bool shown_ = false;                        // there is a row
    std::vector<ActivityRow> rows_;
  };
  struct PeerOfQp {
    std::string address;
    std::uint64_t qp = 0;
    Transport transport = Transport::kNone;
  };

  Cycle checkpoint(Cycle now);
  void sample(std::uint64_t at);
  void flush(std::size_t packets, std::size_t others);
  template <class Row>
  void flush(EventTable table, std::vector<Row>& rows, std::size_t least);
  void flush_activities(std::size_t least);
  bool is_wanted(std::uint64_t packet, std::optional<std::uint64_t> qp) const;
  bool is_in_time(std::uint64_t from, std::uint64_t to) const { return from <= last_ && to >= first_; }
  void note_peer(std::uint32_t nic, const AckRequest& p, const Packet& buffer);

  EventRequest request_;
  Engine& engine_;
  std::uint64_t first_, last_;  // cycles that are wanted
  std::vector<std::unique_ptr<OfNic>> nics_;
  std::vector<std::unique_ptr<OfBlock>> blocks_;
  std::vector<std::uint64_t> counters_;
  std::uint64_t frames_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, PeerOfQp> peers_;  // by NIC and QP
  std::pair<std::uint32_t, std::uint32_t> last_peer_{~0u, ~0u};
  std::vector<PacketRow> packet_rows_;
  std::vector<CompletionRow> completion_rows_;
  std::vector<FrameRow> frame_rows_;
  std::vector<ActivityRow> activity_rows_;  // of one chunk
  std::vector<CounterRow> counter_rows_;
  std::vector<IncidentEventRow> incident_rows_;
  std::unique_ptr<EventWriter> file_;
};

}  // namespace rxnic
