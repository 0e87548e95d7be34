// SPDX-License-Identifier: Apache-2.0
// The tables and the incidents of a report, of all NICs of a run.
#pragma once

#include <span>
#include <string>

#include "model/system/latencies.h"
#include "model/system/run_result.h"

namespace rxnic {

// Fills r.tables and r.incidents. NIC n is nics[n].
void collect_tables(std::span<const Latencies* const> nics, std::uint64_t period_ps, RunResult& r);

// "drop", "nak": what a report calls them.
const char* name_of(QpEventKind kind);
// Why: the reason of a drop, a NAK's syndrome.
std::string cause_of(const QpEvent& event);

}  // namespace rxnic
