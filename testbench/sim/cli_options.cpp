// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/cli_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "model/params/config.h"
#include "model/params/private_file.h"
#include "model/params/text_file.h"

namespace rxnic {

namespace {
constexpr std::size_t kMaxReadBytes = std::size_t{1} << 26;  // the report of 64 NICs is 1.5 MB long
}

CommonOptions::CommonOptions() : config(kDefaultConfig) {}

void CommonOptions::describe(CLI::App& app) {
  std::string names;
  for (const NamedConfig& named : named_configs()) names += fmt::format("{}{}", names.empty() ? "" : ", ", named.name);
  app.add_option("--config", config, fmt::format("Configuration: a TOML file, or one of {}", names))
      ->capture_default_str();
  app.add_option("--set", overrides,
                 "Value of one parameter, section.key=value; may be repeated. A warning names one that cannot act\n"
                 "in the run")
      ->allow_extra_args(false)
      ->take_all();
}

// CLI11 takes a negative number for a large one, and one that is too large for the largest.
std::string refuse_seed(const std::string& text) {
  std::uint64_t value = 0;
  const bool hexadecimal = text.starts_with("0x");
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + (hexadecimal ? 2 : 0), end, value, hexadecimal ? 16 : 10);
  if (error == std::errc{} && at == end) return {};
  return fmt::format("found '{}'; expected an integer from 0 to 2^64-1", text);
}

void describe_seed(CLI::App& app, std::uint64_t& seed) {
  app.add_option("--seed", seed, "Seed of all random numbers")->check(&refuse_seed)->capture_default_str();
}

void StepOrderOption::describe(CLI::App& app) {
  app.add_option("--step-order", text,
                 "Order in which the blocks are stepped within a cycle: path, reverse, or the seed of a random\n"
                 "order in every cycle; same result")
      ->type_name("path|reverse|SEED")
      ->capture_default_str();
}

StepOrder StepOrderOption::order() const {
  if (text == "path") return {};
  if (text == "reverse") return {StepOrder::Kind::kReverse, 0};
  StepOrder order{StepOrder::Kind::kRandom, 0};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), order.seed);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument(
        fmt::format("--step-order: found '{}'; expected path, reverse, or a seed of 0 to 2^64-1", text));
  }
  return order;
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

SummaryStyle terminal_style(int descriptor) {
  return {isatty(descriptor) == 1 && std::getenv("NO_COLOR") == nullptr, 100};
}

}  // namespace rxnic
