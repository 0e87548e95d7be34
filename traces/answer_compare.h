// SPDX-License-Identifier: Apache-2.0
// The model's answers against those of the captured receiver, while both come in. For each pair of QPs two streams in
// the order of their PSNs; one may run ahead of the other.
//
//   R1  An ACK covers all PSNs up to its own. A captured ACK is equal when the model acknowledges that PSN, exactly or
//       with a later one, and its MSN is right (R7). How many answers cover it is no difference.
//   R2  Exact match: same kind of answer (ACK, READ response with its position, atomic acknowledge), same MSN, same
//       payload length, same atomic result. AETH credits and RNR timers are free choices and not compared.
//       A READ that is asked for again from its middle on is answered with other positions. A READ or an atomic that is
//       asked for again as it was is answered with a later MSN. The captured answers to it are compared with those of
//       the model to the same request.
//   R3  A captured NAK is equal when the model sends a NAK with the same code and PSN. An RNR NAK is equal when the
//       model sends one with the same PSN. When several have one PSN, each is compared with one of the model's. A NAK
//       that only the model sends is a difference as soon as the captured receiver went past it. A captured sequence
//       NAK may be for a PSN that the model acknowledges. It names a packet that was lost on its way to the receiver,
//       and that the model got: no difference.
//   R4  After a gap in the captured requests the model has seen fewer messages end. The first exact match after the gap
//       sets the distance between the MSNs anew (counted). Atomic results are compared until the first gap.
//   R5  Not compared, and counted by reason: captured answers to requests that are not in the capture, and the model's
//       answers that it does not show. Answers on QPs that are not paired are not compared, either. Neither are CNPs,
//       captured ones and the model's, which each receiver paces in its own way.
//   R6  Memory is bounded: kMostHeld answers wait in all. Beyond, the oldest of the QP is settled as it stands.
//   R7  MSNs are compared as msn_compare.h says, those of covered ACKs too. A QP whose captured receiver leaves WRITEs
//       out is named in `rules`.
//   R8  What the replay took from the captured answers proves nothing: it is `given` when it agrees. This holds for an
//       RNR NAK for which WQEs were withheld, and for a sequence NAK of a QP that is strict because of it. It holds for
//       a NAK 0x62 whose memory was left out. It also holds for the first result of an atomic at an address, with which
//       memory was filled.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/types/wire.h"
#include "traces/answer_observer.h"
#include "traces/msn_compare.h"
#include "traces/requested_psns.h"
#include "traces/survey.h"

namespace rxnic {

enum class Uncompared : std::uint8_t {
  kNoRequest,     // captured, but its request is not in the capture
  kNoAnswer,      // the model's, but the capture shows none
  kQpNotPaired,   // goes to a QP that the survey has not paired
  kAtomicResult,  // an atomic whose memory is not known: everything but the result was compared (counted as compared)
  kTooFarBehind,  // R6
  kLostOnTheWay,  // R3
  kCapturedCnp,
  kModelCnp,
  kUnreadable,  // captured, with a wrong checksum
  kCount,
};
inline constexpr std::size_t kUncomparedReasons = static_cast<std::size_t>(Uncompared::kCount);
const char* uncompared_name(Uncompared u);  // snake_case

struct CompareCounts {
  std::uint64_t compared = 0;  // equal + given + different
  std::uint64_t equal = 0;
  std::uint64_t given = 0;  // R8
  std::uint64_t different = 0;
  std::uint64_t covered = 0;      // of the equal ones: acknowledged by a later answer of the model
  std::uint64_t msn_rebased = 0;  // R4
  std::array<std::uint64_t, kUncomparedReasons> uncompared{};
  std::uint64_t of(Uncompared u) const { return uncompared[static_cast<std::size_t>(u)]; }
};

struct CompareOptions {
  bool atomic_results = true;   // HostPlan::atomics_comparable
  bool withheld_wqes = false;   // R8: the host withholds WQEs where the captured receiver answered RNR
  bool strict_by_naks = false;  // R8: QPs of the survey that are strict are so because of their NAKs
  std::size_t differences_kept = 1000;
  AnswerObserver* observer = nullptr;
};

class AnswerCompare {
 public:
  static constexpr std::size_t kMostHeld = 262144;
  static constexpr std::size_t kMostHeldByQp = 65536;

  explicit AnswerCompare(const ReceiverSurvey& survey, const CompareOptions& options = {});

  // Frames of the capture in their order, `packet` counts from 1; others than RC and XRC are left out by themselves.
  void request(const Headers& h);                         // to the receiver
  void captured(const Headers& h, std::uint64_t packet);  // from the receiver
  // A QP of ours begins a new connection: what is left of the old one is settled.
  void restart(const Address& peer, Qpn own);
  // An answer that is not compared; `packet`: its number when it is a captured one, 0: it is the model's.
  void leave_out(Uncompared reason, std::uint64_t packet, Qpn own = {});
  // What the model sends, in its order; `number` counts from 1, as in responses.pcap.
  void model(const Headers& h, std::uint64_t number);
  // Both are at their end: settles what is left.
  void finish();

  const CompareCounts& counts() const { return counts_; }
  const std::vector<std::string>& differences() const { return differences_; }  // in words, the first ones
  const std::vector<std::string>& rules() const { return rules_; }              // R7: QPs that deviate, in words

 private:
  struct Answer {
    Psn psn;
    std::uint32_t msn = 0;
    std::uint8_t opcode = 0;
    std::uint8_t syndrome = 0;
    std::uint16_t payload = 0;
    bool matched = false;
    std::uint64_t original = 0;
    std::uint64_t number = 0;
  };
  struct Lane {  // one QP of ours and its peer
    std::string name;
    Qpn own{};
    std::uint16_t mtu = 1024;
    RequestedPsns requested;
    MsnCompare msn;
    bool withheld = false;                    // R8
    bool strict = false;                      // R8
    bool refused = false;                     // R8
    std::unordered_set<std::uint32_t> given;  // PSNs of atomics, R8
    std::deque<Answer> pending;               // captured, not settled
    std::deque<Answer> unasked;               // captured, without a request so far
    std::deque<Answer> of_model;              // in the order they were sent
    std::uint32_t backwards = 0;              // of them: whose PSN is not after that of the one before
    std::int64_t psns_spanned = 0;            // from the first of them to the last, each step counted
    bool model_acked = false, captured_any = false;
    Psn model_high, captured_high;  // acknowledged up to
    bool forgot_answers = false;
    Psn forgotten_high;  // the model's
  };
  enum class Settled : std::uint8_t { kYes, kWait };

  Lane* find(const Address& peer, Qpn peer_qpn);
  static Answer answer_of(const Headers& h, std::uint64_t number);
  void settle_ready(Lane& lane);
  void settle_all(Lane& lane);
  Settled settle(Lane& lane, const Answer& captured, bool at_end);
  static constexpr int kBestFit = 7;
  static int fit(const Lane& lane, const Answer& captured, const Answer& model);
  Answer* exact(Lane& lane, const Answer& captured);
  static Answer* find_ordered(Lane& lane, Psn psn);
  void keep_model(Lane& lane, const Answer& a);
  void forget_model(Lane& lane);
  void compare_exact(Lane& lane, const Answer& captured, const Answer& model);
  bool compare_msn(Lane& lane, const Answer& captured, std::uint32_t model, std::uint64_t frame);
  void settle_model(Lane& lane, const Answer& model);
  void forget(std::deque<Answer>& from);
  void make_room(Lane& lane, std::deque<Answer>& in);
  void agree(const Lane& lane, const Answer& captured, std::uint64_t model, AnswerVerdict verdict);
  void differ(const Lane& lane, const Answer& at, std::optional<std::uint64_t> model, const std::string& what);

  CompareOptions options_;
  CompareCounts counts_;
  std::vector<std::string> differences_;
  std::vector<std::string> rules_;
  std::set<std::tuple<Address, std::uint32_t, std::uint64_t>> seeded_;  // peer, key and address of atomics, R8
  std::deque<Lane> lanes_;
  struct Hash {
    std::size_t operator()(const std::pair<Address, std::uint32_t>& k) const;
  };
  std::unordered_map<std::pair<Address, std::uint32_t>, Lane*, Hash> by_peer_;  // peer and its QPN
  std::unordered_map<std::pair<Address, std::uint32_t>, Lane*, Hash> by_own_;   // peer and our QPN
  std::size_t held_ = 0;
  bool lost_requests_ = false;
};

}  // namespace rxnic
