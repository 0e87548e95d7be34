// SPDX-License-Identifier: Apache-2.0
// Shared by the verbs programs of the live tests: opened NICs, queues, connected pairs, watched memory. Ordinary verbs,
// against the system's <infiniband/verbs.h>, without knowledge of the model.
//
//   R1  A call that fails throws std::runtime_error with the call and its errno.
//   R2  Nothing waits for ever: take() throws when no completion comes within the patience, kPatience unless a Patience
//       lives.
//   R3  Arena: expect() sets what a byte must be; differs() compares every byte of the memory with it, those around and
//       between the buffers as well. A stray write anywhere in an arena is found.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace rxnic::live {

inline constexpr std::chrono::seconds kPatience{60};

// A test that ends in seconds when it fails: another patience while this lives. One at a time, in one thread.
class Patience {
 public:
  explicit Patience(std::chrono::seconds patience) { current_ = patience; }
  ~Patience() { current_ = kPatience; }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;
  static std::chrono::seconds current() { return current_; }

 private:
  inline static std::chrono::seconds current_ = kPatience;
};

struct Freer {
  void operator()(ibv_context* p) const { ibv_close_device(p); }
  void operator()(ibv_pd* p) const { ibv_dealloc_pd(p); }
  void operator()(ibv_mr* p) const { ibv_dereg_mr(p); }
  void operator()(ibv_cq* p) const { ibv_destroy_cq(p); }
  void operator()(ibv_qp* p) const { ibv_destroy_qp(p); }
  void operator()(ibv_srq* p) const { ibv_destroy_srq(p); }
  void operator()(ibv_ah* p) const { ibv_destroy_ah(p); }
  void operator()(ibv_mw* p) const { ibv_dealloc_mw(p); }
  void operator()(ibv_dm* p) const { ibv_free_dm(p); }
  void operator()(ibv_xrcd* p) const { ibv_close_xrcd(p); }
  void operator()(ibv_comp_channel* p) const { ibv_destroy_comp_channel(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Freer>;

// Throws R1 when `made` is null.
template <class T>
Owned<T> own(T* made, const char* call);
// Throws R1 when `result`, a positive errno or -1, is not 0.
void must(int result, const char* call);

// A number from the environment variable RXNIC_SEED (default 1), printed once.
std::uint64_t seed();

// An opened NIC of the model with a PD.
struct World {
  explicit World(std::uint32_t nic);
  Owned<ibv_cq> cq(int entries = 1024) const;
  ibv_gid gid(int index) const;

  std::uint32_t nic;
  Owned<ibv_context> context;
  Owned<ibv_pd> pd;
};

// Page-aligned memory that is watched.
class Arena {
 public:
  static constexpr int kAllRights =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

  // `bytes`: whole pages. Filled with random bytes. Registered from `begin` for `length` bytes (0: all of it).
  Arena(const World& world, std::size_t bytes, int access = kAllRights, std::size_t begin = 0, std::size_t length = 0);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  std::uint8_t* at(std::size_t offset) { return memory_.data() + offset; }
  std::uint64_t address(std::size_t offset) const { return reinterpret_cast<std::uint64_t>(memory_.data() + offset); }
  std::size_t size() const { return memory_.size(); }
  ibv_sge sge(std::size_t offset, std::size_t length) const;
  std::span<const std::uint8_t> bytes(std::size_t offset, std::size_t length) const;

  // Unmaps everything from `bytes` on; the region stays as it is.
  void cut(std::size_t bytes);
  // New random bytes, which are also what is expected.
  void refill(std::uint64_t seed);
  void expect(std::size_t offset, std::span<const std::uint8_t> bytes);
  // Expects the present bytes: for bytes that are undefined, or that the test has checked itself.
  void accept(std::size_t offset, std::size_t length);
  // Empty, or the first byte that is not what it must be.
  std::string differs() const;

  Owned<ibv_mr> region;

 private:
  std::span<std::uint8_t> memory_;
  std::vector<std::uint8_t> expected_;
};

struct QpShape {
  ibv_qp_type type = IBV_QPT_RC;
  std::uint32_t wrs = 128;  // of each queue
  std::uint32_t sges = 8;
  std::uint32_t inline_bytes = 64;
  ibv_srq* srq = nullptr;
  bool all_signaled = false;
};
Owned<ibv_qp> make_qp(const World& world, ibv_cq* send_cq, ibv_cq* receive_cq, const QpShape& shape = {});

struct Path {
  int gid_index = 2;  // RoCEv2 over IPv4
  ibv_mtu mtu = IBV_MTU_1024;
  int access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  std::uint8_t timeout = 14, retry_count = 7, rnr_retry = 7, min_rnr_timer = 12, rd_atomic = 4;
  std::uint32_t qkey = 0x11111111;  // UD
  std::uint32_t psn = 0xfffff0;     // wraps early
  bool ready_to_send = true;        // otherwise it stays in RTR
};
ibv_ah_attr address_of(const ibv_gid& gid, const Path& path);
ibv_ah_attr address_of(const World& world, const Path& path);
// To RTS, or to RTR. UD: `to` is ignored.
void connect(ibv_qp* qp, const ibv_gid& to, std::uint32_t to_qpn, const Path& path = {});
void connect(ibv_qp* qp, const World& to, std::uint32_t to_qpn, const Path& path = {});
void connect_both(ibv_qp* a, const World& of_a, ibv_qp* b, const World& of_b, const Path& path = {});

// The next completion (R2).
ibv_wc take(ibv_cq* cq);
// True when the CQ holds no completion.
bool is_empty(ibv_cq* cq);
// True when an event waits at the descriptor of a context or of a completion channel.
bool has_event(int fd);
// The next asynchronous event, acknowledged (R2); of the second, its type.
ibv_async_event take_whole_event(ibv_context* context);
ibv_event_type take_event(ibv_context* context);

ibv_send_wr send_wr(ibv_wr_opcode opcode, std::span<ibv_sge> list, std::uint64_t id = 0);
void post(ibv_qp* qp, ibv_send_wr& wr);
void post_receive(ibv_qp* qp, std::span<ibv_sge> list, std::uint64_t id = 0);
void post_receive(ibv_srq* srq, std::span<ibv_sge> list, std::uint64_t id = 0);

}  // namespace rxnic::live
