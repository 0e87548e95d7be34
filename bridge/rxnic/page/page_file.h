// SPDX-License-Identifier: Apache-2.0
// report.html: one file that needs nothing else.
//
//   R1  It is made of the data (page_data.h) and of one script, which draws all of it. Text of a run stands in the data
//       alone: no text of a run becomes HTML, and the page may not load anything.
//   R2  scripts/page makes the script of what lies in page/script, once. A program of a build folder finds the script
//       in build/page, an installed one in ../lib/rxnic. RXNIC_PAGE_SCRIPT names another file.
#pragma once

#include <string>

#include "bridge/rxnic/page/chart.h"
#include "model/system/run_result.h"

namespace rxnic {

inline constexpr const char* kPageFile = "report.html";  // in the folder of a run
inline constexpr const char* kPageBegins = "<!doctype html>\n<!-- rxnic.page/1 -->\n";

// Throws std::invalid_argument that says what is missing, and how it is made. `option`: that asked for a page.
std::string page_script(const std::string& option);
std::string page_html(const Json& data, const std::string& script);
// On one line, as the page has it.
std::string data_text(const Json& data);
// Writes the page of a run into its folder, where its events are: the path. Throws std::runtime_error.
std::string write_page(const std::string& folder, const RunResult& result, const std::string& script);

}  // namespace rxnic
