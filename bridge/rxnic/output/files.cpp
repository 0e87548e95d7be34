// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/output/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "model/params/private_file.h"
#include "model/params/text_file.h"

namespace rxnic {

namespace {
constexpr std::size_t kMaxReadBytes = std::size_t{1} << 26;  // the report of 64 NICs is 1.5 MB long
}

void write_file(const std::string& path, const std::string& text) {
  std::FILE* const file = open_to_write(path);
  int why = std::fwrite(text.data(), 1, text.size(), file) == text.size() ? 0 : errno;
  if (std::fclose(file) != 0 && why == 0) why = errno;
  if (why == 0) return;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(std::filesystem::symlink_status(path, ignored))) {
    std::filesystem::remove(path, ignored);  // half a file is worse than none
  }
  throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(why)));
}

void make_folder(const std::string& option, const std::string& path) try {
  make_private_folder(path);
  refuse_links(std::filesystem::path(path) / "report.json");  // now rather than at the end of the run
} catch (const Unwritable& e) {
  throw std::invalid_argument(fmt::format("{}: {}", option, e.what()));
}

std::string read_file(const std::string& path, const std::string& expected) {
  try {
    return read_text_file(path, kMaxReadBytes);
  } catch (const std::runtime_error& e) {
    throw std::invalid_argument(fmt::format("{}: found {}; expected {}", path, e.what(), expected));
  }
}

}  // namespace rxnic
