// SPDX-License-Identifier: Apache-2.0
#include "model/engine/wave_tree.h"

#include <algorithm>
#include <filesystem>

#include "model/engine/output_file.h"

namespace rxnic {

std::size_t WaveTree::scope(std::string_view path, std::size_t within) {
  const std::size_t dot = path.find('.');
  const std::string_view name = path.substr(0, dot);
  const std::vector<std::size_t>& inner = scopes_[within].scopes;
  const auto known = std::find_if(inner.begin(), inner.end(), [&](std::size_t s) { return scopes_[s].name == name; });
  std::size_t found = scopes_.size();
  if (known != inner.end()) {
    found = *known;
  } else {
    scopes_[within].scopes.push_back(found);
    scopes_.push_back({std::string(name), {}, {}});
    if (within == kTop) scopes_.back().signals.push_back(kClock);
  }
  return dot == std::string_view::npos ? found : scope(path.substr(dot + 1), found);
}

WaveId WaveTree::add(std::size_t scope, WaveSignal signal) {
  const auto id = static_cast<WaveId>(signals_.size());
  signals_.push_back(std::move(signal));
  scopes_[scope].signals.push_back(id);
  return id;
}

std::string WaveTree::range(const WaveSignal& signal) {
  const bool vector = signal.kind == WaveKind::kWide || (signal.kind == WaveKind::kNumber && signal.bits > 1);
  return vector ? "[" + std::to_string(signal.bits - 1) + ":0]" : std::string();
}

namespace {

// Flags of GTKWave's traces (its analyzer.h), as its save files hold them.
constexpr const char* kBinary = "@28\n";
constexpr const char* kHex = "@22\n";
constexpr const char* kDecimal = "@24\n";
constexpr const char* kAscii = "@820\n";
constexpr const char* kOpenGroup = "@800200\n";
constexpr const char* kOpenGroupEnd = "@1000200\n";
constexpr const char* kClosedGroup = "@c00200\n";
constexpr const char* kClosedGroupEnd = "@1401200\n";

class SaveFile {
 public:
  explicit SaveFile(const WaveTree& tree) : tree_(tree) {}

  std::string text(const std::string& dump_file) {
    out_ = "[*] Save file of GTKWave, written by rxnic\n[dumpfile] \"" + dump_file + "\"\n[timestart] 0\n";
    const std::vector<std::size_t>& top = tree_[WaveTree::kTop].scopes;
    if (!top.empty()) signal(tree_[top.front()].name + ".", WaveTree::kClock);
    out_ += std::string(kOpenGroup) + "-activity\n";
    for (const std::size_t s : top) activities("", s);
    out_ += std::string(kOpenGroupEnd) + "-activity\n";
    for (const std::size_t s : top) blocks("", s);
    return out_;
  }

 private:
  static constexpr const char* kActivity = "activity";

  void signal(const std::string& prefix, WaveId id) {
    const WaveSignal& s = tree_.signals()[id];
    const bool text = s.kind == WaveKind::kName || s.kind == WaveKind::kText;
    out_ += text ? kAscii : s.kind == WaveKind::kWide || s.hex ? kHex : s.bits == 1 ? kBinary : kDecimal;
    out_ += prefix + s.name + WaveTree::range(s) + "\n";
  }
  void activities(const std::string& prefix, std::size_t scope) {
    const std::string inner = prefix + tree_[scope].name + ".";
    for (const WaveId id : tree_[scope].signals) {
      if (tree_.signals()[id].name == kActivity) signal(inner, id);
    }
    for (const std::size_t s : tree_[scope].scopes) activities(inner, s);
  }
  // A NIC is no group of its own: its blocks are.
  void blocks(const std::string& prefix, std::size_t scope) {
    const std::vector<WaveId>& ids = tree_[scope].signals;
    const bool nic = std::all_of(ids.begin(), ids.end(), [](WaveId id) { return id == WaveTree::kClock; });
    if (nic) {
      for (const std::size_t s : tree_[scope].scopes) blocks(prefix + tree_[scope].name + ".", s);
    } else {
      group(prefix, prefix, scope);
    }
  }
  void group(const std::string& prefix, const std::string& title_prefix, std::size_t scope) {
    const std::string title = "-" + title_prefix + tree_[scope].name + "\n";
    const std::string inner = prefix + tree_[scope].name + ".";
    out_ += kClosedGroup + title;
    for (const WaveId id : tree_[scope].signals) {
      if (id != WaveTree::kClock) signal(inner, id);
    }
    for (const std::size_t s : tree_[scope].scopes) group(inner, "", s);
    out_ += kClosedGroupEnd + title;
  }

  const WaveTree& tree_;
  std::string out_;
};

}  // namespace

void write_save_file(const WaveTree& tree, const std::string& path) {
  OutputFile file(path);
  file.text() = SaveFile(tree).text(std::filesystem::path(path).stem().string() + ".vcd");
  file.close();
}

}  // namespace rxnic
