// SPDX-License-Identifier: Apache-2.0
// Any text as the page of a workload, and as a distribution of sizes. It becomes one, or a ConfigError that names what
// was found. What was accepted is written as a page, and read again as it was.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bridge/rxnic/workload/page_reader.h"
#include "bridge/rxnic/workload/page_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rxnic;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const std::string first = workload_toml(parse_workload(text, "input", "/nowhere"));
    if (workload_toml(parse_workload(first, "again", "/nowhere")) != first) std::abort();
  } catch (const ConfigError& e) {
    if (e.found().empty() || e.expected().empty()) std::abort();
  }
  try {
    if (parse_sizes(text, "input").empty()) std::abort();
  } catch (const ConfigError& e) {
    if (e.found().empty() || e.expected().empty()) std::abort();
  }
  return 0;
}
