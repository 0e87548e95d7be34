// SPDX-License-Identifier: Apache-2.0
#include "model/system/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "model/params/descriptor.h"
#include "model/system/nic_result.h"

namespace rxnic {

namespace {

constexpr std::uint32_t kMostNics = 64;  // of a fabric, too

std::string named(const char* what, std::uint32_t n) { return what + std::to_string(n); }

// What Fabric takes from the system's parameters holds for the lines of all NICs.
bool has_same_lines(const Params& a, const Params& b) {
  return std::ranges::all_of(param_descriptors(), [&](const ParamDescriptor& d) {
    const bool of_lines = d.section == "fabric" || d.section == "wire" || (d.section == "nic" && d.key == "link_gbps");
    return !of_lines || d.get(a) == d.get(b);
  });
}

// Before anything is made of them.
const SystemOptions& checked(const SystemOptions& o) {
  if (o.nics == 0 || o.nics > kMostNics) {
    throw std::invalid_argument(fmt::format("nics: found {}; expected 1 to {}", o.nics, kMostNics));
  }
  if (!o.each.empty() && o.each.size() != o.nics) {
    throw std::invalid_argument(fmt::format("each: found {} configurations; expected {}", o.each.size(), o.nics));
  }
  check_params(o.params);
  for (const Params& params : o.each) {
    check_params(params);
    if (params.nic.clock_period_ps != o.params.nic.clock_period_ps) {  // (R3)
      throw std::invalid_argument(fmt::format("nic.clock_period_ps: found {}; expected {}, as of the system",
                                              params.nic.clock_period_ps, o.params.nic.clock_period_ps));
    }
    if (o.fabric && !has_same_lines(params, o.params)) {  // (R2)
      throw std::invalid_argument(
          "each: found another nic.link_gbps, or other parameters of wire or fabric; on a "
          "fabric expected those of the system");
    }
  }
  return o;
}

}  // namespace

// The tables of a NIC, and the memory that it shares with the rest of the program. (R1)
class System::Memory final : public HostMemory {
 public:
  explicit Memory(HostMemory& shared) : shared_(shared) {}
  bool read(BusAddress from, std::span<std::uint8_t> to) override {
    if (!is_table(from)) return shared_.read(from, to);
    traffic.read_bytes += to.size();
    return tables_.read(from, to);
  }
  bool write(BusAddress to, std::span<const std::uint8_t> from) override {
    if (!is_table(to)) return shared_.write(to, from);
    traffic.written_bytes += from.size();
    return tables_.write(to, from);
  }
  void read_later(BusAddress from, std::span<std::uint8_t> to, bool& ok) override {
    if (is_table(from)) {
      ok = read(from, to);
    } else {
      shared_.read_later(from, to, ok);
    }
  }
  void settle() override { shared_.settle(); }
  bool has_latency() const override { return shared_.has_latency(); }
  TimedAccess read_at(std::uint64_t time_ps, BusAddress from, std::span<std::uint8_t> to) override {
    return is_table(from) ? HostMemory::read_at(time_ps, from, to) : shared_.read_at(time_ps, from, to);
  }
  TimedAccess write_at(std::uint64_t time_ps, BusAddress to, std::span<const std::uint8_t> from) override {
    return is_table(to) ? HostMemory::write_at(time_ps, to, from) : shared_.write_at(time_ps, to, from);
  }
  bool gone(BusAddress from) const override { return !is_table(from) && shared_.gone(from); }
  std::uint64_t digest() const { return tables_.digest(); }
  TableTraffic traffic;

 private:
  static bool is_table(BusAddress at) { return raw(at) >> 62 != 0; }  // model/types/context.h, icm
  LocalMemory tables_;
  HostMemory& shared_;
};

struct System::Station {
  Station(const SystemOptions& o, std::uint32_t n, Engine& engine, HostMemory& shared)
      : params(o.each.empty() ? o.params : o.each[n]),
        memory(shared),
        nic(named("nic", n).c_str(), params, memory, engine, {o.requester, o.blocks, o.policies}),
        host(named("host", n).c_str(), memory, nic) {
    engine.add(host);
    if (o.fabric) return;
    wire = std::make_unique<WireEnd>(named("wire", n).c_str(), params, nic.shared.packets);
    wire->to_nic.bind(nic.wire_in);
    wire->responses.bind(nic.wire_out);
    if (o.requester) wire->requests.bind(nic.requests_out);
    engine.add(*wire);
  }
  const Params params;
  Memory memory;
  Nic nic;
  HostSide host;
  std::unique_ptr<WireEnd> wire;
};

System::System(const sc_core::sc_module_name& name, const SystemOptions& o, HostMemory& memory)
    : sc_module(name),
      engine("engine", {checked(o).params.nic.clock_period_ps, o.mode, o.order, o.quantum_cycles}),
      params_(o.params) {
  for (std::uint32_t n = 0; n < o.nics; ++n) {
    stations_.push_back(std::make_unique<Station>(o, n, engine, memory));
  }
  if (o.fabric) fabric_ = std::make_unique<Fabric>("fabric", o.params, engine, o.nics);
}

System::~System() = default;

System::Station& System::station(std::uint32_t n) {
  if (n < stations_.size()) return *stations_[n];
  throw std::out_of_range(fmt::format("NIC: found {}; expected 0 to {}", n, stations_.size() - 1));
}

Nic& System::nic(std::uint32_t n) { return station(n).nic; }
HostSide& System::host(std::uint32_t n) { return station(n).host; }

const TableTraffic& System::tables(std::uint32_t n) { return station(n).memory.traffic; }

WireEnd& System::wire(std::uint32_t n) {
  if (station(n).wire == nullptr) throw std::logic_error("wire: found a fabric; expected SystemOptions without one");
  return *station(n).wire;
}

void System::attach(std::uint32_t n, const PortAddress& address) {
  if (fabric_ == nullptr) throw std::logic_error("attach: found no fabric; expected SystemOptions with one");
  Station& s = station(n);
  if (n != attached_) {
    throw std::logic_error(fmt::format("attach: found NIC {}; expected {}", n,
                                       attached_ < nics() ? std::to_string(attached_) : "none, all are attached"));
  }
  const std::uint32_t most = s.params.rx_parser.own_addresses;
  if (address.addresses.size() > most) {
    throw std::invalid_argument(fmt::format("attach: found {} addresses; expected at most {} (rx_parser.own_addresses)",
                                            address.addresses.size(), most));
  }
  fabric_->attach(s.nic, address);
  ++attached_;
}

void System::start_of_simulation() {
  if (fabric_ == nullptr || attached_ == nics()) return;
  throw std::logic_error(fmt::format("fabric: found {} NICs attached; expected all {}", attached_, nics()));
}

RunResult System::result() {
  RunResult r;
  r.params = params_;
  r.mode = engine_mode_name(engine.mode());
  collect_time(engine, r);
  StateHash h;
  h.mix(engine.state_hash());
  for (const auto& s : stations_) {
    r.nics.push_back(nic_result(s->nic));
    add_nic(r, r.nics.back());
    h.mix(s->memory.digest());
  }
  if (fabric_ != nullptr) r.fabric = named_counts(fabric_->counters());
  r.state_hash = h.value();
  return r;
}

}  // namespace rxnic
