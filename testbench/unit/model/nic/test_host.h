// SPDX-License-Identifier: Apache-2.0
// NICs on a fabric, each with a host: memory, a driver and a program that posts, polls and records. For tests of
// whole NICs from the doorbell to the completion.
//
//   R1  Objects are made before the run, in no time; work may be posted then, or in the run from Bench::at. Commands
//       are given in the run (give).
//   R2  Regions lie on pages that are neither contiguous nor in order, with unused pages between. Bytes outside of
//       them in these pages are a canary, which must be unchanged when the test ends.
//   R3  Each post rings its doorbell. A CQ is polled as soon as a CQE is visible in it. As many CQEs are taken as have
//       landed: memory may hold more.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/core/receive_queue/wqe_format.h"
#include "model/nic/command_queue.h"
#include "model/nic/fabric.h"
#include "model/nic/host_ports.h"
#include "model/nic/nic_setup.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic {

inline constexpr std::uint8_t kEveryRight = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
inline constexpr Pdn kHostPd{1};
inline constexpr std::uint32_t kHostQkey = 0x11111111;

struct HostRegion {
  Key key{};
  std::uint64_t va = 0;
  std::uint32_t bytes = 0;
  DataSegment piece(std::uint64_t offset, std::uint32_t n) const { return {n, raw(key), va + offset}; }
  DataSegment whole() const { return piece(0, bytes); }
};

struct HostQp {
  SendQpContext software;  // the attributes that software set last
  WqId rq = kNoWq;
  WqContext receive_queue;
  std::uint32_t sends = 0, receives = 0;  // WQEs posted
  Qpn qpn() const { return software.qp.qpn; }
};

struct HostCompletion {
  Cqn cq{};
  Cqe cqe;
  Cycle seen{};
};

// A send WQE, by default signaled.
struct Work {
  SendOpcode opcode = SendOpcode::kSend;
  std::vector<DataSegment> sges{};
  std::uint64_t va = 0;  // remote
  Key rkey{};
  std::uint8_t flags = kSendSignaled;
  std::uint32_t immediate = 0;
  std::uint64_t compare_add = 0, swap = 0;
  std::vector<std::uint8_t> inline_data{};
  const HostQp* to = nullptr;  // UD
  std::uint32_t to_nic = 0;
};

class TestHost final : public Block, public DriverPorts {
 public:
  TestHost(const sc_core::sc_module_name& name, Bench& bench, const Params& params, std::uint32_t number);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;

  static Address address(std::uint32_t nic) { return Address::ipv4(0x0a000001 + nic); }
  static std::array<std::uint8_t, 6> mac(std::uint32_t nic) {
    return {2, 0x72, 0x78, 0, 0, static_cast<std::uint8_t>(nic + 1)};
  }
  static AddressVector path_to(std::uint32_t nic);

  // Objects.
  HostRegion region(std::uint32_t bytes, std::uint8_t access = kEveryRight);
  Cqn cq(std::uint32_t slots = 256);
  HostQp& qp(Transport transport, Cqn cq, std::uint32_t slots = 64, WqId srq = kNoWq);
  HostQp& srq_holder(std::uint32_t srqn, std::uint32_t slots = 64);             // not a QP: its receive queue is an SRQ
  HostQp& tm_srq_holder(std::uint32_t srqn, Cqn cq, std::uint32_t slots = 64);  // a TM SRQ that completes on `cq`
  HostQp& tagged_qp(const HostQp& tm_srq, Cqn cq);                              // RC, on that SRQ, without a send queue
  void connect(HostQp& qp, std::uint32_t nic, const HostQp& peer);              // to kRts
  void resize(Cqn cq, std::uint32_t slots);  // software's side: a new ring, polled from CQE 0 on once `switched`
  void switched(Cqn cq);
  CqContext& cq_context(Cqn cq) { return cqs_.at(raw(cq)).context; }
  BusAddress next_ring(Cqn cq) { return cqs_.at(raw(cq)).next.base; }
  std::uint32_t consumer(Cqn cq) const { return cqs_.at(raw(cq)).consumer; }

  // A command for the NIC, from Bench::at. `then` is called, outside the blocks, when its reply has come.
  using Then = std::function<void(const CommandReply&, Cycle came)>;
  void give(Ticket ticket, Then then = {});

  // Work.
  void receive(HostQp& qp, const DataSegment& buffer);
  void send(HostQp& qp, const Work& work);
  void add_tag(const HostQp& tm_srq, const TagEntry& entry);
  void arm(Cqn cq, bool solicited_only) {
    ring(completion_doorbells, {DoorbellKind::kCqArm, solicited_only, raw(cq), consumer(cq)});
  }

  // Memory.
  std::vector<std::uint8_t> read(std::uint64_t va, std::size_t bytes);
  void write(std::uint64_t va, const std::vector<std::uint8_t>& bytes);
  void expect_canaries();

  std::uint32_t mtu = 1024;  // of what is connected from now on
  std::vector<HostCompletion> completions;
  std::vector<Event> events;
  std::size_t count(WcStatus status) const;

  LocalMemory memory;
  Nic nic;
  NicSetup setup;
  CommandQueue driver;

 private:
  static constexpr std::uint64_t kPage = 4096;
  struct Cq {
    CqContext context, next;
    std::uint32_t consumer = 0;
    std::uint32_t landed = 0;  // and not polled
    bool polled = true;
  };
  void ring(Out<Doorbell>& board, const Doorbell& doorbell);
  void poll(Cqn number, Cycle now);
  HostQp& make_srq(WqContext context, std::uint32_t srqn, std::uint32_t slots);
  BusAddress ring_memory() { return BusAddress{0x8'0000'0000u + (rings_++) * 0x10'0000u}; }
  std::uint64_t bus(std::uint64_t va) const { return pages_.at(va & ~(kPage - 1)) + (va & (kPage - 1)); }
  static std::uint8_t canary(std::uint64_t at) { return static_cast<std::uint8_t>((at >> 12) * 53 + at * 3 + 1); }

  Bench& bench_;
  Engine& engine_;
  const std::uint32_t number_;
  const std::uint32_t cqe_bytes_;
  const std::uint32_t doorbell_wqe_bytes_;
  std::deque<HostQp> qps_;
  std::map<std::uint32_t, Cq> cqs_;
  std::vector<HostRegion> regions_;
  std::map<std::uint64_t, std::uint64_t> pages_;  // virtual page: bus address
  std::uint64_t next_page_ = 0x4000'0000;
  std::uint64_t rings_ = 0;
  std::deque<std::pair<Out<Doorbell>*, Doorbell>> to_ring_;
  std::deque<TagOperation> to_operate_;
  std::map<Ticket, Then> given_;  // without a reply
};

// Two NICs and the fabric between them.
struct TwoNics {
  explicit TwoNics(Bench& bench, const Params& params = {});
  // `a` on NIC 0, `b` on NIC 1, of the same kind, connected.
  std::pair<HostQp*, HostQp*> connected(Transport transport, std::uint32_t slots = 64);
  void expect_quiet();  // no packet is left in either NIC or between them

  Bench& bench;
  Fabric fabric;
  TestHost a, b;
  Cqn cq_a{}, cq_b{};
};

// The cycles of a command that was given in a run.
struct Given {
  Cycle from{}, done{};  // given, and its reply seen
  CommandReply reply;
  bool is_done() const { return done != Cycle{}; }
  std::uint64_t cycles() const { return is_done() ? done.count - from.count : 0; }
};

// Gives a command in cycle `from`; `command` has the host's driver make it. `then` is called in the cycle in which
// its reply is seen.
std::shared_ptr<Given> give(Bench& bench, TestHost& host, Cycle from, std::function<Ticket(CommandQueue&)> command,
                            std::function<void(Cycle)> then = {});

// For tests with commands during traffic: the firmware's own time is as short as possible.
inline Params with_fast_commands(Params params = {}) {
  params.command_processor.command_ps = 0;
  return params;
}

}  // namespace rxnic
