// SPDX-License-Identifier: Apache-2.0
// Which bits of a verilated module's signals change. The changes are counted from what would be a waveform, as it is
// written. Counters of toggles by Verilator itself, a statement for each bit, are fifty times as slow.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <verilated_vcd_c.h>

namespace rxnic {

// Takes a VCD file in the place of the disk. At the end it adds a file, ....toggles, to the folder that the variable
// RXNIC_RTL_COVERAGE names. The file has a line for each bit: `block.signal[3] 1` when the bit has changed, otherwise
// 0. Checkers are left out, and so are parameters.
class ToggleCounter final : public VerilatedVcdFile {
 public:
  bool open(const std::string&) override { return true; }
  void close() override;
  ssize_t write(const char* text, ssize_t bytes) override;

 private:
  struct Signal {
    std::string name;
    int low = 0;       // number of its last bit; -1: it is one bit, without a number
    std::string last;  // its bits as they are in the file, the highest first
    std::string changed;
  };
  void take(std::string_view line);
  void take_declaration(std::string_view line);
  void take_value(std::string_view bits, std::string_view code);

  std::string begun_;  // of a line
  std::vector<std::string> scopes_;
  std::unordered_map<std::string, Signal> signals_;  // by the file's code
  std::string code_;                                 // of the last one looked up
  bool declared_ = false;
};

struct OwnsToggleCounter {
  ToggleCounter counter;
};
class VerilatedToggles final : private OwnsToggleCounter, public VerilatedVcdC {
 public:
  VerilatedToggles() : VerilatedVcdC(&counter) {}
  ~VerilatedToggles() override { close(); }
};

}  // namespace rxnic
