// SPDX-License-Identifier: Apache-2.0
#include "model/engine/waves.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <filesystem>
#include <stdexcept>

#include "model/engine/link.h"
#include "model/engine/wave_fields.h"

namespace rxnic {

namespace {

constexpr std::string_view kSuffix = ".vcd";
constexpr std::string_view kNoName = "port_";  // SystemC's name for a port that was given none
constexpr unsigned kHandleBits = 32, kNumberBits = 64, kQpnBits = 24, kPsnBits = 24;

const std::string& checked(const Engine& engine, const std::string& path) {
  if (engine.mode() != EngineMode::kPerCycle)
    throw std::invalid_argument("waves: the engine must be in per-cycle mode");
  if (!path.ends_with(kSuffix)) throw std::invalid_argument("waves: " + path + ": expected a name that ends in .vcd");
  return path;
}

// A port without a name of its own, one of many, has that of its link.
std::string port_name(const LinkBase& link, const sc_core::sc_object& port) {
  const bool named = !std::string_view(port.basename()).starts_with(kNoName);
  return named ? port.basename() : link.basename();
}
std::string block_name(const sc_core::sc_object& port) { return port.get_parent_object()->name(); }

// The field of a descriptor that refers to its packet.
bool is_packet(const FieldPath& at) {
  return at.outer == nullptr && at.index < 0 && at.field.bits == kHandleBits && at.field.name == "buffer";
}

}  // namespace

struct Waves::Port {
  bool shown = false;
  WaveId valid = 0, ready = 0, more = 0;
  WaveFields fields;
  bool has_packet = false;
  WaveId number = 0, qpn = 0, psn = 0, opcode = 0;
};

// The packet to which a descriptor refers.
struct Waves::Shown {
  PacketHandle buffer = kNoPacket;
  WavePackets::Packet packet;
};

struct Waves::LinkState {
  const LinkBase* link = nullptr;
  WavePackets* packets = nullptr;
  Port out, in;
  bool has_occupancy = false;
  WaveId occupancy = 0;
  std::uint64_t pushed = 0, popped = 0;            // after the last cycle
  Cycle offered_from = kNever;                     // the value at the head, from when the input is valid
  bool unsettled = true;                           // other values follow in the next cycle
  std::uint64_t held_number = ~std::uint64_t{0};   // the value in `held`
  std::uint64_t shown_number = ~std::uint64_t{0};  // at the input
  std::vector<std::byte> held;
  Shown held_packet;
};

Waves::Waves(Engine& engine, const std::string& path, const WaveWindow& window)
    : engine_(engine),
      save_path_(std::filesystem::path(checked(engine, path)).replace_extension(".gtkw").string()),
      window_(window),
      file_(path, engine.clock_period_ps(), window) {
  engine.add_probe([this](Cycle now) { sample(now); });
}

Waves::~Waves() = default;

Waves::Port Waves::declare_port(const LinkBase& link, const sc_core::sc_object* port, bool with_packets) {
  Port p;
  const auto* block = port == nullptr ? nullptr : dynamic_cast<const Block*>(port->get_parent_object());
  const auto& blocks = engine_.blocks();
  if (block == nullptr || std::find(blocks.begin(), blocks.end(), block) == blocks.end()) return p;
  p.shown = true;
  WaveTree& tree = file_.tree;
  const bool in = port == link.consumer_port();
  const std::string name = port_name(link, *port);
  const std::size_t scope = tree.scope(block_name(*port));
  p.valid = tree.add(scope, {name + (in ? "_valid_i" : "_valid_o")});
  p.ready = tree.add(scope, {name + (in ? "_ready_o" : "_ready_i")});
  if (link.capacity() > 1) {
    p.more = tree.add(scope, {name + "_more", WaveKind::kNumber, std::bit_width(link.capacity() - 1)});
  }
  link.for_each_number_of(nullptr, [&](const FieldPath& at, std::uint64_t) {
    p.has_packet = p.has_packet || (with_packets && is_packet(at));
  });
  if (p.has_packet) {
    const std::size_t packet = tree.scope(name + "_packet", scope);
    p.number = tree.add(packet, {"number", WaveKind::kNumber, kNumberBits});
    p.qpn = tree.add(packet, {"qpn", WaveKind::kNumber, kQpnBits});
    p.psn = tree.add(packet, {"psn", WaveKind::kNumber, kPsnBits, true});
    p.opcode = tree.add(packet, {"opcode", WaveKind::kText});
  }
  p.fields = WaveFields(tree, tree.scope(name + (in ? "_i" : "_o"), scope), link.operations());
  return p;
}

// The ports are known when the simulation has started.
void Waves::declare() {
  declared_ = true;
  for (const Block* block : engine_.blocks()) {
    activities_.push_back(file_.tree.add(file_.tree.scope(block->name()),
                                         {"activity", WaveKind::kName, 0, false, Enumeration<Activity>::kValues}));
  }
  for (const LinkBase* link : engine_.links()) {
    const auto found = std::find_if(packets_.begin(), packets_.end(), [&](const auto& p) { return p.first == link; });
    LinkState state;
    state.link = link;
    state.packets = found == packets_.end() ? nullptr : found->second;
    state.out = declare_port(*link, link->producer_port(), state.packets != nullptr);
    state.in = declare_port(*link, link->consumer_port(), state.packets != nullptr);
    const sc_core::sc_object* const port = state.in.shown ? link->consumer_port() : link->producer_port();
    if (state.in.shown || state.out.shown) {
      const auto bits = static_cast<unsigned>(std::bit_width(link->capacity()));
      state.occupancy = file_.tree.add(file_.tree.scope(block_name(*port)),
                                       {port_name(*link, *port) + "_occupancy", WaveKind::kNumber, bits});
      state.has_occupancy = true;
    }
    state.held.resize(link->value_bytes());
    links_.push_back(std::move(state));
  }
}

// The state after cycle `now`: it shows what happened in it, and what the next one begins with.
void Waves::sample(Cycle now) {
  if (!declared_) declare();
  if (file_.done()) return;
  if (now > last_ + 1) settle(last_ + 1);
  file_.begin(now);
  if (!watched_.empty()) file_.hold_packet();
  for (std::size_t i = 0; i < activities_.size(); ++i) {
    file_.set(activities_[i], static_cast<std::uint64_t>(engine_.blocks()[i]->activity()));
  }
  for (LinkState& state : links_) {
    const LinkBase& link = *state.link;
    const std::uint64_t pushes = link.transfers() - state.pushed, pops = link.popped() - state.popped;
    if (pushes + pops == 0 && !state.unsettled) continue;
    if (pops == 0) state.offered_from = link.head_visible_from();
    advance(state, now, pushes, pops);
    state.pushed += pushes;
    state.popped += pops;
    state.offered_from = link.head_visible_from();
    state.unsettled = pushes + pops > 0 || (link.size() > 0 && state.offered_from > now);
    if (state.in.shown && link.size() > 0) capture(state, state.popped);  // before the consumer may change it
  }
  std::erase_if(watched_, [&](const Watched& w) { return !w.packets->holds(w.buffer, window_.packet); });
  last_ = now;
}

// Nothing happens in this cycle, which follows on one in which something did. The links are those of a later cycle.
void Waves::settle(Cycle cycle) {
  file_.begin(cycle);
  if (!watched_.empty()) file_.hold_packet();
  for (LinkState& state : links_) {
    if (!state.unsettled) continue;
    advance(state, cycle, 0, 0);
    state.unsettled = state.pushed > state.popped && state.offered_from > cycle;
  }
}

// (R2)
void Waves::advance(LinkState& s, Cycle cycle, std::uint64_t pushes, std::uint64_t pops) {
  if (s.has_occupancy) file_.set(s.occupancy, s.pushed - s.popped);
  if (s.out.shown) show_output(s, pushes);
  if (s.in.shown) show_input(s, cycle, pops);
}

void Waves::show_output(LinkState& s, std::uint64_t pushes) {
  const LinkBase& link = *s.link;
  file_.set(s.out.valid, pushes > 0);
  file_.set(s.out.ready, s.pushed - s.popped < link.capacity());
  if (link.capacity() > 1) file_.set(s.out.more, pushes > 1 ? pushes - 1 : 0);
  if (pushes == 0) return;
  pushed_.resize(link.value_bytes());
  link.copy_value(s.pushed, pushed_.data());
  show(s, s.out, pushed_.data(), packet_of(s, s.out, pushed_.data()));
}

void Waves::show_input(LinkState& s, Cycle cycle, std::uint64_t pops) {
  const bool valid = pops > 0 || s.offered_from <= cycle;
  file_.set(s.in.valid, valid);
  file_.set(s.in.ready, pops > 0);
  if (s.link->capacity() > 1) file_.set(s.in.more, pops > 1 ? pops - 1 : 0);
  if (!valid || s.shown_number == s.popped) return;
  capture(s, s.popped);
  s.shown_number = s.popped;
  show(s, s.in, s.held.data(), s.held_packet);
}

void Waves::capture(LinkState& s, std::uint64_t number) {
  if (s.held_number == number) return;
  s.held_number = number;
  s.link->copy_value(number, s.held.data());
  s.held_packet = packet_of(s, s.in, s.held.data());
}

// (R4) To be asked before the consumer takes the descriptor: it may release the buffer, and another packet may have it
// in the same cycle.
Waves::Shown Waves::packet_of(const LinkState& s, const Port& port, const std::byte* value) {
  Shown shown;
  if (!port.has_packet) return shown;
  s.link->for_each_number_of(value, [&](const FieldPath& at, std::uint64_t number) {
    if (is_packet(at)) shown.buffer = PacketHandle{static_cast<std::uint32_t>(number)};
  });
  if (shown.buffer != kNoPacket) shown.packet = s.packets->find(shown.buffer);
  return shown;
}

// (R3) (R4)
void Waves::show(const LinkState& s, const Port& port, const std::byte* value, const Shown& shown) {
  port.fields.show(file_, value);
  if (!port.has_packet) return;
  const WavePackets::Packet& packet = shown.packet;
  if (packet.number == 0) {
    file_.set_unknown(port.number);
  } else {
    file_.set(port.number, packet.number);
  }
  if (packet.has_headers) {
    file_.set(port.qpn, raw(packet.qpn));
    file_.set(port.psn, packet.psn.value);
    file_.set_text(port.opcode, packet.opcode);
  } else {
    for (const WaveId unknown : {port.qpn, port.psn, port.opcode}) file_.set_unknown(unknown);
  }
  if (packet.number == 0 || packet.number != window_.packet) return;
  file_.notice_packet();
  const auto same = [&](const Watched& w) { return w.packets == s.packets && w.buffer == shown.buffer; };
  if (std::none_of(watched_.begin(), watched_.end(), same)) watched_.push_back({s.packets, shown.buffer});
}

void Waves::finish() {
  if (!declared_) declare();
  file_.close(engine_.now());
  write_save_file(file_.tree, save_path_);
}

}  // namespace rxnic
