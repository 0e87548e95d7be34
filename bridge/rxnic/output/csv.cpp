// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/output/csv.h"

#include <map>
#include <utility>
#include <vector>

namespace rxnic {

namespace {

using Json = nlohmann::ordered_json;
using Places = std::vector<std::pair<std::string, std::string>>;

// (R3)
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted + '"';
}

// (R1)
void flatten(const Json& json, const std::string& place, Places& to) {
  const auto inside = [&](const std::string& key) { return place.empty() ? key : place + '.' + key; };
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) flatten(value, inside(key), to);
  } else if (json.is_array()) {
    for (std::size_t n = 0; n < json.size(); ++n) flatten(json[n], inside(std::to_string(n)), to);
  } else {
    to.emplace_back(place, json.is_string() ? json.get<std::string>() : json.is_null() ? std::string() : json.dump());
  }
}

}  // namespace

std::string csv_of(const Json& json) {
  std::string out;
  if (!json.is_array()) {  // (R2)
    Places places;
    flatten(json, "", places);
    out = "key,value\n";
    for (const auto& [place, value] : places) out += field(place) + ',' + field(value) + '\n';
    return out;
  }
  std::vector<std::string> columns;
  std::map<std::string, std::size_t> number;
  std::vector<Places> rows;
  for (const Json& one : json) {
    Places& row = rows.emplace_back();
    flatten(one, "", row);
    for (const auto& [place, value] : row) {
      if (number.emplace(place, columns.size()).second) columns.push_back(place);
    }
  }
  for (std::size_t n = 0; n < columns.size(); ++n) out += (n == 0 ? "" : ",") + field(columns[n]);
  out += '\n';
  for (const Places& row : rows) {
    std::vector<std::string> fields(columns.size());
    for (const auto& [place, value] : row) fields[number.at(place)] = field(value);
    for (std::size_t n = 0; n < fields.size(); ++n) out += (n == 0 ? "" : ",") + fields[n];
    out += '\n';
  }
  return out;
}

}  // namespace rxnic
