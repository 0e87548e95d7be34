// SPDX-License-Identifier: Apache-2.0
// Params in writing: the table of `rxnic params`, JSON, and a configuration file that gives the same values again.
#pragma once

#include <string>
#include <string_view>

#include "model/params/params.h"

namespace rxnic {

struct ParamsTableOptions {
  std::string_view section;  // only this one; empty: all. An unknown one throws ConfigError.
  bool evidence = false;     // also say where each default comes from
};

// One line a parameter, grouped by section, columns aligned; a value that is not the default is marked with '*'.
std::string params_text(const Params& params, const ParamsTableOptions& options = {});

// Every field of the table: {"section": {"key": {"value":, "default":, "unit":, "range":, ...}}}.
std::string params_json(const Params& params, const ParamsTableOptions& options = {});

// {"section": {"key": value}}: what a report says of its configuration.
std::string params_values_json(const Params& params);

// A complete configuration: parse_config of it gives `params`.
std::string params_toml(const Params& params);

}  // namespace rxnic
