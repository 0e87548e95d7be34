// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/annotate/event_window.h"

#include <algorithm>
#include <numeric>

namespace rxnic {

namespace {

auto place_of(const PacketRow& row) { return std::pair(row.number, row.nic); }
auto place_of_completion(const CompletionRow& row) { return std::pair(row.packet, row.nic); }

}  // namespace

void EventWindow::Range::add(std::uint64_t n) {
  if (n == 0) return;  // not known
  lowest = std::min(lowest, n);
  highest = std::max(highest, n);
}

EventWindow::EventWindow(RunEvents& events, const std::function<void(const FrameRow&)>& frame) : events_(events) {
  EventReader& reader = events_.reader();
  reader.rewind();
  EventReader::Tables tables;
  for (const EventTable table : {EventTable::kPackets, EventTable::kCompletions, EventTable::kFrames}) {
    tables.set(static_cast<std::size_t>(table));
  }
  while (reader.next(tables)) index_chunk(frame);
}

void EventWindow::index_chunk(const std::function<void(const FrameRow&)>& frame) {
  const EventReader& reader = events_.reader();
  Chunk chunk;
  chunk.place = reader.place();
  for (std::size_t n = 0; n < reader.rows(); ++n) {
    switch (reader.table()) {
      case EventTable::kPackets:
        chunk.packets.add(reader.row<PacketRow>(n).number);
        break;
      case EventTable::kCompletions:
        chunk.packets.add(reader.row<CompletionRow>(n).packet);
        break;
      case EventTable::kFrames: {
        const auto row = reader.row<FrameRow>(n);
        chunk.packets.add(row.answered);
        chunk.frames.add(row.number);
        frame(row);
        break;
      }
      default:
        return;
    }
  }
  chunks_.push_back(chunk);
}

void EventWindow::load(std::uint64_t first, std::uint64_t last, const std::vector<std::uint64_t>& frames) {
  packets_.clear();
  completions_.clear();
  answers_.clear();
  frames_.clear();
  EventReader& reader = events_.reader();
  const auto in = [&](std::uint64_t n) { return first <= n && n <= last; };
  for (const Chunk& chunk : chunks_) {
    const bool of_frames = !frames.empty() && chunk.frames.meets(frames.front(), frames.back());
    if (!chunk.packets.meets(first, last) && !of_frames) continue;
    reader.go_to(chunk.place);
    if (!reader.next()) continue;
    for (std::size_t n = 0; n < reader.rows(); ++n) {
      if (reader.table() == EventTable::kPackets) {
        const auto row = reader.row<PacketRow>(n);
        if (in(row.number) && row.nic < events_.nics() && row.left >= row.arrived) packets_.push_back(row);
      } else if (reader.table() == EventTable::kCompletions) {
        const auto row = reader.row<CompletionRow>(n);
        if (in(row.packet)) completions_.push_back(row);
      } else if (reader.table() == EventTable::kFrames) {
        const auto row = reader.row<FrameRow>(n);
        if (std::ranges::binary_search(frames, row.number)) frames_.emplace(row.number, row);
        if (!in(row.answered)) continue;
        Answers& of = answers_[row.answered];
        if (++of.count == 1) of.first = row;  // (R2)
      }
    }
  }
  of_packets_.resize(packets_.size());
  std::iota(of_packets_.begin(), of_packets_.end(), 0u);
  std::ranges::stable_sort(of_packets_, {}, [this](std::uint32_t n) { return place_of(packets_[n]); });
  std::ranges::stable_sort(completions_, {}, place_of_completion);
}

std::vector<const PacketRow*> EventWindow::packets(std::uint64_t number) const {
  const auto number_of = [this](std::uint32_t n) { return packets_[n].number; };
  const auto behind = std::ranges::upper_bound(of_packets_, number, {}, number_of);
  std::vector<const PacketRow*> found;
  for (auto n = std::ranges::lower_bound(of_packets_, number, {}, number_of); n != behind; ++n) {
    found.push_back(&packets_[*n]);
  }
  return found;
}

const CompletionRow* EventWindow::completion(std::uint64_t packet, std::uint64_t nic) const {
  const auto found = std::ranges::lower_bound(completions_, std::pair(packet, nic), {}, place_of_completion);
  return found == completions_.end() || place_of_completion(*found) != std::pair(packet, nic) ? nullptr : &*found;
}

const EventWindow::Answers* EventWindow::answers(std::uint64_t packet) const {
  const auto found = answers_.find(packet);
  return found == answers_.end() ? nullptr : &found->second;
}

const FrameRow* EventWindow::frame(std::uint64_t number) const {
  const auto found = frames_.find(number);
  return found == frames_.end() ? nullptr : &found->second;
}

}  // namespace rxnic
