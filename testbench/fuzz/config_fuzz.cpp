// SPDX-License-Identifier: Apache-2.0
// Any text as a configuration, and any lines behind its first NUL as overrides (--set): parameters, or a ConfigError
// that names what it found. What was accepted is written as TOML, and read again as it was.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "model/params/config.h"
#include "model/params/params_table.h"

namespace {

using namespace rxnic;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size() && lines.size() < 16;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void check(std::string_view text, const std::vector<std::string>& overrides) {
  try {
    const std::string first = params_toml(parse_config(text, "input", overrides));
    if (params_toml(parse_config(first, "again")) != first) std::abort();
  } catch (const ConfigError& e) {
    if (e.found().empty() || e.expected().empty()) std::abort();  // config.h R3
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), all.size());
  const std::vector<std::string> overrides = lines_of(all.substr(std::min(end + 1, all.size())));
  check(all.substr(0, end), overrides);
  check("base = \"nic_100g_gen3\"", overrides);
  return 0;
}
