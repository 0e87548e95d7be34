// SPDX-License-Identifier: Apache-2.0
// What passes the receive path of one NIC, and how long that took, for the report. Times are those of messages:
//
//   R1  A receive is a message that completes a receive WQE. One time goes from the arrival of its first packet until
//       its CQE is visible in host memory. Another time ends when the CQE is handed over to the DMA engine. A message
//       that is completed twice, for its match with a tag and for its data, is a receive when its data is there. The
//       completion of its match has a figure of its own. So has a receive that no packet of its own has ended. The
//       reason: the end of its message never came, or a READ has fetched its data (rendezvous). Its time is none of any
//       block.
//   R2  A WRITE without immediate: from the arrival of its first packet until its last byte is visible.
//   R3  A READ or an atomic: from the arrival of the request until its last response has left the ACK generator. A
//       request that comes again counts once more, from its own arrival.
//   R4  The stages of R1 and R2 are those of the message's last packet, whose arrival is the first stage. A stage is
//       the wait in front of the block and the time in the block. Together they are the whole time.
//   R5  The wait begins when the packet leaves the station before, and ends when the block takes it from its input
//       (model/types/packet.h, R3). The wait is a cycle in the link, and what goes before that cycle. All after that is
//       the block's: its latency, and what it waits for inside, such as a WQE, a translation, or its turn on PCIe.
//         wire                the message's other packets: no wait
//         rx_parser           the stay in the packet buffer of the port is wait
//         transport_checker, tag_match_cam
//                             a stall behind a packet of the same QP, or a search of the same list, is wait
//         srq_wqe_fetcher     packets in its pipeline, behind one that waits for a WQE, have been taken
//         address_translator, dma_engine
//                             the packet's last segment
//         cqe_generator       has taken the packet as soon as it looks up the packet's CQ, whose context it may read
//         host_memory         of a receive, wait: until the last TLP of its CQE's write is started. For a WRITE there
//                             is no wait, since its payload is on its way when the packet leaves the DMA engine.
//   R6  Payload is counted once: where it is received. A NIC whose requesters are in no simulated NIC (of a capture)
//       also counts what it sends of READs. Payload has the time when its packet came from the wire, or when its READ
//       response leaves the ACK generator. The reason: what waited in a buffer may drain faster than the line.
//   R7  The time on the way goes from the sender's doorbell until the CQE is visible. Only receives of R1 whose sender
//       is simulated have it.
#pragma once

#include <array>
#include <memory>

#include "model/blocks/ack_generator.h"
#include "model/blocks/ledger.h"
#include "model/system/cycle_times.h"
#include "model/system/histogram.h"
#include "model/system/nic_tables.h"
#include "model/system/payload_history.h"
#include "model/system/run_result.h"
#include "model/system/tag_depths.h"
#include "model/types/message_times.h"

namespace rxnic {

DepthResult depth_result(const Histogram& h);

// A message at one station, in cycles. (R5)
struct Stay {
  bool passed = false;
  std::uint64_t wait = 0;
  std::uint64_t block = 0;
};
using Stays = std::array<Stay, kStations>;
// Those of a message that is `visible`, in host memory, in that cycle; of a WRITE that had left no CQE generator.
Stays stays_of(const MessageTimes& times, Cycle visible);

class Latencies final : public PacketObserver, public ResponseObserver {
 public:
  enum class Reads : std::uint8_t { kServed, kReceived };  // which count as payload (R6)
  explicit Latencies(std::uint64_t period_ps, Reads reads = Reads::kServed) : period_ps_(period_ps), reads_(reads) {}
  // Counts what is within these cycles alone (run_region.h, R3).
  void set_region(Cycle from, Cycle to) {
    from_ = from, to_ = to;
    tables_.set_region(from, to);
    tag_depths_.set_region(from, to);
  }
  void on_retire(const AckRequest& p, const Packet& buffer, Cycle now) override;
  void on_response(Cycle begun, Cycle leaves, std::uint32_t payload_bytes, bool last) override;
  // A receive completion can be seen in host memory.
  void on_visible(WcStatus status, const MessageTimes& times, Cycle now);
  // One that announces a match, whose data is still to come.
  void on_matched(WcStatus status, const MessageTimes& times, Cycle now);

  std::uint64_t bytes() const { return bytes_; }  // of payload, into or out of host memory
  void add(const Latencies& other);
  void collect(NicResult& r) const;
  // By QP, opcode and message size; observes what else happens to QPs.
  Histogram receives() const { return figures_ == nullptr ? Histogram() : figures_->receive.ns(period_ps_); }
  NicTables& tables() { return tables_; }
  const NicTables& tables() const { return tables_; }
  TagDepths& tag_depths() { return tag_depths_; }

 private:
  struct Figures {
    CycleTimes receive, handed_over, one_way, match, no_end, write, read;
    std::array<StayTimes, kStations> stages;  // by the station that it ends at
  };
  Figures& figures() {  // from the first message on: most NICs of a large fabric are idle
    if (figures_ == nullptr) figures_ = std::make_unique<Figures>();
    return *figures_;
  }
  std::uint64_t ns(Cycle from, Cycle to) const { return (to.count - from.count) * period_ps_ / 1000; }
  void add(CycleTimes& to, Cycle from, Cycle until) const { to.add(until.count - from.count, period_ps_); }
  void add_stages(const MessageTimes& times, Cycle visible);
  LatencyResult result_of(const CycleTimes& t) const;
  StageTimes stage_result(const StayTimes& t, StayTimes::Part part) const;

  bool has(Cycle begun, Cycle ended) const { return begun >= from_ && ended < to_; }

  std::uint64_t period_ps_;
  Reads reads_;
  Cycle from_{}, to_ = kNever;
  std::uint64_t bytes_ = 0;
  PayloadHistory history_;
  NicTables tables_;
  TagDepths tag_depths_;
  std::unique_ptr<Figures> figures_;
};

}  // namespace rxnic
