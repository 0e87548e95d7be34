// SPDX-License-Identifier: Apache-2.0
// What an earlier run has left where a run writes. A run that fails would leave it there, or a run that does not write
// such a file. A script would take it for the run's own result.
#pragma once

#include <CLI/CLI.hpp>

namespace rxnic {

// Removes what the command that was parsed, or in which an error was found, might write as its results. These are
// report.json, responses*.pcap, waveforms, and the file of --cqes. What is to be replayed stays, and what is no regular
// file. So does a file that does not begin as one of rxnic does, but for responses*.pcap. A record stays until a run
// begins (recorder.h). Throws std::runtime_error that names a file that cannot be removed.
void remove_old_results(const CLI::App& app);
// The results of a capture in one folder.
void remove_results_in(const std::string& folder, const std::string& trace);

}  // namespace rxnic
