// SPDX-License-Identifier: Apache-2.0
// What `rxnic exercise` starts: a program of its own, which is built when it is first asked for.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <systemc>

#include "bridge/rxnic/command/exercise_options.h"
#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/files.h"
#include "bridge/rxnic/output/progress.h"
#include "bridge/rxnic/output/standard_streams.h"
#include "model/params/config.h"
#include "testbench/exercise/exercise.h"

namespace {

int run(const rxnic::ExerciseRequest& request) {
  namespace fs = std::filesystem;
  if (!request.folder.empty()) {
    rxnic::make_folder("--out", request.folder);
    for (const char* name : {rxnic::kExerciseFile, rxnic::kExerciseWaves, rxnic::kExerciseSaveFile}) {
      fs::remove(fs::path(request.folder) / name);  // of an earlier run
    }
  }
  rxnic::Progress bar("exercise", true);
  // What RTL prints ($display, an assertion that fails) goes to standard output: with --json that holds the JSON alone.
  const int output = request.json ? dup(STDOUT_FILENO) : -1;
  if (output >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  const rxnic::ExerciseResult result = rxnic::exercise(
      request,
      [&bar](std::uint64_t done, std::uint64_t planned, const std::string& what) { bar.update(done, planned, what); });
  if (output >= 0) {
    std::fflush(stdout);
    dup2(output, STDOUT_FILENO);
    close(output);
  }
  if (!request.folder.empty()) {
    rxnic::write_file(fs::path(request.folder) / rxnic::kExerciseFile, rxnic::exercise_json(result));
  }
  rxnic::print_output(request.json ? rxnic::exercise_json(result) : rxnic::exercise_text(result));
  return rxnic::exercise_status(result);
}

}  // namespace

int sc_main(int argc, char* argv[]) {
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);  // it writes to standard output
  CLI::App app("", "rxnic exercise");
  rxnic::ExerciseOptions options;
  options.describe(app);
  try {
    app.parse(argc, argv);
    return run(options.request());
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? rxnic::kDone : rxnic::kUsage;
  } catch (const rxnic::ConfigError& e) {
    rxnic::print_message(e.what());
    return rxnic::kUsage;
  } catch (const std::invalid_argument& e) {
    rxnic::print_message(e.what());
    return rxnic::kUsage;
  } catch (const std::exception& e) {
    rxnic::print_message(e.what());
    return rxnic::kOther;
  }
}

int main(int argc, char* argv[]) {
  rxnic::open_standard_streams();
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
