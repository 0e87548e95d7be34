// SPDX-License-Identifier: Apache-2.0
// Waveforms of a run in per-cycle mode: a VCD file for any wave viewer, and beside it a save file of GTKWave.
//
//   R1  Each block is a scope, named as its module. Its `activity` is what it does in a cycle, as text.
//   R2  The signals of a port are named as in RTL of the block. Input x has x_valid_i, x_ready_o and the scope x_i;
//       output y has y_valid_o, y_ready_i and y_o. Ports of an array are named as their link. An output is valid in a
//       cycle in which the block puts a descriptor into the link, and ready while the link has room. An input is valid
//       while the link offers a descriptor, and ready in a cycle in which the block takes it. So a cycle with valid and
//       ready is a transfer. What leaves an output in cycle n is offered to the input from n + 1 on. x_more: the number
//       of further descriptors that pass in the same cycle. x_occupancy: values in the link at the beginning of a
//       cycle.
//   R3  All fields of the descriptor (descriptors.toml) hold from its first cycle until the next descriptor comes. They
//       are those of the first one that passes in a cycle.
//   R4  Where a descriptor refers to a packet, the scope x_packet has the packet's number, QPN, PSN and opcode
//       (WavePackets).
//   R5  Everything that was added to the engine and is joined to a block is shown. A block or a port that does nothing
//       adds nothing to the file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/engine/engine.h"
#include "model/engine/wave_file.h"

namespace rxnic {

// The packets to which the descriptors of some links refer.
class WavePackets {
 public:
  struct Packet {
    std::uint64_t number = 0;  // 0: none
    bool has_headers = false;  // the following are known
    Qpn qpn{};
    Psn psn;
    std::string_view opcode;
  };
  virtual ~WavePackets() = default;
  virtual Packet find(PacketHandle buffer) = 0;
  // Whether the buffer still holds that packet.
  virtual bool holds(PacketHandle buffer, std::uint64_t number) = 0;
};

class Waves {
 public:
  // `path` ends in ".vcd". Throws std::invalid_argument when it does not or when the engine is not in per-cycle mode,
  // std::runtime_error when the file cannot be made. Before the simulation starts.
  Waves(Engine& engine, const std::string& path, const WaveWindow& window = {});
  ~Waves();
  Waves(const Waves&) = delete;
  Waves& operator=(const Waves&) = delete;

  // Before the simulation starts. `packets` lives as long as this.
  void show_packets(const LinkBase& link, WavePackets& packets) { packets_.push_back({&link, &packets}); }
  // After the simulation: completes both files. Throws std::runtime_error when one cannot be written.
  void finish();
  // After finish(): the window had no cycle of the run.
  bool empty() const { return file_.empty(); }
  const std::string& save_file() const { return save_path_; }

 private:
  struct Port;
  struct Shown;
  struct LinkState;
  struct Watched {  // a buffer that holds the packet of the window
    WavePackets* packets;
    PacketHandle buffer;
  };
  void declare();
  Port declare_port(const LinkBase& link, const sc_core::sc_object* port, bool with_packets);
  void sample(Cycle now);
  void settle(Cycle cycle);
  void advance(LinkState& state, Cycle cycle, std::uint64_t pushes, std::uint64_t pops);
  void show_output(LinkState& state, std::uint64_t pushes);
  void show_input(LinkState& state, Cycle cycle, std::uint64_t pops);
  void capture(LinkState& state, std::uint64_t number);
  Shown packet_of(const LinkState& state, const Port& port, const std::byte* value);
  void show(const LinkState& state, const Port& port, const std::byte* value, const Shown& shown);

  Engine& engine_;
  const std::string save_path_;
  const WaveWindow window_;
  WaveFile file_;
  std::vector<std::pair<const LinkBase*, WavePackets*>> packets_;
  std::vector<WaveId> activities_;  // by block
  std::vector<LinkState> links_;
  std::vector<Watched> watched_;
  std::vector<std::byte> pushed_;  // a copy of a value
  Cycle last_{};
  bool declared_ = false;
};

}  // namespace rxnic
