// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/page/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace rxnic {

namespace {

constexpr int kTableDigits = 6, kTimeDigits = 15;  // (R2)
constexpr double kMostExact = 9007199254740992.0;  // 2^53

bool says_something(const Series& s) {
  return std::ranges::any_of(s.values, [](double v) { return !std::isnan(v) && v != 0; });
}

Json axis_json(const Axis& axis) { return {{"name", axis.name}, {"unit", axis.unit}}; }

Json numbers_json(const std::vector<double>& values, int digits = kChartDigits) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number_json(value, digits));
  return list;
}

}  // namespace

Json number_json(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::abs(value) < kMostExact) return static_cast<std::int64_t>(value);
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

bool Chart::empty() const { return std::ranges::none_of(series, says_something); }

Json chart_json(const Chart& c) {
  Json j = {{"id", c.id},     {"title", c.title},     {"about", c.about},    {"section", c.section},
            {"kind", c.kind}, {"stacked", c.stacked}, {"x", axis_json(c.x)}, {"y", axis_json(c.y)}};
  if (c.nic >= 0) j["nic"] = c.nic;
  if (!c.absent.empty()) {
    j["absent"] = c.absent;
    return j;
  }
  if (c.categories.empty()) {
    j["x"]["values"] = numbers_json(c.places, kTimeDigits);
  } else {
    j["x"]["categories"] = c.categories;
  }
  j["series"] = Json::array();
  for (const Series& s : c.series) {
    if (c.stacked && !says_something(s)) continue;
    j["series"].push_back({{"name", s.name}, {"values", numbers_json(s.values)}});
  }
  return j;
}

Json table_json(const Table& t) {
  Json j = {{"id", t.id}, {"title", t.title}, {"about", t.about}};
  if (!t.absent.empty()) {
    j["absent"] = t.absent;
    return j;
  }
  Json columns = Json::array(), rows = Json::array();
  for (const Json& row : t.rows) {
    if (columns.empty()) {
      for (const auto& [key, value] : row.items()) columns.push_back(key);
    }
    if (t.most != 0 && rows.size() >= t.most) break;
    Json values = Json::array();
    for (const auto& [key, value] : row.items()) {
      values.push_back(value.is_number_float() ? number_json(value.get<double>(), kTableDigits) : value);
    }
    rows.push_back(std::move(values));
  }
  j["left_out"] = t.rows.size() - rows.size();
  j["columns"] = std::move(columns);
  j["rows"] = std::move(rows);
  return j;
}

}  // namespace rxnic
