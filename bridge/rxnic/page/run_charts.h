// SPDX-License-Identifier: Apache-2.0
// What a report says as charts, tables and figures: they need no events.
#pragma once

#include <string>
#include <vector>

#include "bridge/rxnic/page/chart.h"
#include "model/params/descriptor.h"
#include "model/system/run_result.h"

namespace rxnic {

// A key figure of a run.
struct Figure {
  std::string name;
  double value = 0;
  std::string unit;  // ns, Gb/s...; "": a count
  bool less_is_better = false;
  bool key = false;  // one of those that a page begins with
};
// Those that say something in this run.
std::vector<Figure> figures_of(const RunResult& r);

// Cycle stacks, stages, latencies and caches. `nics`: those that have charts of their own.
std::vector<Chart> run_charts(const RunResult& r, const std::vector<std::uint32_t>& nics);

// Every parameter, and what it is in the base: the named configuration without --set, or the default.
Table configuration_table(const RunResult& r);

// "64", "true", "cyclic".
std::string param_value_text(const ParamDescriptor& d, const Params& params);

// The NICs that have charts of their own: those with most packets, in the order of their numbers.
std::vector<std::uint32_t> busiest_nics(const RunResult& r, std::size_t most);

}  // namespace rxnic
