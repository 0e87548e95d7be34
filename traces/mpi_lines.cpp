// SPDX-License-Identifier: Apache-2.0
#include "traces/mpi_lines.h"

#include <charconv>

namespace rxnic {
namespace {

constexpr std::size_t kShown = 60;  // bytes of a line in an error
constexpr std::int64_t kMostUnits = std::int64_t{1} << 61;

}  // namespace

MpiLines::MpiLines(const MpiText& text) : file_(text.name), in_(text.open()) {
  if (!*in_) throw TraceError(file_, 0, "no file that can be read", "a trace of MPI");
}

bool MpiLines::next() {
  line_.clear();
  ++number_;
  std::streambuf& bytes = *in_->rdbuf();
  int c = bytes.sbumpc();
  if (c == std::char_traits<char>::eof()) return false;
  for (; c != std::char_traits<char>::eof() && c != '\n'; c = bytes.sbumpc()) {
    if (line_.size() == kMpiLineBytes) {
      throw TraceError::at_line(file_, number_, "a longer line", "at most " + std::to_string(kMpiLineBytes) + " bytes");
    }
    line_.push_back(static_cast<char>(c));
  }
  if (line_.ends_with('\r')) line_.pop_back();
  return true;
}

void MpiLines::refuse(const std::string& found, const std::string& expected) const {
  throw TraceError::at_line(file_, number_, found, expected);
}

void MpiLines::refuse(const std::string& expected) const {
  std::string shown;
  for (const char c : std::string_view(line_).substr(0, kShown)) shown += c < ' ' || c > '~' ? '?' : c;
  refuse("'" + shown + (line_.size() > kShown ? "...'" : "'"), expected);
}

std::optional<std::int64_t> mpi_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> mpi_decimal(std::string_view text, unsigned decimals) {
  const std::size_t point = text.find('.');
  const auto whole = mpi_number(text.substr(0, point));
  std::int64_t units = 1;
  for (unsigned n = 0; n < decimals; ++n) units *= 10;
  if (!whole || *whole > kMostUnits / units || *whole < -kMostUnits / units) return std::nullopt;
  std::int64_t fraction = 0;
  if (point != std::string_view::npos) {
    std::string digits(text.substr(point + 1));
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    digits.resize(decimals, '0');
    fraction = mpi_number(digits).value_or(0);
  }
  return *whole * units + (text.starts_with('-') ? -fraction : fraction);
}

}  // namespace rxnic
