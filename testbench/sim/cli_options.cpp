// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/cli_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "model/params/config.h"

namespace rxnic {

CommonOptions::CommonOptions() : config(kDefaultConfig) {}

void CommonOptions::describe(CLI::App& app) {
  std::string names;
  for (const NamedConfig& named : named_configs()) names += fmt::format("{}{}", names.empty() ? "" : ", ", named.name);
  app.add_option("--config", config, fmt::format("Configuration: a TOML file, or one of {}", names))
      ->capture_default_str();
  app.add_option("--set", overrides, "Value of one parameter, section.key=value; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
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
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error(fmt::format("{}: cannot be written", path));
}

void make_folder(const std::string& option, const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) throw std::invalid_argument(fmt::format("{}: {}: {}", option, path, failed.message()));
}

std::string read_file(const std::string& path, const std::string& expected) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::invalid_argument(fmt::format("{}: found nothing to read; expected {}", path, expected));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

SummaryStyle terminal_style(int descriptor) {
  return {isatty(descriptor) == 1 && std::getenv("NO_COLOR") == nullptr, 100};
}

}  // namespace rxnic
