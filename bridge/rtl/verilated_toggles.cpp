// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/verilated_toggles.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace rxnic {

namespace {

// The words of a line, without empty ones.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; (begin = line.find_first_not_of(" \t", begin)) != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

}  // namespace

ssize_t ToggleCounter::write(const char* text, ssize_t bytes) {
  std::string_view rest(text, static_cast<std::size_t>(bytes));
  for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
    if (begun_.empty()) {
      take(rest.substr(0, end));
      continue;
    }
    begun_ += rest.substr(0, end);
    take(begun_);
    begun_.clear();
  }
  begun_ += rest;
  return bytes;
}

void ToggleCounter::take(std::string_view line) {
  if (!declared_) return take_declaration(line);
  if (line.empty()) return;
  if (line[0] == 'b') {
    const std::size_t space = line.find(' ');
    if (space != line.npos) take_value(line.substr(1, space - 1), line.substr(space + 1));
  } else if (line[0] == '0' || line[0] == '1') {
    take_value(line.substr(0, 1), line.substr(1));
  }
}

// $scope KIND NAME $end, $upscope $end, $var KIND BITS CODE NAME [HIGH:LOW] $end
void ToggleCounter::take_declaration(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.empty()) return;
  if (words[0] == "$enddefinitions") declared_ = true;
  if (words[0] == "$scope" && words.size() > 2) scopes_.emplace_back(words[2]);
  if (words[0] == "$upscope" && !scopes_.empty()) scopes_.pop_back();
  if (words[0] != "$var" || words.size() < 6 || words[1] == "parameter") return;
  if (scopes_.size() < 2 || scopes_[0] != "TOP") return;
  if (std::find(scopes_.begin(), scopes_.end(), "checker_i") != scopes_.end()) return;
  Signal signal;
  for (std::size_t n = 1; n < scopes_.size(); ++n) signal.name += scopes_[n] + ".";
  signal.name += words[4];
  const std::size_t colon = words[5].find(':');
  signal.low = words[5][0] != '[' || colon == words[5].npos ? -1 : std::atoi(words[5].substr(colon + 1).data());
  signal.changed.assign(static_cast<std::size_t>(std::atoi(words[2].data())), '0');
  signals_.emplace(words[3], std::move(signal));  // the same one in a module below has the same code
}

void ToggleCounter::take_value(std::string_view bits, std::string_view code) {
  code_.assign(code);
  const auto found = signals_.find(code_);
  if (found == signals_.end()) return;
  Signal& signal = found->second;
  if (signal.last.size() == bits.size()) {
    for (std::size_t n = 0; n < std::min(bits.size(), signal.changed.size()); ++n) {
      if (bits[n] != signal.last[n]) signal.changed[n] = '1';
    }
  }
  signal.last.assign(bits);
}

void ToggleCounter::close() {
  static std::atomic<unsigned> instances{0};
  const char* const folder = std::getenv("RXNIC_RTL_COVERAGE");
  if (folder == nullptr || signals_.empty()) return;
  const std::string name = std::to_string(getpid()) + "_" + std::to_string(instances++) + ".toggles";
  std::ofstream file(std::filesystem::path(folder) / name);
  for (const auto& [code, signal] : signals_) {
    for (std::size_t n = 0; n < signal.changed.size(); ++n) {
      file << signal.name;
      if (signal.low >= 0) file << '[' << signal.low + static_cast<int>(signal.changed.size() - 1 - n) << ']';
      file << ' ' << signal.changed[n] << '\n';
    }
  }
  signals_.clear();
}

}  // namespace rxnic
