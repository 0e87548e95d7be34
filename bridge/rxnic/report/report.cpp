// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/report/report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bridge/rxnic/report/report_shape.h"
#include "model/params/params_table.h"

namespace rxnic {

namespace {

using Json = nlohmann::ordered_json;

class Writer {
 public:
  explicit Writer(bool of_programs) : of_programs_(of_programs) { json.get_ref<Json::object_t&>().reserve(kKeys); }
  Json json = Json::object();

  template <class T>
  void operator()(const std::string& key, const T& value, const char* = "") {
    json[key] = value;
  }
  void operator()(const std::string& key, std::vector<NamedCount>& counts, const char* = "") {
    Json& all = json[key] = Json::object();
    for (const auto& [name, value] : counts) all[name] = value;
  }
  template <Shaped T>
  void operator()(const std::string& key, T& value, const char* = "") {
    json[key] = object_of(value);
  }
  template <Shaped T>
  void operator()(const std::string& key, std::vector<T>& list, const char* = "") {
    Json& all = json[key] = Json::array();
    for (T& one : list) all.push_back(object_of(one));
  }
  template <class T>
  void optional(const char* key, T& value, bool there, const char* = "") {
    if (there) (*this)(key, value);
  }
  template <class T>
  void optional(const char* key, std::optional<T>& value, const char* = "") {
    if (value) (*this)(key, *value);
  }
  template <class T>
  void newer(const char* key, std::optional<T>& value, const char*) {
    optional(key, value);
  }
  void flag(const char* key, bool value, const char*) {
    if (value) json[key] = true;
  }
  void positive(const char* key, std::uint64_t value, const char*) { json[key] = value; }
  template <class T>
  void derived(const char* key, const T& value, const char* = "") {
    json[key] = value;
  }
  template <Shaped T>
  void derived(const char* key, T& value, const char*) {
    json[key] = object_of(value);
  }
  void derived(const char* key, const std::optional<double>& value, const char*) {
    json[key] = value ? Json(*value) : Json(nullptr);
  }
  void whole(const char* key, double value) {
    constexpr double kLargestWhole = 9007199254740992.0;  // every smaller count is a double
    const bool is_whole = value >= 0 && value < kLargestWhole && value == std::floor(value);
    json[key] = is_whole ? Json(static_cast<std::uint64_t>(value)) : Json(value);
  }
  void choice(const char* key, const std::string& value, std::initializer_list<const char*>, const char* = "") {
    json[key] = value;
  }
  template <class F>
  void object(const char* key, F f, const char* = "") {
    Writer inside(of_programs_);
    f(inside);
    json[key] = std::move(inside.json);
  }
  template <class T>
  void map(const char* key, std::vector<T>& list, std::string T::*name, const char*, std::size_t = 0) {
    Json& all = json[key] = Json::object();
    for (T& one : list) all[one.*name] = object_of(one);
  }
  template <class T, class F>
  void each(const char* key, std::vector<T>& list, F f, const char*) {
    Json& all = json[key] = Json::array();
    for (T& one : list) {
      Writer inside(of_programs_);
      f(inside, one);
      all.push_back(std::move(inside.json));
    }
  }
  template <class N>
  void nonzero(N name, std::span<const std::uint64_t> counts) {
    for (std::size_t n = 0; n < counts.size(); ++n) {
      if (counts[n] != 0) json[std::string(name(n))] = counts[n];
    }
  }
  template <class F>
  void of_captures(F f) {
    if (!of_programs_) f();
  }
  template <class F>
  void of_programs(F f) {
    if (of_programs_) f();
  }
  void schema(const char* key, const char* name) { json[key] = name; }
  void parameters(const char* key, const Params& params, const char*) {
    json[key] = Json::parse(params_values_json(params));
  }
  void hash(const char* key, std::uint64_t value, const char*) { json[key] = fmt::format("{:016x}", value); }

 private:
  static constexpr std::size_t kKeys = 24;  // most objects have fewer, and do not move while they grow
  template <class T>
  Json object_of(T& value) const {
    Writer inside(of_programs_);
    shape(inside, value);
    return std::move(inside.json);
  }
  bool of_programs_;
};

}  // namespace

std::string report_json(const RunResult& r) {
  Writer writer(r.of_programs());
  RunResult copy = r;  // the parser's visit of the same shape changes what it visits
  shape(writer, copy);
  return writer.json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rxnic
