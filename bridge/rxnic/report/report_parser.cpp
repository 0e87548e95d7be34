// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bridge/rxnic/report/report_shape.h"
#include "model/params/config.h"

namespace rxnic {

namespace {

using Json = nlohmann::ordered_json;

// A value of the report and where it stands, as a JSON pointer. Whatever is read is refused when it is of another kind.
class Place {
 public:
  Place(const Json& json, const std::string& file, std::string where = "")
      : json_(json), file_(file), where_(std::move(where)) {}

  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw std::invalid_argument(
        fmt::format("{}: {}: found {}; expected {}", file_, where_.empty() ? "/" : where_, found, expected));
  }
  bool has(const std::string& key) const { return json_.is_object() && json_.contains(key); }
  Place at(const std::string& key) const {
    if (!json_.is_object()) refuse(printed(), "an object");
    const auto it = json_.find(key);
    Place place(it == json_.end() ? json_ : *it, file_, where_ + "/" + key);
    if (it == json_.end()) place.refuse("nothing", "a value");
    return place;
  }
  std::uint64_t count(std::uint64_t greatest = std::numeric_limits<std::uint64_t>::max()) const {
    if (!json_.is_number_unsigned() || json_.get<std::uint64_t>() > greatest) {
      refuse(printed(), fmt::format("a whole number from 0 to {}", greatest));
    }
    return json_.get<std::uint64_t>();
  }
  double number() const {
    if (!json_.is_number() || json_.get<double>() < 0) refuse(printed(), "a number from 0");
    return json_.get<double>();
  }
  bool truth() const {
    if (!json_.is_boolean()) refuse(printed(), "true or false");
    return json_.get<bool>();
  }
  std::string text() const {
    if (!json_.is_string()) refuse(printed(), "a string");
    return json_.get<std::string>();
  }
  // A value of a parameter, as --set takes it.
  std::string value() const {
    if (json_.is_structured()) refuse(printed(), "a value");
    return json_.is_string() ? json_.get<std::string>() : json_.dump();
  }
  std::vector<std::pair<std::string, Place>> members() const {
    if (!json_.is_object()) refuse(printed(), "an object");
    std::vector<std::pair<std::string, Place>> out;
    for (const auto& [key, value] : json_.items()) out.emplace_back(key, Place(value, file_, where_ + "/" + key));
    return out;
  }
  std::vector<Place> elements() const {
    if (!json_.is_array()) refuse(printed(), "an array");
    std::vector<Place> out;
    for (std::size_t i = 0; i < json_.size(); ++i) out.emplace_back(json_[i], file_, fmt::format("{}/{}", where_, i));
    return out;
  }

 private:
  std::string printed() const {
    if (json_.is_object()) return "an object";
    if (json_.is_array()) return "an array";
    return json_.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60);
  }

  const Json& json_;
  const std::string& file_;
  std::string where_;
};

Params params_of(const Place& values) {
  std::vector<std::string> overrides;
  for (const auto& [section, keys] : values.members()) {
    for (const auto& [key, value] : keys.members()) {
      overrides.push_back(fmt::format("{}.{}={}", section, key, value.value()));
    }
  }
  try {
    return load_config(kDefaultConfig, overrides);
  } catch (const ConfigError& e) {
    values.refuse(fmt::format("{}: {}", e.key(), e.found()), e.expected());
  }
}

// Reads an object of the report. A key that is not known is passed over.
class Reader {
 public:
  Reader(const Place& from, bool of_programs) : from_(from), of_programs_(of_programs) {}

  template <class T>
  void operator()(const std::string& key, T& value, const char* = "") {
    read(from_.at(key), value);
  }
  template <class T>
  void optional(const char* key, T& value, bool, const char* = "") {
    if (from_.has(key)) read(from_.at(key), value);
  }
  template <class T>
  void optional(const char* key, std::optional<T>& value, const char* = "") {
    if (from_.has(key)) read(from_.at(key), value.emplace());
  }
  template <class T>
  void newer(const char* key, std::optional<T>& value, const char*) {
    optional(key, value);
  }
  void flag(const char* key, bool& value, const char*) { optional(key, value, true); }
  void positive(const char* key, std::uint64_t& value, const char*) { (*this)(key, value); }
  template <class T>
  void derived(const char*, const T&, const char* = "") {}
  void whole(const char* key, double& value) { (*this)(key, value); }
  void choice(const char* key, std::string& value, std::initializer_list<const char*>, const char* = "") {
    (*this)(key, value);
  }
  template <class F>
  void object(const char* key, F f, const char* = "") {
    const Place place = from_.at(key);
    Reader inside(place, of_programs_);
    f(inside);
  }
  template <class T>
  void map(const char* key, std::vector<T>& list, std::string T::*name, const char*, std::size_t = 0) {
    for (const auto& [key_of_one, place] : from_.at(key).members()) {
      read(place, list.emplace_back());
      list.back().*name = key_of_one;
    }
  }
  template <class T, class F>
  void each(const char* key, std::vector<T>& list, F f, const char*) {
    for (const Place& place : from_.at(key).elements()) {
      Reader inside(place, of_programs_);
      f(inside, list.emplace_back());
    }
  }
  template <class N>
  void nonzero(N name, std::span<std::uint64_t> counts) {
    for (std::size_t n = 0; n < counts.size(); ++n) optional(std::string(name(n)).c_str(), counts[n], true);
  }
  template <class F>
  void of_captures(F f) {
    if (!of_programs_) f();
  }
  template <class F>
  void of_programs(F f) {
    if (of_programs_) f();
  }
  void schema(const char* key, const char* name) {
    const Place place = from_.at(key);
    if (place.text() != name) place.refuse(place.text(), name);
  }
  void parameters(const char* key, Params& params, const char*) { params = params_of(from_.at(key)); }
  void hash(const char* key, std::uint64_t& value, const char*) {
    const Place place = from_.at(key);
    const std::string digits = place.text();
    const char* const end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, value, 16);
    if (error != std::errc{} || at != end) place.refuse("\"" + digits.substr(0, 60) + "\"", "16 hexadecimal digits");
  }

 private:
  template <std::unsigned_integral T>
  void read(const Place& place, T& value) const {
    value = static_cast<T>(place.count(std::numeric_limits<T>::max()));
  }
  void read(const Place& place, bool& value) const { value = place.truth(); }
  void read(const Place& place, double& value) const { value = place.number(); }
  void read(const Place& place, std::string& value) const { value = place.text(); }
  void read(const Place& place, std::vector<NamedCount>& counts) const {
    for (const auto& [name, value] : place.members()) counts.emplace_back(name, value.count());
  }
  template <class T>
  void read(const Place& place, std::vector<T>& list) const {
    for (const Place& one : place.elements()) read(one, list.emplace_back());
  }
  template <Shaped T>
  void read(const Place& place, T& value) const {
    Reader inside(place, of_programs_);
    shape(inside, value);
  }

  const Place& from_;
  bool of_programs_;
};

}  // namespace

RunResult parse_report(const std::string& text, const std::string& file) {
  Json document;
  try {
    document = Json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    throw std::invalid_argument(file + ": is not a report: " + e.what());
  }
  const Place place(document, file);
  Reader reader(place, place.has("nics"));
  RunResult r;
  shape(reader, r);
  return r;
}

}  // namespace rxnic
