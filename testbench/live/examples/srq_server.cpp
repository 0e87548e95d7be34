// SPDX-License-Identifier: Apache-2.0
// A server with one shared receive queue for all its clients, which answers each request. It fills the queue again when
// the NIC says that the queue is running low (IBV_EVENT_SRQ_LIMIT_REACHED).
//
//   rxnic run --nics 2 -- srq_server
//
// The server is on rxnic0, its clients on rxnic1.
#include <fcntl.h>

#include <array>

#include "testbench/live/examples/pair.h"

namespace {

constexpr std::uint32_t kClients = 8, kRounds = 50;
constexpr std::uint32_t kReceives = 64, kLow = 16;  // the event comes when fewer than kLow are left
constexpr std::size_t kBytes = 256;

class Server {
 public:
  Server() : nic(0) {
    cq_ = example::check(ibv_create_cq(nic.context, 256, nullptr, nullptr, 0), "ibv_create_cq");
    ibv_srq_init_attr init{};
    init.attr = {kReceives, 1, 0};
    srq_ = example::check(ibv_create_srq(nic.pd, &init), "ibv_create_srq");
    for (ibv_qp*& qp : qps) qp = example::make_qp(nic, cq_, srq_, 16);
    for (std::uint32_t n = 0; n < kReceives; ++n) free_.push_back(n);
    fcntl(nic.context->async_fd, F_SETFL, O_NONBLOCK);
    refill();
  }
  ~Server() {
    for (ibv_qp* qp : qps) example::must(ibv_destroy_qp(qp), "ibv_destroy_qp");
    example::must(ibv_destroy_srq(srq_), "ibv_destroy_srq");
    example::must(ibv_destroy_cq(cq_), "ibv_destroy_cq");
  }

  // Answers so many requests. A request of any client is in the receive that the NIC chose for it. This receive is free
  // again when the answer, which is sent from the same memory, has arrived.
  void answer(std::uint32_t requests) {
    for (std::uint32_t answered = 0; answered < requests;) {
      ibv_wc wc{};
      const int count = ibv_poll_cq(cq_, 1, &wc);
      example::check(count >= 0 && wc.status == IBV_WC_SUCCESS, "ibv_poll_cq");
      if (count == 0) {
        if (is_low()) refill();
      } else if (wc.opcode == IBV_WC_SEND) {
        free_.push_back(static_cast<std::uint32_t>(wc.wr_id));
        ++answered;
      } else {
        for (ibv_qp* qp : qps) {
          if (qp->qp_num == wc.qp_num) example::send(qp, buffer(wc.wr_id, 64), wc.wr_id);
        }
      }
    }
  }

  example::Nic nic;
  std::array<ibv_qp*, kClients> qps{};
  std::uint32_t refills = 0;

 private:
  ibv_sge buffer(std::uint64_t n, std::size_t bytes) { return nic.sge(n * kBytes, bytes); }
  // Whether the event has come; without waiting.
  bool is_low() {
    ibv_async_event event{};
    if (ibv_get_async_event(nic.context, &event) != 0) return false;
    const bool low = event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED;
    ibv_ack_async_event(&event);
    return low;
  }
  void refill() {
    for (const std::uint32_t n : free_) example::post_receive(srq_, buffer(n, kBytes), n);
    free_.clear();
    ibv_srq_attr attr{};
    attr.srq_limit = kLow;  // one event, then it has to be armed again
    example::must(ibv_modify_srq(srq_, &attr, IBV_SRQ_LIMIT), "ibv_modify_srq");
    ++refills;
  }

  ibv_cq* cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  std::vector<std::uint32_t> free_;  // receives that are not posted
};

}  // namespace

int main() {
  Server server;
  example::Nic clients(1);
  ibv_cq* const cq = example::check(ibv_create_cq(clients.context, 256, nullptr, nullptr, 0), "ibv_create_cq");
  std::array<ibv_qp*, kClients> qps{};
  for (std::uint32_t n = 0; n < kClients; ++n) {
    qps[n] = example::make_qp(clients, cq, nullptr, 16);
    example::connect(server.qps[n], clients, qps[n]->qp_num);
    example::connect(qps[n], server.nic, server.qps[n]->qp_num);
  }
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    for (std::uint32_t n = 0; n < kClients; ++n) {
      ibv_recv_wr wr{}, *bad = nullptr;
      ibv_sge answer = clients.sge((kClients + n) * kBytes, kBytes);
      wr.sg_list = &answer;
      wr.num_sge = 1;
      example::must(ibv_post_recv(qps[n], &wr, &bad), "ibv_post_recv");
      clients.memory[n * kBytes] = static_cast<std::uint8_t>(round + n);
      example::send(qps[n], clients.sge(n * kBytes, 64), 1);
    }
    server.answer(kClients);
    for (std::uint32_t n = 0; n < 2 * kClients; ++n) example::take(cq);  // of each client: its send and the answer
    for (std::uint32_t n = 0; n < kClients; ++n) {
      example::check(clients.memory[(kClients + n) * kBytes] == static_cast<std::uint8_t>(round + n), "a wrong answer");
    }
  }
  std::printf("%u requests of %u clients answered; the queue of %u receives was filled %u times\n", kRounds * kClients,
              kClients, kReceives, server.refills);
  for (ibv_qp* qp : qps) example::must(ibv_destroy_qp(qp), "ibv_destroy_qp");
  example::must(ibv_destroy_cq(cq), "ibv_destroy_cq");
}
