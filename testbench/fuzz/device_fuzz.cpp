// SPDX-License-Identifier: Apache-2.0
// Any requests, doorbells and memory of two programs on two NICs, and their end at any time: nothing of theirs is left
// afterwards. Requests are valid ones with changes at any places of their bodies, or any bytes at all.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "testbench/unit/bridge/driver/bridge_program.h"

namespace {

using namespace rxnic;
using channel::Request;

void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", rule);
  std::abort();
}

constexpr QpType kTypes[] = {QpType::kRc,      QpType::kUc,         QpType::kUd,
                             QpType::kXrcSend, QpType::kXrcReceive, QpType::kRawPacket};
constexpr std::uint32_t kFirstQpn = 0x11;
constexpr std::size_t kMostSteps = 64;

class World {
 public:
  explicit World(FuzzedDataProvider& input) : input_(input), lab_(2) {
    for (std::uint32_t n = 0; n < 2; ++n) {
      Side& side = sides_[n];
      side.program.emplace(lab_, n);
      side.pd = side.program->create_pd();
      side.cq = side.program->create_cq();
      side.buffer = side.program->local(kBytes);
      side.key = side.program->create_mr(side.pd, side.buffer, kBytes);
    }
    for (Side& side : sides_) side.qp = side.program->create_qp(QpType::kRc, side.pd, side.cq);
    sides_[0].program->connect(sides_[0].qp, QpType::kRc, 1, sides_[1].qp.number);
    sides_[1].program->connect(sides_[1].qp, QpType::kRc, 0, sides_[0].qp.number);
  }

  void run() {
    for (std::size_t n = 0; n < kMostSteps && input_.remaining_bytes() > 0; ++n) step();
    for (Side& side : sides_) {
      if (!side.closed) side.program->close();
    }
    require(lab_.run_until([this] { return lab_.bridge->counters().closed == 2; }), "the programs' objects are freed");
    for (std::uint32_t n = 0; n < 2; ++n) require(lab_.bridge->driver(n).objects() == 0, "no object is left");
  }

 private:
  static constexpr std::uint64_t kBytes = 1 << 16;
  struct Side {
    std::optional<Program> program;
    std::uint32_t pd = 0, key = 0;
    Program::Cq cq;
    Program::Qp qp;
    std::uint64_t buffer = 0;
    bool closed = false;
  };

  std::uint32_t below(std::uint32_t n) { return input_.ConsumeIntegralInRange<std::uint32_t>(0, n - 1); }

  void step() {
    Side& side = sides_[below(2)];
    if (side.closed) return lab_.run(64);
    Program& p = *side.program;
    switch (below(8)) {
      case 0: {
        Program::Wr wr;
        wr.opcode = static_cast<SendOpcode>(input_.ConsumeIntegral<std::uint8_t>());
        wr.flags = input_.ConsumeIntegral<std::uint8_t>();
        wr.sge = {input_.ConsumeIntegral<std::uint16_t>(), side.key, side.buffer};
        wr.remote = {sides_[1 - p.nic].buffer, sides_[1 - p.nic].key, 0, 1, 2};
        wr.remote_qpn = kFirstQpn + below(4);
        p.post_send(side.qp, wr);
        return p.ring_send(side.qp);
      }
      case 1:
        p.post_receive(side.qp, {input_.ConsumeIntegral<std::uint16_t>(), side.key, side.buffer});
        return p.ring_receive(side.qp);
      case 2:
        return p.ring(static_cast<channel::Board>(below(channel::kBoards)), input_.ConsumeIntegral<std::uint8_t>(),
                      input_.ConsumeIntegral<std::uint64_t>());
      case 3:
        return scribble(p.at(channel::kHeapOffset), kBytes);
      case 4:
        return scribble(p.bytes(side.buffer), kBytes);
      case 5:
        side.closed = true;
        return input_.ConsumeBool() ? p.close() : p.die();
      case 6:
        return lab_.run(1 + input_.ConsumeIntegral<std::uint16_t>());
      default:
        return p.send(request(side));
    }
  }

  void scribble(std::uint8_t* at, std::size_t bytes) {
    const std::size_t offset = input_.ConsumeIntegralInRange<std::size_t>(0, bytes - 1);
    const auto values = input_.ConsumeBytes<std::uint8_t>(below(64));
    std::copy_n(values.begin(), std::min(values.size(), bytes - offset), at + offset);
  }

  channel::Message request(Side& side) {
    channel::Message m;
    m.type = static_cast<Request>(1 + below(static_cast<std::uint32_t>(channel::kLastRequest) + 1));
    if (input_.ConsumeBool()) fill(m, side);
    for (std::uint32_t changes = below(4); changes > 0; --changes) {
      scribble(m.body.bytes.data(), m.body.bytes.size());
    }
    return m;
  }

  // A request that the device would take.
  void fill(channel::Message& m, Side& side) {
    Program& p = *side.program;
    const QpType type = kTypes[below(std::size(kTypes))];
    const Program::Qp qp{kFirstQpn + below(8), 0, 0, 0, 0, 0, 0, 0};
    switch (m.type) {
      case Request::kCreateCq:
        m.body.cq = p.cq_request(1u << below(4));
        return;
      case Request::kCreateSrq:
        m.body.srq = p.srq_request(side.pd, 1u << (1 + below(4)));
        m.body.srq.cqn = side.cq.number;
        return;
      case Request::kOpenXrcd:
        m.body.xrcd.create = 1;
        m.body.xrcd.has_file = static_cast<std::uint8_t>(below(2));
        return;
      case Request::kAllocateWindow:
        m.body.window = {side.pd, 1 + below(2), 0};
        return;
      case Request::kCreateFlow:
        m.body.flow.qpn = qp.number;
        m.body.flow.kind = static_cast<std::uint8_t>(below(4));
        return;
      case Request::kCreateRss:
        m.body.rss.pd = side.pd;
        m.body.rss.log_entries = static_cast<std::uint8_t>(below(3));
        for (auto& queue : m.body.rss.queues) queue = qp.number;
        return;
      case Request::kImportPd:
      case Request::kImportMemory:
      case Request::kImportDeviceMemory: {
        const Side& other = sides_[below(2)];
        m.body.import = {input_.ConsumeBool() ? other.pd : other.key, raw(other.program->id), other.pd, 0, 0};
        return;
      }
      case Request::kOpenQp:
        m.body.qp.qpn = qp.number;
        return;
      case Request::kCreateQp:
        m.body.qp = p.qp_request(type, side.pd, side.cq.number, side.cq.number, 1u << below(4));
        if (is_xrc(type)) m.body.qp.receive_slots = 0;
        if (type == QpType::kXrcReceive) m.body.qp.send_slots = 0;
        return;
      case Request::kModifyQp: {
        const std::uint32_t remote = kFirstQpn + below(8);
        switch (below(3)) {
          case 0:
            m.body.attributes = Program::to_init(qp, type);
            return;
          case 1:
            m.body.attributes = Program::to_rtr(qp, type, below(2), remote);
            return;
          default:
            m.body.attributes = Program::to_rts(qp, type);
            return;
        }
      }
      case Request::kRegisterMemory:
        m.body.memory.pd = side.pd;
        m.body.memory.access = below(16);
        m.body.memory.address = m.body.memory.iova = side.buffer + below(4096);
        m.body.memory.length = below(1 << 20);
        m.body.memory.page_shift = 12;
        return;
      default:
        m.body.handle.number = below(32);
    }
  }

  FuzzedDataProvider& input_;
  Lab lab_;
  Side sides_[2];
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  World(input).run();
  return 0;
}
