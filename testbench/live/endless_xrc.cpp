// SPDX-License-Identifier: Apache-2.0
#include "testbench/live/endless_kinds.h"

#include "testbench/live/xrc_objects.h"

namespace rxnic::live {
namespace {

constexpr std::uint64_t kSrqs = 2, kReceives = 16, kMessages = 8;  // messages: under way
constexpr std::size_t kMessage = 5000, kStride = 2 * kPage;

struct Numbers {
  std::array<std::uint32_t, kSrqs> srqs;
};

void receive_all(const World& world, Meeting& meeting) {
  const OwnedXrcd xrcd(open_xrcd(world.context.get(), -1, O_CREAT));
  must(xrcd == nullptr ? -1 : 0, "ibv_open_xrcd");
  const Owned<ibv_cq> cq = world.cq(256);
  Arena arena(world, kReceives * kStride);
  std::array<Owned<ibv_srq>, kSrqs> srqs;
  Numbers numbers{};
  const auto receive = [&](std::uint64_t n) {
    Sges list{arena.sge(n * kStride, kStride)};
    post_receive(srqs[n % kSrqs].get(), list, n);
  };
  for (std::uint64_t n = 0; n < kSrqs; ++n) {
    srqs[n] = make_srq(world, xrcd.get(), cq.get());
    numbers.srqs[n] = number_of(srqs[n].get());
  }
  for (std::uint64_t n = 0; n < kReceives; ++n) receive(n);
  const Owned<ibv_qp> qp = make_receiver(world, xrcd.get());
  connect(qp.get(), world, meeting);
  (void)meeting.exchange(numbers);
  meeting.end();
  for (;;) receive(take_good(cq.get()).wr_id);
}

void send_all(const World& world, Meeting& meeting) {
  const Owned<ibv_cq> cq = world.cq(256);
  Arena arena(world, kStride);
  const Owned<ibv_qp> qp = make_sender(world, cq.get());
  connect(qp.get(), world, meeting);
  const Numbers numbers = meeting.exchange(Numbers{});
  meeting.end();
  for (std::uint64_t n = 0;; ++n) {
    if (n >= kMessages) (void)take_good(cq.get());
    Sges list{arena.sge(0, n % kMessage)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, list, n);
    wr.qp_type.xrc.remote_srqn = numbers.srqs[n % 3 % kSrqs];
    post(qp.get(), wr);
  }
}

}  // namespace

void exchange_xrc(const World& world, Meeting& meeting, bool is_server) {
  is_server ? receive_all(world, meeting) : send_all(world, meeting);
}

}  // namespace rxnic::live
