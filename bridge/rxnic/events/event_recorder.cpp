// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/events/event_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/system/table_result.h"
#include "model/types/activity.h"
#include "model/types/completion_codes.h"
#include "model/types/drop_reason.h"
#include "model/types/station.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kCheckpointCycles = 4096;
constexpr std::size_t kChunkPackets = 8192, kChunkRows = 65536;  // written when there are so many
constexpr std::size_t kMostPeers = 65536;
constexpr std::uint64_t kEver = std::uint64_t{1} << 50;  // no run has so many cycles

template <class E>
nlohmann::ordered_json names_of() {
  nlohmann::ordered_json names = nlohmann::ordered_json::object();
  for (const EnumeratorInfo& value : Enumeration<E>::kValues) names[std::to_string(value.value)] = value.name;
  return names;
}

nlohmann::ordered_json tables() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (std::size_t t = 0; t < kEventTables; ++t) {
    const EventTableInfo& info = info_of(static_cast<EventTable>(t));
    nlohmann::ordered_json columns = nlohmann::ordered_json::array();
    for (const EventColumn& c : info.columns) {
      nlohmann::ordered_json column{{"name", c.name}};
      if (!c.sentence.empty()) column["sentence"] = c.sentence;
      if (!c.names.empty()) column["names"] = c.names;
      columns.push_back(column);
    }
    all.push_back({{"name", info.name}, {"sentence", info.sentence}, {"columns", columns}});
  }
  return all;
}

template <class Row>
bool before(const Row& a, const Row& b) {
  std::array<std::uint64_t, sizeof(Row) / sizeof(std::uint64_t)> x, y;
  std::memcpy(x.data(), &a, sizeof a);
  std::memcpy(y.data(), &b, sizeof b);
  return x < y;
}

template <class Row>
std::uint64_t first_of(const Row& row) {
  std::uint64_t first = 0;
  std::memcpy(&first, &row, sizeof first);
  return first;
}

// In the order of all columns. Most rows come in the order of the first one.
template <class Row>
void sort_rows(std::vector<Row>& rows) {
  if (!std::ranges::is_sorted(rows, {}, first_of<Row>)) std::ranges::stable_sort(rows, {}, first_of<Row>);
  for (auto from = rows.begin(); from != rows.end();) {
    const std::uint64_t first = first_of(*from);
    const auto to = std::find_if(from + 1, rows.end(), [&](const Row& row) { return first_of(row) != first; });
    if (to - from > 1) std::sort(from, to, before<Row>);
    from = to;
  }
}

std::uint64_t bit(bool on, PacketFlag flag) { return on ? std::uint64_t{flag} : 0; }

}  // namespace

EventRecorder::EventRecorder(const EventRequest& request, const RunResult& about, Engine& engine, std::uint32_t nics)
    : request_(request), engine_(engine) {
  const std::uint64_t period = engine.clock_period_ps();
  first_ = request.time_ps.from / period;
  last_ = request.time_ps.to / period;
  for (std::uint32_t n = 0; n < nics; ++n) nics_.push_back(std::make_unique<OfNic>(*this, n));
  nlohmann::ordered_json blocks = nlohmann::ordered_json::array(), counters = nlohmann::ordered_json::array();
  for (Block* block : engine.blocks()) {
    blocks_.push_back(std::make_unique<OfBlock>(*this, *block, blocks_.size()));
    block->set_observer(blocks_.back().get());
    blocks.push_back(block->name());
    block->visit_counters([&](std::string_view key, std::uint64_t) {
      counters.push_back(std::string(block->name()) + '.' + std::string(key));
    });
  }
  counters_.resize(counters.size());
  nlohmann::ordered_json description;
  description["trace"] = about.trace;
  description["receiver"] = about.receiver;
  description["command"] = about.command;
  description["config"] = about.config;
  description["overrides"] = about.overrides;
  description["seed"] = about.seed;
  description["clock_period_ps"] = period;
  description["all_packets"] = first_ == 0 && last_ >= kEver && request.packets.empty() && request.qps.empty();
  description["from_cycle"] = first_;
  description["to_cycle"] = std::min(last_, kEver);
  description["nics"] = nics;
  description["block"] = blocks;
  description["counter"] = counters;
  description["station"] = names_of<Station>();
  description["outcome"] = names_of<Outcome>();
  description["drop_reason"] = names_of<DropReason>();
  description["activity"] = names_of<Activity>();
  description["wc_status"] = names_of<WcStatus>();
  description["cqe_opcode"] = names_of<CqeOpcode>();
  nlohmann::ordered_json incidents = nlohmann::ordered_json::object();
  for (std::size_t k = 0; k <= static_cast<std::size_t>(QpEventKind::kAsync); ++k) {
    incidents[std::to_string(k)] = name_of(static_cast<QpEventKind>(k));
  }
  description["incident"] = incidents;
  description["tables"] = tables();
  file_ = std::make_unique<EventWriter>(request.path, description, request.limit);
  engine.add_checkpoint(Cycle{0}, [this](Cycle now) { return checkpoint(now); });
}

EventRecorder::~EventRecorder() {
  for (const auto& of : blocks_) of->block().set_observer(nullptr);
}

bool EventRecorder::is_wanted(std::uint64_t packet, std::optional<std::uint64_t> qp) const {
  const auto has = [packet](const EventRange& range) { return range.has(packet); };
  return (request_.packets.empty() || std::ranges::any_of(request_.packets, has)) &&
         (request_.qps.empty() || !qp || std::ranges::find(request_.qps, *qp) != request_.qps.end());
}

void EventRecorder::OfNic::on_retire(const AckRequest& p, const Packet& buffer, Cycle now) {
  if (packets_ != nullptr) packets_->on_retire(p, buffer, now);
  PacketRow row{};
  row.left = now.count;
  row.nic = nic_;
  row.number = buffer.id;
  row.arrived = buffer.stamped(Station::kWire).count;
  for (std::size_t n = 1; n < kStations; ++n) {
    row.stays[n - 1] = {buffer.stamps[n].taken.count, buffer.stamps[n].left.count};
  }
  const bool checked = p.transport != Transport::kNone;
  row.flags = bit(p.ends_message, kPacketEndsMessage) | bit(p.completes, kPacketCompletes) |
              bit(p.acknowledge, kPacketAcknowledges) | bit(p.congested, kPacketCongested) |
              bit(checked, kPacketChecked) | bit(p.uses_srq, kPacketUsesSrq) | bit(p.fails_qp, kPacketFailsQp);
  row.outcome = static_cast<std::uint64_t>(p.outcome);
  row.reason = static_cast<std::uint64_t>(p.drop_reason);
  row.status = static_cast<std::uint64_t>(p.status);
  row.syndrome = p.syndrome;
  row.posted = buffer.posted.count;
  if (checked) {
    row.qp = raw(p.qpn);
    row.peer_qp = raw(p.remote_qpn);
    row.opcode = p.opcode;
    row.psn = p.psn.value;
    row.answer_psn = p.answer_psn.value;
    row.payload_bytes = p.payload_bytes;
    row.message = p.message_sequence;
    row.message_start = p.message_start;
    row.message_bytes = p.message_bytes;
  } else {
    Headers h;
    if (parse(buffer.frame_view(), buffer.link, h) == ParseStatus::kOk) {
      row.qp = raw(h.destination_qp);
      row.opcode = h.opcode;
      row.psn = h.psn.value;
      row.payload_bytes = h.payload_bytes;
    }
  }
  if (!events_.is_wanted(row.number, row.qp) || !events_.is_in_time(row.arrived, row.left)) return;
  if (checked) events_.note_peer(nic_, p, buffer);
  events_.packet_rows_.push_back(row);
}

void EventRecorder::OfNic::on_not_rdma(const Packet& buffer, Cycle now) {
  if (packets_ != nullptr) packets_->on_not_rdma(buffer, now);
  PacketRow row{};
  row.left = now.count;
  row.nic = nic_;
  row.number = buffer.id;
  row.arrived = buffer.stamped(Station::kWire).count;
  row.flags = kPacketNotRdma;
  row.outcome = static_cast<std::uint64_t>(Outcome::kDrop);
  if (events_.request_.qps.empty() && events_.is_wanted(row.number, 0) && events_.is_in_time(row.arrived, row.left)) {
    events_.packet_rows_.push_back(row);
  }
}

void EventRecorder::note_peer(std::uint32_t nic, const AckRequest& p, const Packet& buffer) {
  const std::pair key{nic, raw(p.qpn)};
  if (key == last_peer_) return;
  last_peer_ = key;
  if (peers_.size() >= kMostPeers || peers_.contains(key)) return;
  Headers h;
  if (parse(buffer.frame_view(), buffer.link, h) != ParseStatus::kOk) return;
  peers_[key] = {h.source.text(), raw(p.remote_qpn), p.transport};
}

void EventRecorder::OfNic::on_written(Cqn cq, const Cqe& cqe, const MessageTimes& times, Cycle) {
  written_.push_back({0, nic_, raw(cq), times.packet, times.left(Station::kCqeGenerator).count, 0, cqe.qp_number,
                      cqe.srq_number, cqe.wqe_index, static_cast<std::uint64_t>(cqe.opcode),
                      static_cast<std::uint64_t>(cqe.status), cqe.byte_count, cqe.flags, times.begun.count,
                      times.posted.count});
}

void EventRecorder::OfNic::on_visible(Cycle started, Cycle now) {
  CompletionRow row = written_.front();
  written_.pop_front();
  row.visible = now.count;
  row.started = started.count;
  if (events_.is_wanted(row.packet, row.qp) && events_.is_in_time(row.begun, row.visible)) {
    events_.completion_rows_.push_back(row);
  }
}

void EventRecorder::OfNic::on_qp_event(const QpEvent& event, Cycle now) {
  if (events_.is_wanted(event.packet, event.number) && events_.is_in_time(now.count, now.count)) {
    events_.incident_rows_.push_back(
        {now.count, nic_, static_cast<std::uint64_t>(event.kind), event.number, event.packet, event.detail});
  }
}

void EventRecorder::OfNic::on_frame(const Packet& p, std::uint64_t time_ps) {
  if (frames_ != nullptr) frames_->on_frame(p, time_ps);
  events_.on_frame(nic_, p.frame_view(), p.link, p.id, time_ps);
}

void EventRecorder::on_frame(std::uint32_t nic, Bytes frame, LinkLayer link, std::uint64_t answered,
                             std::uint64_t time_ps) {
  FrameRow row{time_ps, nic, ++frames_, answered, 0, 0, 0, 0, 0, 0};
  if (!request_.time_ps.has(time_ps)) return;
  if (answered != 0 && !request_.packets.empty() && !is_wanted(answered, {})) return;
  Headers h;
  if (parse(frame, link, h) == ParseStatus::kOk) {
    row.opcode = h.opcode;
    row.peer_qp = raw(h.destination_qp);
    row.psn = h.psn.value;
    row.syndrome = h.syndrome;
    row.msn = h.msn;
    row.payload_bytes = h.payload_bytes;
  }
  frame_rows_.push_back(row);
}

void EventRecorder::OfBlock::on_activity(const Block&, Activity activity, Cycle from) {
  if (from.count != from_) stand();
  from_ = from.count;
  activity_ = static_cast<std::uint64_t>(activity);
}

// The latest change stands. Before the first one that is wanted stands what the block has done until then. (R3)
void EventRecorder::OfBlock::stand() {
  if (activity_ == stood_) return;
  if (from_ >= events_.first_ && from_ <= events_.last_) {
    if (!shown_ && stood_ != 0) rows_.push_back({stood_from_, place_, stood_});
    shown_ = true;
    rows_.push_back({from_, place_, activity_});
  }
  stood_from_ = from_;
  stood_ = activity_;
}

void EventRecorder::OfBlock::settle(std::uint64_t before) {
  block_.settle(Cycle{before});  // brings a change that was announced
  if (from_ < before) stand();
}

void EventRecorder::OfBlock::finish() {
  stand();
  if (!shown_ && stood_ != 0 && stood_from_ <= events_.last_) {
    rows_.push_back({stood_from_, place_, stood_});
  }
}

void EventRecorder::sample(std::uint64_t at) {
  if (at > last_ || at < first_) return;
  std::size_t n = 0;
  for (const auto& of : blocks_) {
    of->block().visit_counters([&](std::string_view, std::uint64_t value) {
      if (value != counters_[n]) counter_rows_.push_back({at, n, value});
      counters_[n++] = value;
    });
  }
}

Cycle EventRecorder::checkpoint(Cycle now) {
  const std::uint64_t at = now.count / kCheckpointCycles * kCheckpointCycles;
  for (const auto& of : blocks_) of->settle(now.count);
  sample(at);
  flush(kChunkPackets, kChunkRows);
  return Cycle{at + kCheckpointCycles};
}

template <class Row>
void EventRecorder::flush(EventTable table, std::vector<Row>& rows, std::size_t least) {
  if (rows.size() < least) return;
  sort_rows(rows);
  const auto* values = reinterpret_cast<const std::uint64_t*>(rows.data());
  file_->write(table, {values, rows.size() * columns_of(table)});
  rows.clear();
}

// Block by block, each in the order of time.
void EventRecorder::flush_activities(std::size_t least) {
  std::size_t count = 0;
  for (const auto& of : blocks_) count += of->rows().size();
  if (count < least) return;
  activity_rows_.clear();
  for (const auto& of : blocks_) {
    activity_rows_.insert(activity_rows_.end(), of->rows().begin(), of->rows().end());
    of->rows().clear();
  }
  const auto* values = reinterpret_cast<const std::uint64_t*>(activity_rows_.data());
  file_->write(EventTable::kActivityChanges, {values, count * columns_of(EventTable::kActivityChanges)});
}

void EventRecorder::flush(std::size_t packets, std::size_t others) {
  flush(EventTable::kPackets, packet_rows_, packets);
  flush(EventTable::kCompletions, completion_rows_, others);
  flush(EventTable::kFrames, frame_rows_, others);
  flush_activities(others);
  flush(EventTable::kCounters, counter_rows_, others);
  flush(EventTable::kIncidents, incident_rows_, others);
}

std::string EventRecorder::finish() {
  const std::uint64_t end = engine_.now().count + 1;
  for (const auto& of : blocks_) of->settle(end), of->finish();
  sample(end);
  flush(1, 1);
  nlohmann::ordered_json qps = nlohmann::ordered_json::array();
  for (const auto& [key, peer] : peers_) {
    nlohmann::ordered_json qp{{"nic", key.first}, {"qp", key.second}, {"transport", name_of(peer.transport)}};
    if (!is_datagram(peer.transport)) qp["peer"] = peer.address;
    if (!is_datagram(peer.transport) && peer.qp != 0) qp["peer_qp"] = peer.qp;
    qps.push_back(qp);
  }
  file_->close({{"cycles", end}, {"qps", qps}});
  if (file_->left_out() == 0) return {};
  return fmt::format("{}: {} rows are left out: it is full with {} bytes (--events-limit)", request_.path,
                     file_->left_out(), request_.limit);
}

}  // namespace rxnic
