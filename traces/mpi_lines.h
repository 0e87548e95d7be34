// SPDX-License-Identifier: Apache-2.0
// Reading MPI traces in text, for the readers of their formats (mpi_trace.h).
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/mpi_trace.h"

namespace rxnic {

// One line after the other of a text file, without its end.
class MpiLines {
 public:
  explicit MpiLines(const MpiText& text);
  // False: at the end of the file.
  bool next();
  std::string_view text() const { return line_; }
  const std::string& file() const { return file_; }
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const;
  // The line does not have what the format wants.
  [[noreturn]] void refuse(const std::string& expected) const;

 private:
  std::string file_;
  std::unique_ptr<std::istream> in_;
  std::string line_;
  std::uint64_t number_ = 0;
};

// A call with its numbers as they stand in the trace.
struct MpiTracedCall {
  static constexpr std::int64_t kAny = -1, kNull = -2;  // peer, tag

  bool receives = false;
  std::int64_t peer = 0;
  std::int64_t tag = 0;
  std::int64_t communicator = 0;
  std::int64_t time_ns = 0;
  std::uint64_t bytes = 0;
  std::int64_t world_peer = kNull;  // when the trace says so
};

struct MpiTracedRank {
  std::vector<MpiTracedCall> calls;
  std::map<std::int64_t, std::uint32_t> own_ranks;  // by communicator
};

struct MpiTracedJob {
  std::vector<MpiTracedRank> ranks;
  std::map<std::string, std::uint64_t> left_out;
};

void read_allprof(const MpiText& file, std::uint32_t rank, MpiTracedJob& job);
void read_dumpi(const MpiText& file, std::uint32_t rank, MpiTracedJob& job);
void read_otf2(const MpiText& file, MpiTracedJob& job);

// An integer that is the whole text; nothing: it is something else, or too large.
std::optional<std::int64_t> mpi_number(std::string_view text);
// A decimal number in units of 10^-decimals, up to 2^61 of them; further digits are cut. Nothing: it is something else.
std::optional<std::int64_t> mpi_decimal(std::string_view text, unsigned decimals);

}  // namespace rxnic
