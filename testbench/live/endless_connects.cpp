// SPDX-License-Identifier: Apache-2.0
// Connections by rdma_cm without an end (endless.h): the client connects, sends a message and disconnects, again and
// again. The server listens at its NIC's address and its port.
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "testbench/live/endless.h"

namespace rxnic::live {
namespace {

constexpr std::size_t kBytes = 3000;

std::string address_of_nic(std::uint32_t nic) { return "198.18.0." + std::to_string(nic + 1); }

ibv_qp_init_attr queues() {
  ibv_qp_init_attr init{};
  init.cap = {4, 4, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = 1;
  return init;
}

void require(const ibv_wc& wc) {
  if (wc.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(wc.status));
}

void serve(const Endless& e) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  must(channel == nullptr ? -1 : 0, "rdma_create_event_channel");
  rdma_cm_id* listener = nullptr;
  must(rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP), "rdma_create_id");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(e.port);
  inet_pton(AF_INET, address_of_nic(e.nic).c_str(), &address.sin_addr);
  must(rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&address)), "rdma_bind_addr");
  must(rdma_listen(listener, 8), "rdma_listen");
  (void)Meeting(e).exchange(e.nic);
  // Not on the stack: when something fails the QPs stay to the end of the program, and messages still come.
  static std::array<char, kBytes> buffer{};
  ibv_mr* region = nullptr;  // in the PD of the NIC, which all connections share
  for (;;) {
    rdma_cm_event* event = nullptr;
    must(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
    const rdma_cm_event_type kind = event->event;
    rdma_cm_id* const id = event->id;
    must(rdma_ack_cm_event(event), "rdma_ack_cm_event");
    ibv_qp_init_attr init = queues();
    switch (kind) {
      case RDMA_CM_EVENT_CONNECT_REQUEST:
        must(rdma_create_qp(id, nullptr, &init), "rdma_create_qp");
        if (region == nullptr) region = rdma_reg_msgs(id, buffer.data(), kBytes);
        must(region == nullptr ? -1 : 0, "rdma_reg_msgs");
        must(rdma_post_recv(id, nullptr, buffer.data(), kBytes, region), "rdma_post_recv");
        must(rdma_accept(id, nullptr), "rdma_accept");
        break;
      case RDMA_CM_EVENT_ESTABLISHED:
      case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        break;
      case RDMA_CM_EVENT_DISCONNECTED:
        (void)rdma_disconnect(id);
        rdma_destroy_qp(id);
        must(rdma_destroy_id(id), "rdma_destroy_id");
        break;
      default:
        throw std::runtime_error(rdma_event_str(kind));
    }
  }
}

void connect_once(rdma_addrinfo* address) {
  ibv_qp_init_attr init = queues();
  rdma_cm_id* id = nullptr;
  must(rdma_create_ep(&id, address, nullptr, &init), "rdma_create_ep");  // its calls wait
  std::array<char, kBytes> buffer{};
  ibv_mr* const region = rdma_reg_msgs(id, buffer.data(), kBytes);
  must(region == nullptr ? -1 : 0, "rdma_reg_msgs");
  must(rdma_connect(id, nullptr), "rdma_connect");
  must(rdma_post_send(id, nullptr, buffer.data(), kBytes, region, 0), "rdma_post_send");
  ibv_wc wc{};
  must(rdma_get_send_comp(id, &wc) == 1 ? 0 : -1, "rdma_get_send_comp");
  require(wc);
  must(rdma_disconnect(id), "rdma_disconnect");
  must(rdma_dereg_mr(region), "rdma_dereg_mr");
  rdma_destroy_ep(id);
}

void traffic(const Endless& e) {
  // Only the NIC that was asked for.
  must(setenv("RXNIC_NIC", std::to_string(e.nic).c_str(), 1), "setenv");
  if (e.is_server()) return serve(e);
  const std::string server = address_of_nic(Meeting(e).exchange(e.nic)), port = std::to_string(e.port);
  rdma_addrinfo hints{}, *address = nullptr;
  hints.ai_port_space = RDMA_PS_TCP;
  must(rdma_getaddrinfo(server.c_str(), port.c_str(), &hints, &address), "rdma_getaddrinfo");
  for (;;) connect_once(address);
}

}  // namespace
}  // namespace rxnic::live

int main(int argc, char** argv) { return rxnic::live::run_endless(argc, argv, rxnic::live::traffic); }
