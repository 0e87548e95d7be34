// SPDX-License-Identifier: Apache-2.0
// The report of a run: report.json for programs and a summary for people. report_shape.h says what is in it.
#pragma once

#include <string>

#include "model/system/run_result.h"

namespace rxnic {

inline constexpr const char* kReportSchema = "rxnic.report/1";

// Deterministic: equal results, equal bytes.
std::string report_json(const RunResult& r);

// The other way, as far as the summary needs it. Throws std::invalid_argument that names `file` and what is wrong.
RunResult parse_report(const std::string& text, const std::string& file);

// JSON Schema of report.json, which says what each key means.
std::string report_schema();

struct SummaryStyle {
  bool color = false;
  unsigned width = 80;  // columns
};
std::string report_summary(const RunResult& r, const SummaryStyle& style = {});

}  // namespace rxnic
