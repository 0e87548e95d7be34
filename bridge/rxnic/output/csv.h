// SPDX-License-Identifier: Apache-2.0
// JSON as CSV (RFC 4180), for spreadsheets and plots.
//
//   R1  A list of objects is a table: a row each, a column for each key that one of them has. What is nested has its
//       place as name, "stages_ns.rx_parser.p50"; lists in it are numbered from 0.
//   R2  An object is a table of two columns, its places and their values.
//   R3  A field with a comma, a quotation mark or a line end is quoted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rxnic {

std::string csv_of(const nlohmann::ordered_json& json);

}  // namespace rxnic
