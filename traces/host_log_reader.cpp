// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "model/params/text_file.h"
#include "traces/base64.h"
#include "traces/host_log.h"

namespace rxnic {

using nlohmann::json;
using Kind = HostLogEntry::Kind;

namespace {

constexpr std::size_t kReadBufferBytes = std::size_t{1} << 16;
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
        e.gone = boolean(j, "gone");
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
  std::size_t looked = at_;  // no line feed before
  for (;;) {
    const auto* const feed = static_cast<const char*>(std::memchr(read_.data() + looked, '\n', end_ - looked));
    const std::size_t line_end = feed != nullptr ? static_cast<std::size_t>(feed - read_.data()) : end_;
    if (line_end - at_ > kHostLogLineBytes) {  // (R5)
      refuse(line_, "a line of more than " + std::to_string(kHostLogLineBytes) + " bytes", "a shorter one");
    }
    if (feed != nullptr) {
      present_ = {read_.data() + at_, line_end - at_};
      at_ = line_end + 1;
      return true;
    }
    std::memmove(read_.data(), read_.data() + at_, end_ - at_);
    end_ -= at_;
    at_ = 0;
    looked = end_;
    if (end_ == read_.size()) read_.resize(2 * read_.size());
    errno = 0;
    const std::size_t got = std::fread(read_.data() + end_, 1, read_.size() - end_, file_.get());
    if (std::ferror(file_.get()) != 0)
      refuse(line_, std::strerror(errno == 0 ? EIO : errno), "a file that can be read");
    if (got == 0) {  // what the last line feed leaves is a line, too
      present_ = {read_.data(), end_};
      at_ = end_;
      return end_ != 0;
    }
    end_ += got;
  }
}

// (R1)
std::string_view HostLogReader::kind_of_line() const {
  if (present_.starts_with(kStart)) {
    const std::size_t end = present_.find('"', kStart.size());
    if (end != std::string_view::npos) return present_.substr(kStart.size(), end - kStart.size());
  }
  refuse(line_, present_.empty() ? "an empty line" : "no event", "a JSON object whose first key is \"event\"");
}

json HostLogReader::parse_line() const {
  json parsed = json::parse(present_.begin(), present_.end(), nullptr, false);
  if (!parsed.is_object()) refuse(line_, "no JSON object, or one that is cut off", "one JSON object a line");
  return parsed;
}

void HostLogReader::read_header() {
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // read_ is the buffer
  read_.resize(kReadBufferBytes);
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
    header_.first_address = text(j, "first_address");
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
  const std::streamoff from = std::max<std::streamoff>(0, size - static_cast<std::streamoff>(kHostLogEndBytes));
  std::string tail(static_cast<std::size_t>(size - from), '\0');
  in.seekg(from);
  in.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  if (!in || tail.back() != '\n') return false;
  tail.pop_back();
  const json last = json::parse(tail.substr(tail.rfind('\n') + 1), nullptr, false);
  return last.is_object() && last.value("event", json()) == "end" && last.contains("cut");
}

}  // namespace rxnic
