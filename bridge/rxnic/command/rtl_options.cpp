// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/rtl_options.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>
#include <string_view>

#include "bridge/rtl/twin.h"
#include "bridge/rxnic/command/cli_options.h"

namespace rxnic {

namespace {

constexpr std::string_view kTransactions = ":transactions";

}  // namespace

std::string rtl_block_choices() {
  std::string names;
  for (const std::string_view block : rtl_block_names()) names += fmt::format("{}{}", names.empty() ? "" : ",", block);
  return "BLOCK:{" + names + "}";
}

RtlChoice parse_rtl_choice(const char* option, const std::string& text, bool may_compare) {
  RtlChoice choice;
  std::string rest = text;
  if (may_compare && rest.ends_with(kTransactions)) {
    choice.transactions = true;
    rest.resize(rest.size() - kTransactions.size());
  }
  const std::size_t equals = rest.find('=');
  choice.block = rest.substr(0, equals);
  if (equals != std::string::npos) choice.file = rest.substr(equals + 1);
  const bool no_file = equals != std::string::npos && choice.file.empty();
  if (choice.block.empty() || choice.block.find(':') != std::string::npos || no_file ||
      choice.file.ends_with(kTransactions)) {
    throw std::invalid_argument(fmt::format("{}: found '{}'; expected BLOCK or BLOCK=FILE{}", option, text,
                                            may_compare ? ", or one of them with :transactions behind it" : ""));
  }
  return choice;
}

void RtlOptions::describe(CLI::App& app) {
  app.add_option(
         "--lockstep", lockstep_,
         "Blocks whose RTL is compared with the model in every cycle, at every port; exits with 4 and names\n"
         "block, cycle, port, field and both values when they differ, and leaves a waveform of the cycles\n"
         "around it in the folder of --out; exits with 5 when a block had nothing to do, so that nothing was\n"
         "compared (run: with the program's status when the program failed). Slower, with the same result.\n"
         "=FILE: your own RTL, which scripts/build_rtl has made; =dpi:ADDRESS: RTL in a simulator of\n"
         "SystemVerilog that listens there (bridge/dpi); :transactions: its cycles may be others, they are only\n"
         "counted")
      ->delimiter(',')
      ->allow_extra_args(false)  // what follows may be a program with options of its own
      ->type_name(rtl_block_choices() + "[=FILE|=dpi:ADDRESS][:transactions][,...]");
  app.add_option(
         "--rtl", rtl_,
         "Blocks whose RTL takes the model's place, with the same result but for state_hash, which is of what is\n"
         "inside the blocks, too; of their counters the report has those that the ports show, and of their cycles\n"
         "what activity_o says, or else an upper bound of the busy ones. Exits with 4 and names block, port and\n"
         "cycle when an input is not taken for 4,194,304 cycles (and host.page_fault_ps) in which nothing else\n"
         "passes the block; likewise when packets are left in the NIC at the end of the replay of a capture.\n"
         "=FILE: your own RTL, which scripts/build_rtl has made; =dpi:ADDRESS: RTL in a simulator of\n"
         "SystemVerilog that listens there (bridge/dpi)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name(rtl_block_choices() + "[=FILE|=dpi:ADDRESS][,...]");
  app.add_flag("--clock-always", always_,
               "With --lockstep and --rtl: clock the RTL in cycles in which it is idle, too; the same result");
  random_init_option_ =
      app.add_option("--random-init", random_init_,
                     "With --lockstep and --rtl: what reset does not set of the RTL begins with random "
                     "bits, those of\nthis seed, not with zeros; the same result, or the RTL depends "
                     "on them")
          ->check(&refuse_seed)
          ->type_name("SEED");
}

RtlRequest RtlOptions::request(const std::string& folder) const {
  RtlRequest request{.lockstep = {}, .rtl = {}, .always = always_, .folder = folder};
  if (random_init_option_->count() != 0) request.random_init = random_init_;
  for (const std::string& text : lockstep_) request.lockstep.push_back(parse_rtl_choice("--lockstep", text, true));
  for (const std::string& text : rtl_) request.rtl.push_back(parse_rtl_choice("--rtl", text, false));
  std::set<std::string> named;
  for (const auto* choices : {&request.lockstep, &request.rtl}) {
    for (const RtlChoice& choice : *choices) {
      if (!named.insert(choice.block).second) {
        throw std::invalid_argument(
            fmt::format("{}: found {} twice; expected each block once, with --lockstep or with --rtl",
                        choices == &request.lockstep ? "--lockstep" : "--rtl", choice.block));
      }
    }
  }
  if (request.always && !request.wanted()) {
    throw std::invalid_argument("--clock-always: found without --lockstep and --rtl; expected with one of them");
  }
  if (request.random_init && !request.wanted()) {
    throw std::invalid_argument("--random-init: found without --lockstep and --rtl; expected with one of them");
  }
  return request;
}

}  // namespace rxnic
