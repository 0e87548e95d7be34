// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/exercise_options.h"

#include <stdexcept>

#include "bridge/rxnic/command/cli_options.h"
#include "bridge/rxnic/command/rtl_options.h"

namespace rxnic {

void ExerciseOptions::describe(CLI::App& app) {
  app.description(
      "Compare the RTL of a block with its model under random stimulus, with several seeds: what a capture rarely "
      "has.\n"
      "Sums that carry across pages and 4 GiB, counters before they wrap, tags and numbers that differ in one bit,\n"
      "rings of more than 4,096 slots, hundreds of unseen CQEs, lengths of 0, 1 and 2^31, full lists, back-pressure "
      "at\n"
      "every port. Every port is compared in every cycle. Exits with 0 when all is equal. Exits with 4 when anything\n"
      "differs: names block, cycle, port, field, both values, the seed, and the command that repeats it. Exits with 5\n"
      "when nothing was compared.\n"
      "\n"
      "  rxnic exercise grh_scatter                     the project's own RTL, in all of its configurations\n"
      "  rxnic exercise grh_scatter=my_scatter.so       your own, which scripts/build_rtl has made\n"
      "  rxnic exercise grh_scatter=slow.so:transactions --seeds 20\n"
      "  rxnic exercise grh_scatter=my_scatter.so --set grh_scatter.latency_cycles=6\n");
  app.add_option("block", block_,
                 "The block; =FILE: your own RTL; :transactions: its cycles may be others than the model's, and only\n"
                 "what passes each output is compared")
      ->required()
      ->type_name(rtl_block_choices() + "[=FILE][:transactions]");
  auto* seeds = app.add_option("--seeds", request_.seeds, "Try the seeds 1 to N")
                    ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}))
                    ->type_name("N")
                    ->capture_default_str();
  seed_ = app.add_option("--seed", request_.first_seed, "Try this seed alone")
              ->check(&refuse_seed)
              ->type_name("SEED")
              ->excludes(seeds);
  app.add_option(
         "--cycles", request_.cycles,
         "Cycles of a run. Few do not reach what is rare: tag_match_cam counts 65,536 unexpected messages from\n"
         "150,000 on")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
      ->type_name("N")
      ->capture_default_str();
  auto* configurations =
      app.add_option(
             "--configs", request_.configurations,
             "Only these of the block's configurations (a wrong name lists them all); otherwise those that the\n"
             "RTL is built for")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("NAME[,...]");
  app.add_option("--set", request_.overrides,
                 "Value of a parameter that the RTL is built with, section.key=value; may be repeated. One\n"
                 "configuration is tried then: these, and the defaults")
      ->allow_extra_args(false)
      ->take_all()
      ->excludes(configurations);
  app.add_flag("--random-init", request_.random_init,
               "What reset does not set begins with random bits of the seed, not with zeros");
  app.add_flag("--stop-at-first", request_.stop_at_first, "End with the first run that differs");
  app.add_flag("--json", request_.json,
               "Print JSON, with every run, and with what passed the ports before a difference");
  app.add_option("--out", request_.folder,
                 "Folder for exercise.json and, when a run differs, a waveform of the cycles around it (exercise.vcd)")
      ->type_name("DIR");
}

ExerciseRequest ExerciseOptions::request() const {
  ExerciseRequest request = request_;
  request.rtl = parse_rtl_choice("exercise", block_, true);
  if (request.rtl.file.starts_with("dpi:")) {
    throw std::invalid_argument("exercise: found '" + block_ +
                                "'; expected a shared object: RTL in a simulator has its own testbench (bridge/dpi)");
  }
  if (seed_->count() != 0) request.seeds = 1;
  return request;
}

}  // namespace rxnic
