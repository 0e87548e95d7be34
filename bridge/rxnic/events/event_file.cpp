// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/events/event_file.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "model/params/private_file.h"

namespace rxnic {

namespace {

constexpr int kLevel = 1;                               // of zstd: what takes least time
constexpr std::uint8_t kDescription = 254, kEnd = 255;  // kinds of chunks that are no table
constexpr std::uint32_t kMostRows = 1u << 20, kMostBytes = 1u << 28;
constexpr std::size_t kHeaderBytes = 13;

void put(std::string& to, std::uint32_t n) {
  for (int i = 0; i < 4; ++i) to += static_cast<char>(n >> (8 * i));
}

std::uint32_t get(const char* from) {
  std::uint32_t n = 0;
  for (int i = 3; i >= 0; --i) n = n << 8 | static_cast<std::uint8_t>(from[i]);
  return n;
}

// A name in it may be no UTF-8.
std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// An object, or null: it is none, or nested deeper than those that are written.
nlohmann::json object_of(const std::string& text) {
  constexpr int kDeepest = 8;
  bool deep = false;
  const auto look = [&deep](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    deep = deep || depth > kDeepest;
    return !deep;
  };
  nlohmann::json json = nlohmann::json::parse(text, look, false);
  return json.is_object() && !deep ? json : nlohmann::json();
}

}  // namespace

EventWriter::EventWriter(std::string path, const nlohmann::ordered_json& description, std::uint64_t limit)
    : path_(std::move(path)), limit_(limit), file_(open_to_write(path_)) {
  if (std::fwrite(kEventMagic.data(), 1, kEventMagic.size(), file_.get()) != kEventMagic.size()) refuse();
  bytes_ = kEventMagic.size();
  chunk(kDescription, 0, text_of(description));
}

EventWriter::~EventWriter() = default;

// (R1)
void EventWriter::write(EventTable table, std::span<const std::uint64_t> rows) {
  const std::size_t columns = columns_of(table), count = rows.size() / columns;
  if (count == 0) return;
  raw_.resize(rows.size() * 10);
  char* to = raw_.data();
  for (std::size_t c = 0; c < columns; ++c) {
    std::uint64_t before = 0;
    for (std::size_t r = 0; r < count; ++r) {
      const std::uint64_t value = rows[r * columns + c];
      const std::uint64_t difference = value - before;
      before = value;
      std::uint64_t zigzag = difference << 1 ^ (0 - (difference >> 63));
      for (; zigzag >= 0x80; zigzag >>= 7) *to++ = static_cast<char>(zigzag | 0x80);
      *to++ = static_cast<char>(zigzag);
    }
  }
  raw_.resize(static_cast<std::size_t>(to - raw_.data()));
  chunk(static_cast<std::uint8_t>(table), static_cast<std::uint32_t>(count), raw_);
  auto& counted = full_ ? left_out_ : rows_;
  counted[static_cast<std::size_t>(table)] += count;
}

void EventWriter::chunk(std::uint8_t kind, std::uint32_t rows, const std::string& raw) {
  if (full_ && kind != kEnd) return;
  packed_.resize(ZSTD_compressBound(raw.size()));
  const std::size_t size = ZSTD_compress(packed_.data(), packed_.size(), raw.data(), raw.size(), kLevel);
  if (ZSTD_isError(size) != 0) throw std::runtime_error(path_ + ": " + ZSTD_getErrorName(size));
  if (kind < kEventTables && limit_ != 0 && bytes_ + kHeaderBytes + size > limit_) {  // (R2)
    full_ = true;
    return;
  }
  std::string header(1, static_cast<char>(kind));
  put(header, rows);
  put(header, static_cast<std::uint32_t>(raw.size()));
  put(header, static_cast<std::uint32_t>(size));
  if (std::fwrite(header.data(), 1, header.size(), file_.get()) != header.size() ||
      std::fwrite(packed_.data(), 1, size, file_.get()) != size) {
    refuse();
  }
  bytes_ += header.size() + size;
}

std::uint64_t EventWriter::left_out() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t n : left_out_) sum += n;
  return sum;
}

void EventWriter::close(nlohmann::ordered_json end) {
  for (std::size_t t = 0; t < kEventTables; ++t) {
    const std::string name(info_of(static_cast<EventTable>(t)).name);
    end["rows"][name] = rows_[t];
    end["left_out"][name] = left_out_[t];
  }
  chunk(kEnd, 0, text_of(end));
  if (std::fclose(file_.release()) != 0) refuse();
}

void EventWriter::refuse() const { throw std::runtime_error(fmt::format("{}: {}", path_, std::strerror(errno))); }

EventReader::EventReader(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "rb")) {
  if (file_ == nullptr) {
    throw std::invalid_argument(
        fmt::format("{}: {}; expected the events of a run (--events)", path, std::strerror(errno)));
  }
  std::error_code error;
  size_ = std::filesystem::file_size(path, error);
  if (error) refuse(error.message(), "a file");
  std::string magic(kEventMagic.size(), '\0');
  magic.resize(std::fread(magic.data(), 1, magic.size(), file_.get()));
  if (magic != kEventMagic) {
    const bool other = magic.starts_with(kEventMagic.substr(0, kEventMagic.size() - 2));
    refuse(other ? fmt::format("version {}", magic[magic.size() - 2]) : "another beginning",
           fmt::format("'{}'", kEventMagic.substr(0, kEventMagic.size() - 1)));
  }
  place_ = magic.size();
  std::uint8_t kind = 0;
  std::uint32_t rows = 0;
  if (!read_chunk(kind, rows, raw_) || kind != kDescription) refuse("no description", "one as the first chunk");
  description_ = object_of(raw_);
  if (!description_.is_object()) refuse("no JSON object", "the description");
  first_ = place_;
}

void EventReader::go_to(std::uint64_t place) {
  place_ = place;
  end_ = nullptr;
  if (std::fseek(file_.get(), static_cast<long>(place), SEEK_SET) != 0) refuse(std::strerror(errno), "a file");
}

// False: the file ends here, within a chunk or before it.
bool EventReader::read_chunk(std::uint8_t& kind, std::uint32_t& rows, std::string& raw, Tables wanted) {
  chunk_at_ = place_;
  char header[kHeaderBytes];
  if (size_ - place_ < kHeaderBytes || std::fread(header, 1, kHeaderBytes, file_.get()) != kHeaderBytes) return false;
  kind = static_cast<std::uint8_t>(header[0]);
  rows = get(header + 1);
  const std::uint32_t bytes = get(header + 5), packed = get(header + 9);
  if (rows > kMostRows) refuse(fmt::format("{} rows", rows), fmt::format("at most {}", kMostRows));
  if (bytes > kMostBytes) refuse(fmt::format("{} bytes", bytes), fmt::format("at most {}", kMostBytes));
  if (packed > size_ - place_ - kHeaderBytes) return false;
  if (kind < kEventTables && !wanted[kind]) {
    place_ += kHeaderBytes + packed;
    raw.clear();
    return std::fseek(file_.get(), static_cast<long>(place_), SEEK_SET) == 0;
  }
  packed_.resize(packed);
  if (std::fread(packed_.data(), 1, packed, file_.get()) != packed) return false;
  place_ += kHeaderBytes + packed;
  raw.resize(bytes);
  const std::size_t got = ZSTD_decompress(raw.data(), raw.size(), packed_.data(), packed_.size());
  if (ZSTD_isError(got) != 0 || got != bytes) {
    refuse(ZSTD_isError(got) != 0 ? ZSTD_getErrorName(got) : fmt::format("{} bytes", got),
           fmt::format("{} bytes, compressed by zstd", bytes));
  }
  return true;
}

bool EventReader::next(Tables wanted) {
  if (!end_.is_null()) return false;
  std::uint8_t kind = 0;
  std::uint32_t rows = 0;
  do {
    if (!read_chunk(kind, rows, raw_, wanted)) return false;
  } while (kind < kEventTables && !wanted[kind]);
  if (kind == kEnd) {
    end_ = object_of(raw_);
    if (!end_.is_object()) refuse("no JSON object", "the end");
    return false;
  }
  if (kind >= kEventTables) refuse(fmt::format("a chunk of kind {}", kind), "a table or the end");
  table_ = static_cast<EventTable>(kind);
  decode(rows, columns_of(table_), raw_);
  return true;
}

void EventReader::decode(std::size_t rows, std::size_t columns, const std::string& raw) {
  if (raw.size() < rows * columns) refuse(fmt::format("{} bytes", raw.size()), fmt::format("{} rows", rows));
  rows_ = rows;
  values_.resize(rows * columns);
  const char* from = raw.data();
  const char* const to = from + raw.size();
  for (std::size_t c = 0; c < columns; ++c) {
    std::uint64_t value = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      std::uint64_t zigzag = 0;
      unsigned shift = 0;
      std::uint8_t byte = 0x80;
      for (; (byte & 0x80) != 0; shift += 7) {
        if (from == to || shift > 63) refuse("a number that does not end", "LEB128 of 64 bits");
        byte = static_cast<std::uint8_t>(*from++);
        zigzag |= std::uint64_t{byte & 0x7fu} << shift;
      }
      value += zigzag >> 1 ^ (0 - (zigzag & 1));
      values_[r * columns + c] = value;
    }
  }
  if (from != to) refuse(fmt::format("{} bytes behind the rows", to - from), "none");
}

void EventReader::refuse(const std::string& found, const std::string& expected) const {
  throw std::invalid_argument(fmt::format("{}: byte {}: found {}; expected {}", path_, chunk_at_, found, expected));
}

}  // namespace rxnic
