// SPDX-License-Identifier: Apache-2.0
// Reads a workload's page: TOML, with the keys of page_keys.h.
//
//   R1  The tables are [[senders]] (one at least), or a single [senders], [network], [receiver]; each key stands once
//       and has a default.
//   R2  An unknown table or key, a value of another type or out of range, and a key that cannot act are refused. So is
//       what does not fit together. The ConfigError names the file, the line, the key, what was found and what was
//       expected; of a mistyped name also the likely one.
//   R3  An integer may be written with a unit that converts to its own, in quotation marks: "1.5us", "64K".
//   R4  A distribution of sizes in a file has a line for each point, from the smallest on: bytes, and a share. The
//       share is that of the messages which have at most so many bytes, from 0 to 1. `#` begins a comment. The last
//       share is 1. Between two points the distribution is linear. A first share above 0 is that of messages of
//       exactly so many bytes.
//   R5  Overrides "workload.senders.qps=64", "workload.packets=1000" take the place of what the page says, in all
//       tables of senders. A value is written as in a page, or without quotation marks.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/rxnic/workload/workload_page.h"
#include "model/params/config.h"

namespace rxnic {

// A file that comes along, by its name without extension.
struct NamedText {
  std::string_view name;
  std::string_view file;  // where it lies in the source tree
  std::string_view text;
};
std::span<const NamedText> named_workloads();
std::span<const NamedText> named_sizes();

// Whether a word of the command line can only be a workload: a file "X.toml", or the name of one that comes along. The
// name may be mistyped; no file has it.
bool is_workload(std::string_view name_or_file);

// A page that comes along, or a file. Throws ConfigError.
WorkloadPage load_workload(const std::string& name_or_file, std::span<const std::string> overrides = {});
// A page in memory, which errors call `file`. Its files of sizes are relative to `folder`.
WorkloadPage parse_workload(std::string_view text, const std::string& file, const std::string& folder = "",
                            std::span<const std::string> overrides = {});
// Whether an override is one of a page, "workload.", and not of a parameter.
bool is_page_override(std::string_view text);
// R4; throws ConfigError.
std::vector<CdfPoint> parse_sizes(std::string_view text, const std::string& file);

}  // namespace rxnic
