// SPDX-License-Identifier: Apache-2.0
// Any text as report.json: a result whose summary can be printed and that is written and read again as it was, or an
// std::invalid_argument.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "bridge/rxnic/report/report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rxnic;
  const std::string text(reinterpret_cast<const char*>(data), size);
  RunResult result;
  try {
    result = parse_report(text, "input");
  } catch (const std::invalid_argument& e) {
    if (std::string(e.what()).rfind("input: ", 0) != 0) std::abort();  // it names the file
    return 0;
  }
  if (report_summary(result).empty()) std::abort();
  const std::string written = report_json(result);
  if (report_json(parse_report(written, "again")) != written) std::abort();
  return 0;
}
