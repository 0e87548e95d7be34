// SPDX-License-Identifier: Apache-2.0
// A NIC in a SystemC program: an SC_THREAD puts RDMA SENDs on its wire, its host memory is a TLM-2.0 target, where
// completions are polled. Prints what the DMA engine moved beside what the target saw. Arguments: MESSAGES, BYTES
#include <tlm_utils/simple_target_socket.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <systemc>
#include <vector>

#include "model/core/receive_queue/wqe_format.h"
#include "model/core/wire/icrc.h"
#include "model/system/system.h"
#include "model/systemc/tlm_memory.h"

namespace {

using namespace rxnic;
constexpr std::uint32_t kSlots = 256, kStride = 64, kPage = 4096;
constexpr Key kRegion{0x1001};
constexpr std::uint64_t kReceiveRing = 0x10000, kCqRing = 0x20000, kBuffers = 0x100000;  // bus addresses
constexpr Pdn kPd{1};
constexpr Qpn kQp{0x11};
const Address kHere = Address::ipv4(0xc6120001), kPeer = Address::ipv4(0xc6120002);

struct Memory : sc_core::sc_module {
  explicit Memory(const sc_core::sc_module_name& name) : sc_module(name), bytes(std::size_t{16} << 20) {
    socket.register_transport_dbg(this, &Memory::transport_dbg);
  }
  unsigned transport_dbg(tlm::tlm_generic_payload& p) {
    if (p.get_address() + p.get_data_length() > bytes.size()) return 0;
    std::uint8_t* const at = bytes.data() + p.get_address();
    (p.is_read() ? read : written) += p.get_data_length();
    std::memcpy(p.is_read() ? p.get_data_ptr() : at, p.is_read() ? at : p.get_data_ptr(), p.get_data_length());
    return p.get_data_length();
  }
  std::vector<std::uint8_t> bytes;
  std::uint64_t read = 0, written = 0;
  tlm_utils::simple_target_socket<Memory> socket{"socket"};
};

struct Top : sc_core::sc_module {
  SC_HAS_PROCESS(Top);
  Top(const sc_core::sc_module_name& name, std::uint32_t messages, std::uint32_t size)
      : sc_module(name), system("system", {.requester = false}, dma), messages(messages), size(size) {
    dma.socket.bind(memory.socket);
    set_up();
    system.wire(0).on_frame([this](Bytes, std::uint64_t) { ++answers; });
    system.host(0).on_completion([this](const HostNotice& landed) { poll(landed.completions); });
    SC_THREAD(source);
  }

  // What a driver would have made: a CQ, a region, a receive queue and a connected RC QP.
  void set_up() {
    HostSide& host = system.host(0);
    system.nic(0).rx_parser.add_address(kHere);
    CqContext cq;
    cq.number = Cqn{1}, cq.base = BusAddress{kCqRing}, cq.slots = kSlots;
    std::memset(memory.bytes.data() + kCqRing, 0xff, kSlots * kStride);
    host.setup.create_cq(cq);
    MptEntry region;
    region.key = raw(kRegion), region.valid = 1, region.access = kLocalWrite, region.pd = raw(kPd);
    region.va = kBuffers, region.length = std::uint64_t{kSlots} * kPage, region.mtt_base = raw(icm::kMtt);
    std::vector<BusAddress> pages;
    for (std::uint32_t n = 0; n < kSlots; ++n) pages.push_back(BusAddress{kBuffers + std::uint64_t{n} * kPage});
    host.setup.create_region(region, pages);
    WqContext queue;
    queue.kind = WqKind::kRq, queue.number = raw(kQp), queue.pd = kPd;
    queue.base = BusAddress{kReceiveRing}, queue.slots = kSlots, queue.stride = kStride;
    receive_queue = host.setup.create_queue(queue);
    QpContext qp;
    qp.transport = Transport::kRc, qp.qpn = kQp, qp.pd = kPd, qp.state = QpState::kRts, qp.mtu = 1024;
    qp.send_cq = qp.receive_cq = cq.number, qp.receive_queue = receive_queue;
    qp.local = kHere, qp.remote = kPeer, qp.remote_qpn = Qpn{0x21};
    host.setup.create_qp(qp);
    for (std::uint32_t n = 0; n < kSlots; ++n) post();
  }
  void post() {
    const std::uint32_t slot = posted++ & (kSlots - 1);
    const DataSegment sge{kPage, raw(kRegion), kBuffers + std::uint64_t{slot} * kPage};
    std::vector<std::uint8_t> wqe(kStride);
    write_wqe(wqe, WqLayout::kCyclic, 0, std::array{sge});
    std::memcpy(memory.bytes.data() + kReceiveRing + slot * kStride, wqe.data(), wqe.size());
    system.host(0).ring({DoorbellKind::kReceive, false, raw(receive_queue), posted});
  }
  void poll(std::uint32_t landed) {
    for (; landed > 0; --landed) {
      const std::uint32_t slot = polled & (kSlots - 1);
      Cqe cqe;
      std::memcpy(&cqe, memory.bytes.data() + kCqRing + (slot + 1) * kStride - sizeof cqe, sizeof cqe);
      good += cqe.status == WcStatus::kSuccess && cqe.byte_count == size &&
              memory.bytes[kBuffers + std::uint64_t{slot} * kPage + size - 1] == static_cast<std::uint8_t>(polled);
      ++polled;
      if (cqe.status == WcStatus::kSuccess) post();
    }
    system.host(0).ring({DoorbellKind::kCqConsumer, false, 1, polled});
  }
  // A SEND every microsecond.
  void source() {
    Headers h;
    h.encapsulation = Encapsulation::kRoceV2Ipv4;
    h.source = kPeer, h.destination = kHere, h.destination_qp = kQp;
    h.hop_limit = 64;
    h.udp_source_port = 0xc000;
    h.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
    h.ack_request = true;
    h.pkey = 0xffff;
    for (std::uint32_t n = 0; n < messages; ++n) {
      wait(1, sc_core::SC_US);
      h.psn = Psn{n};
      const std::vector<std::uint8_t> payload(size, static_cast<std::uint8_t>(n));
      std::vector<std::uint8_t> frame(size + 200);
      frame.resize(build(h, payload, frame));
      seal(frame, h);
      system.wire(0).send(frame);
    }
  }

  Memory memory{"memory"};
  TlmMemory dma{"dma"};
  System system;
  WqId receive_queue{};
  const std::uint32_t messages, size;
  std::uint32_t posted = 0, polled = 0, good = 0, answers = 0;
};

}  // namespace
int sc_main(int argc, char** argv) {
  const std::uint32_t messages = argc > 1 ? std::strtoul(argv[1], nullptr, 0) : 1000;
  const std::uint32_t size = argc > 2 ? std::strtoul(argv[2], nullptr, 0) : 256;
  if (size == 0 || size > 1024) return std::fputs("BYTES: expected 1 to 1024, the path's MTU\n", stderr), 2;
  Top top("top", messages, size);
  const TableTraffic made = top.system.tables(0);  // by the driver, not by DMA
  sc_core::sc_start();
  const DmaEngineCounters& dma = top.system.nic(0).dma_engine.counters();
  const TableTraffic& now = top.system.tables(0);
  const std::uint64_t tables_written = now.written_bytes - made.written_bytes, tables_read = now.read_bytes;
  const auto n = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf("%u of %u SENDs of %u bytes completed, %u answers\n", top.good, messages, size, top.answers);
  std::printf("written: %llu bytes by the DMA engine = %llu at the target + %llu to the NIC's tables\n",
              n(dma.write_bytes), n(top.memory.written), n(tables_written));
  std::printf("read:    %llu bytes by the DMA engine = %llu at the target + %llu of the NIC's tables\n",
              n(dma.read_bytes), n(top.memory.read), n(tables_read));
  return top.good == messages && dma.write_bytes == top.memory.written + tables_written &&
                 dma.read_bytes == top.memory.read + tables_read
             ? 0
             : 1;
}
