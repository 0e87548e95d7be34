// SPDX-License-Identifier: Apache-2.0
// Two NICs, or one, for random sequences of requests: the QPs of every way, memory of host and device, windows; and the
// reference beside them. Everything lives as long as the test: a QP that has failed goes through RESET.
//
//   R1  Memory is numbered as in reference.h R4: offsets from kArena on are the device's.
//   R2  What is expected of a CQ is taken from it in order; when a sequence ends there is nothing else in any of them.
//   R3  With RXNIC_IMPAIRED the network between the NICs may lose, corrupt, duplicate and reorder frames. Then the ways
//       are those of reliable transports, and requests that fail are left out: when a NAK is lost, the requester finds
//       another status. Every request is signaled: no READ of another QP says that it was carried out.
#pragma once

#include <infiniband/tm_types.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "testbench/live/reference.h"
#include "testbench/live/verbs_pair.h"

namespace rxnic::live {

inline constexpr std::size_t kArena = 16 * kPage, kDeviceBytes = 2 * kPage, kSpace = kArena + kDeviceBytes;
inline constexpr std::uint32_t kTagCount = 8;
inline constexpr std::uint32_t kMostSges = 8;

// Neither host memory nor the device's has its end inside.
inline std::size_t whole(std::size_t at, std::size_t bytes) { return at < kArena && at + bytes > kArena ? kArena : at; }

// Host memory and memory of the device.
struct Space {
  explicit Space(const World& world);
  ibv_sge sge(const Piece& piece) const;
  std::uint64_t address(std::size_t at) const;  // for a remote key
  std::uint32_t rkey(std::size_t at) const { return (at < kArena ? *arena.region : *device_region).rkey; }
  Reference::Bytes fill(std::uint64_t seed);  // with random bytes, which are returned
  Reference::Bytes bytes() const;             // as they are now

  Arena arena;
  Owned<ibv_dm> device;
  Owned<ibv_mr> device_region;
};

class Differential : public testing::TestWithParam<std::uint32_t> {
 protected:
  Differential();
  ~Differential() override;

  struct Pair {
    Owned<ibv_qp> from, to;
    Owned<ibv_ah> address;
  };
  struct Mw {
    Owned<ibv_mw> mw;
    std::uint32_t rkey = 0;  // under which it is or was bound
  };

  std::size_t below(std::size_t n) { return random_() % n; }
  bool chance(std::size_t percent) { return below(100) < percent; }
  Reference& reference() { return *reference_; }
  Pair& pair(Way way) { return pairs_[static_cast<std::size_t>(way)]; }
  Owned<ibv_srq>& srq(Way way) { return srqs_[static_cast<std::size_t>(way)]; }
  Mw& window(std::size_t n) { return windows_[n]; }
  // The QP on which a receive queue is.
  ibv_qp* receiver(Way way);

  // Makes what the way needs and does not have yet.
  void set_up(Way way);
  // After a failure: both QPs work again. Windows that B's QP has bound are new ones.
  void restore(Way way);
  void read_events();

  // Completions.
  void expect(Reference::Effect& effect, Way way);
  void expect_window_done(std::uint64_t wr_id, ibv_wc_opcode opcode, bool good);
  void expect_empty();
  // What A's NIC has sent before has been carried out, and lies in memory: B's NIC reads behind its writes.
  void fence();
  void arm(bool solicited_only);
  bool armed() const { return armed_.has_value(); }
  void disarm();  // with a message that raises the event

  const bool impaired_ = std::getenv("RXNIC_IMPAIRED") != nullptr;
  const Path path_ = path_of_all();
  World a_{0}, b_{GetParam() - 1};
  Owned<ibv_cq> a_send_ = a_.cq(), a_receive_ = a_.cq(), b_send_ = b_.cq(), group2_ = b_.cq(), group_of_a_ = a_.cq();
  Space a_space_{a_}, b_space_{b_};
  Owned<ibv_mr> bindable_;  // B's host memory, for windows
  Pair fence_;
  std::mt19937_64 random_;
  std::optional<Reference> reference_;
  std::uint64_t ids_ = 0, completions_ = 0, events_ = 0;

  // Steps (differential_steps.cpp): what is posted, and what must come of it.
  void receive(Way way, bool long_enough = false);
  void requests(Way way, std::size_t count);
  void operate();  // on the tag list
  void use_window(Way way);
  void drain(Way way);
  void close_windows();
  const bool traces_ = std::getenv("RXNIC_TRACE") != nullptr;  // prints each step
  bool tags_in_use_ = false;  // nobody says which completions of operations are solicited
  std::uint64_t requests_ = 0, lists_ = 0, refused_ = 0, operations_ = 0, window_requests_ = 0, waits_ = 0,
                failures_ = 0, fenced_ = 0;

 private:
  using Requests = std::vector<Reference::Request>;
  Pieces pieces(std::size_t bytes, std::size_t most, std::size_t begin = 0, std::size_t end = kSpace);
  std::size_t length();
  Reference::Request request(Way way);
  void reach(Reference::Request& r, std::size_t bytes);
  Reference::Request tagged(std::size_t slot, bool alone);
  void fence_where_needed(Requests& list);
  void end_at_failure(Requests& list) const;
  void leave_out_failures(Requests& list) const;
  // The WR of a request, in `sges`.
  ibv_send_wr wr_of(const Reference::Request& r, std::vector<ibv_sge>& sges);
  void spoil(ibv_send_wr& wr, std::vector<ibv_sge>& sges);
  bool post_extended(Way way, std::vector<ibv_send_wr>& wrs);
  void carry_out(Way way, const Requests& list);
  void write_a(std::size_t at, const void* from, std::size_t bytes);
  std::uint32_t remote_key(const Reference::Request& r);
  std::uint64_t remote_address(const Reference::Request& r);
  void fail_by_itself(Way way);  // B's QP
  void sync(bool in_phase);

  std::vector<std::pair<std::uint32_t, std::uint32_t>> handles_;  // entry, handle
  std::uint32_t entries_ = 0, fins_ = 0;

  Path path_of_all() const;
  void make_srq(Way way);
  void make_qps(Way way);
  void reset(Way way);
  Owned<ibv_qp> make_sender(Way way);
  Done of(const ibv_wc& wc);
  Done take_b();
  void compare(Queue queue, const Done& wanted);
  void make_window(std::size_t n);

  Owned<ibv_comp_channel> channel_ = own(ibv_create_comp_channel(b_.context.get()), "ibv_create_comp_channel");
  ibv_cq_ex* b_cq_ = nullptr;
  ibv_cq* b_cq() { return ibv_cq_ex_to_cq(b_cq_); }
  Arena scratch_{a_, kPage};
  Owned<ibv_xrcd> xrcd_;
  std::array<Owned<ibv_srq>, kWays> srqs_;
  std::array<Pair, kWays> pairs_;
  Owned<ibv_qp> group_member2_, group_member_of_a_;
  Pair fence_of_a_;
  std::array<Mw, Reference::kWindows> windows_;
  std::optional<bool> armed_;  // for solicited ones only
};

}  // namespace rxnic::live
