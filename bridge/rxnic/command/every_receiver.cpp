// SPDX-License-Identifier: Apache-2.0
// `rxnic replay --receiver all`: the NIC of each host that gets requests, one after the other. The capture holds what
// came to each of them: the NICs do not act on each other.
#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "bridge/rtl/nic_rtl.h"
#include "bridge/rxnic/capture/capture_notes.h"
#include "bridge/rxnic/capture/survey_run.h"
#include "bridge/rxnic/command/old_results.h"
#include "bridge/rxnic/command/replay_command.h"
#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/files.h"
#include "bridge/rxnic/output/standard_streams.h"
#include "bridge/rxnic/report/verdict.h"
#include "model/core/wire/icrc.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

std::string row_of(const std::string& address, const RunResult& r) {
  const Verdict verdict = verdict_of(r);
  return fmt::format("{:<26}{:>9}{:>9}{:>8}{:>8}{:>9}  {}\n", address, count_text(r.packets.seen),
                     count_text(r.messages), count_text(r.packets.dropped_total()), count_text(r.answers.different),
                     r.latency_ns.count == 0 ? "-" : count_text(r.latency_ns.p99), verdict.bound_by);
}

}  // namespace

int ReplayCommand::replay_every_receiver() {
  if (!options_.pairs.empty() || !options_.cqes_path.empty()) {
    throw std::invalid_argument(fmt::format("--receiver: found all with {}; expected one receiver",
                                            options_.pairs.empty() ? "--cqes" : "--pair"));
  }
  CaptureReader reader = open_capture(options_);
  Progress surveying("survey", options_.progress);
  const std::vector<PossibleReceiver> receivers =
      receivers_of(survey_run(reader, {.icrc_matches = &icrc_matches}, surveying, has_second_core()).survey);
  if (receivers.empty()) {
    throw std::invalid_argument(
        "--receiver: found all with a capture in which nobody gets requests; expected one address");
  }
  const std::string base = out_;
  make_folder("--out", base);
  std::string table = fmt::format("{:<26}{:>9}{:>9}{:>8}{:>8}{:>9}  {}\n", "receiver", "packets", "messages", "dropped",
                                  "differ", "p99 ns", "bound by");
  std::vector<RtlResult> compared;
  for (const PossibleReceiver& receiver : receivers) {
    out_ = std::filesystem::path(base) / receiver.address;
    remove_results_in(out_, options_.trace);
    options_.receiver = receiver.address;
    request_files();
    const RunResult result = replay_receiver(nullptr);
    table += row_of(receiver.address, result);
    for (const std::string& line : result.rtl.lines) table += "  " + line + '\n';
    compared.push_back(result.rtl);
  }
  table += fmt::format("\nwritten: {}/ADDRESS/report.json, responses.pcap and what was asked for\n", base);
  if (!quiet_) print_output(table);
  for (const RtlResult& rtl : compared) refuse_nothing_compared(rtl);
  return kDone;
}

}  // namespace rxnic
