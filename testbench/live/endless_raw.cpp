// SPDX-License-Identifier: Apache-2.0
#include "testbench/live/endless_kinds.h"

#include <cstring>

namespace rxnic::live {
namespace {

constexpr std::size_t kMac = 6, kFrame = 1000, kFrames = 16, kUnderWay = 4;
using Mac = std::array<std::uint8_t, kMac>;

// The one inside the port's EUI-64.
Mac mac_of(const World& world) {
  const ibv_gid gid = world.gid(0);
  const std::uint8_t* const eui = gid.raw + 8;
  return {static_cast<std::uint8_t>(eui[0] ^ 2), eui[1], eui[2], eui[5], eui[6], eui[7]};
}

}  // namespace

void exchange_frames(const World& world, Meeting& meeting, bool is_server) {
  struct Request {
    ibv_flow_attr attributes{};
    ibv_flow_spec_eth spec{};
  } request;
  const Mac own_mac = mac_of(world);
  Arena arena(world, 2 * kFrames * kPage);  // received, and sent
  const Owned<ibv_cq> cq = world.cq();
  const Owned<ibv_qp> qp = make_qp(world, cq.get(), cq.get(), {.type = IBV_QPT_RAW_PACKET});
  ibv_qp_attr attr{};
  attr.port_num = 1;
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    attr.qp_state = state;
    must(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0)), "ibv_modify_qp");
  }
  request.attributes.type = IBV_FLOW_ATTR_NORMAL;
  request.attributes.size = sizeof request;
  request.attributes.num_of_specs = 1;
  request.attributes.port = 1;
  request.spec.type = IBV_FLOW_SPEC_ETH;
  request.spec.size = sizeof request.spec;
  std::memcpy(request.spec.val.dst_mac, own_mac.data(), kMac);
  std::memset(request.spec.mask.dst_mac, 0xff, kMac);
  must(ibv_create_flow(qp.get(), &request.attributes) == nullptr ? -1 : 0, "ibv_create_flow");
  const auto receive = [&](std::uint64_t n) {
    Sges list{arena.sge(n * kPage, kFrame)};
    post_receive(qp.get(), list, n);
  };
  for (std::uint64_t n = 0; n < kFrames; ++n) receive(n);
  const Mac peer = meeting.exchange(own_mac);
  wait_until_ready(meeting);
  const auto send = [&](std::uint64_t n) {
    const std::size_t at = (kFrames + n % kFrames) * kPage;
    std::memcpy(arena.at(at), peer.data(), kMac);
    std::memcpy(arena.at(at + kMac), own_mac.data(), kMac);
    std::memcpy(arena.at(at + 2 * kMac), "\x88\xb5", 2);
    Sges list{arena.sge(at, kFrame)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, list, n);
    post(qp.get(), wr);
  };
  std::uint64_t next = 0;
  while (!is_server && next < kUnderWay) send(next++);
  for (;;) {
    const ibv_wc wc = take_good(cq.get());
    if (wc.opcode != IBV_WC_RECV) continue;
    receive(wc.wr_id);
    send(next++);
  }
}

}  // namespace rxnic::live
