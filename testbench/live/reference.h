// SPDX-License-Identifier: Apache-2.0
// What a pair of NICs does with one request after the other, straight from model/RULES.md and without any code of the
// model: completions, and the bytes of both sides' memory. A sends, B receives.
//
//   R1  A request is carried out when the one before it is complete, so that the order is the program's.
//   R2  What the rules leave open is reported as such: `undefined` names bytes of B that may have any value afterwards,
//       `waits` says that A's QP repeats the request until there is a receive.
//   R3  A failure ends both QPs: the receives of an RQ are flushed, those of an SRQ stay.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iosfwd>
#include <map>
#include <span>
#include <vector>

namespace rxnic::live {

struct Piece {  // of an arena
  std::size_t at = 0, bytes = 0;
};
using Pieces = std::vector<Piece>;
std::size_t length_of(const Pieces& pieces);

// What B receives on, and by which transport A sends to it.
enum class Way { kRc, kUc, kUd, kSrq, kXrc, kTags };
inline constexpr int kWays = 6;

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
  bool any_error = false;  // expected: an error, and the rules leave open which
};
bool operator==(const Done& a, const Done& b);
std::ostream& operator<<(std::ostream& out, const Done& d);

class Reference {
 public:
  using Bytes = std::vector<std::uint8_t>;
  // `base`: address of A's arena.
  Reference(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, std::uint64_t base)
      : a_(a.begin(), a.end()), b_(b.begin(), b.end()), base_(base) {}

  struct Request {
    Way way = Way::kRc;
    ibv_wr_opcode opcode = IBV_WR_SEND;
    std::uint64_t wr_id = 0;
    bool signaled = true;
    Pieces local;
    std::size_t remote = 0;  // offset in B's arena
    bool bad_rkey = false;
    std::uint32_t immediate = 0;
    std::uint64_t compare_add = 0, swap = 0;
  };
  struct Effect {
    std::vector<Done> sent, received;  // A's send CQ, B's CQ
    std::vector<Done> finished;        // A's receives: FIN
    Pieces undefined;                  // (R2)
    bool waits = false;                // (R2)
    bool dropped = false;              // nobody is told
    bool fails = false;                // (R3)
  };
  Effect carry_out(const Request& r);
  void post_receive(Way way, std::uint64_t wr_id, const Pieces& to) { receives_[way].push_back({wr_id, to}); }
  void forget_fins() { fins_.clear(); }  // with A's QP
  void post_fin_receive(std::uint64_t wr_id, const Piece& to) { fins_.push_back({wr_id, {to}}); }
  std::size_t posted(Way way) { return receives_[way].size(); }

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
  bool reliable(Way way) const { return way != Way::kUc && way != Way::kUd; }
  Bytes gather(const Pieces& from) const;
  static void scatter(Bytes& memory, const Pieces& to, std::span<const std::uint8_t> bytes);
  Effect send(const Request& r);
  Effect send_tagged(const Request& r, const Bytes& message);
  Effect rendezvous(const Request& r, const Bytes& message, const Tag& tag);
  Effect write(const Request& r);
  Effect read(const Request& r);
  Effect atomic(const Request& r);
  Effect fail(const Request& r, ibv_wc_status status, Effect so_far);
  Effect fail(const Request& r, ibv_wc_status status) { return fail(r, status, Effect()); }
  static Done sent(const Request& r, ibv_wc_opcode opcode);
  bool in_phase() const { return unexpected_ == acknowledged_; }

  Bytes a_, b_;
  std::uint64_t base_;
  std::map<Way, std::deque<Receive>> receives_;
  std::deque<Receive> fins_;
  std::vector<Tag> tags_;  // the oldest first
  std::uint32_t unexpected_ = 0, acknowledged_ = 0;
};

}  // namespace rxnic::live
