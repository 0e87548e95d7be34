// SPDX-License-Identifier: Apache-2.0
// What a capture holds besides packets that a NIC can read, counted in one pass.
//
//   R1  RDMA by its link, EtherType or UDP port is unreadable when parse() refuses it, or when the capture cut it. It
//       is also unreadable when it has a wrong checksum. It is counted by the reason for which the model drops it. With
//       each reason the numbers of the first packets are kept, and with an opcode that is not known the opcodes.
//   R2  Tunnels, by kind and addresses. Other UDP ports with what looks like RoCEv2 (other_udp_ports.h).
//   R3  Pause frames (IEEE 802.3, 31B and 31D): of a priority (PFC), or of the link. A pause frame counts for its
//       quanta of 512 bit times from its capture on. This ends earlier when a later frame for the same priority of the
//       same sender says something else. The time is that of all senders, up to the last frame of the capture.
//   R4  Memory is bounded: kMostKept tunnels, ports, protocols and senders of pauses; what is beyond is in the last
//       one's place. The first fragments of kMostDatagrams datagrams are remembered.
//   R5  A later fragment shows no port. It is no RDMA when the capture has shown before that its datagram is for
//       another port than RoCEv2's.
//   R6  What is not RDMA is counted by its EtherType, and IP packets by their protocol.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "model/types/drop_reason.h"
#include "traces/capture_reader.h"

namespace rxnic {

struct Unreadable {
  static constexpr std::size_t kNamed = 8;
  std::uint64_t packets = 0;
  std::vector<std::uint64_t> first;               // numbers of frames
  std::map<std::uint8_t, std::uint64_t> opcodes;  // kUnknownOpcode, kVendorOpcode
  bool over_udp = false, over_infiniband = false;
  bool shows_bth = false;  // one of them says where it is
};

struct CountedTunnel {
  Tunnel tunnel;
  std::uint64_t packets = 0;
};

struct CountedUdpPort {
  std::uint16_t port = 0;
  std::uint64_t packets = 0;
  std::uint64_t icrc_right = 0;
};

struct CountedProtocol {
  std::uint16_t ether_type = 0;  // 0: the frame is shorter
  std::uint8_t ip = 0;           // protocol in an IP header
  std::uint64_t packets = 0;
  std::uint64_t without_port = 0;  // UDP that the capture cut before its port
};

struct CountedPause {
  std::uint64_t frames = 0;
  std::uint64_t paused_ps = 0;
};

struct PauseFrame {
  std::uint64_t number = 0, time_ps = 0;
  std::array<std::uint8_t, 6> sender{};  // its MAC
  std::uint8_t priority = 0;             // kLinkPause: of the link
  std::uint16_t quanta = 0;              // 0: the pause ends
};

class CaptureCensus {
 public:
  static constexpr std::size_t kMostKept = 64, kMostDatagrams = 4096, kMostPauseFrames = 4096;
  static constexpr std::size_t kPriorities = 8;
  static constexpr std::size_t kLinkPause = kPriorities;  // in pauses(): without priorities
  using Pauses = std::array<CountedPause, kPriorities + 1>;

  // Duration of 512 bits on the captured link.
  explicit CaptureCensus(std::uint64_t quantum_ps = 0) : quantum_ps_(quantum_ps) {}

  void at(std::uint64_t time_ps) { now_ps_ = time_ps; }  // of each frame, before all else
  void unreadable(DropReason reason, const Headers& h, std::uint64_t number);
  void tunnel(const Tunnel& t);
  // Whether a frame that parse() calls a fragment is one of a datagram to another port. (R5)
  bool is_of_another_port(Bytes frame);
  // A frame that is not RDMA: another port, a pause, or anything else. `check` may be nullptr.
  void other(const CapturedFrame& frame, IcrcCheck check);

  const Unreadable& unreadable(DropReason reason) const { return unreadable_[static_cast<std::size_t>(reason)]; }
  const std::vector<CountedTunnel>& tunnels() const { return tunnels_; }
  const std::vector<CountedUdpPort>& ports() const { return ports_; }
  const std::vector<CountedProtocol>& protocols() const { return protocols_; }
  Pauses pauses() const;
  const std::vector<PauseFrame>& pause_frames() const { return pause_frames_; }  // the first kMostPauseFrames

 private:
  using Mac = std::array<std::uint8_t, 6>;
  struct Running {  // a priority that a sender has paused
    std::uint64_t from_ps = 0, until_ps = 0;
  };
  struct Sender {
    Mac mac{};
    std::array<Running, kPriorities + 1> running{};
  };
  using Datagram = std::tuple<Address, Address, std::uint32_t>;
  void protocol(const CapturedFrame& frame);
  bool pause(const CapturedFrame& frame);
  void set_pause(Sender& sender, std::size_t priority, std::uint16_t quanta, std::uint64_t number);

  std::uint64_t quantum_ps_;
  std::uint64_t now_ps_ = 0;
  std::array<Unreadable, static_cast<std::size_t>(DropReason::kCount)> unreadable_{};
  std::vector<CountedTunnel> tunnels_;
  std::vector<CountedUdpPort> ports_;
  std::vector<CountedProtocol> protocols_;
  std::set<Datagram> datagrams_;  // fragmented, to other ports
  std::vector<Sender> senders_;
  Pauses pauses_{};  // without what still runs
  std::vector<PauseFrame> pause_frames_;
};

}  // namespace rxnic
