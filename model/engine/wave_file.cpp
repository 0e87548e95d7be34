// SPDX-License-Identifier: Apache-2.0
#include "model/engine/wave_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rxnic {

namespace {

// Identifier codes: printable characters, the first one counts fastest.
std::string code_of(std::size_t n) {
  constexpr std::size_t kFirst = '!', kCodes = '~' - '!' + 1;
  std::string code(1, static_cast<char>(kFirst + n % kCodes));
  for (n /= kCodes; n != 0; n /= kCodes) {
    --n;
    code += static_cast<char>(kFirst + n % kCodes);
  }
  return code;
}

std::string_view name_of(const WaveSignal& s, std::uint64_t value) {
  const auto found = std::find_if(s.values.begin(), s.values.end(), [&](const auto& v) { return v.value == value; });
  return found == s.values.end() ? "?" : found->name;
}

}  // namespace

WaveFile::WaveFile(const std::string& path, std::uint32_t period_ps, const WaveWindow& window)
    : out_(path), period_ps_(period_ps), window_(window) {}

std::uint64_t WaveFile::number_of(std::string_view text) {
  const auto [at, added] = numbers_.try_emplace(std::string(text), texts_.size());
  if (added) texts_.push_back(at->first);
  return at->second;
}

void WaveFile::begin(Cycle cycle) {
  if (begun_ && now_.cycle == cycle) return;
  if (begun_) {
    commit();
  } else {
    header();
  }
  begun_ = true;
  now_.cycle = cycle;
}

void WaveFile::change(WaveId id, bool known, std::uint64_t number) {  // (R1)
  Value& value = set_[id];
  if (value.known == known && value.number == number) return;
  value = {number, known};
  now_.changes.push_back({id, value});
}

// The cycle that was begun last is complete.
void WaveFile::commit() {
  if (window_.packet != 0) {
    look_for_packet();
  } else {
    write(now_);
  }
  now_.changes.clear();
  noticed_ = held_ = false;
}

void WaveFile::look_for_packet() {  // (R4)
  if (phase_ == Phase::kBefore) {
    if (!now_.changes.empty()) past_.push_back(now_);
    const std::uint64_t now = now_.cycle.count;
    const bool found = noticed_ || held_;
    window_.from = found ? Cycle{now - std::min(now, window_.margin)} : kNever;
    window_.to = found ? now_.cycle + window_.margin + 1 : kNever;
    // Without the packet: cycles that will be too early when it comes in the next one.
    while (!past_.empty() && (found || past_.front().cycle.count + window_.margin <= now)) {
      write(past_.front());
      past_.pop_front();
    }
    return;
  }
  if (phase_ == Phase::kWithin && (held_ || (noticed_ && now_.cycle < window_.to)))
    window_.to = now_.cycle + window_.margin + 1;
  write(now_);
}

void WaveFile::write(const Past& past) {
  if (past.changes.empty()) return;
  if (phase_ != Phase::kDone) {
    if (past.cycle >= window_.from) idle(past.cycle);
    if (past.cycle >= window_.to) {
      end(window_.to);
    } else if (past.cycle >= window_.from) {
      tick(past.cycle, past.changes);
    } else {
      apply(past.changes);
    }
    out_.flush_when_long();
  }
  before_ = past.cycle;
}

// The cycles of the window before `cycle` in which nothing changes. (R2)
void WaveFile::idle(Cycle cycle) {
  phase_ = Phase::kWithin;
  const Cycle until = earliest(cycle, window_.to);
  const Cycle first = before_ == kNever ? cycle : before_ + 1;
  const bool ticks = cycle.count - first.count <= kIdleCycles;
  for (Cycle c = latest(first, window_.from); ticks && c < until; c = c + 1) tick(c, {});
  if (dumped_ || window_.from >= until) return;
  time(window_.from);
  dump(false);
}

void WaveFile::tick(Cycle cycle, const std::vector<Change>& changes) {
  time(cycle);
  apply(changes);
  if (dumped_) {
    out_.text() += '1' + codes_[WaveTree::kClock] + '\n';
    for (const Change& c : changes) put(c.id);
  } else {
    dump(true);
  }
  time(cycle, true);
  out_.text() += '0' + codes_[WaveTree::kClock] + '\n';
}

void WaveFile::end(Cycle at) {
  if (phase_ != Phase::kWithin) return;
  time(at);
  phase_ = Phase::kDone;
}

void WaveFile::close(Cycle last) {
  if (begun_) {
    commit();
  } else {
    header();
  }
  if (phase_ != Phase::kDone && begun_ && window_.from <= last) idle(last + 1);
  end(earliest(last + 1, window_.to));
  if (empty()) out_.text() += "$comment The window is empty. $end\n";
  out_.close();
}

void WaveFile::apply(const std::vector<Change>& changes) {
  for (const Change& c : changes) written_[c.id] = c.value;
}

void WaveFile::header() {
  const std::size_t n = tree.signals().size();
  set_.resize(n);
  written_.resize(n);
  for (std::size_t i = 0; i < n; ++i) codes_.push_back(code_of(i));
  std::string& out = out_.text();
  out += "$version rxnic $end\n$comment\n";
  if (window_.packet != 0) {
    out += fmt::format("  Around packet {}: {} cycles before and after.\n", window_.packet, window_.margin);
  } else if (window_.from > Cycle{} || window_.to != kNever) {
    const std::string to = window_.to == kNever ? "the end" : fmt::format("{} ps", window_.to.count * period_ps_);
    out += fmt::format("  From {} ps to {}.\n", window_.from.count * period_ps_, to);
  }
  out += fmt::format("  A cycle is {} ps. clk stands still where nothing changes for more than {} cycles.\n",
                     period_ps_, kIdleCycles);
  out += "$end\n$timescale 1 ps $end\n";
  for (const std::size_t s : tree[WaveTree::kTop].scopes) scope(s, 0);
  out += "$enddefinitions $end\n";
}

void WaveFile::scope(std::size_t number, std::size_t indent) {
  std::string& out = out_.text();
  const WaveScope& s = tree[number];
  out += fmt::format("{:{}}$scope module {} $end\n", "", indent, s.name);
  for (const WaveId id : s.signals) {
    const WaveSignal& signal = tree.signals()[id];
    const std::string range = WaveTree::range(signal);
    const bool text = signal.kind == WaveKind::kName || signal.kind == WaveKind::kText;
    out += fmt::format("{:{}}$var {} {} {} {}{}{} $end\n", "", indent + 1, text ? "string" : "wire",
                       text ? 1 : signal.bits, codes_[id], signal.name, range.empty() ? "" : " ", range);
  }
  for (const std::size_t inner : s.scopes) scope(inner, indent + 1);
  out += fmt::format("{:{}}$upscope $end\n", "", indent);
}

void WaveFile::dump(bool clk) {  // (R3)
  dumped_ = true;
  written_[WaveTree::kClock] = {clk ? 1u : 0u, true};
  out_.text() += "$dumpvars\n";
  for (WaveId id = 0; id < written_.size(); ++id) put(id);
  out_.text() += "$end\n";
}

void WaveFile::time(Cycle cycle, bool half) {
  fmt::format_to(std::back_inserter(out_.text()), "#{}\n", cycle.count * period_ps_ + (half ? period_ps_ / 2 : 0));
}

void WaveFile::put(WaveId id) {
  std::string& out = out_.text();
  const WaveSignal& s = tree.signals()[id];
  const auto [number, known] = written_[id];
  switch (s.kind) {
    case WaveKind::kNumber:
      if (s.bits == 1) {
        out += known ? static_cast<char>('0' + number) : 'x';
        out += codes_[id];
        out += '\n';
        return;
      }
      out += 'b';
      if (known) {
        fmt::format_to(std::back_inserter(out), "{:b}", number);
      } else {
        out += 'x';
      }
      break;
    case WaveKind::kWide:
      out += 'b';
      out += known ? texts_[number] : "x";
      break;
    case WaveKind::kName:
      out += 's';
      out += known ? name_of(s, number) : "x";
      break;
    case WaveKind::kText:
      out += 's';
      out += known ? texts_[number] : "x";
      break;
  }
  out += ' ';
  out += codes_[id];
  out += '\n';
}

}  // namespace rxnic
