// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <utility>

#include "bridge/rxnic/report/report_shape.h"

namespace rxnic {

namespace {

using Json = nlohmann::ordered_json;
using Keys = std::vector<std::string>;

// The names of shapes that stand in several places.
template <class T>
constexpr const char* kDefinition = nullptr;
template <>
constexpr const char* kDefinition<LatencyResult> = "latency";
template <>
constexpr const char* kDefinition<DepthResult> = "depths";
template <>
constexpr const char* kDefinition<StageTimes> = "times";
template <>
constexpr const char* kDefinition<StageResult> = "stage";
template <>
constexpr const char* kDefinition<BlockResult> = "block";

class Schema {
 public:
  explicit Schema(Json& definitions) : definitions_(definitions) {}

  template <class T>
  void operator()(const std::string& key, T& value, const char* about = "") {
    require(key, type_of(value), about);
  }
  template <class T>
  void optional(const char* key, T& value, bool, const char* about = "") {
    allow(key, type_of(value), about);
  }
  template <class T>
  void optional(const char* key, std::optional<T>&, const char* about = "") {
    T value;
    allow(key, type_of(value), about);
  }
  template <class T>
  void newer(const char* key, std::optional<T>&, const char* about) {
    T value;
    require(key, type_of(value), about);
  }
  void flag(const char* key, bool, const char* about) { allow(key, {{"const", true}}, about); }
  void positive(const char* key, std::uint64_t, const char* about) {
    require(key, {{"type", "integer"}, {"minimum", 1}}, about);
  }
  template <class T>
  void derived(const char* key, T value, const char* about = "") {
    require(key, type_of(value), about);
  }
  void derived(const char* key, const std::optional<double>&, const char* about) {
    require(key, {{"type", Json::array({"number", "null"})}, {"minimum", 0}}, about);
  }
  void whole(const char* key, double value) { require(key, type_of(value), ""); }
  void choice(const char* key, const std::string&, std::initializer_list<const char*> names, const char* about = "") {
    require(key, {{"enum", Json(std::vector<std::string>(names.begin(), names.end()))}}, about);
  }
  template <class F>
  void object(const char* key, F f, const char* about = "") {
    Schema inside(definitions_);
    f(inside);
    if (!inside.captures_.empty()) parts_of_captures_[key] = inside.captures_;
    require(key, inside.node(), about);
  }
  template <class T>
  void map(const char* key, std::vector<T>&, std::string T::*, const char* about, std::size_t least = 0) {
    T one;
    Json node = {{"type", "object"}, {"additionalProperties", type_of(one)}};
    if (least > 0) node["minProperties"] = least;
    require(key, std::move(node), about);
  }
  template <class T, class F>
  void each(const char* key, std::vector<T>&, F f, const char* about) {
    Schema inside(definitions_);
    T one;
    f(inside, one);
    require(key, {{"type", "array"}, {"minItems", 1}, {"items", inside.node()}}, about);
  }
  template <class N>
  void nonzero(N, std::span<const std::uint64_t>) {
    others_ = count();
  }
  template <class F>
  void of_captures(F f) {
    keys_ = &captures_;
    f();
    keys_ = &always_;
  }
  template <class F>
  void of_programs(F f) {
    keys_ = &programs_;
    f();
    keys_ = &always_;
  }
  void schema(const char* key, const char* name) { require(key, {{"const", name}}, ""); }
  void parameters(const char* key, const Params&, const char* about) {
    require(key, {{"type", "object"}, {"additionalProperties", {{"type", "object"}}}}, about);
  }
  void hash(const char* key, std::uint64_t, const char* about) {
    require(key, {{"type", "string"}, {"pattern", "^[0-9a-f]{16}$"}}, about);
  }

  Json node() const {
    Json node = {{"type", "object"}};
    if (!always_.empty()) node["required"] = always_;
    node["properties"] = properties_;
    node["additionalProperties"] = others_;
    return node;
  }
  // What holds of a capture's report, and of one of programs.
  Json of_kind(bool captures) const {
    Json node = {{"required", captures ? captures_ : programs_}, {"properties", Json::object()}};
    for (const std::string& key : captures ? programs_ : captures_) node["properties"][key] = false;
    for (const auto& [key, keys] : parts_of_captures_.items()) {
      Json& part = node["properties"][key];
      if (captures) {
        part["required"] = keys;
      } else {
        for (const Json& one : keys) part["properties"][one.get<std::string>()] = false;
      }
    }
    return node;
  }

 private:
  void require(const std::string& key, Json node, const char* about) {
    allow(key, std::move(node), about);
    keys_->push_back(key);
  }
  void allow(const std::string& key, Json node, const char* about) {
    if (about[0] != '\0') node["description"] = about;
    properties_[key] = std::move(node);
  }

  static Json count() { return {{"type", "integer"}, {"minimum", 0}}; }
  static Json type_of(std::uint64_t&) { return count(); }
  static Json type_of(std::uint32_t&) { return count(); }
  static Json type_of(double&) { return {{"type", "number"}, {"minimum", 0}}; }
  static Json type_of(bool&) { return {{"type", "boolean"}}; }
  static Json type_of(std::string&) { return {{"type", "string"}}; }
  static Json type_of(std::vector<NamedCount>&) { return {{"type", "object"}, {"additionalProperties", count()}}; }
  template <class T>
  Json type_of(std::vector<T>&) {
    T one{};
    return {{"type", "array"}, {"items", type_of(one)}};
  }
  template <Shaped T>
  Json type_of(T& value) {
    Schema inside(definitions_);
    shape(inside, value);
    if (kDefinition<T> == nullptr) return inside.node();
    definitions_[kDefinition<T>] = inside.node();
    return {{"$ref", std::string("#/$defs/") + kDefinition<T>}};
  }

  Json& definitions_;
  Json properties_ = Json::object(), others_ = false, parts_of_captures_ = Json::object();
  Keys always_, captures_, programs_;
  Keys* keys_ = &always_;
};

}  // namespace

std::string report_schema() {
  Json definitions = Json::object();
  Schema schema(definitions);
  RunResult r;
  shape(schema, r);
  Json all = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "Report of an rxnic run"},
      {"description",
       "Of a capture (trace, receiver...) or of programs (command, programs, nics...). Times are model time: no "
       "wall-clock time and no address is in a report. Equal input, configuration and seed give an equal file."}};
  all.update(schema.node());
  all["if"] = {{"required", Json::array({"trace"})}};
  all["then"] = schema.of_kind(true);
  all["else"] = schema.of_kind(false);
  all["$defs"] = std::move(definitions);
  return all.dump(1) + "\n";
}

}  // namespace rxnic
