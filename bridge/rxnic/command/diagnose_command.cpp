// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/diagnose_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "bridge/rxnic/diagnose/diagnose.h"
#include "bridge/rxnic/output/csv.h"
#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/standard_streams.h"

namespace rxnic {

namespace {

std::string causes_text() {
  std::string out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(FindingCause::kCount); ++i) {
    out += fmt::format("{:<25}{}\n", name_of(static_cast<FindingCause>(i)), meaning_of(static_cast<FindingCause>(i)));
  }
  return out;
}

}  // namespace

void DiagnoseCommand::describe(CLI::App& app) {
  app.description(
      "Say what is wrong in a capture, for each QP and direction, the worst first: what ended a QP, then what cost it\n"
      "time, then hints. Lost packets and where (before the sniffer, behind it, or only by it), repeats and timeouts,\n"
      "lost ACKs, NAKs with the address and key that they are about, RNR NAKs and for how long no receive was posted,\n"
      "READs that were asked for again, congestion marks, CNPs and pauses, slow receivers, connections that were "
      "refused.\n"
      "A QP is named by the side that its requests go to. The exit status is 0 whatever is found.");
  CLI::Option* const captures =
      app.add_option(
             "capture", captures_,
             "Capture (pcap or pcapng, also compressed). A second one of the same traffic, at another place: what was\n"
             "lost between the two, how long packets took, what was overtaken")
          ->type_name("CAPTURE")
          ->expected(1, 2);
  app.add_option("--udp-port", udp_ports_, "A UDP port that carries RoCEv2 besides 4791; may be given several times")
      ->check(CLI::Range(1, 65535))
      ->type_name("PORT");
  app.add_option("--most", most_, "Findings that are told as text; a line says how many there are besides")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_flag("--causes", causes_, "List the causes that there are, and what each means")->excludes(captures);
  CLI::Option* const json = app.add_flag("--json", format_.json, "As JSON, with all findings: --format json");
  format_.describe(app)->excludes(json);
  common_.describe(app);
}

int DiagnoseCommand::run() const {
  if (causes_) {
    print_output(causes_text());
    return kDone;
  }
  if (captures_.empty()) throw CLI::RequiredError("capture");
  DiagnoseOptions o;
  o.capture = captures_.front();
  if (captures_.size() == 2) o.second = captures_.back();
  o.udp_ports = udp_ports_;
  o.config = common_.config;
  o.overrides = common_.overrides;
  o.progress = isatty(STDERR_FILENO) != 0;
  const Diagnosis d = diagnose(o);
  print_output(format_.format() == Format::kText   ? diagnosis_text(d, most_)
               : format_.format() == Format::kJson ? diagnosis_json(d).dump(1) + '\n'
                                                   : csv_of(diagnosis_json(d)["findings"]));
  return kDone;
}

bool DiagnoseCommand::reads(const std::string& file) const { return std::ranges::count(captures_, file) != 0; }

}  // namespace rxnic
