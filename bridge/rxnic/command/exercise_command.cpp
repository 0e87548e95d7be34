// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/exercise_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "bridge/rtl/rtl_file.h"

namespace rxnic {

namespace {

// In the build, and installed.
constexpr const char* kExercisePrograms[] = {"../../testbench/exercise/rxnic_exercise", "../lib/rxnic/rxnic_exercise"};

std::string exercise_program() {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  for (const char* from : kExercisePrograms) {
    const std::filesystem::path program = (self.parent_path() / from).lexically_normal();
    if (std::filesystem::exists(program, failed)) return program.string();
  }
  throw std::invalid_argument(
      fmt::format("{}: found no such program; expected what the target rxnic_exercise builds (scripts/rxnic exercise "
                  "does it)",
                  (self.parent_path() / kExercisePrograms[0]).lexically_normal().string()));
}

}  // namespace

int ExerciseCommand::run(int argc, const char* const* argv) const {
  (void)options_.request();  // refuses what cannot be understood
  const std::string program = exercise_program();
  std::vector<char*> words;
  for (int n = 1; n < argc; ++n) {
    if (!words.empty() || std::string_view(argv[n]) == "exercise") words.push_back(const_cast<char*>(argv[n]));
  }
  words.push_back(nullptr);
  setenv("RXNIC_RTL_DIR", rtl_folder().c_str(), 1);  // which it would look for beside itself
  execv(program.c_str(), words.data());
  throw std::runtime_error(fmt::format("{}: {}", program, std::strerror(errno)));
}

}  // namespace rxnic
