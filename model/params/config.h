// SPDX-License-Identifier: Apache-2.0
// Configurations: where the values of Params come from.
//
//   R1  A configuration holds every key of params.toml once; a missing one is refused. A file that says
//       base = "NAME_OR_FILE" starts from that configuration and holds only what differs.
//   R2  An unknown section or key, an ill-typed value and a value out of range are refused.
//   R3  A refusal names the file, the line, the key, what was found and what was expected. For a likely misspelling it
//       also gives the name that was perhaps meant.
//   R4  An override "section.key=value" is checked like a line of a file, and wins over it; the last one wins.
//   R5  Besides the sections a file may hold only `base` and `about`, a sentence.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/params/params.h"

namespace rxnic {

// A refused configuration. `line` is 0 where there is none (an override, a file that cannot be read).
class ConfigError : public std::runtime_error {
 public:
  ConfigError(std::string file, std::uint32_t line, std::string key, std::string found, std::string expected);

  const std::string& file() const { return file_; }  // "--set" for an override
  std::uint32_t line() const { return line_; }
  const std::string& key() const { return key_; }
  const std::string& found() const { return found_; }
  const std::string& expected() const { return expected_; }

 private:
  std::string file_;
  std::uint32_t line_;
  std::string key_;
  std::string found_;
  std::string expected_;
};

// A configuration that is built in.
struct NamedConfig {
  std::string_view name;
  std::string_view file;  // where its text lies in the source tree
  std::string_view text;
};

inline constexpr std::string_view kDefaultConfig = "nic_100g_gen3";

std::span<const NamedConfig> named_configs();

// `name_or_file` is a named configuration, or a path: whatever holds a '/' or ends in ".toml".
// Throws ConfigError.
Params load_config(std::string_view name_or_file = kDefaultConfig, std::span<const std::string> overrides = {});

// For values that a program has set in the structure. Throws std::invalid_argument for the first one that no file could
// hold (R2), and names it.
void check_params(const Params& params);

// As load_config() for a configuration in memory; `file` is what an error calls it.
Params parse_config(std::string_view text, const std::string& file, std::span<const std::string> overrides = {});

}  // namespace rxnic
