// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "model/params/private_file.h"
#include "traces/base64.h"
#include "traces/host_log.h"

namespace rxnic {

using nlohmann::json;

namespace {

constexpr std::size_t kWriteBufferBytes = std::size_t{1} << 16;

std::FILE* open_log(const std::string& path) try { return open_to_write(path); } catch (const Unwritable& e) {
  throw TraceError(path, 0, e.why, "a file that can be written");
}

}  // namespace

std::uint64_t digest_of(Bytes data) {
  std::uint64_t digest = data.size();
  std::size_t i = 0;
  std::uint64_t word = 0;
  for (; i + sizeof word <= data.size(); i += sizeof word) {
    std::memcpy(&word, data.data() + i, sizeof word);
    digest = mix_digest(digest, word);
  }
  if (i == data.size()) return digest;
  word = 0;
  std::memcpy(&word, data.data() + i, data.size() - i);
  return mix_digest(digest, word);
}

HostLogWriter::HostLogWriter(const std::string& path, const HostLogHeader& h) : path_(path), file_(open_log(path)) {
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);
  buffer_.reserve(kWriteBufferBytes + kWriteBufferBytes / 4);
  nlohmann::ordered_json j;
  j["event"] = "header";
  j["format"] = kHostLogFormat;
  j["version"] = kHostLogVersion;
  j["nics"] = h.nics;
  j["first_address"] = h.first_address;
  j["seed"] = h.seed;
  j["program"] = h.program;
  j["config"] = h.config;
  j["overrides"] = h.overrides;
  j["params"] = h.params;
  buffer_ += j.dump(-1, ' ', false, json::error_handler_t::replace);
  buffer_ += '\n';
  flush();
  boundary_.bytes = in_file_boundary_.bytes = earlier_boundary_.bytes = in_file_;
}

void HostLogWriter::begin_line(std::uint64_t cycle) {
  if (cycle == cycle_) return;
  boundary_ = {in_file_ + buffer_.size(), cycle_, reads_, writes_, digest_};
  cycle_ = cycle;
}

template <class... Values>
void HostLogWriter::print(const char* format, const Values&... values) {
  fmt::format_to(std::back_inserter(buffer_), fmt::runtime(format), values...);
}

void HostLogWriter::flush_when_full() {
  if (buffer_.size() >= kWriteBufferBytes) flush();
}

void HostLogWriter::flush() {
  // Room for the last line is taken before what is in front of it is written. A file system that cannot keep room is no
  // error.
  const bool full = ::fallocate(fileno(file_.get()), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(in_file_),
                                static_cast<off_t>(buffer_.size() + kHostLogEndBytes)) != 0 &&
                    (errno == ENOSPC || errno == EDQUOT || errno == EFBIG);
  if (full || std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) != buffer_.size()) {
    throw TraceError(path_, 0, std::strerror(errno), "a file that can be written");
  }
  in_file_ += buffer_.size();
  buffer_.clear();
  earlier_boundary_ = in_file_boundary_;
  in_file_boundary_ = boundary_;
}

bool HostLogWriter::cut(const std::string& why) {
  if (!file_) return false;
  const int descriptor = fileno(file_.get());
  const auto written = ::pwrite(descriptor, buffer_.data(), buffer_.size(), static_cast<off_t>(in_file_));
  const bool all = written == static_cast<ssize_t>(buffer_.size());
  bool ended = false;
  for (const Boundary& b : {all ? boundary_ : in_file_boundary_, in_file_boundary_, earlier_boundary_}) {
    const std::string line = fmt::format(
        R"({{"event":"end","cycle":{},"reads":{},"writes":{},"frames":0,"cqes":0,"digest":"{:#x}","cut":{}}})"
        "\n",
        b.cycle, b.reads, b.writes, b.digest, json(why).dump(-1, ' ', true, json::error_handler_t::replace));
    const auto size = static_cast<ssize_t>(line.size());
    ended = ::pwrite(descriptor, line.data(), line.size(), static_cast<off_t>(b.bytes)) == size &&
            ::ftruncate(descriptor, static_cast<off_t>(b.bytes) + size) == 0;
    if (ended) break;
  }
  file_.reset();
  return ended;
}

void HostLogWriter::open(std::uint64_t cycle, std::uint32_t client, std::uint32_t nic, std::uint32_t pid,
                         const std::string& program) {
  begin_line(cycle);
  print(R"({{"event":"open","cycle":{},"client":{},"nic":{},"pid":{},"program":{}}})"
        "\n",
        cycle, client, nic, pid, json(program).dump(-1, ' ', true, json::error_handler_t::replace));
  flush_when_full();
}

void HostLogWriter::request(std::uint64_t cycle, std::uint32_t client, std::string_view type,
                            std::string_view body_json) {
  begin_line(cycle);
  print(R"({{"event":"request","cycle":{},"client":{},"type":"{}","body":{}}})"
        "\n",
        cycle, client, type, body_json);
  flush_when_full();
}

void HostLogWriter::doorbell(std::uint64_t cycle, std::uint32_t client, std::string_view board, std::uint32_t index,
                             std::uint64_t value) {
  begin_line(cycle);
  print(R"({{"event":"doorbell","cycle":{},"client":{},"board":"{}","index":{},"value":{}}})"
        "\n",
        cycle, client, board, index, value);
  flush_when_full();
}

void HostLogWriter::disconnect(std::uint64_t cycle, std::uint32_t client) {
  begin_line(cycle);
  print(R"({{"event":"close","cycle":{},"client":{}}})"
        "\n",
        cycle, client);
  flush_when_full();
}

void HostLogWriter::read(std::uint64_t cycle, std::uint32_t client, std::uint64_t address, Bytes data, bool ok,
                         bool gone) {
  begin_line(cycle);
  ++reads_;
  print(R"({{"event":"read","cycle":{},"client":{},"address":"{:#x}",)", cycle, client, address);
  if (ok) {
    buffer_ += R"("ok":true,"data":")";
    append_base64(buffer_, data);
    buffer_ += "\"}\n";
  } else {
    print(R"("ok":false,"gone":{},"bytes":{}}})"
          "\n",
          gone, data.size());
  }
  flush_when_full();
}

void HostLogWriter::written(std::uint64_t cycle, std::uint32_t client, std::uint64_t address, Bytes data, bool ok) {
  begin_line(cycle);
  ++writes_;
  const std::uint64_t digest = digest_of(data);
  digest_ = digest_of_write(digest_, cycle, client, address, data.size(), digest, ok);
  print(R"({{"event":"write","cycle":{},"client":{},"address":"{:#x}","bytes":{},"ok":{},"digest":"{:#x}"}})"
        "\n",
        cycle, client, address, data.size(), ok, digest);
  flush_when_full();
}

void HostLogWriter::end(std::uint64_t cycle, std::uint64_t frames, std::uint64_t cqes) {
  begin_line(cycle);
  print(R"({{"event":"end","cycle":{},"reads":{},"writes":{},"frames":{},"cqes":{},"digest":"{:#x}"}})"
        "\n",
        cycle, reads_, writes_, frames, cqes, digest_);
}

void HostLogWriter::close() {
  if (!file_) return;
  flush();
  [[maybe_unused]] const int freed = ::ftruncate(fileno(file_.get()), static_cast<off_t>(in_file_));  // the room of R6
  file_.reset();
}

}  // namespace rxnic
