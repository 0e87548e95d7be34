// SPDX-License-Identifier: Apache-2.0
// rdma_create_srq: a server whose clients come by rdma_cm and share one receive queue.
//
//   rxnic run --nics 2 -- sh -c 'rdma_srq server 2 | (read listens; export RXNIC_NIC=1
//                                rdma_srq client 198.18.0.1 & rdma_srq client 198.18.0.1 & wait; cat)'
//
// The server listens at 198.18.0.1, the address of rxnic0, until so many clients have come. The clients are on rxnic1.
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "testbench/live/examples/check.h"

namespace {

using example::check;
using example::must;

constexpr const char* kPort = "7471";
constexpr std::size_t kBytes = 64;
constexpr std::uint32_t kReceives = 32, kMessages = 10;
using Buffers = std::array<std::array<char, kBytes>, kReceives>;

ibv_qp_init_attr queues(ibv_srq* srq) {
  const ibv_qp_cap cap{16, srq == nullptr ? 4u : 0u, 1, 1, 0};
  return {nullptr, nullptr, nullptr, srq, cap, IBV_QPT_RC, 1};
}

rdma_addrinfo* address_of(const char* node, int flags) {
  rdma_addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_port_space = RDMA_PS_TCP;
  rdma_addrinfo* found = nullptr;
  must(rdma_getaddrinfo(node, kPort, &hints, &found), "rdma_getaddrinfo");
  return found;
}

std::pair<rdma_cm_event_type, rdma_cm_id*> next_event(rdma_event_channel* channel) {
  rdma_cm_event* event = nullptr;
  must(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
  const std::pair found(event->event, event->id);
  must(rdma_ack_cm_event(event), "rdma_ack_cm_event");
  return found;
}

void receive(rdma_cm_id* id, Buffers& buffers, ibv_mr* region, std::size_t n) {
  must(rdma_post_recv(id, reinterpret_cast<void*>(n), buffers[n].data(), kBytes, region), "rdma_post_recv");
}

int server(unsigned clients) {
  rdma_event_channel* const channel = check(rdma_create_event_channel(), "rdma_create_event_channel");
  rdma_cm_id* listener = nullptr;
  must(rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP), "rdma_create_id");
  rdma_addrinfo* const address = address_of("198.18.0.1", RAI_PASSIVE);
  must(rdma_bind_addr(listener, address->ai_src_addr), "rdma_bind_addr");
  ibv_srq_init_attr init{};
  init.attr = {kReceives, 1, 0};
  must(rdma_create_srq(listener, nullptr, &init), "rdma_create_srq");  // in the PD of the listener's NIC
  Buffers buffers{};
  ibv_mr* const region = check(rdma_reg_msgs(listener, &buffers, sizeof buffers), "rdma_reg_msgs");
  for (std::size_t n = 0; n < kReceives; ++n) receive(listener, buffers, region, n);
  ibv_cq* const cq = check(ibv_create_cq(listener->verbs, 128, nullptr, nullptr, 0), "ibv_create_cq");
  must(rdma_listen(listener, 8), "rdma_listen");
  std::puts("listens");  // a client that comes before is refused
  std::fflush(stdout);
  std::map<std::uint32_t, rdma_cm_id*> ids;  // by QPN
  for (unsigned established = 0; established < clients;) {
    const auto [kind, id] = next_event(channel);
    if (kind == RDMA_CM_EVENT_CONNECT_REQUEST) {
      ibv_qp_init_attr with_srq = queues(listener->srq);
      with_srq.send_cq = with_srq.recv_cq = cq;
      must(rdma_create_qp(id, listener->pd, &with_srq), "rdma_create_qp");
      must(rdma_accept(id, nullptr), "rdma_accept");
      ids[id->qp->qp_num] = id;
    } else {
      check(kind == RDMA_CM_EVENT_ESTABLISHED, rdma_event_str(kind));
      ++established;
    }
  }
  for (unsigned done = 0; done < 2 * clients * kMessages;) {  // a receive and a send for each
    ibv_wc wc{};
    const int count = ibv_poll_cq(cq, 1, &wc);
    check(count >= 0 && wc.status == IBV_WC_SUCCESS, "ibv_poll_cq");
    if (count == 0) continue;
    ++done;
    const std::size_t n = wc.wr_id;
    if (wc.opcode == IBV_WC_SEND) {
      receive(listener, buffers, region, n);
    } else {
      rdma_cm_id* const id = ids.at(wc.qp_num);
      must(rdma_post_send(id, reinterpret_cast<void*>(n), buffers[n].data(), kBytes, region, 0), "rdma_post_send");
    }
  }
  for (unsigned gone = 0; gone < clients;) gone += next_event(channel).first == RDMA_CM_EVENT_DISCONNECTED ? 1 : 0;
  std::printf("%u messages of %u clients answered from one queue\n", clients * kMessages, clients);
  for (const auto& [qpn, id] : ids) {
    rdma_destroy_qp(id);
    must(rdma_destroy_id(id), "rdma_destroy_id");
  }
  must(rdma_dereg_mr(region), "rdma_dereg_mr");
  rdma_destroy_srq(listener);
  must(ibv_destroy_cq(cq), "ibv_destroy_cq");
  must(rdma_destroy_id(listener), "rdma_destroy_id");
  rdma_freeaddrinfo(address);
  rdma_destroy_event_channel(channel);
  return 0;
}

int client(const char* to) {
  rdma_addrinfo* const address = address_of(to, 0);
  ibv_qp_init_attr init = queues(nullptr);
  rdma_cm_id* id = nullptr;
  must(rdma_create_ep(&id, address, nullptr, &init), "rdma_create_ep");  // its calls wait
  std::array<std::array<char, kBytes>, 2> buffers{};
  auto& [out, in] = buffers;
  ibv_mr* const region = check(rdma_reg_msgs(id, &buffers, sizeof buffers), "rdma_reg_msgs");
  must(rdma_post_recv(id, nullptr, in.data(), kBytes, region), "rdma_post_recv");
  must(rdma_connect(id, nullptr), "rdma_connect");
  for (std::uint32_t n = 0; n < kMessages; ++n) {
    std::snprintf(out.data(), kBytes, "message %u", n);
    must(rdma_post_send(id, nullptr, out.data(), kBytes, region, 0), "rdma_post_send");
    ibv_wc wc{};
    check(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "rdma_get_recv_comp");
    check(out == in, "the answer is another message");
    check(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "rdma_get_send_comp");
    if (n + 1 < kMessages) must(rdma_post_recv(id, nullptr, in.data(), kBytes, region), "rdma_post_recv");
  }
  must(rdma_disconnect(id), "rdma_disconnect");
  must(rdma_dereg_mr(region), "rdma_dereg_mr");
  rdma_destroy_ep(id);
  rdma_freeaddrinfo(address);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc == 3 ? argv[1] : "";
  if (role == "server") return server(static_cast<unsigned>(std::atoi(argv[2])));
  if (role == "client") return client(argv[2]);
  std::fputs("usage: rdma_srq server CLIENTS | rdma_srq client ADDRESS\n", stderr);
  return 2;
}
