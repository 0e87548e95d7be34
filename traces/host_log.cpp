// SPDX-License-Identifier: Apache-2.0
#include "traces/host_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "model/params/text_file.h"
#include "traces/base64.h"

namespace rxnic {

using nlohmann::json;
using Kind = HostLogEntry::Kind;

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;
constexpr std::size_t kEndBytes = 1024;  // the last line is shorter; room for it is kept on the disk (R6)
constexpr std::string_view kStart = R"({"event":")";
constexpr std::uint32_t kMaxClient = 0x3fff;

struct KindName {
  std::string_view name;
  Kind kind;
};
constexpr KindName kKinds[] = {{"open", Kind::kOpen},   {"request", Kind::kRequest}, {"doorbell", Kind::kDoorbell},
                               {"close", Kind::kClose}, {"read", Kind::kRead},       {"write", Kind::kWrite},
                               {"end", Kind::kEnd}};

// What is wrong with a value, until the line is added.
struct Refusal {
  std::string found;
  std::string expected;
};

const json& member(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) throw Refusal{"no key \"" + std::string(key) + "\"", "one"};
  return *it;
}

std::uint64_t number(const json& object, const char* key, std::uint64_t largest) {
  const json& value = member(object, key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > largest) {
    throw Refusal{"\"" + std::string(key) + "\": " + value.dump(-1, ' ', true, json::error_handler_t::replace),
                  "an integer from 0 to " + std::to_string(largest)};
  }
  return value.get<std::uint64_t>();
}

std::string text(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_string()) throw Refusal{"\"" + std::string(key) + "\" of another type", "a string"};
  return value.get<std::string>();
}

bool boolean(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_boolean()) throw Refusal{"\"" + std::string(key) + "\" of another type", "true or false"};
  return value.get<bool>();
}

// "0x" and hexadecimal digits.
std::uint64_t hexadecimal(const json& object, const char* key) {
  const std::string digits = text(object, key);
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  if (digits.size() > 2 && digits.starts_with("0x")) {
    const auto [at, error] = std::from_chars(digits.data() + 2, end, value, 16);
    if (error == std::errc{} && at == end) return value;
  }
  throw Refusal{"\"" + std::string(key) + "\": \"" + digits + "\"", "0x and up to 16 hexadecimal digits"};
}

std::vector<std::string> strings(const json& object, const char* key) {
  const json& list = member(object, key);
  std::vector<std::string> out;
  const bool good =
      list.is_array() && std::all_of(list.begin(), list.end(), [](const json& j) { return j.is_string(); });
  if (!good) throw Refusal{"\"" + std::string(key) + "\" of another type", "a list of strings"};
  for (const json& value : list) out.push_back(value.get<std::string>());
  return out;
}

void parse_entry(const json& j, HostLogEntry& e) {
  constexpr std::uint64_t k32 = 0xffffffff;
  constexpr std::uint64_t k64 = ~std::uint64_t{0};
  if (e.kind == Kind::kEnd) {
    e.reads = number(j, "reads", k64);
    e.writes = number(j, "writes", k64);
    e.frames = number(j, "frames", k64);
    e.cqes = number(j, "cqes", k64);
    e.digest = hexadecimal(j, "digest");
    if (j.contains("cut")) e.cut = text(j, "cut");
    return;
  }
  e.client = static_cast<std::uint32_t>(number(j, "client", kMaxClient));
  if (e.client == 0) throw Refusal{"\"client\": 0", "a number from 1 on"};
  switch (e.kind) {
    case Kind::kOpen:
      e.nic = static_cast<std::uint32_t>(number(j, "nic", k32));
      e.pid = static_cast<std::uint32_t>(number(j, "pid", k32));
      e.program = text(j, "program");
      break;
    case Kind::kRequest:
      e.type = text(j, "type");
      e.body = member(j, "body");
      if (!e.body.is_object()) throw Refusal{"\"body\" of another type", "an object"};
      break;
    case Kind::kDoorbell:
      e.board = text(j, "board");
      e.index = static_cast<std::uint32_t>(number(j, "index", k32));
      e.value = number(j, "value", k64);
      break;
    case Kind::kClose:
      break;
    case Kind::kRead:
      e.address = hexadecimal(j, "address");
      e.ok = boolean(j, "ok");
      if (!e.ok) {
        e.bytes = number(j, "bytes", k64);
        e.data.clear();
        break;
      }
      if (!parse_base64(text(j, "data"), e.data)) throw Refusal{"\"data\" in another form", "base64"};
      e.bytes = e.data.size();
      break;
    case Kind::kWrite:
      e.address = hexadecimal(j, "address");
      e.bytes = number(j, "bytes", k64);
      e.ok = boolean(j, "ok");
      e.digest = hexadecimal(j, "digest");
      break;
    case Kind::kEnd:
      break;
  }
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

HostLogReader::HostLogReader(const std::string& path) : name_(path), file_(open_to_read(path)) {
  if (!file_) throw TraceError(path, 0, std::strerror(errno), "the log of a recorded run");
  struct stat status {};
  if (fstat(fileno(file_.get()), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw TraceError(path, 0, "something other than a regular file", "the log of a recorded run");
  }
  read_header();
}

HostLogReader::HostLogReader(std::FILE* file, std::string name) : name_(std::move(name)), file_(file) {
  if (!file_) throw TraceError(name_, 0, std::strerror(errno), "the log of a recorded run");
  read_header();
}

void HostLogReader::refuse(std::uint64_t line, std::string found, std::string expected) const {
  throw TraceError::at_line(name_, line, std::move(found), std::move(expected));
}

bool HostLogReader::read_line() {
  ++line_;
  errno = 0;
  const ssize_t got = ::getline(&present_.text, &present_.capacity, file_.get());
  if (got < 0 && (std::ferror(file_.get()) || errno != 0)) {
    refuse(line_, std::strerror(errno == 0 ? EIO : errno), "a file that can be read");
  }
  if (got <= 0) return false;
  length_ = static_cast<std::size_t>(got);
  if (present_.text[length_ - 1] == '\n') --length_;
  return true;
}

// (R1)
std::string_view HostLogReader::kind_of_line() const {
  const std::string_view line(present_.text, length_);
  if (line.starts_with(kStart)) {
    const std::size_t end = line.find('"', kStart.size());
    if (end != std::string_view::npos) return line.substr(kStart.size(), end - kStart.size());
  }
  refuse(line_, length_ == 0 ? "an empty line" : "no event", "a JSON object whose first key is \"event\"");
}

json HostLogReader::parse_line() const {
  json parsed = json::parse(present_.text, present_.text + length_, nullptr, false);
  if (!parsed.is_object()) refuse(line_, "no JSON object, or one that is cut off", "one JSON object a line");
  return parsed;
}

void HostLogReader::read_header() {
  std::setvbuf(file_.get(), nullptr, _IOFBF, kBufferBytes);
  if (!read_line()) refuse(line_, "an empty file", "a header");
  if (kind_of_line() != "header") refuse(line_, "an event", "a header");
  const json j = parse_line();
  try {
    if (const std::string format = text(j, "format"); format != kHostLogFormat) {
      throw Refusal{"format \"" + format + "\"", kHostLogFormat};
    }
    if (const std::uint64_t version = number(j, "version", ~0u); version != kHostLogVersion) {
      throw Refusal{"version " + std::to_string(version), "version " + std::to_string(kHostLogVersion)};
    }
    header_.nics = static_cast<std::uint32_t>(number(j, "nics", ~0u));
    header_.seed = number(j, "seed", ~std::uint64_t{0});
    header_.program = strings(j, "program");
    header_.config = text(j, "config");
    header_.overrides = strings(j, "overrides");
    header_.params = text(j, "params");
  } catch (const Refusal& r) {
    refuse(line_, r.found, r.expected);
  }
}

void HostLogReader::next(HostLogEntry& out, HostLogKinds kinds) {
  for (;;) {
    if (!read_line()) refuse(line_, "the end of the file", "an event: a complete log ends with \"end\"");
    const std::string_view name = kind_of_line();
    const auto* const known =
        std::find_if(std::begin(kKinds), std::end(kKinds), [name](const KindName& k) { return k.name == name; });
    if (known == std::end(kKinds)) {
      refuse(line_, "event \"" + std::string(name.substr(0, 40)) + "\"",
             "open, request, doorbell, close, read, write or end");
    }
    if (known->kind != Kind::kEnd && (host_log_kind(known->kind) & kinds) == 0) continue;
    const json j = parse_line();
    out.kind = known->kind;
    out.line = line_;
    try {
      out.cycle = number(j, "cycle", ~std::uint64_t{0});
      if (out.cycle < cycle_) {
        throw Refusal{"cycle " + std::to_string(out.cycle), "one from " + std::to_string(cycle_) + " on"};
      }
      parse_entry(j, out);
    } catch (const Refusal& r) {
      refuse(line_, r.found, r.expected);
    }
    cycle_ = out.cycle;
    if (out.kind == Kind::kEnd && read_line()) refuse(line_, "a line after the end", "none");
    return;
  }
}

bool is_cut_host_log(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(in.tellg());
  if (!in || size <= 0) return false;
  const std::streamoff from = std::max<std::streamoff>(0, size - static_cast<std::streamoff>(kEndBytes));
  std::string tail(static_cast<std::size_t>(size - from), '\0');
  in.seekg(from);
  in.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  if (!in || tail.back() != '\n') return false;
  tail.pop_back();
  const json last = json::parse(tail.substr(tail.rfind('\n') + 1), nullptr, false);
  return last.is_object() && last.value("event", json()) == "end" && last.contains("cut");
}

HostLogWriter::HostLogWriter(const std::string& path, const HostLogHeader& h)
    : path_(path), file_(std::fopen(path.c_str(), "wb")) {
  if (!file_) throw TraceError(path, 0, std::strerror(errno), "a file that can be written");
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);
  buffer_.reserve(kBufferBytes + kBufferBytes / 4);
  nlohmann::ordered_json j;
  j["event"] = "header";
  j["format"] = kHostLogFormat;
  j["version"] = kHostLogVersion;
  j["nics"] = h.nics;
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
  if (buffer_.size() >= kBufferBytes) flush();
}

void HostLogWriter::flush() {
  // Room for the last line is taken before what is in front of it is written. A file system that cannot keep room is no
  // error.
  const bool full = ::fallocate(fileno(file_.get()), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(in_file_),
                                static_cast<off_t>(buffer_.size() + kEndBytes)) != 0 &&
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

void HostLogWriter::read(std::uint64_t cycle, std::uint32_t client, std::uint64_t address, Bytes data, bool ok) {
  begin_line(cycle);
  ++reads_;
  print(R"({{"event":"read","cycle":{},"client":{},"address":"{:#x}",)", cycle, client, address);
  if (ok) {
    buffer_ += R"("ok":true,"data":")";
    append_base64(buffer_, data);
    buffer_ += "\"}\n";
  } else {
    print(R"("ok":false,"bytes":{}}})"
          "\n",
          data.size());
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
