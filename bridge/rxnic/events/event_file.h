// SPDX-License-Identifier: Apache-2.0
// Writing and reading the file of --events (README.md).
//
//   R1  A chunk holds rows of one table, column by column: the differences from row to row as zigzag LEB128. They are
//       compressed by zstd.
//   R2  With a limit no chunk is written that would exceed it, and none after it. The end says how many rows of which
//       table are left out.
//   R3  Whatever a file holds, the reader gives rows of the tables, or refuses the file with the place and what was
//       expected there. A file without its end (a run that was killed) gives its whole chunks.
#pragma once

#include <bitset>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "bridge/rxnic/events/event_tables.h"

namespace rxnic {

inline constexpr std::string_view kEventMagic = "rxnic events 1\n";

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using EventStream = std::unique_ptr<std::FILE, FileCloser>;

class EventWriter {
 public:
  // `limit`: bytes of the file, 0: any. Throws std::runtime_error that names the file.
  EventWriter(std::string path, const nlohmann::ordered_json& description, std::uint64_t limit);
  ~EventWriter();
  // Rows one behind the other, in order. (R1)
  void write(EventTable table, std::span<const std::uint64_t> rows);
  // Writes the end. Throws std::runtime_error.
  void close(nlohmann::ordered_json end);
  bool is_full() const { return full_; }  // (R2)
  std::uint64_t left_out() const;

 private:
  void chunk(std::uint8_t kind, std::uint32_t rows, const std::string& raw);
  [[noreturn]] void refuse() const;

  std::string path_;
  std::uint64_t limit_;
  std::uint64_t bytes_ = 0;
  bool full_ = false;
  std::array<std::uint64_t, kEventTables> rows_{}, left_out_{};
  EventStream file_;
  std::string raw_, packed_;
};

class EventReader {
 public:
  // Reads the description. Throws std::invalid_argument that names the file, the place and what was expected. (R3)
  explicit EventReader(const std::string& path);
  const nlohmann::json& description() const { return description_; }
  // The next chunk of these tables; false: there is none. Others are passed over, good or not.
  using Tables = std::bitset<kEventTables>;
  bool next(Tables wanted = Tables().set());
  EventTable table() const { return table_; }
  std::size_t rows() const { return rows_; }
  // Row n of the chunk, of the struct of its table.
  template <class Row>
  Row row(std::size_t n) const {
    Row r;
    std::memcpy(&r, values_.data() + n * (sizeof(Row) / sizeof(std::uint64_t)), sizeof r);
    return r;
  }
  // Where the chunk stands in the file; next() gives the one of that place.
  std::uint64_t place() const { return chunk_at_; }
  void go_to(std::uint64_t place);
  // After the last chunk: the end; null: the file has none.
  const nlohmann::json& end() const { return end_; }
  void rewind() { go_to(first_); }

 private:
  bool read_chunk(std::uint8_t& kind, std::uint32_t& rows, std::string& raw, Tables wanted = Tables().set());
  void decode(std::size_t rows, std::size_t columns, const std::string& raw);
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const;

  std::string path_;
  EventStream file_;
  std::uint64_t place_ = 0, chunk_at_ = 0, first_ = 0, size_ = 0;
  nlohmann::json description_, end_;
  EventTable table_{};
  std::size_t rows_ = 0;
  std::vector<std::uint64_t> values_;
  std::string raw_, packed_;
};

}  // namespace rxnic
