// SPDX-License-Identifier: Apache-2.0
// What a pair of NICs does with one request after the other: completions, and the bytes of both sides' memory. This is
// straight from model/RULES.md and without any code of the model. A sends, B receives; a datagram of a group reaches
// two QPs of B and one of A.
//
//   R1  Requests have their effects in the order in which they were posted. What may be carried out in another order is
//       not for the reference. An example is a request behind a READ that is not fenced, when both are of the same
//       bytes.
//   R2  What the rules leave open is reported so: `undefined` names bytes of A or B that may have any value afterwards.
//       `waits` says that A's QP repeats the request until there is a receive.
//   R3  A failure that the peer reports ends both QPs: the receives of an RQ are flushed, those of an SRQ stay. B is
//       not notified of a failure that A's own NIC finds. A's QP has to be connected anew then, which ends the receives
//       of B's RQ.
//   R4  Memory is numbered through: the host's, and behind it the device's. Windows are of B's host memory.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iosfwd>
#include <optional>
#include <span>
#include <vector>

namespace rxnic::live {

struct Piece {  // of an arena
  std::size_t at = 0, bytes = 0;
};
using Pieces = std::vector<Piece>;
std::size_t length_of(const Pieces& pieces);

// What B receives on, and by which transport A sends to it. The last two are the group's further receive queues.
enum class Way { kRc, kUc, kUd, kSrq, kXrc, kTags, kGroup, kGroup2, kGroupOfA };
inline constexpr std::size_t kWays = 7, kReceiveQueues = 9;
bool has_own_receives(Way way);  // an RQ, not an SRQ

// Where completions come: A's send CQ, the CQ of B, A's receive CQ (FIN), those of the group's further QPs.
enum class Queue { kSent, kReceived, kFinished, kGroup2, kGroupOfA };
inline constexpr std::size_t kQueues = 5;

// A completion. On an error only wr_id and status mean anything.
struct Done {
  std::uint64_t wr_id = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
  ibv_wc_opcode opcode = IBV_WC_SEND;
  unsigned int flags = 0;
  std::uint32_t bytes = 0;  // of a receive
  std::uint32_t immediate = 0;
  std::uint64_t tag = 0;  // with IBV_WC_TM_MATCH, as `context`
  std::uint32_t context = 0;
  int invalidated = -1;       // window, with IBV_WC_WITH_INV
  bool any_error = false;     // expected: an error, and the rules leave open which
  bool is_solicited = false;  // expected: raises an event that was asked for with solicited_only
};
bool operator==(const Done& a, const Done& b);
std::ostream& operator<<(std::ostream& out, const Done& d);

class Reference {
 public:
  using Bytes = std::vector<std::uint8_t>;
  // `base`: address of A's memory.
  explicit Reference(std::uint64_t base) : base_(base) {}
  void set_memory(const Bytes& a, const Bytes& b) {
    a_ = a;
    b_ = b;
  }

  struct Request {
    Way way = Way::kRc;
    ibv_wr_opcode opcode = IBV_WR_SEND;
    std::uint64_t wr_id = 0;
    bool signaled = true, solicited = false, fenced = false;
    Pieces local;
    std::optional<Bytes> inline_data;  // as it was when the request was posted
    bool bad_lkey = false;
    std::size_t remote = 0;  // in B's memory
    int window = -1;         // through which B's memory is reached
    bool bad_rkey = false;
    int invalidates = -1;  // SEND_WITH_INV: the window; -1: what is none
    std::uint32_t immediate = 0;
    std::uint64_t compare_add = 0, swap = 0;
  };
  struct Effect {
    std::array<std::vector<Done>, kQueues> done;
    Pieces undefined, undefined_of_a;  // (R2)
    bool waits = false;                // (R2)
    bool dropped = false;              // nobody is told
    bool fails = false;                // (R3)

    std::vector<Done>& on(Queue queue) { return done[static_cast<std::size_t>(queue)]; }
    void add(const Effect& next);
  };
  Effect carry_out(const Request& r);
  // Posts the data of a request with it.
  void take_inline(Request& r) const { r.inline_data = gather(r.local); }
  static Done flushed(std::uint64_t wr_id);
  void post_receive(Way way, std::uint64_t wr_id, const Pieces& to) { queue(way).push_back({wr_id, to}); }
  void forget_receives(Way way) { queue(way).clear(); }  // with B's QP
  void forget_fins() { fins_.clear(); }                  // with A's QP
  void post_fin_receive(std::uint64_t wr_id, const Piece& to) { fins_.push_back({wr_id, {to}}); }
  std::size_t posted(Way way) { return queue(way).size(); }
  bool may_receive_into(Way way, const Piece& piece);  // a receive that is posted

  // Windows. `way`: of the QP that has bound one of type 2; none: type 1.
  struct Window {
    bool valid = false;
    std::optional<Way> way;
    Piece of;
    unsigned int access = 0;
  };
  Window& window(std::size_t n) { return windows_[n]; }
  static constexpr std::size_t kWindows = 4;
  // B's QP has failed by its own request: completions of its RQ's receives.
  std::vector<Done> fail_receiver(Way way);

  // Operations on the tag list. `entry`: a number of the program's for the handle.
  struct TagOp {
    ibv_ops_wr_opcode opcode = IBV_WR_TAG_SYNC;
    std::uint64_t wr_id = 0;
    bool signaled = false;
    bool sync = false;  // with `unexpected`
    std::uint32_t unexpected = 0;
    std::uint32_t entry = 0;
    std::uint64_t recv_wr_id = 0, tag = 0, mask = 0;
    Piece to;
  };
  std::vector<Done> operate(const TagOp& op);
  std::uint32_t unexpected() const { return unexpected_; }
  std::size_t tags() const { return tags_.size(); }
  bool has_entry(std::uint32_t entry) const;

  Bytes& a() { return a_; }
  Bytes& b() { return b_; }

 private:
  struct Receive {
    std::uint64_t wr_id = 0;
    Pieces to;
  };
  struct Tag {
    std::uint32_t entry = 0;
    std::uint64_t wr_id = 0, tag = 0, mask = 0;
    Piece to;
    bool held = false;
  };
  static bool reliable(Way way) { return way != Way::kUc && way != Way::kUd && way != Way::kGroup; }
  std::deque<Receive>& queue(Way way) { return receives_[static_cast<std::size_t>(way)]; }
  Bytes gather(const Pieces& from) const;
  Bytes payload_of(const Request& r) const { return r.inline_data ? *r.inline_data : gather(r.local); }
  static void scatter(Bytes& memory, const Pieces& to, std::span<const std::uint8_t> bytes);
  bool permits(const Request& r, std::size_t bytes, unsigned int right) const;
  Effect send(const Request& r);
  void send_datagram(const Request& r, const Bytes& message, Way way, Queue to, Effect& effect);
  bool invalidate(const Request& r);
  Effect send_tagged(const Request& r, const Bytes& message);
  Effect rendezvous(const Request& r, const Bytes& message, const Tag& tag);
  Effect write(const Request& r);
  Effect read(const Request& r);
  Effect atomic(const Request& r);
  Effect atomic_write(const Request& r);
  Effect fail(const Request& r, ibv_wc_status status, Effect so_far);
  Effect fail(const Request& r, ibv_wc_status status) { return fail(r, status, Effect()); }
  static Effect fail_at_once(const Request& r, ibv_wc_status status);
  static Done sent(const Request& r, ibv_wc_opcode opcode);
  bool in_phase() const { return unexpected_ == acknowledged_; }

  Bytes a_, b_;
  std::uint64_t base_;
  std::array<std::deque<Receive>, kReceiveQueues> receives_;
  std::array<Window, kWindows> windows_;
  std::deque<Receive> fins_;
  std::vector<Tag> tags_;  // the oldest first
  std::uint32_t unexpected_ = 0, acknowledged_ = 0;
};

}  // namespace rxnic::live
