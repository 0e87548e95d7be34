// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/record/message_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bridge/channel/message_table.h"

namespace rxnic {

using channel::Board;
using channel::Message;
using channel::Request;
using nlohmann::json;

namespace {

constexpr const char* kUnknown = "request_";
constexpr const char* kBoards[] = {"send", "receive", "consumer", "arm", "tags"};
static_assert(std::size(kBoards) == channel::kBoards);

class FieldWriter {
 public:
  std::string text;
  template <std::unsigned_integral T>
  void operator()(const char* name, T value) {
    fmt::format_to(std::back_inserter(text), "{}\"{}\":{}", separator(), name, value);
  }
  template <std::size_t N>
  void operator()(const char* name, std::array<std::uint8_t, N>& bytes) {
    fmt::format_to(std::back_inserter(text), "{}\"{}\":\"", separator(), name);
    for (const std::uint8_t byte : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
    text += '"';
  }
  template <std::size_t N>
  void operator()(const char* name, std::array<std::uint32_t, N>& numbers) {
    fmt::format_to(std::back_inserter(text), "{}\"{}\":[{}]", separator(), name, fmt::join(numbers, ","));
  }
  template <class T>
  requires std::is_class_v<T>
  void operator()(const char* name, T& nested) {
    fmt::format_to(std::back_inserter(text), "{}\"{}\":", separator(), name);
    object(nested);
  }
  template <class T>
  void object(T& of) {
    text += '{';
    first_ = true;
    for_each_field(*this, of);
    text += '}';
    first_ = false;
  }

 private:
  const char* separator() {
    const bool first = first_;
    first_ = false;
    return first ? "" : ",";
  }
  bool first_ = true;
};

[[noreturn]] void refuse(const std::string& name, const std::string& found, const std::string& expected) {
  throw std::invalid_argument(fmt::format("{} {}; expected {}", name, found, expected));
}

class FieldReader {
 public:
  explicit FieldReader(const json& from) : from_(from) {}
  template <std::unsigned_integral T>
  void operator()(const char* name, T& value) {
    const json& found = take(name);
    constexpr std::uint64_t kLargest = std::numeric_limits<T>::max();
    if (!found.is_number_unsigned() || found.get<std::uint64_t>() > kLargest) {
      refuse(name, "with another value", fmt::format("an integer from 0 to {}", kLargest));
    }
    value = static_cast<T>(found.get<std::uint64_t>());
  }
  template <std::size_t N>
  void operator()(const char* name, std::array<std::uint8_t, N>& bytes) {
    const json& found = take(name);
    const std::string digits = found.is_string() ? found.get<std::string>() : std::string();
    bool good = digits.size() == 2 * N;
    for (std::size_t i = 0; good && i < N; ++i) {
      const char* const at = digits.data() + 2 * i;
      good = std::from_chars(at, at + 2, bytes[i], 16).ptr == at + 2;
    }
    if (!good) refuse(name, "with another value", fmt::format("{} hexadecimal digits", 2 * N));
  }
  template <std::size_t N>
  void operator()(const char* name, std::array<std::uint32_t, N>& numbers) {
    const json& found = take(name);
    const auto is_number = [](const json& n) {
      return n.is_number_unsigned() && n.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max();
    };
    if (!found.is_array() || found.size() != N || !std::all_of(found.begin(), found.end(), is_number)) {
      refuse(name, "with another value", fmt::format("{} numbers", N));
    }
    for (std::size_t n = 0; n < N; ++n) numbers[n] = found[n].get<std::uint32_t>();
  }
  template <class T>
  requires std::is_class_v<T>
  void operator()(const char* name, T& nested) {
    const json& found = take(name);
    if (!found.is_object()) refuse(name, "with another value", "an object");
    FieldReader(found).object(nested);
  }
  template <class T>
  void object(T& of) {
    for_each_field(*this, of);
    if (taken_ != from_.size()) refuse("a field", "that is not known", fmt::format("{} fields", taken_));
  }

 private:
  const json& take(const char* name) {
    const auto it = from_.find(name);
    if (it == from_.end()) refuse(name, "that is missing", "it");
    ++taken_;
    return *it;
  }
  const json& from_;
  std::size_t taken_ = 0;
};

}  // namespace

std::string request_name(Request type) {
  const auto number = static_cast<unsigned>(type);
  if (number - 1 < channel::kRequestNames.size()) return std::string(channel::kRequestNames[number - 1]);
  return fmt::format("{}{}", kUnknown, number);
}

std::string body_text(const Message& message) {
  Message copy = message;
  FieldWriter writer;
  channel::with_body(copy, [&writer](auto& body) { writer.object(body); });
  return writer.text.empty() ? "{}" : writer.text;
}

Message parse_message(const std::string& type, const json& body) {
  Message m;
  const auto& names = channel::kRequestNames;
  const auto found = std::find(names.begin(), names.end(), type);
  if (found != names.end()) {
    m.type = static_cast<Request>(found - names.begin() + 1);
  } else {
    const std::string digits = type.starts_with(kUnknown) ? type.substr(std::string_view(kUnknown).size()) : "";
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) {
      refuse("type", "'" + type.substr(0, 40) + "'", "the name of a request");
    }
    m.type = static_cast<Request>(number);
  }
  bool has_body = false;
  channel::with_body(m, [&](auto& part) {
    has_body = true;
    part = {};
    FieldReader(body).object(part);
  });
  if (!has_body && !body.empty()) refuse("body", "with fields", "none for this type");
  return m;
}

const char* board_name(Board board) { return kBoards[static_cast<std::size_t>(board)]; }

Board parse_board(const std::string& name) {
  for (std::size_t i = 0; i < std::size(kBoards); ++i) {
    if (name == kBoards[i]) return static_cast<Board>(i);
  }
  refuse("board", "'" + name.substr(0, 40) + "'", "send, receive, consumer or arm");
}

}  // namespace rxnic
