// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/run_command.h"

#include <fmt/format.h>

#include <stdexcept>

#include "bridge/rxnic/live/run.h"
#include "bridge/rxnic/live/serve.h"
#include "bridge/rxnic/page/page_file.h"

namespace rxnic {

void LiveCommand::describe(CLI::App& app) {
  common_.describe(app);
  app.add_option("--nics", live_.nics, fmt::format("NICs on the fabric, 1 to {}", channel::kMaxNics))
      ->check(CLI::Range(1u, channel::kMaxNics))
      ->capture_default_str();
  app.add_option("--first-address", first_address_,
                 "IPv4 address of NIC 0; NIC n has the n-th behind it. The default is of a network that is for tests\n"
                 "alone (RFC 2544), so that no program reaches a host by it")
      ->capture_default_str()
      ->type_name("ADDRESS");
  app.add_option("--out", out_,
                 "Folder for report.json, log.txt and, with --record, wire.pcap and host.jsonl;\ncreated when it does "
                 "not exist, for its user alone, as the files are; links in it are not followed")
      ->capture_default_str();
  describe_seed(app, live_.seed);
  step_order_.describe(app);
  app.add_flag("--record", live_.record,
               "Record the run: rxnic replay repeats it without the programs. Without\n"
               "it an earlier record in the folder of --out is removed");
  waves_.describe(app);
  rtl_.describe(app);
  app.add_flag(
      "--html", html_,
      "Write report.html, too: charts, tables and the verdict in one file, which opens in a browser without a\n"
      "network. A replay of the record with --html has charts over time besides");
  app.add_flag("--quiet", live_.quiet, "Print errors only, and no status line");
}

SessionOptions LiveCommand::options() const {
  SessionOptions o = live_;
  o.config = common_.config;
  o.overrides = common_.overrides;
  o.order = step_order_.order();
  o.out = out_;
  const auto addresses = NicAddresses::parse(first_address_, live_.nics);
  if (!addresses) {
    throw std::invalid_argument(
        fmt::format("--first-address: found {}; expected {}", first_address_, NicAddresses::kExpected));
  }
  o.addresses = *addresses;
  if (html_) {
    o.on_report = [folder = out_, script = page_script("--html")](const RunResult& r) {
      write_page(folder, r, script);
    };
  }
  o.waves = waves_.request(out_);
  o.rtl = rtl_.request(out_);
  return o;
}

void RunCommand::describe(CLI::App& app) {
  LiveCommand::describe(app);
  nic_option_ = app.add_option("--nic", nic_, "The only NIC that the program sees (default: all, or RXNIC_NIC)");
  app.add_option("--grace", grace_,
                 "When a program of the run dies, or the simulator: seconds until the rest is sent SIGTERM,\n"
                 "and again until it is killed; off: it is let be")
      ->capture_default_str()
      ->type_name("SECONDS");
  app.add_flag("--no-device-files", no_device_files_,
               "Do not show the program /dev/infiniband and /sys/class/infiniband as a driver would make them");
  app.add_option(
         "--network", network_,
         "Where the program's sockets are. host: in the host's network, as without rxnic, with all that it has\n"
         "there; a server is named by 127.0.0.1, by its NIC's address to rdma_cm alone. own: in one of the\n"
         "run's own, which takes no root and reaches nothing outside: lo, and for each NIC an interface\n"
         "rxnicN with its MAC and address, for what matches devices with interfaces (ip, getifaddrs, TCP to a\n"
         "NIC's address, FI_VERBS_IFACE). bridge/rxnic/live/NETWORK.md: which programs need it")
      ->check(CLI::IsMember({kHostNetwork, kOwnNetwork}))
      ->capture_default_str();
  app.add_option("program", program_, "-- PROGRAM and its arguments")->type_name("");
}

int RunCommand::run() const {
  if (program_.empty()) throw std::invalid_argument("run: found no program; expected -- PROGRAM [ARG...]");
  RunOptions o;
  static_cast<SessionOptions&>(o) = options();
  o.command = program_;
  o.grace = parse_grace(grace_);
  o.device_files = !no_device_files_;
  o.own_network = network_ == kOwnNetwork;
  if (nic_option_->count() != 0) {
    if (nic_ >= o.nics) {
      throw std::invalid_argument(
          fmt::format("--nic: found {}; expected one of the {} NICs, 0 to {}", nic_, o.nics, o.nics - 1));
    }
    o.nic = nic_;
  }
  return run_verbs_program(o);
}

void ServeCommand::describe(CLI::App& app) {
  LiveCommand::describe(app);
  app.add_option("--socket", socket_, "Where programs attach: a path, or @name for one without a file")
      ->required()
      ->type_name("PATH");
}

int ServeCommand::run() const {
  ServeOptions o;
  static_cast<SessionOptions&>(o) = options();
  o.socket = socket_;
  return serve(o);
}

}  // namespace rxnic
