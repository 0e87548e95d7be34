// SPDX-License-Identifier: Apache-2.0
// What a capture shows of the two ends of its connections, gathered in one pass over its frames.
//
//   R1  Only frames that a NIC can read, and whose checksums the caller's check accepts, are looked at; of their
//       payload only what the capture holds. What else there is: census() (capture_census.h).
//   R2  The busier receiver is the unicast address that gets the most request packets. Those to QP0 and QP1
//       (management) are left out. With equal counts it is the address with more payload bytes in them, then the
//       address seen first as a destination. When nobody gets any, the one that gets most packets. RDMA that cannot be
//       read counts as far as it shows its addresses and BTH, with the packet's length. It is a request unless its
//       opcode is that of a response.
//   R3  A QP of ours is paired with the peer's QP that our answers go to, each once (survey_pairs.h). The ways: as the
//       caller chooses; by CM; by a UDP source port that both sides use for one QP alone. Next: by answers, which carry
//       the PSNs of the requests. The last way: the only two QPs that are left. Others are reported as unpaired, and
//       pairs that are ambiguous.
//   R4  MTU: the largest FIRST or MIDDLE payload between the pair; without one the path MTU of the CM REQ. Without that
//       it is what the PSNs after a READ imply. Without that it is the smallest that fits what was seen, which is an
//       assumption.
//   R5  A PSN gap is a request whose PSN is ahead of the one after its predecessor's on that QP. A READ moves the PSN
//       on by its number of responses. A PSN behind the expected one is a repetition.
//   R6  The MSN before the first request is that of the first answer less the messages that ended in between.
//   R7  Memory depends on the number of QPs, addresses and regions, each bounded (SurveyLimits); what is beyond is
//       counted in `ignored`.
//   R8  A key that a SEND WITH INVALIDATE names is that of an invalidated region; a request that uses it later is for
//       another region.
//   R9  Tags: those of the TMHs (eager, rendezvous request) at the beginning of SENDs, but for QP1 and XRC QPs.
//       Repetitions of a message do not count.
//   R10 A QP is `strict` when a strict responder would have sent a sequence NAK (0x60) at least once, or sent RNR NAKs.
//       Besides, the captured responder sent each of these sequence NAKs, with the same PSN. Every missing PSN came
//       later, too, and so did what RNR NAKs refused (strict_receiver.h): the network lost the packets, and no sniffer
//       did. Its losses in the network are those that the captured receiver has sent a NAK for.
//   R11 P_Key 0 is none. A captured receiver that answers such packets does not check P_Keys.
//   R12 A request that the captured receiver refused with NAK 0x62 (remote access) makes no region, and none larger,
//       when no later one did. Neither do those behind it: the QP is in the error state.
//   R13 A QP that only packets with a wrong ICRC name is a QP of the receiver, too: they get as far as their ICRC.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/types/context.h"
#include "model/types/wire.h"
#include "traces/capture_census.h"
#include "traces/capture_reader.h"

namespace rxnic {

struct EndpointCounts {
  Address address;
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t marked_received = 0;    // of them marked Congestion Experienced (ECN)
  std::uint64_t requests_received = 0;  // without those to QP0 and QP1
  std::uint64_t request_bytes = 0;      // payload of them
  std::uint64_t cnps_sent = 0, cnps_received = 0;
};

enum class PairedBy : std::uint8_t { kNone, kOption, kConnectionManagement, kUdpPort, kPsn, kOnlyPair };
enum class MtuFrom : std::uint8_t { kPackets, kConnectionManagement, kReadPsns, kAssumed };
const char* paired_by_name(PairedBy p);  // snake_case
const char* mtu_from_name(MtuFrom m);

// QPNs of the receiver, each with that of its peer.
using ChosenPairs = std::map<std::uint32_t, std::uint32_t>;

// A new connection of a QPN that was in use before.
struct SurveyedRestart {
  std::uint64_t packet = 0;  // its first request
  Psn psn;                   // of that
};

// Negative answers of the captured receiver to requests of one PSN.
struct SurveyedNak {
  Psn psn;
  std::uint8_t syndrome = 0;
  std::vector<std::uint64_t> packets;  // in which it sent them
};

// One QP of the receiver: everything sent to one QPN.
struct SurveyedQp {
  Qpn qpn{};
  Transport transport = Transport::kRc;
  Address peer;  // RC, UC, XRC; of UD the first sender
  Qpn peer_qpn{};
  PairedBy paired_by = PairedBy::kNone;
  bool ambiguous = false;  // the pair is a guess among several (R3)
  std::uint16_t mtu = kMinMtu;
  MtuFrom mtu_from = MtuFrom::kAssumed;
  bool assumed = true;  // no CM exchange for it was seen: its state before the first packet is a guess
  std::uint16_t pkey = kDefaultPkey;
  std::uint32_t qkey = 0;                 // UD
  std::uint8_t responder_resources = 16;  // READs and atomics in flight; 0: there are none
  bool has_requests = false;
  Psn first_psn;  // of the requests to it; without any the CM's
  std::uint32_t initial_msn = 0;
  bool msn_known = false;
  std::uint64_t requests = 0;          // packets
  std::uint64_t answers_received = 0;  // packets that answer requests of ours
  std::uint64_t local_requests = 0;    // packets to its peer QP that are requests of ours
  std::uint64_t psn_gaps = 0;
  std::uint64_t psns_missing = 0;
  std::uint64_t repetitions = 0;
  std::uint64_t largest_send = 0;        // bytes of a message; what a receive buffer must hold
  std::uint64_t largest_message = 0;     // any request to it
  std::uint64_t largest_local_read = 0;  // bytes that an answer to a request of ours brings
  std::vector<Srqn> xrc_srqs;
  bool first_not_ready = false;             // an RNR NAK to its first request came before the capture shows it
  bool first_inside = false;                // its first request is the MIDDLE or LAST of a message
  bool strict = false;                      // R10
  std::uint64_t network_losses = 0;         // R10
  std::vector<std::uint64_t> refused_uses;  // R12: packets
  std::vector<SurveyedRestart> restarts;
  bool any_pkey = false;          // R11
  std::vector<SurveyedNak> naks;  // that it sent, the first ones
  // For each RNR NAK that it sent: how many receive WQEs it had used up before.
  std::vector<std::uint64_t> rnr_after_receives;
};

struct SurveyedRegion {
  Key key{};
  std::uint64_t lowest = 0;
  std::uint64_t end = 0;    // one past the highest byte
  std::uint8_t access = 0;  // AccessFlag: what requests asked for
  std::uint64_t packets = 0;
  std::uint64_t first_packet = 0;  // number of the frame that used it first
  bool invalidated = false;        // by a SEND WITH INVALIDATE
};

struct SurveyedAtomic {
  Key key{};
  std::uint64_t va = 0;
  std::uint64_t original = 0;  // that the first atomic there returned
};

// A capture from one receiver's point of view.
struct ReceiverSurvey {
  Address receiver;
  std::vector<SurveyedQp> qps;           // by first appearance
  std::vector<SurveyedRegion> regions;   // by first appearance
  std::vector<SurveyedAtomic> atomics;   // by first appearance
  std::uint64_t atomics_unanswered = 0;  // addresses whose first result is not in the capture
  std::vector<std::uint64_t> tags;       // R9, by first packet
  std::uint64_t tags_beyond = 0;         // messages whose tag is beyond the limit
  std::vector<std::string> notes;        // what was assumed, in words
};

struct SurveyLimits {
  std::size_t endpoints = 4096;
  std::size_t flows = 65536;  // QPs, times the addresses that send to each
  std::size_t regions = 16384;
  std::size_t atomics = 16384;
  std::size_t tags = 0;                // of all messages to all receivers
  std::size_t damaged_flows = 1024;    // R13
  IcrcCheck icrc_matches = nullptr;    // of what looks like RoCEv2 on another port
  std::uint64_t pause_quantum_ps = 0;  // 512 bit times of the captured link (capture_census.h)
};

struct SurveyCounts {
  std::uint64_t frames = 0;
  std::uint64_t rdma = 0;      // looked at
  std::uint64_t not_rdma = 0;  // other protocols
  std::uint64_t damaged = 0;   // RDMA that cannot be read (census)
  std::uint64_t ignored = 0;   // beyond a limit (R7)
};

struct SurveyState;

class CaptureSurvey {
 public:
  // The reason for which a packet that parse() accepted is dropped; kNone: it is right.
  using FrameCheck = DropReason (*)(Bytes frame, const Headers& h);
  explicit CaptureSurvey(FrameCheck check = nullptr, const SurveyLimits& limits = {});
  ~CaptureSurvey();
  CaptureSurvey(CaptureSurvey&&) noexcept;
  CaptureSurvey& operator=(CaptureSurvey&&) noexcept;

  // Numbers of the frames that are the first of a new connection (sniffer.h), in their order. Before the first frame.
  void set_restarts(std::vector<std::uint64_t> packets);
  void add(const CapturedFrame& frame);
  // A frame that was parsed and found good; `number` counts from 1.
  void add(const Headers& h, Bytes payload, std::uint64_t number);

  const SurveyCounts& counts() const;
  const CaptureCensus& census() const;
  const std::vector<EndpointCounts>& endpoints() const;
  std::optional<Address> busier_receiver() const;  // R2; nothing: no RDMA in the capture
  ReceiverSurvey of_receiver(const Address& receiver, const ChosenPairs& pairs = {}) const;

 private:
  std::unique_ptr<SurveyState> state_;
};

// Marked Congestion Experienced: both bits of the ECN field (RFC 3168), of which only IP packets with UDP count.
bool is_marked(const Headers& h);
// Why the model will drop a frame; kNone: it can be read, or it is not RDMA.
DropReason unreadable_reason(const CapturedFrame& frame, CaptureSurvey::FrameCheck check);

// Reads the whole capture, from where it stands.
CaptureSurvey survey_capture(CaptureReader& reader, CaptureSurvey::FrameCheck check = nullptr);

}  // namespace rxnic
