// SPDX-License-Identifier: Apache-2.0
// The options of a live run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bridge/driver/nic_addresses.h"
#include "bridge/rtl/rtl_request.h"
#include "model/engine/step_order.h"
#include "model/system/run_result.h"
#include "model/system/waves_request.h"

namespace rxnic {

struct SessionOptions {
  std::string config;
  std::vector<std::string> overrides;
  std::uint32_t nics = 1;
  NicAddresses addresses{};
  std::string out;  // folder; exists
  std::uint64_t seed = 1;
  StepOrder order{};
  bool record = false;
  WavesRequest waves;
  RtlRequest rtl;
  bool quiet = false;
  std::function<void(const RunResult&)> on_report;  // after report.json was written; empty: nothing is done
  std::vector<std::string> command;                 // empty: programs attach by themselves
};

}  // namespace rxnic
