// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/rtl_options.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

namespace rxnic {

void RtlOptions::describe(CLI::App& app) {
  app.add_option("--lockstep", request_.lockstep,
                 "Blocks whose RTL is compared with the model in every cycle, at every port; exits with 4 and names\n"
                 "block, cycle, port, field and both values when they differ. Slower, with the same result")
      ->delimiter(',')
      ->type_name("BLOCK[,BLOCK]");
  app.add_option("--rtl", request_.rtl,
                 "Blocks whose RTL takes the model's place, with the same result; their counters are not known")
      ->delimiter(',')
      ->type_name("BLOCK[,BLOCK]");
  app.add_flag("--clock-always", request_.always,
               "With --lockstep and --rtl: clock the RTL in cycles in which it is idle, too; the same result");
}

RtlRequest RtlOptions::request() const {
  std::set<std::string> named;
  for (const auto* blocks : {&request_.lockstep, &request_.rtl}) {
    for (const std::string& block : *blocks) {
      if (!named.insert(block).second) {
        throw std::invalid_argument(
            fmt::format("{}: found {} twice; expected each block once, with --lockstep or with --rtl",
                        blocks == &request_.lockstep ? "--lockstep" : "--rtl", block));
      }
    }
  }
  if (request_.always && !request_.wanted()) {
    throw std::invalid_argument("--clock-always: found without --lockstep and --rtl; expected with one of them");
  }
  return request_;
}

}  // namespace rxnic
