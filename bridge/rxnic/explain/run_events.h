// SPDX-License-Identifier: Apache-2.0
// The events of a run for those who explain them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "bridge/rxnic/events/event_file.h"
#include "model/types/activity.h"

namespace rxnic {

// Half open, in cycles.
struct Interval {
  std::uint64_t from = 0, to = 0;
};

// Intervals in order, joined where they meet.
class Intervals {
 public:
  explicit Intervals(std::vector<Interval> all);
  bool meets(std::uint64_t from, std::uint64_t to) const;  // [from, to)

 private:
  std::vector<Interval> all_;
};

// What is done with rows, by their type: RowVisitor{[](const PacketRow&) {...}, [](const auto&) {}}.
template <class... F>
struct RowVisitor : F... {
  using F::operator()...;
};
template <class... F>
RowVisitor(F...) -> RowVisitor<F...>;

class RunEvents {
 public:
  // `folder`: of the run, or the file itself. Throws std::invalid_argument.
  explicit RunEvents(const std::string& folder);

  EventReader& reader() { return reader_; }
  std::uint64_t period_ps() const { return period_ps_; }
  const std::string& path() const { return path_; }
  std::uint32_t nics() const { return nics_; }
  // Number of the block nicN.STATION; kNoBlock: there is none.
  static constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};
  std::uint64_t block_of(std::uint64_t nic, Station station) const;
  std::size_t blocks() const { return blocks_; }
  // Every packet of the run has a row. Asks for the end of the file: after the last chunk was read.
  bool has_all_packets() const;
  // The cycles of which activities were asked for.
  Interval kept() const { return kept_; }
  // Whether all activities of that time are there, not those up to a limit or to the death of the run.
  bool has_all_activities() const;
  // `nic0 QP 0x11`: its peer in words, "" when it is not known. After the last chunk was read.
  std::string peer_of(std::uint64_t nic, std::uint64_t qp) const;
  // f(row) for each row of a table, in the order of the file.
  template <class Row, class F>
  void for_each(EventTable table, F f) {
    reader_.rewind();
    while (reader_.next()) {
      if (reader_.table() != table) continue;
      for (std::size_t n = 0; n < reader_.rows(); ++n) f(reader_.template row<Row>(n));
    }
  }
  // f(row) for each row of all tables but incidents, in the order of the file: a RowVisitor.
  template <class F>
  void for_each_row(F f) {
    reader_.rewind();
    while (reader_.next()) {
      switch (reader_.table()) {
        case EventTable::kPackets:
          rows<PacketRow>(f);
          break;
        case EventTable::kCompletions:
          rows<CompletionRow>(f);
          break;
        case EventTable::kFrames:
          rows<FrameRow>(f);
          break;
        case EventTable::kActivityChanges:
          rows<ActivityRow>(f);
          break;
        case EventTable::kCounters:
          rows<CounterRow>(f);
          break;
        case EventTable::kIncidents:
        case EventTable::kCount:
          break;
      }
    }
  }

 private:
  template <class Row, class F>
  void rows(F& f) {
    for (std::size_t n = 0; n < reader_.rows(); ++n) f(reader_.template row<Row>(n));
  }

  std::string path_;
  EventReader reader_;
  std::uint64_t period_ps_ = 1;
  std::uint32_t nics_ = 0;
  std::size_t blocks_ = 0;
  bool all_packets_ = true;
  Interval kept_{0, ~std::uint64_t{0}};
  std::vector<std::array<std::uint64_t, kStations>> places_;  // by NIC
};

// What each block did within some intervals.
class ActivityTimes {
 public:
  ActivityTimes(RunEvents& events, const Intervals& intervals);
  struct Part {
    Interval time;
    Activity activity = Activity::kStarved;
  };
  // In order, without gaps. Where nothing is kept the activity is kCount; a block that is none was starved.
  std::vector<Part> of(std::uint64_t block, Interval time) const;

 private:
  std::vector<std::vector<Part>> parts_;  // by block
  Interval kept_;
};

}  // namespace rxnic
