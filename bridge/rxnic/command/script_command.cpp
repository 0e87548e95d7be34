// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/script_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/standard_streams.h"

namespace rxnic {

namespace {

namespace fs = std::filesystem;

struct ScriptCommand {
  const char* name;
  const char* about;
};
// Each is a module in COMMANDS of scripts/rxnic_model/__main__.py.
constexpr ScriptCommand kScriptCommands[] = {
    {"sweep",
     "Run the model at many points: parameters, workloads, captures, seeds; a table and a page of all figures"},
    {"sensitivity", "Say what moves: every parameter half and double around a configuration"},
    {"why", "Say what binds, what it would bring without the limit, and what its next doubling costs"},
    {"find", "Find the smallest or largest value for which a condition holds, or the knee of a curve"},
    {"pareto", "Search for the best rate or latency against the bits on the chip"},
};

constexpr const char* kScriptsVariable = "RXNIC_SCRIPTS";
constexpr const char* kProgramVariable = "RXNIC";
constexpr const char* kScriptFolders[] = {"../../../../scripts", "../share/rxnic/scripts"};  // (R1) built, installed
constexpr const char* kModule = "rxnic_model";

std::vector<fs::path> script_places(const fs::path& self) {
  if (const char* const chosen = std::getenv(kScriptsVariable); chosen != nullptr && *chosen != '\0') return {chosen};
  std::vector<fs::path> places;
  for (const char* folder : kScriptFolders) places.push_back((self.parent_path() / folder).lexically_normal());
  return places;
}

}  // namespace

void describe_script_commands(CLI::App& app) {
  for (const auto& [name, about] : kScriptCommands) {
    CLI::App* const added = app.add_subcommand(name, fmt::format("{} (rxnic {} --help)", about, name));
    added->set_help_flag();
    added->set_help_all_flag();
    added->prefix_command();
  }
}

std::optional<int> start_script_command(int argc, const char* const* argv) {
  if (argc < 2) return std::nullopt;
  const std::string_view name = argv[1];
  if (std::none_of(std::begin(kScriptCommands), std::end(kScriptCommands),
                   [name](const ScriptCommand& one) { return name == one.name; })) {
    return std::nullopt;
  }
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  const std::vector<fs::path> places = script_places(self);
  const auto found = std::find_if(places.begin(), places.end(), [&ignored](const fs::path& place) {
    return fs::is_regular_file(place / kModule / "__main__.py", ignored);
  });
  if (found == places.end()) {
    print_message(fmt::format("{}: found no {}; expected it, or {} to name the folder of scripts", name,
                              (places.front() / kModule).string(), kScriptsVariable));
    return kUsage;
  }
  setenv(kProgramVariable, self.c_str(), 1);
  const std::string module = *found / kModule;
  std::vector<char*> words;
  for (const char* word : {"python3", "-B", module.c_str()}) words.push_back(const_cast<char*>(word));
  for (int n = 1; n < argc; ++n) words.push_back(const_cast<char*>(argv[n]));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  print_message(errno == ENOENT
                    ? fmt::format("{}: found no python3; expected Python 3.11 or later (apt-get install python3)", name)
                    : fmt::format("{}: python3: {}", name, std::strerror(errno)));
  return kUsage;
}

}  // namespace rxnic
