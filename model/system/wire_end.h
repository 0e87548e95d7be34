// SPDX-License-Identifier: Apache-2.0
// A NIC's wire for a program that embeds the model: frames in and out, as bytes.
//
//   R1  The last byte of a frame that is sent arrives when the line has carried the frame, behind the frames that were
//       sent before. The line has nic.link_gbps; FCS, preamble and gap are counted.
//   R2  A frame that the NIC cannot accept yet waits on the line and delays the frames behind it.
//   R3  What is sent within a cycle of the model begins in the next one at the earliest, whoever is stepped first.
//   R4  A frame of the NIC is handed over in the cycle in which it begins to leave. The time at which its last byte has
//       left comes with it. Responses go before requests.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "model/engine/link.h"
#include "model/params/params.h"
#include "model/system/handler.h"
#include "model/types/packet.h"
#include "model/types/wire_frame.h"

namespace rxnic {

class WireEnd final : public Block {
 public:
  using FrameHandler = std::function<void(Bytes frame, std::uint64_t time_ps)>;

  WireEnd(const sc_core::sc_module_name& name, const Params& params, PacketPool& packets);
  // From the link header to the ICRC. From any process of the kernel, or before the simulation starts. Throws
  // std::invalid_argument when it is empty or longer than a NIC's packet buffer (kMaxFrameBytes), or of no link layer.
  void send(Bytes frame, LinkLayer link = LinkLayer::kEthernet);
  // Called within a cycle of the model: it may send, and must not wait. The bytes are valid until it returns.
  void on_frame(FrameHandler handler) { handler_.set(std::move(handler)); }
  // Called within a cycle of the model when the NIC has accepted a frame.
  void on_accepted(std::function<void()> handler) { accepted_.set(std::move(handler)); }
  std::size_t waiting() const { return frames_.size(); }  // frames that the NIC has not accepted yet

  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  // How long the line carries a frame of so many bytes. [ps]
  double line_ps(std::size_t bytes) const { return static_cast<double>(bytes + fixed_bytes_) * ps_per_byte_; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t received() const { return received_; }

  Out<WireFrame> to_nic{"to_nic"};
  In<WireFrame> responses{"responses"}, requests{"requests"};

 private:
  struct Frame {
    std::vector<std::uint8_t> bytes;
    LinkLayer link;
    Cycle known;  // (R3)
    bool on_the_line = false;
  };
  Cycle arrive(Cycle now);
  Cycle leave(Cycle now);
  Cycle cycle_of(double time_ps) const;

  const std::uint64_t period_ps_;
  const std::uint64_t fixed_bytes_;
  const double ps_per_byte_;
  PacketPool& packets_;
  Handler<Bytes, std::uint64_t> handler_;
  Handler<> accepted_;
  std::deque<Frame> frames_;  // sent and not accepted by the NIC
  double in_free_ps_ = 0;     // when the line has carried the first of them
  double out_free_ps_ = 0;    // when the line has carried what the NIC sends
  std::uint64_t sent_ = 0, received_ = 0;
};

}  // namespace rxnic
