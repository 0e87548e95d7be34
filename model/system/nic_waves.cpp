// SPDX-License-Identifier: Apache-2.0
#include "model/system/nic_waves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/system/units.h"
#include "model/types/opcode.h"

namespace rxnic {

namespace {

constexpr std::size_t kOpcodes = 256;

WaveWindow window_of(const WavesRequest& r, std::uint64_t period_ps) {
  const auto cycle = [&](std::uint64_t ps) { return Cycle{ps / period_ps + (ps % period_ps != 0)}; };
  WaveWindow w;
  w.from = cycle(r.from_ps);
  w.to = r.to_ps == WavesRequest::kToTheEnd ? kNever : cycle(r.to_ps);
  w.packet = r.packet;
  w.margin = r.margin_cycles;
  return w;
}

// "RC_SEND_FIRST": the text of a VCD's value ends at a blank.
std::array<std::string, kOpcodes> opcode_texts() {
  std::array<std::string, kOpcodes> texts;
  for (std::size_t i = 0; i < kOpcodes; ++i) {
    texts[i] = opcode_name(static_cast<std::uint8_t>(i));
    std::replace(texts[i].begin(), texts[i].end(), ' ', '_');
  }
  return texts;
}

}  // namespace

class NicWaves::Packets final : public WavePackets {
 public:
  explicit Packets(const PacketPool& pool) : pool_(pool) {}
  WavePackets::Packet find(PacketHandle buffer) override {
    const rxnic::Packet& p = pool_[buffer];
    WavePackets::Packet found;
    found.number = p.id;
    Headers parsed;
    const bool received = p.pool_class == PacketClass::kReceive;
    if (received && parse(p.frame_view(), p.link, parsed) != ParseStatus::kOk) return found;
    const Headers& h = received ? parsed : p.h;
    found.has_headers = true;
    found.qpn = h.destination_qp;
    found.psn = h.psn;
    found.opcode = opcodes_[h.opcode];
    return found;
  }
  bool holds(PacketHandle buffer, std::uint64_t number) override {
    return pool_[buffer].id == number && !pool_.is_free(buffer);
  }

 private:
  const PacketPool& pool_;
  const std::array<std::string, kOpcodes> opcodes_ = opcode_texts();
};

NicWaves::NicWaves(const WavesRequest& request, Engine& engine)
    : engine_(engine), request_(request), waves_(engine, request.path, window_of(request, engine.clock_period_ps())) {}

NicWaves::~NicWaves() = default;

std::unique_ptr<NicWaves> NicWaves::make(const WavesRequest& request, Engine& engine) {
  return request.wanted() ? std::unique_ptr<NicWaves>(new NicWaves(request, engine)) : nullptr;
}

void NicWaves::add(const Nic& nic) {
  packets_.push_back(std::make_unique<Packets>(nic.shared.packets));
  for (const auto& link : nic.links()) waves_.show_packets(*link, *packets_.back());
}

std::string NicWaves::finish() {
  waves_.finish();
  if (!waves_.empty()) return {};
  if (request_.packet != 0) {
    return fmt::format("{}: holds nothing: packet {} did not come to any NIC", request_.path, request_.packet);
  }
  const std::uint64_t end_ps = (engine_.now().count + 1) * engine_.clock_period_ps();
  return fmt::format("{}: holds nothing: the run ended after {}, the window begins at {}", request_.path,
                     time_text(end_ps), time_text(request_.from_ps));
}

}  // namespace rxnic
