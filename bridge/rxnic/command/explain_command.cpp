// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/explain_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bridge/rxnic/command/parse_text.h"
#include "bridge/rxnic/explain/explain.h"
#include "bridge/rxnic/explain/incidents.h"
#include "bridge/rxnic/explain/tables.h"
#include "bridge/rxnic/output/csv.h"
#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/standard_streams.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

std::uint64_t parse_one(const char* option, const std::string& text) {
  std::uint64_t number = 0;
  if (!parse_number(text, number) || number > 0xffffff) {
    throw std::invalid_argument(
        fmt::format("{}: found '{}'; expected a number of 24 bits, such as 0x11", option, text));
  }
  return number;
}

// The packets that ended the messages whose CQE names this slot.
std::vector<std::uint64_t> packets_of_wqe(RunEvents& events, std::uint64_t wqe) {
  std::vector<std::uint64_t> numbers;
  events.for_each<CompletionRow>(EventTable::kCompletions, [&](const CompletionRow& row) {
    if (row.wqe == wqe && row.packet != 0) numbers.push_back(row.packet);
  });
  std::ranges::sort(numbers);
  return numbers;
}

// For CSV: the waits and times of a packet by block, without their causes.
nlohmann::ordered_json table_of(nlohmann::ordered_json list) {
  for (nlohmann::ordered_json& life : list) {
    if (!life.contains("stays")) continue;
    nlohmann::ordered_json by_block = nlohmann::ordered_json::object();
    for (const nlohmann::ordered_json& stay : life["stays"]) {
      nlohmann::ordered_json& one = by_block[stay["block"].get<std::string>()];
      for (const char* key : {"wait_cycles", "block_cycles", "behind"}) {
        if (stay.contains(key)) one[key] = stay[key];
      }
    }
    life["stays"] = by_block;
  }
  return list;
}

}  // namespace

void ExplainCommand::describe(CLI::App& app) {
  app_ = &app;
  app.add_option("run_dir", folder_, "Folder of a run that kept its events (rxnic replay), or its events.rxev")
      ->required()
      ->type_name("RUN_DIR");
  app.add_option("--packet", packets_,
                 "The packets of these numbers, 17 or 3,100-200: the number is that in the trace, of programs in\n"
                 "wire.pcap")
      ->type_name("PACKETS");
  app.add_option("--message", message_, "The packet that ended the N-th message of the run, in the order of their ends")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--qp", qp_, "All of a QP, and what went wrong in it; with another option: only packets of this QP")
      ->type_name("QPN");
  app.add_option("--psn", psn_, "Packets with this PSN")->type_name("PSN");
  app.add_option("--wr-id", wr_id_,
                 "Messages whose WQE was in this slot of its queue: what a CQE of the device names, from which the\n"
                 "library finds the wr_id (model/types/completion.h). The host of a capture posts slot N as wr_id N")
      ->type_name("SLOT");
  app.add_option("--slowest", slowest_, "The K messages that took longest")->check(CLI::Range(1, 1000))->type_name("K");
  app.add_flag("--drops", drops_, "Packets that were not carried out, each with its reason");
  CLI::Option* const by =
      app.add_option("--by", by_,
                     "A table of the whole run by QP (the sickest first), message size, opcode or NIC: packets,\n"
                     "messages, rates, what was not carried out, repeats, NAKs, marks, latencies, waits; all columns\n"
                     "with --format")
          ->check(CLI::IsMember({"qp", "size", "opcode", "nic"}))
          ->type_name("qp|size|opcode|nic");
  app.add_flag(
         "--incidents", incidents_,
         "What went wrong in the run, in the order of time: drops, NAKs, gaps, timeouts, CQEs in error, frames that\n"
         "came to harm between NICs, events of the device, each with its NIC, QP, packet and cause")
      ->excludes(by);
  app.add_option("--nic", nic_, "Of this NIC only")->check(CLI::Range(0, 63))->type_name("NIC");
  app.add_option("--most", most_, "Packets that are explained; a line says how many there are besides")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  CLI::Option* const json = app.add_flag("--json", format_.json, "As JSON, a list: --format json");
  format_.describe(app)->excludes(json);
}

int ExplainCommand::print_table() const {
  const TableBy by = table_of_name(by_);
  RunEvents events(folder_);
  const nlohmann::ordered_json rows = incidents_ ? incidents_of(events) : table_by(events, by);
  print_output(format_.format() == Format::kText
                   ? (incidents_ ? incidents_text(rows, most_) : table_text(rows, by, most_))
               : format_.format() == Format::kJson ? rows.dump(1) + '\n'
                                                   : csv_of(rows));
  return kDone;
}

int ExplainCommand::run() const {
  const auto given = [this](const char* option) { return app_->get_option(option)->count() != 0; };
  PacketQuery query;
  query.most = most_;
  query.drops = drops_;
  if (given("--packet")) query.packets = parse_ranges("--packet", packets_);
  if (given("--message")) query.message = message_;
  if (given("--qp")) query.qp = parse_one("--qp", qp_);
  if (given("--psn")) query.psn = parse_one("--psn", psn_);
  if (given("--nic")) query.nic = nic_;
  const bool of_packets = given("--packet") || given("--message") || given("--psn") || given("--wr-id") || drops_;
  if (given("--by") || incidents_) {
    if (of_packets || given("--qp") || given("--slowest") || given("--nic")) {
      throw std::invalid_argument(fmt::format("{}: found with an option that chooses packets; expected it alone",
                                              incidents_ ? "--incidents" : "--by"));
    }
    return print_table();
  }
  if (!of_packets && !given("--qp") && !given("--slowest")) {
    throw std::invalid_argument(
        "explain: found nothing to explain; expected --packet, --message, --qp, --psn, --wr-id, --slowest, --drops, "
        "--by or --incidents");
  }
  if (given("--slowest") && of_packets) {
    throw std::invalid_argument("--slowest: found with an option that chooses packets; expected it alone or with --qp");
  }
  RunEvents events(folder_);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string text;
  if (!of_packets && !given("--slowest")) {
    for (const QpLife& life : qps_of(events, *query.qp, query.nic)) {
      text += (text.empty() ? "" : "\n") + explain_text(events, life);
      list.push_back(explain_json(events, life));
    }
    if (list.empty())
      throw std::invalid_argument(fmt::format("--qp: found no packet of QP {:#x} in {}", *query.qp, events.path()));
  } else {
    std::vector<SlowMessage> slow;
    if (given("--slowest")) {
      slow = slowest(events, query, slowest_);
      for (const SlowMessage& m : slow) query.numbers.push_back(m.packet);
      std::ranges::sort(query.numbers);
      query.most = slow.size();
    }
    if (given("--wr-id")) query.numbers = packets_of_wqe(events, wr_id_);
    std::uint64_t found = 0;
    std::vector<PacketLife> lives;
    const bool none = (given("--slowest") || given("--wr-id")) && query.numbers.empty();
    if (!none) lives = lives_of(events, query, found);
    if (given("--message") && !events.has_all_packets()) {
      throw std::invalid_argument(
          fmt::format("--message: found {} without all packets of the run; expected --packet", events.path()));
    }
    for (const nlohmann::ordered_json& lost : lost_frames_of(events, query)) {
      text += lost_frame_text(lost);
      list.push_back(lost);
    }
    if (lives.empty() && list.empty()) {
      throw std::invalid_argument(fmt::format("{}: found no such packet", events.path()));
    }
    if (slow.empty() && found > lives.size() && format_.format() != Format::kText) {
      print_message(fmt::format("{} packets more: --most {}", count_text(found - lives.size()), found));
    }
    if (!slow.empty()) {
      for (std::size_t rank = 0; rank < slow.size(); ++rank) {
        const SlowMessage& m = slow[rank];
        const auto of = std::ranges::find_if(
            lives, [&](const PacketLife& l) { return l.row.number == m.packet && l.row.nic == m.nic; });
        if (of == lives.end()) continue;
        text += fmt::format("{}{}. {} ({} cycles) from its first packet until {} could be seen in host memory\n",
                            rank == 0 ? "" : "\n", rank + 1, time_text(m.cycles * events.period_ps()),
                            count_text(m.cycles), m.write ? "its last byte" : "its CQE");
        text += explain_text(events, *of);
        nlohmann::ordered_json one = explain_json(events, *of);
        one["message_cycles"] = m.cycles;
        list.push_back(one);
      }
    } else {
      for (const PacketLife& life : lives) {
        text += (text.empty() ? "" : "\n") + explain_text(events, life);
        list.push_back(explain_json(events, life));
      }
      if (found > lives.size()) {
        text += fmt::format("\nand {} packets more: --most {}\n", count_text(found - lives.size()), found);
      }
    }
  }
  print_output(format_.format() == Format::kText   ? text
               : format_.format() == Format::kJson ? list.dump(1) + '\n'
                                                   : csv_of(table_of(list)));
  return kDone;
}

}  // namespace rxnic
