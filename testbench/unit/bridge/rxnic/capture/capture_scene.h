// SPDX-License-Identifier: Apache-2.0
// A small capture made frame by frame: a peer (10.0.0.1) sends requests to the receiver (10.0.0.2), which answers.
//
//   CaptureScene scene;
//   scene.request(1000, kQp, 100);  // at 1 us: SEND ONLY with PSN 100
//   scene.answer(2000, kQp, 100, 1);
//   const RunResult r = scene.replay();
#pragma once

#include <string>
#include <vector>

#include "bridge/rxnic/capture/replay.h"
#include "model/core/wire/icrc.h"
#include "testbench/unit/temporary_folder.h"
#include "traces/capture_writer.h"

namespace rxnic {

// A QP of the receiver, the QP of the peer that it is connected with, and the UDP source ports of both.
struct SceneQp {
  std::uint32_t own = 0x11, peer = 0x21;
  std::uint16_t to_receiver = 50001, to_peer = 50001;
};

class CaptureScene {
 public:
  static constexpr std::uint32_t kPeer = 0x0a000001, kReceiver = 0x0a000002;

  static Headers headers(const SceneQp& qp, bool to_receiver, Operation op, std::uint32_t psn) {
    Headers h;
    h.encapsulation = Encapsulation::kRoceV2Ipv4;
    h.source = Address::ipv4(to_receiver ? kPeer : kReceiver);
    h.destination = Address::ipv4(to_receiver ? kReceiver : kPeer);
    h.hop_limit = 64;
    h.udp_source_port = to_receiver ? qp.to_receiver : qp.to_peer;
    h.opcode = opcode_of(Transport::kRc, op);
    h.pkey = kDefaultPkey;
    h.destination_qp = Qpn{to_receiver ? qp.own : qp.peer};
    h.psn = Psn{psn};
    return h;
  }
  // A request of `bytes` of payload; RETH and AtomicETH: as `h` says.
  static Headers request_headers(const SceneQp& qp, std::uint32_t psn, Operation op = Operation::kSendOnly) {
    Headers h = headers(qp, true, op, psn);
    h.ack_request = true;
    h.va = 0x10000;
    h.rkey = Key{0x1200};
    h.length = 64;
    return h;
  }
  static Headers answer_headers(const SceneQp& qp, std::uint32_t psn, std::uint32_t msn,
                                std::uint8_t syndrome = kAckCredits, Operation op = Operation::kAck) {
    Headers h = headers(qp, false, op, psn);
    h.msn = msn;
    h.syndrome = syndrome;
    return h;
  }
  static constexpr std::uint8_t kAckCredits = 0x1f;

  void request(std::uint64_t ns, const SceneQp& qp, std::uint32_t psn, Operation op = Operation::kSendOnly,
               std::uint32_t bytes = 64) {
    add(ns, request_headers(qp, psn, op), bytes);
  }
  void answer(std::uint64_t ns, const SceneQp& qp, std::uint32_t psn, std::uint32_t msn,
              std::uint8_t syndrome = kAckCredits) {
    add(ns, answer_headers(qp, psn, msn, syndrome), 0);
  }
  void add(std::uint64_t ns, const Headers& h, std::uint32_t bytes) {
    add(ns, h, std::vector<std::uint8_t>(bytes, static_cast<std::uint8_t>(h.psn.value)));
  }
  void add(std::uint64_t ns, Headers h, const std::vector<std::uint8_t>& payload) {
    std::vector<std::uint8_t> frame(kMaxFrameBytes);
    frame.resize(build(h, payload, frame));
    seal(frame, h);
    frames.push_back({ns * 1000, std::move(frame), 0});
  }

  RunResult replay(ReplayOptions o = {}) const {
    const TemporaryFolder folder;
    o.trace = folder.file("scene.pcap");
    if (o.config.empty()) o.config = "nic_100g_gen3";
    CaptureWriter writer(o.trace, LinkLayer::kEthernet);
    for (const Frame& f : frames) writer.write(f.time_ps, f.bytes, f.wire_bytes);
    writer.close();
    return rxnic::replay(o);
  }

  struct Frame {
    std::uint64_t time_ps = 0;
    std::vector<std::uint8_t> bytes;
    std::uint32_t wire_bytes = 0;  // more than `bytes`: the capture cut it
  };
  std::vector<Frame> frames;  // a test may change or repeat them
};

inline std::uint64_t count_of(const std::vector<NamedCount>& counts, const std::string& name) {
  for (const auto& [key, value] : counts) {
    if (key == name) return value;
  }
  return 0;
}

}  // namespace rxnic
