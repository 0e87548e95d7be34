// SPDX-License-Identifier: Apache-2.0
// What the examples with a block, a policy or a memory of their own have in common. There are a NIC, its driver and a
// peer. The driver has set up RC QPs with a receive queue each; the peer sends them SENDs in turn.
#pragma once

#include <array>
#include <cstdint>
#include <systemc>
#include <vector>

#include "model/core/receive_queue/wqe_format.h"
#include "model/core/wire/icrc.h"
#include "model/system/system.h"

struct Shape {
  std::uint32_t queues = 1, messages = 1000;  // messages of all queues together
  std::uint32_t bytes = 256;                  // of a message, up to 1024
  std::uint32_t elements = 1;                 // of a scatter list, up to 4
  std::uint32_t gap_ns = 200;                 // between two messages
};

class Receiver : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Receiver);
  // `dma`: how the NIC's DMA reaches `memory`, when not directly.
  Receiver(const sc_core::sc_module_name& name, const rxnic::SystemOptions& options, const Shape& of,
           rxnic::HostMemory* dma = nullptr)
      : sc_module(name), system("system", options, dma == nullptr ? memory : *dma), shape(of), queues_(of.queues) {
    system.nic(0).rx_parser.add_address(here);
    rxnic::CqContext cq;
    cq.number = rxnic::Cqn{1}, cq.base = rxnic::BusAddress{kCqRing}, cq.slots = kCqes;
    const std::vector<std::uint8_t> empty(std::size_t{kCqes} * kStride, 0xff);
    memory.write(rxnic::BusAddress{kCqRing}, empty);
    system.host(0).setup.create_cq(cq);
    rxnic::MptEntry region;
    region.key = kRegion, region.valid = 1, region.access = rxnic::kLocalWrite, region.pd = 1;
    region.length = std::uint64_t{of.queues} * kSlots * kPage, region.mtt_base = raw(rxnic::icm::kMtt);
    std::vector<rxnic::BusAddress> pages;
    for (std::uint64_t at = 0; at < region.length; at += kPage) pages.push_back(rxnic::BusAddress{kBuffers + at});
    system.host(0).setup.create_region(region, pages);
    for (std::uint32_t q = 0; q < of.queues; ++q) create_qp(q);
    system.host(0).on_completion([this](const rxnic::HostNotice& landed) { poll(landed.completions); });
    SC_THREAD(send);
  }

  rxnic::LocalMemory memory;
  rxnic::System system;
  const Shape shape;
  std::uint32_t good = 0;  // completions with success, each of a message
  sc_core::sc_time last;   // when the last one came

 protected:
  // While the simulation runs: a frame is put on the wire, a doorbell is rung.
  virtual void put(const std::vector<std::uint8_t>& frame) { system.wire(0).send(frame); }
  virtual void ring(const rxnic::Doorbell& doorbell) { system.host(0).ring(doorbell); }
  // A message of queue `q` has been completed.
  virtual void completed(std::uint32_t /*q*/) {}

  static constexpr std::uint32_t kSlots = 64, kPage = 4096;  // of a queue, each with a buffer of a page
  static constexpr std::uint64_t kRings = 0x1000000, kCqRing = 0x2000000, kBuffers = 0x4000000;  // bus addresses

 private:
  static constexpr std::uint32_t kCqes = 4096, kStride = 64, kRegion = 0x1001;
  const rxnic::Address here = rxnic::Address::ipv4(0xc6120001), peer = rxnic::Address::ipv4(0xc6120002);
  struct Queue {
    rxnic::WqId id{};
    std::uint32_t posted = 0, sent = 0;
  };
  static rxnic::Qpn qpn(std::uint32_t q) { return rxnic::Qpn{0x11 + q}; }

  void create_qp(std::uint32_t q) {
    rxnic::WqContext queue;
    queue.kind = rxnic::WqKind::kRq, queue.number = raw(qpn(q)), queue.pd = rxnic::Pdn{1};
    queue.base = rxnic::BusAddress{kRings + std::uint64_t{q} * kSlots * kStride};
    queue.slots = kSlots, queue.stride = kStride;
    queues_[q].id = system.host(0).setup.create_queue(queue);
    rxnic::QpContext qp;
    qp.transport = rxnic::Transport::kRc, qp.qpn = qpn(q), qp.pd = rxnic::Pdn{1}, qp.state = rxnic::QpState::kRts;
    qp.mtu = 1024, qp.send_cq = qp.receive_cq = rxnic::Cqn{1}, qp.receive_queue = queues_[q].id;
    qp.local = here, qp.remote = peer, qp.remote_qpn = rxnic::Qpn{0x1000 + q};
    system.host(0).setup.create_qp(qp);
    for (std::uint32_t n = 0; n < kSlots; ++n) post(q);
  }
  void post(std::uint32_t q) {  // a page, in as many equal parts as a list has elements
    const std::uint32_t slot = queues_[q].posted++ & (kSlots - 1);
    std::array<rxnic::DataSegment, 4> list;
    const std::uint32_t part = kPage / shape.elements;
    for (std::uint32_t e = 0; e < shape.elements; ++e) {
      list[e] = {e + 1 < shape.elements ? shape.bytes / shape.elements : part, kRegion,
                 (std::uint64_t{q} * kSlots + slot) * kPage + std::uint64_t{e} * part};
    }
    std::array<std::uint8_t, kStride> wqe{};
    write_wqe(wqe, rxnic::WqLayout::kCyclic, 0, std::span(list).first(shape.elements));
    memory.write(rxnic::BusAddress{kRings + (std::uint64_t{q} * kSlots + slot) * kStride}, wqe);
    ring({rxnic::DoorbellKind::kReceive, false, raw(queues_[q].id), queues_[q].posted});
  }
  void poll(std::uint32_t landed) {
    for (; landed > 0; --landed) {
      const std::uint64_t slot = polled_++ & (kCqes - 1);
      const auto cqe = memory.load<rxnic::Cqe>(rxnic::BusAddress{kCqRing + (slot + 1) * kStride - sizeof(rxnic::Cqe)});
      good += cqe.status == rxnic::WcStatus::kSuccess && cqe.byte_count == shape.bytes;
      last = system.engine.time_of(system.engine.now());  // the model runs ahead of sc_time_stamp()
      if (cqe.status != rxnic::WcStatus::kSuccess) continue;
      completed(cqe.qp_number - raw(qpn(0)));
      post(cqe.qp_number - raw(qpn(0)));
    }
    ring({rxnic::DoorbellKind::kCqConsumer, false, 1, polled_});
  }
  void send() {
    rxnic::Headers h;
    h.encapsulation = rxnic::Encapsulation::kRoceV2Ipv4;
    h.source = peer, h.destination = here, h.hop_limit = 64, h.udp_source_port = 0xc000, h.pkey = 0xffff;
    h.opcode = opcode_of(rxnic::Transport::kRc, rxnic::Operation::kSendOnly), h.ack_request = true;
    const std::vector<std::uint8_t> payload(shape.bytes, 0x5a);
    wait(10, sc_core::SC_US);  // what was posted has arrived
    for (std::uint32_t n = 0; n < shape.messages; ++n) {
      wait(shape.gap_ns, sc_core::SC_NS);
      const std::uint32_t q = n % shape.queues;
      h.destination_qp = qpn(q), h.psn = rxnic::Psn{queues_[q].sent++};
      std::vector<std::uint8_t> frame(shape.bytes + 200);
      frame.resize(build(h, payload, frame));
      seal(frame, h);
      put(frame);
    }
  }

  std::vector<Queue> queues_;
  std::uint32_t polled_ = 0;
};
