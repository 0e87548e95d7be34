// SPDX-License-Identifier: Apache-2.0
// The signals of a waveform file, in scopes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/types/descriptor.h"

namespace rxnic {

using WaveId = std::uint32_t;

enum class WaveKind : std::uint8_t {
  kNumber,  // 1 to 64 bits
  kWide,    // more bits; a value is the text of its bits
  kName,    // of an enumeration; a value is its number
  kText,
};

struct WaveSignal {
  std::string name;
  WaveKind kind = WaveKind::kNumber;
  unsigned bits = 1;                         // kNumber, kWide
  bool hex = false;                          // viewers show it in hexadecimal
  std::span<const EnumeratorInfo> values{};  // kName
};

struct WaveScope {
  std::string name;
  std::vector<WaveId> signals;
  std::vector<std::size_t> scopes;  // within it
};

class WaveTree {
 public:
  static constexpr std::size_t kTop = 0;
  static constexpr WaveId kClock = 0;

  // The scope "nic0.rx_parser", made where it does not exist, as are those around it.
  std::size_t scope(std::string_view path, std::size_t within = kTop);
  WaveId add(std::size_t scope, WaveSignal signal);

  const WaveScope& operator[](std::size_t scope) const { return scopes_[scope]; }
  const std::vector<WaveSignal>& signals() const { return signals_; }
  // "qpn[23:0]", as viewers call a vector.
  static std::string range(const WaveSignal& signal);

 private:
  std::vector<WaveScope> scopes_{1};
  std::vector<WaveSignal> signals_{{"clk"}};  // in each scope at the top
};

// Writes the save file of GTKWave for the tree of x.vcd, x.gtkw beside it: activities first, then a group for each
// block and its ports. Throws std::runtime_error.
void write_save_file(const WaveTree& tree, const std::string& path);

}  // namespace rxnic
