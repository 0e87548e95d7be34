// SPDX-License-Identifier: Apache-2.0
// A waveform file: VCD (IEEE 1364-2005, clause 18), with text values as GTKWave and Surfer read them ($var string).
//
//   R1  begin(c) begins cycle c; what is set from then on holds from the beginning of c. A value that is set again is
//       not written again. Before it is set it is x.
//   R2  clk rises at the beginning of each cycle and falls in its middle. In a stretch of more than kIdleCycles cycles
//       without a change it stands still, and nothing is written. A cycle that is begun makes no difference by itself.
//   R3  Only the cycles of the window are written: those at and after `from`, before `to`, after the values that hold
//       at its beginning. The file ends with the window, or with the last cycle.
//   R4  The window around a packet goes from `margin` cycles before it is noticed first to `margin` cycles after it was
//       held or noticed last.
//   R5  An error of the file is reported by close().
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/engine/output_file.h"
#include "model/engine/wave_tree.h"
#include "model/types/ids.h"

namespace rxnic {

struct WaveWindow {
  Cycle from{};
  Cycle to = kNever;         // the first one that does not belong to it
  std::uint64_t packet = 0;  // not 0: around this packet (R4)
  std::uint64_t margin = 0;
};

class WaveFile {
 public:
  static constexpr std::uint64_t kIdleCycles = 256;

  // Throws std::runtime_error when the file cannot be made.
  WaveFile(const std::string& path, std::uint32_t period_ps, const WaveWindow& window);

  WaveTree tree;  // complete before the first cycle is begun

  void begin(Cycle cycle);  // not before the one before
  void set(WaveId id, std::uint64_t value) { change(id, true, value); }
  void set_text(WaveId id, std::string_view text) { change(id, true, number_of(text)); }
  void set_unknown(WaveId id) { change(id, false, 0); }
  // R4: the packet is seen in this cycle; it has been in the NIC since the cycle before.
  void notice_packet() { noticed_ = true; }
  void hold_packet() { held_ = true; }

  // Nothing more will be written.
  bool done() const { return phase_ == Phase::kDone; }
  // The last cycle of the run. Throws std::runtime_error (R5).
  void close(Cycle last);
  // After close(): no cycle of the run belongs to the window.
  bool empty() const { return phase_ == Phase::kBefore; }

 private:
  enum class Phase { kBefore, kWithin, kDone };
  struct Value {
    std::uint64_t number = 0;
    bool known = false;
  };
  struct Change {
    WaveId id;
    Value value;
  };
  struct Past {
    Cycle cycle;
    std::vector<Change> changes;
  };

  void change(WaveId id, bool known, std::uint64_t number);
  std::uint64_t number_of(std::string_view text);
  void commit();
  void look_for_packet();
  void write(const Past& cycle);
  void idle(Cycle cycle);
  void tick(Cycle cycle, const std::vector<Change>& changes);
  void end(Cycle at);
  void apply(const std::vector<Change>& changes);
  void header();
  void scope(std::size_t scope, std::size_t indent);
  void dump(bool clk);
  void time(Cycle cycle, bool half = false);
  void put(WaveId id);

  OutputFile out_;
  const std::uint64_t period_ps_;
  WaveWindow window_;
  Phase phase_ = Phase::kBefore;
  bool dumped_ = false;  // the values at the beginning of the window are written
  Past now_;             // the cycle that was begun last
  bool begun_ = false;
  bool noticed_ = false, held_ = false;
  Cycle before_ = kNever;       // the last one with a change that went through write()
  std::deque<Past> past_;       // R4: `margin` cycles
  std::vector<Value> set_;      // by signal
  std::vector<Value> written_;  // the same, as of `before_`
  std::vector<std::string> codes_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint64_t> numbers_;  // of texts_
};

}  // namespace rxnic
