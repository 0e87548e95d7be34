// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/mismatch_waves.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "model/engine/wave_fields.h"
#include "model/params/private_file.h"
#include "model/types/descriptor_bits.h"

namespace rxnic {

namespace {

constexpr std::size_t kCyclesKept = MismatchWaves::kBefore + 1 + MismatchWaves::kAfter;

std::string bits_text(const std::vector<std::uint32_t>& vector, unsigned bits) {
  std::string text;
  for (unsigned n = bits; n-- > 0;) text += static_cast<char>('0' + get_bits(vector.data(), n, 1));
  return text;
}

}  // namespace

void MismatchWaves::record(Cycle cycle, std::vector<LockstepPort>& ports) {
  if (ring_.size() < kCyclesKept) ring_.resize(ring_.size() + 1);
  Recorded& now = ring_[oldest_];
  oldest_ = (oldest_ + 1) % kCyclesKept;
  now.cycle = cycle;
  now.ports.resize(ports.size());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    LockstepPort& port = ports[i];
    PortState& state = now.ports[i];
    const std::size_t lanes = port.twin.kind == PortKind::kOut ? port.lanes : 1;
    state.model.resize(lanes);
    state.rtl.resize(lanes);
    if (port.twin.kind == PortKind::kIn) record_input(port, state);
    if (port.twin.kind == PortKind::kOut) record_output(port, state);
    if (port.twin.kind == PortKind::kRead) record_read(port, cycle, state);
  }
}

void MismatchWaves::record_input(LockstepPort& port, PortState& state) {
  state.both.valid = get_signal(port.twin.valid) != 0;
  if (state.both.valid) state.both.bits = port.model;
  state.model[0].ready = port.pops != 0;
  state.rtl[0].ready = port.twin.ready.at == nullptr || get_signal(port.twin.ready) != 0;
}

void MismatchWaves::record_output(LockstepPort& port, PortState& state) {
  const std::uint64_t valid = get_signal(port.twin.valid);
  const std::uint64_t ready = port.twin.ready.at == nullptr ? ~std::uint64_t{0} : get_signal(port.twin.ready);
  state.both.ready = (ready & 1) != 0;
  if (!port.joined()) return;
  port.get_lanes();
  for (unsigned n = 0; n < port.lanes; ++n) {
    state.model[n].valid = n < port.pushes;
    if (n < port.pushes) {
      port.get_pushed(n);
      state.model[n].set(port.model);
    }
    state.rtl[n].valid = (valid >> n & 1) != 0;
    if (!state.rtl[n].valid) continue;
    port.get_lane(n);
    state.rtl[n].set(port.lane);
  }
}

void MismatchWaves::record_read(LockstepPort& port, Cycle cycle, PortState& state) {
  state.model[0].valid = port.memory->last_read() == cycle;
  if (state.model[0].valid) {
    port.memory->pack_address(port.model.data());
    state.model[0].set(port.model);
  }
  state.rtl[0].valid = port.transfers() != 0;
  if (!state.rtl[0].valid) return;
  port.get_lanes();
  port.get_lane(0);
  state.rtl[0].set(port.lane);
}

// The signals of the file, and the values of a cycle.
class MismatchWaves::Writer {
 public:
  Writer(WaveFile& file, const std::string& block, const std::vector<LockstepPort>& ports) : file_(file) {
    const std::size_t top = file.tree.scope(block);
    mismatch_ = file.tree.add(top, {"mismatch"});
    for (const LockstepPort& port : ports) {
      if (port.twin.kind == PortKind::kLookup) {
        ports_.emplace_back();  // is not shown
      } else {
        declare(port, file.tree.scope(port.twin.name, top));
      }
    }
  }

  void write(const Recorded& cycle, bool mismatch) {
    file_.begin(cycle.cycle);
    file_.set(mismatch_, mismatch);
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const PortState& state = cycle.ports[i];
      show(ports_[i].both, state.both);
      for (std::size_t n = 0; n < ports_[i].model.size(); ++n) {
        show(ports_[i].model[n], state.model[n]);
        show(ports_[i].rtl[n], state.rtl[n]);
      }
    }
  }

 private:
  struct Signals {
    bool has_valid = false, has_ready = false;
    WaveId valid = 0, ready = 0;
    WaveFields fields;
    WaveId address = 0;  // of a read
    unsigned address_bits = 0;
  };
  struct PortSignals {
    Signals both;
    std::vector<Signals> model, rtl;
  };

  void declare(const LockstepPort& port, std::size_t scope) {
    PortSignals p;
    const bool in = port.twin.kind == PortKind::kIn, out = port.twin.kind == PortKind::kOut;
    if (in) p.both = signals(port, scope, true, false);
    if (out) p.both = signals(port, scope, false, true);
    const std::size_t lanes = out ? port.lanes : 1;
    for (std::size_t n = 0; n < lanes; ++n) {
      const std::size_t lane = lanes == 1 ? scope : file_.tree.scope(fmt::format("lane{}", n), scope);
      p.model.push_back(signals(port, file_.tree.scope("model", lane), !in, in));
      p.rtl.push_back(signals(port, file_.tree.scope("rtl", lane), !in, in));
    }
    ports_.push_back(std::move(p));
  }

  Signals signals(const LockstepPort& port, std::size_t scope, bool value, bool ready) {
    Signals s;
    s.has_valid = value;
    s.has_ready = ready;
    if (value) s.valid = file_.tree.add(scope, {"valid"});
    if (ready) s.ready = file_.tree.add(scope, {"ready"});
    if (!value) return s;
    if (port.memory != nullptr) {
      s.address_bits = port.bits;
      s.address = file_.tree.add(scope, {"address", WaveKind::kWide, port.bits});
    } else if (port.joined()) {
      s.fields = WaveFields(file_.tree, scope, &port.operations());
    }
    return s;
  }

  void show(const Signals& s, const Side& side) {
    if (s.has_ready) file_.set(s.ready, side.ready);
    if (!s.has_valid) return;
    file_.set(s.valid, side.valid);
    if (!side.valid) return;
    s.fields.show_bits(file_, side.bits.data());
    if (s.address_bits != 0) file_.set_text(s.address, bits_text(side.bits, s.address_bits));
  }

  WaveFile& file_;
  WaveId mismatch_ = 0;
  std::vector<PortSignals> ports_;
};

void MismatchWaves::write(const std::string& path, const std::string& block, std::uint32_t period_ps, Cycle mismatch,
                          const std::vector<LockstepPort>& ports) const {
  const std::size_t first = ring_.size() < kCyclesKept ? 0 : oldest_;
  const auto recorded = [&](std::size_t n) -> const Recorded& { return ring_[(first + n) % ring_.size()]; };
  const Cycle last = recorded(ring_.size() - 1).cycle;
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty()) make_private_folder(folder);
  WaveFile file(path, period_ps, {.from = recorded(0).cycle, .to = last + 1});
  Writer writer(file, block, ports);
  for (std::size_t n = 0; n < ring_.size(); ++n) writer.write(recorded(n), recorded(n).cycle == mismatch);
  file.close(last);
  write_save_file(file.tree, std::filesystem::path(path).replace_extension(".gtkw").string());
}

}  // namespace rxnic
