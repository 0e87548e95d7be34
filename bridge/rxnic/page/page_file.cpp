// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/page/page_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "bridge/rxnic/output/files.h"
#include "bridge/rxnic/page/page_data.h"

namespace rxnic {

namespace {

namespace fs = std::filesystem;

constexpr const char* kScriptVariable = "RXNIC_PAGE_SCRIPT";
constexpr const char* kScriptPlaces[] = {"../../../page/page.js", "../lib/rxnic/page.js"};  // built, and installed

constexpr const char* kHead =
    "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n<title>rxnic</title>\n</head>\n<body>\n"
    "<noscript>This page draws its charts with a script of its own; it loads nothing.</noscript>\n";

}  // namespace

std::string page_script(const std::string& option) {
  std::vector<fs::path> places;
  if (const char* const chosen = std::getenv(kScriptVariable); chosen != nullptr && *chosen != '\0') {
    places.emplace_back(chosen);
  } else {
    std::error_code failed;
    const fs::path self = fs::read_symlink("/proc/self/exe", failed);
    for (const char* place : kScriptPlaces) places.push_back((self.parent_path() / place).lexically_normal());
  }
  std::error_code ignored;
  for (const fs::path& place : places) {
    if (fs::is_regular_file(place, ignored)) return read_file(place, "the script of the page");
  }
  throw std::invalid_argument(fmt::format(
      "{}: found nothing at {}; expected the script of the page: scripts/page makes it, once, with node and "
      "npm (apt-get install npm)",
      option, places.front().string()));
}

std::string data_text(const Json& data) { return data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

std::string page_html(const Json& data, const std::string& script) {
  std::string text = data_text(data);
  for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at))
    text.replace(at, 1, "\\u003c");  // (R1)
  return fmt::format(
      "{}{}<script type=\"application/json\" id=\"data\">{}</script>\n<script>{}</script>\n</body>\n</html>\n",
      kPageBegins, kHead, text, script);
}

std::string write_page(const std::string& folder, const RunResult& result, const std::string& script) {
  std::string path = fs::path(folder) / kPageFile;
  write_file(path, page_html(page_data({run_data(folder, result, "")}), script));
  return path;
}

}  // namespace rxnic
