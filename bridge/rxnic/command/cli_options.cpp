// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/cli_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <stdexcept>

#include "model/params/config.h"

namespace rxnic {

CommonOptions::CommonOptions() : config(kDefaultConfig) {}

void CommonOptions::describe(CLI::App& app) {
  std::string names;
  for (const NamedConfig& named : named_configs()) names += fmt::format("{}{}", names.empty() ? "" : ", ", named.name);
  app.add_option("--config", config, fmt::format("Configuration: a TOML file, or one of {}", names))
      ->capture_default_str();
  app.add_option(
         "--set", overrides,
         "Value of one parameter, section.key=value; may be repeated. Times, rates and bytes may have a unit:\n"
         "900ns, 1.5us, 100G, 64K. A warning names one that cannot act in the run. Of a workload also a key of\n"
         "its page: workload.senders.qps=64")
      ->allow_extra_args(false)
      ->take_all();
}

// CLI11 takes a negative number for a large one.
std::string size_in_bytes(std::string text) {
  const std::string error = text.starts_with('-') ? fmt::format("found '{}'; expected a size, such as 64M, or 0", text)
                                                  : CLI::AsSizeValue(false)(text);
  if (!error.empty()) throw CLI::ValidationError(error);
  return text;
}

CLI::Option* FormatOption::describe(CLI::App& app) {
  CLI::Option* const option =
      app.add_option("--format", text, "How it is printed: text for people, json, or csv for spreadsheets")
          ->check(CLI::IsMember({"text", "json", "csv"}))
          ->capture_default_str();
  return option;
}

Format FormatOption::format() const {
  return text == "csv" ? Format::kCsv : text == "json" || json ? Format::kJson : Format::kText;
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

SummaryStyle terminal_style(int descriptor) {
  return {isatty(descriptor) == 1 && std::getenv("NO_COLOR") == nullptr, 80};
}

}  // namespace rxnic
