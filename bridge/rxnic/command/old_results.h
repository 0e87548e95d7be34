// SPDX-License-Identifier: Apache-2.0
// What an earlier run has left in the folder of --out. A run that fails would leave it there, and a script would take
// it for its own result.
#pragma once

#include <CLI/CLI.hpp>

namespace rxnic {

// Removes what the command that was parsed, or in which an error was found, would write as its results. These are
// report.json, for a replay of a capture responses*.pcap, and with --lockstep the waveforms of a mismatch. Not a
// report.json that is no report of rxnic, not what is to be replayed, nothing that is not a regular file. A record
// stays until its run begins. Throws std::runtime_error that names a file that cannot be removed.
void remove_old_results(const CLI::App& app);

}  // namespace rxnic
