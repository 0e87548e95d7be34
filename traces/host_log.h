// SPDX-License-Identifier: Apache-2.0
// host.jsonl: everything that the programs of a run did to the model, and what the model did to their memory. One JSON
// object a line; README.md of this folder lists the lines.
//
//   R1  The first line is `header`, the last one `end`. Every line's first key is "event", its kind.
//   R2  Cycles never decrease. Within a cycle lines stand in the order in which things happened.
//   R3  With the data of all reads and the success of all writes the log determines the run. The log keeps a digest of
//       what was written.
//   R4  A line that is not as documented, lines after `end` and a file without `end` are TraceErrors that name the
//       file and the line.
//   R5  Memory does not depend on the length of the file but for its longest line. A line of more than
//       kHostLogLineBytes is refused (R4) before it is read to its end.
//   R6  A log ends with an `end` that says why (cut) when its file, or its wire.pcap, could not be written any more.
//       This `end` is in the last cycle of which every line is there.
#pragma once

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/types/wire.h"
#include "traces/trace_error.h"

namespace rxnic {

inline constexpr const char* kHostLogFormat = "rxnic.host_log";
inline constexpr std::uint32_t kHostLogVersion = 8;
inline constexpr std::size_t kHostLogLineBytes = std::size_t{16} << 20;  // R5: more than any that is written
inline constexpr std::size_t kHostLogEndBytes = 1024;  // the last line is shorter; the disk keeps room for it (R6)

// Digest of bytes: equal bytes, equal digest. Not for security.
std::uint64_t digest_of(Bytes data);
// The digest of a sequence, word by word.
constexpr std::uint64_t mix_digest(std::uint64_t digest, std::uint64_t word) {
  digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
  return digest ^ digest >> 29;
}

struct HostLogHeader {
  std::uint32_t nics = 0;
  std::string first_address;  // of NIC 0: IPv4
  std::uint64_t seed = 0;
  std::vector<std::string> program;    // command line; empty: programs attached by themselves
  std::string config;                  // name or file
  std::vector<std::string> overrides;  // --set
  std::string params;                  // the whole configuration, as TOML
};

struct HostLogEntry {
  enum class Kind : std::uint8_t { kOpen, kRequest, kDoorbell, kClose, kRead, kWrite, kEnd } kind = Kind::kEnd;
  std::uint64_t line = 0;
  std::uint64_t cycle = 0;
  std::uint32_t client = 0;
  // kOpen
  std::uint32_t nic = 0;
  std::uint32_t pid = 0;
  std::string program;
  // kRequest
  std::string type;
  nlohmann::json body;
  // kDoorbell
  std::string board;
  std::uint32_t index = 0;
  std::uint64_t value = 0;
  // kRead, kWrite
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool ok = true;
  bool gone = false;               // kRead when not ok: the program had ended
  std::vector<std::uint8_t> data;  // kRead when ok
  std::uint64_t digest = 0;        // kWrite: of its bytes; kEnd: of all writes
  // kEnd
  std::uint64_t reads = 0, writes = 0, frames = 0, cqes = 0;
  std::string cut;  // kEnd: why the log ends before the run did, without frames and cqes; empty: it does not (R6)
};

using HostLogKinds = unsigned;  // set of kinds
constexpr HostLogKinds host_log_kind(HostLogEntry::Kind k) { return 1u << static_cast<unsigned>(k); }
inline constexpr HostLogKinds kHostLogMemory =
    host_log_kind(HostLogEntry::Kind::kRead) | host_log_kind(HostLogEntry::Kind::kWrite);
inline constexpr HostLogKinds kHostLogEvents =
    host_log_kind(HostLogEntry::Kind::kOpen) | host_log_kind(HostLogEntry::Kind::kRequest) |
    host_log_kind(HostLogEntry::Kind::kDoorbell) | host_log_kind(HostLogEntry::Kind::kClose);

class HostLogReader {
 public:
  // Reads the header. Throws TraceError, as next() does.
  explicit HostLogReader(const std::string& path);
  // `file` becomes the reader's.
  HostLogReader(std::FILE* file, std::string name);
  HostLogReader(const HostLogReader&) = delete;
  HostLogReader& operator=(const HostLogReader&) = delete;

  const HostLogHeader& header() const { return header_; }
  const std::string& name() const { return name_; }
  // The next entry of these kinds or the end; the others are left out unread. Not to be called after the end.
  void next(HostLogEntry& out, HostLogKinds kinds);
  [[noreturn]] void refuse(std::uint64_t line, std::string found, std::string expected) const;

 private:
  struct Closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  bool read_line();
  std::string_view kind_of_line() const;
  nlohmann::json parse_line() const;
  void read_header();

  std::string name_;
  std::unique_ptr<std::FILE, Closer> file_;
  HostLogHeader header_;
  std::vector<char> read_;        // of the file
  std::size_t at_ = 0, end_ = 0;  // of what is left of it, behind the present line
  std::string_view present_;      // the present line, in it
  std::uint64_t line_ = 0;
  std::uint64_t cycle_ = 0;
};

// Whether the log in this file ends early (R6), without reading all of it. False also when it cannot be read.
bool is_cut_host_log(const std::string& path);

class HostLogWriter {
 public:
  // Creates or empties the file. A write error is a TraceError, of the header at once, of lines from close() at the
  // latest.
  HostLogWriter(const std::string& path, const HostLogHeader& header);

  void open(std::uint64_t cycle, std::uint32_t client, std::uint32_t nic, std::uint32_t pid,
            const std::string& program);
  void request(std::uint64_t cycle, std::uint32_t client, std::string_view type, std::string_view body_json);
  void doorbell(std::uint64_t cycle, std::uint32_t client, std::string_view board, std::uint32_t index,
                std::uint64_t value);
  void disconnect(std::uint64_t cycle, std::uint32_t client);
  void read(std::uint64_t cycle, std::uint32_t client, std::uint64_t address, Bytes data, bool ok, bool gone = false);
  void written(std::uint64_t cycle, std::uint32_t client, std::uint64_t address, Bytes data, bool ok);
  // The last line, with the counts and the digest of what came before.
  void end(std::uint64_t cycle, std::uint64_t frames, std::uint64_t cqes);
  void close();
  // To be called behind a write error of this file or of another part of the record, instead of end() and close(). Ends
  // the log in the last cycle of which it holds every line, and says why. False: that cannot be written, either. (R6)
  bool cut(const std::string& why);
  const std::string& path() const { return path_; }

 private:
  struct Closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  // Where a cycle's lines begin, and what came before.
  struct Boundary {
    std::uint64_t bytes = 0;  // of the file
    std::uint64_t cycle = 0;  // of the line before
    std::uint64_t reads = 0, writes = 0, digest = 0;
  };
  void begin_line(std::uint64_t cycle);
  template <class... Values>
  void print(const char* format, const Values&... values);
  void flush_when_full();
  void flush();

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::string buffer_;
  std::uint64_t reads_ = 0, writes_ = 0, digest_ = 0;
  std::uint64_t cycle_ = 0;    // of the last line
  std::uint64_t in_file_ = 0;  // bytes that were written; buffer_ follows them
  Boundary boundary_;          // the last one
  Boundary in_file_boundary_;  // the last one that is in the file
  Boundary earlier_boundary_;  // the same, one flush before
};

// What HostLogWriter::end() writes of all writes, one after the other.
constexpr std::uint64_t digest_of_write(std::uint64_t digest, std::uint64_t cycle, std::uint32_t client,
                                        std::uint64_t address, std::uint64_t bytes, std::uint64_t data_digest,
                                        bool ok) {
  for (const std::uint64_t word : {cycle, std::uint64_t{client}, address, bytes, ok ? data_digest : 0}) {
    digest = mix_digest(digest, word);
  }
  return digest;
}

}  // namespace rxnic
