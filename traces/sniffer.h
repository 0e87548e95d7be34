// SPDX-License-Identifier: Apache-2.0
// What the sniffer, and not the network, did to a capture. It is recognised in a pass of its own (SnifferSurvey), and
// undone for the passes after this one (SnifferFilter).
//
//   R1  A packet is a copy when one of the last kFramesKept packets, less than kShortestTimeoutPs before it, is the
//       same. These are compared: addresses, UDP source port, IP identification, everything from the BTH to the ICRC. A
//       packet that the capture cut is compared by its headers and its length. No sender repeats a packet that soon on
//       its own; one that a NAK in between asked for is no copy. A NAK asks for kMostAskedFor PSNs, its own first, in
//       all QPs between the two addresses: nothing has paired them yet. A copy of a NAK asks for none. Copies are the
//       sniffer's between two addresses when there are three for four other packets in each direction, and
//       kFewestCopies in both. The sniffer then sees a mirror of both ports, or two interfaces, and nearly every frame
//       twice. The first one stays, with the mark (ECN) of the other one. Where nearly each has a cut and a whole one,
//       the whole one stays.
//   R2  Requests of a QP are swapped when a PSN is left out and all missing PSNs (kMostSwapped at most) come before
//       kShortestTimeoutPs has passed. No NAK asks for them, and the QP then goes on with a new PSN: a retransmission
//       would go on with what it had sent. The packets that were early are moved behind.
//   R3  A QPN is used again when connection management has named the PSN of its next request since its last one. It is
//       used again, too, when that PSN is more than kFarAway from the one expected and an answer counts the MSN anew
//       from there. Nothing else tells a new connection that begins near its old PSN from a retransmission.
//   R4  The capture is a sample, 1 packet in n, when as many steps of PSNs leave PSNs out as that n makes likely. This
//       is 1 - 1/n of the steps, less a tenth, of kFewestSteps steps or more. The number n is the PSNs for each packet,
//       3 at least.
//   R5  Memory is bounded: kMostFlows QPs and pairs of addresses, kMostMoves moves and new connections. Others stay as
//       they are.
//   R6  The capture has no times when all of its packets, two or more, have the same one.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/capture_reader.h"

namespace rxnic {

struct SniffedFlow {
  Address source, destination;
  Qpn qpn{};
  auto operator<=>(const SniffedFlow&) const = default;
};

struct SnifferEffects {
  using Pair = std::pair<Address, Address>;  // the lower one first
  struct Move {                              // the flow's packets from `first` on go behind `until`
    std::uint64_t first = 0, until = 0;      // numbers of frames
    SniffedFlow flow;
  };
  struct NewConnection {
    std::uint64_t packet = 0;  // its first request
    SniffedFlow flow;
    Psn psn;
  };
  std::set<Pair> doubled;               // R1
  std::set<Pair> half_cut;              // R1: of them, with a whole one for each that was cut
  std::vector<std::uint64_t> marked;    // R1: numbers of frames with a copy that is marked, which they are not
  std::uint64_t copies = 0;             // between them
  std::vector<Move> moves;              // R2, by `first`
  std::vector<NewConnection> restarts;  // R3, by packet
  std::uint32_t one_in = 0;             // R4; 0: no sample
  bool no_times = false;                // R6
  bool any_change() const { return !doubled.empty() || !moves.empty() || !restarts.empty(); }
};

// Headers of a packet, also of one that the capture cut.
class WholeHeaders {
 public:
  // nullptr: the capture has not got all of them. They are valid until the next call.
  const Headers* of(const CapturedFrame& frame);

 private:
  std::vector<std::uint8_t> padded_;
  Headers headers_;
};

// R1
class CopyFinder {
 public:
  static constexpr std::size_t kFramesKept = 64;
  static constexpr std::int32_t kMostAskedFor = 1024;             // PSNs from that of a NAK on
  static constexpr std::uint64_t kShortestTimeoutPs = 8'192'000;  // 4.096 us * 2^1
  struct Seen {
    std::uint64_t time_ps = 0;
    std::uint64_t number = 0;
    std::uint64_t headers = 0, rest = 0;  // digests: up to the payload, and behind that
    Address source, destination;
    Qpn destination_qp{};
    Psn psn;
    std::uint16_t ip_identification = 0, udp_source_port = 0, payload_bytes = 0;
    bool cut = false;
    bool marked = false;  // it, or a copy of it
    bool asked_again = false;
  };
  // The packet that the frame is a copy of; nullptr: it is none.
  Seen* original(const CapturedFrame& frame, const Headers& h);

 private:
  void ask_again(const Headers& nak);
  static bool is_same(const Seen& a, const Seen& b);

  std::array<Seen, kFramesKept> seen_{};
  // A part of each one's digest of the headers: hardly a packet has any of them, and none of the others is looked at.
  std::array<std::uint16_t, kFramesKept> tags_{};
  std::size_t next_ = 0, count_ = 0;
};

class SnifferSurvey {
 public:
  static constexpr std::uint64_t kFewestCopies = 4;
  static constexpr std::int32_t kMostSwapped = 16, kFarAway = 1024;
  static constexpr std::uint64_t kFewestSteps = 32;
  static constexpr std::size_t kMostFlows = 65536, kMostMoves = 65536, kMostJumps = 256;

  // Frames that do not parse as RDMA are left alone.
  void add(const CapturedFrame& frame);
  SnifferEffects finish();

 private:
  struct Flow {
    bool any = false;
    bool unknown = false;  // how far the last request, a READ, moves the PSN
    std::uint16_t full_payload = 0;
    Psn next, last;
    std::uint64_t last_packet = 0;
    // R2
    std::uint64_t early = 0;  // number of the packet that left PSNs out; 0: none
    std::uint64_t early_ps = 0;
    std::vector<Psn> missing;
    std::uint64_t filled = 0;  // number of the packet that was the last of them; 0: not yet
  };
  struct Direction {
    std::uint64_t packets = 0, copies = 0;
    std::uint64_t half_cut = 0;                     // copies of which one is cut, and one is not
    std::unordered_map<std::uint32_t, Flow> flows;  // by QPN
  };
  using Ends = std::pair<Address, Address>;  // source, destination
  struct Jump {                              // R3
    SnifferEffects::NewConnection at;
    std::vector<Psn> ends;  // of the messages since
  };
  Direction* direction(const Headers& h);
  void request(const CapturedFrame& frame, const Headers& h, Direction& d);
  void answer(const Headers& h);
  bool is_named(const Headers& h, const Flow& f) const;
  void jump(const CapturedFrame& frame, const Headers& h, const Flow& f);
  void settle_swap(const SniffedFlow& key, Flow& f, bool goes_on);

  CopyFinder copies_;
  WholeHeaders headers_;
  std::map<Ends, Direction> directions_;
  std::array<std::pair<const Ends, Direction>*, 2> recent_{};  // of directions_, the last one first
  std::size_t flows_ = 0;
  std::map<std::pair<Address, std::uint32_t>, std::pair<Psn, std::uint64_t>> cm_;  // by owner and QPN: PSN, packet
  std::deque<Jump> jumps_;
  SnifferEffects found_;
  std::uint64_t steps_ = 0, skips_ = 0, span_ = 0;
  std::uint64_t frames_ = 0, first_ps_ = 0, last_ps_ = 0;  // R6
};

// The capture without what the sniffer did to it. Copies are left out, packets that were early come behind those that
// they had overtaken, with their time. Frames are valid until the next call.
class SnifferFilter {
 public:
  SnifferFilter(CaptureReader& reader, const SnifferEffects& effects) : reader_(reader), effects_(effects) {}
  bool next(CapturedFrame& out);
  std::uint64_t copies() const { return copies_left_out_; }
  // From now on: the number of each frame that is left out goes there.
  void list_copies(std::vector<std::uint64_t>& to) { list_ = &to; }
  CaptureReader& reader() { return reader_; }

 private:
  struct Held {
    CapturedFrame frame;
    std::vector<std::uint8_t> bytes;
    Psn psn;
  };
  struct Holding {
    SnifferEffects::Move move;
    std::deque<Held> held;
  };
  bool is_left_out(const CapturedFrame& frame, const Headers& h);
  void mark(CapturedFrame& frame, const Headers& h);

  CaptureReader& reader_;
  const SnifferEffects& effects_;
  CopyFinder finder_;
  WholeHeaders headers_;
  std::vector<std::uint8_t> marked_;
  std::size_t next_move_ = 0, next_marked_ = 0;
  std::vector<Holding> holding_;
  std::deque<Held> released_;
  Held current_;
  std::uint64_t copies_left_out_ = 0;
  std::vector<std::uint64_t>* list_ = nullptr;
};

}  // namespace rxnic
