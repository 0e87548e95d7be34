// SPDX-License-Identifier: Apache-2.0
#include "testbench/live/endless_kinds.h"

#include <cstring>

namespace rxnic::live {
namespace {

enum Kind : std::uint32_t { kType1, kByServer, kByClient, kKinds };
constexpr std::size_t kWindow = 4 * kPage, kSlot = 64, kSlots = 16;

struct Grant {  // the server's message: a window that is bound; back from the client when that is done with it
  std::uint32_t kind, rkey;
  std::uint64_t address;
};

// Three windows' memory, and behind it slots of messages: those received, those sent.
class WindowSide {
 protected:
  WindowSide(const World& world, Meeting& meeting)
      : arena_(world, kKinds * kWindow + kPage, Arena::kAllRights | IBV_ACCESS_MW_BIND), cq_(world.cq(256)) {
    qp_ = make_qp(world, cq_.get(), cq_.get(), {.all_signaled = true});
    connect(qp_.get(), world, meeting);
    for (std::uint64_t n = 0; n < kSlots; ++n) receive(n);
    wait_until_ready(meeting);
  }
  void receive(std::uint64_t slot) {
    Sges list{arena_.sge(kKinds * kWindow + slot * kSlot, sizeof(Grant))};
    post_receive(qp_.get(), list, slot);
  }
  Grant received(const ibv_wc& wc) {
    Grant grant;
    std::memcpy(&grant, arena_.at(kKinds * kWindow + wc.wr_id * kSlot), sizeof grant);
    receive(wc.wr_id);
    return grant;
  }
  void send(const Grant& grant, bool invalidate) {
    Sges list{ibv_sge{reinterpret_cast<std::uint64_t>(&grant), sizeof grant, 0}};
    ibv_send_wr wr = send_wr(invalidate ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND, list, grant.kind);
    wr.send_flags |= IBV_SEND_INLINE;
    wr.invalidate_rkey = invalidate ? grant.rkey : 0;
    post(qp_.get(), wr);
  }

  Arena arena_;
  Owned<ibv_cq> cq_;
  Owned<ibv_qp> qp_;
};

class WindowServer : WindowSide {
 public:
  WindowServer(const World& world, Meeting& meeting) : WindowSide(world, meeting) {
    for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
      windows_[kind] = ibv_alloc_mw(world.pd.get(), kind == kType1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
      must(windows_[kind] == nullptr ? -1 : 0, "ibv_alloc_mw");
      rkeys_[kind] = windows_[kind]->rkey;
    }
  }
  void run() {
    for (std::uint32_t kind = 0; kind < kKinds; ++kind) bind(kind);
    for (;;) {
      const ibv_wc wc = take_good(cq_.get());
      const auto kind = static_cast<std::uint32_t>(wc.wr_id);
      if (wc.opcode == IBV_WC_BIND_MW) {
        send({kind, rkeys_[kind], arena_.address(kind * kWindow)}, false);
      } else if (wc.opcode == IBV_WC_LOCAL_INV) {
        bind(kind);
      } else if (wc.opcode == IBV_WC_RECV) {
        const Grant back = received(wc);
        if (back.kind == kByServer) {
          invalidate(back);
        } else {
          bind(back.kind);
        }
      }
    }
  }

 private:
  void bind(std::uint32_t kind) {
    const ibv_mw_bind_info to{arena_.region.get(), arena_.address(kind * kWindow), kWindow,
                              IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
    if (kind == kType1) {
      ibv_mw_bind request{};
      request.wr_id = kind;
      request.bind_info = to;
      must(ibv_bind_mw(qp_.get(), windows_[kind], &request), "ibv_bind_mw");
      rkeys_[kind] = windows_[kind]->rkey;
      return;
    }
    ibv_send_wr wr{};
    wr.wr_id = kind;
    wr.opcode = IBV_WR_BIND_MW;
    wr.bind_mw = {windows_[kind], rkeys_[kind] = ibv_inc_rkey(rkeys_[kind]), to};
    post(qp_.get(), wr);
  }
  void invalidate(const Grant& grant) {
    ibv_send_wr wr{};
    wr.wr_id = grant.kind;
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.invalidate_rkey = grant.rkey;
    post(qp_.get(), wr);
  }

  std::array<ibv_mw*, kKinds> windows_{};
  std::array<std::uint32_t, kKinds> rkeys_{};
};

class WindowClient : WindowSide {
 public:
  WindowClient(const World& world, Meeting& meeting) : WindowSide(world, meeting) {}
  void run() {
    for (;;) {
      const ibv_wc wc = take_good(cq_.get());
      if (wc.opcode != IBV_WC_RECV) continue;
      const Grant grant = received(wc);
      for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE}) {
        Sges list{arena_.sge(grant.kind * kWindow, kWindow)};
        ibv_send_wr wr = send_wr(opcode, list);
        wr.wr.rdma = {grant.address, grant.rkey};
        post(qp_.get(), wr);
      }
      send(grant, grant.kind == kByClient);
    }
  }
};

}  // namespace

void exchange_windows(const World& world, Meeting& meeting, bool is_server) {
  is_server ? WindowServer(world, meeting).run() : WindowClient(world, meeting).run();
}

}  // namespace rxnic::live
