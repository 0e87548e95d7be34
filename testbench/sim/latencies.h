// SPDX-License-Identifier: Apache-2.0
// What passes the receive path of one NIC, and how long that took, for the report. Times are those of messages:
//
//   R1  A receive (a message that completes a receive WQE): from the arrival of its first packet until its CQE is
//       visible in host memory; and until the CQE is handed over to the DMA engine.
//   R2  A WRITE without immediate: from the arrival of its first packet until its last byte is visible.
//   R3  A READ or an atomic: from the arrival of the request until its last response has left the ACK generator.
//   R4  The stages of R1 and R2 are those of the message's last packet, whose arrival is the first stage. A stage
//       contains the wait for the block and in it. Together they are the whole time.
#pragma once

#include <array>
#include <memory>

#include "model/blocks/ack_generator.h"
#include "model/blocks/ledger.h"
#include "model/types/message_times.h"
#include "testbench/sim/histogram.h"
#include "testbench/sim/run_result.h"

namespace rxnic {

inline LatencyResult latency_result(const Histogram& h) {
  return {h.count(), h.percentile(0.5), h.percentile(0.9), h.percentile(0.99), h.percentile(0.999), h.max()};
}

class Latencies final : public PacketObserver, public ResponseObserver {
 public:
  explicit Latencies(std::uint64_t period_ps) : period_ps_(period_ps) {}
  void on_retire(const AckRequest& p, const Packet& buffer, Cycle now) override;
  void on_answered(Cycle begun, Cycle leaves) override;
  // A receive completion can be seen in host memory.
  void on_visible(WcStatus status, const MessageTimes& times, Cycle now);

  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }  // of payload, into or out of host memory
  void add(const Latencies& other);
  void collect(NicResult& r) const;

 private:
  struct Stage {
    Histogram ns;
    std::uint64_t cycles = 0;
  };
  struct Figures {
    Histogram receive, handed_over, write, read;
    std::array<Stage, kStations> stages;  // by the station that it ends at
  };
  Figures& figures() {  // from the first message on: most NICs of a large fabric are idle
    if (figures_ == nullptr) figures_ = std::make_unique<Figures>();
    return *figures_;
  }
  std::uint64_t ns(Cycle from, Cycle to) const { return (to.count - from.count) * period_ps_ / 1000; }
  void add_stages(const MessageTimes& times, Cycle visible);
  void add_stage(Station s, Cycle from, Cycle to);

  std::uint64_t period_ps_;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<Figures> figures_;
};

}  // namespace rxnic
