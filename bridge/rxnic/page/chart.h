// SPDX-License-Identifier: Apache-2.0
// Charts and tables of a run as JSON. The page draws them, scripts/plot does, and both write the same CSV.
//
//   R1  A chart has x values or categories, and series that have a value for each of them; null: nothing is known.
//   R2  Numbers of charts have four significant digits, those of tables six; whole numbers and times have all of them.
//   R3  A series without any value but 0 is left out of a stacked chart.
//   R4  A chart or table that this run has no data for says why in `absent`.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rxnic {

using Json = nlohmann::ordered_json;

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

struct Axis {
  std::string name, unit;
};
struct Series {
  std::string name;
  std::vector<double> values;  // kNoValue: null
};

struct Chart {
  std::string id, title, about;
  std::string section;  // of the page: time, blocks, latency, caches
  std::string kind;     // time (lines over time), bars (over categories), cdf (x is the share, values lie across)
  bool stacked = false;
  int nic = -1;  // of one NIC; -1: of all
  Axis x, y;
  std::vector<double> places;           // x values
  std::vector<std::string> categories;  // or these
  std::vector<Series> series;
  std::string absent;
  bool empty() const;  // no series has a value but 0
};
Json chart_json(const Chart& chart);

struct Table {
  std::string id, title, about;
  Json rows = Json::array();  // objects, all with the keys of the first one
  std::size_t most = 0;       // rows; 0: all
  std::string absent;
};
// {"columns": [key], "rows": [[value]], "left_out": rows}
Json table_json(const Table& table);

inline constexpr int kChartDigits = 4;
Json number_json(double value, int digits = kChartDigits);  // (R2)

}  // namespace rxnic
