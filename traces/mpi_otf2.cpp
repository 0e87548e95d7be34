// SPDX-License-Identifier: Apache-2.0
// otf2-print of OTF2 (its manual: "Event records", and Score-P). An event is a line: its name, its location, its time
// in ticks of the clock, and attributes:
//
//   ENTER              1  3121396012754602  Region: "MPI_Isend" <188>
//   MPI_ISEND          1  3121396012759130  Receiver: 0 ("Master thread" <0>), Communicator: "MPI_COMM_WORLD" <0>,
//                                           Tag: 123, Length: 40, Request: 2
//
// A receive is posted when MPI_Recv is entered, or by MPI_IRECV_REQUEST. What it matched, its event at the end says
// (MPI_RECV, MPI_IRECV). The clock has a tick a nanosecond, unless a line CLOCK_PROPERTIES of the definitions says
// "Ticks per Seconds: N" (otf2-print -A).
#include <algorithm>

#include "traces/mpi_lines.h"

namespace rxnic {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kMostNs = std::int64_t{1} << 61;

class Otf2 {
 public:
  explicit Otf2(const MpiText& file) : lines_(file) {}

  void read(MpiTracedJob& job) {
    while (lines_.next()) read_line(job.left_out);
    find_ranks(job);
  }

 private:
  struct Location {
    MpiTracedRank rank;
    std::int64_t entered_ns = 0;                   // the call that runs
    std::map<std::int64_t, std::size_t> requests;  // by number: the receive
    std::set<std::size_t> open;                    // of them those whose match is not known
  };

  // The next word of the line.
  static std::string_view word(std::string_view& text) {
    const std::size_t from = std::min(text.find_first_not_of(" \t"), text.size());
    const std::size_t to = std::min(text.find_first_of(" \t", from), text.size());
    const std::string_view found = text.substr(from, to - from);
    text.remove_prefix(to);
    return found;
  }
  // The number behind "KEY: "; nothing: there is none.
  static std::optional<std::int64_t> number_of(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view value = text.substr(at + key.size());
    return mpi_number(value.substr(0, value.find_first_not_of("0123456789")));
  }
  std::int64_t needed(std::string_view text, std::string_view key) {
    const auto value = number_of(text, key);
    if (!value) lines_.refuse("'" + std::string(key) + "' and a number");
    return *value;
  }
  // The number in <> that is the first behind "KEY: ", before the next attribute.
  static std::optional<std::int64_t> reference_of(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view value = text.substr(at + key.size());
    const std::size_t open = value.find('<');
    if (open == std::string_view::npos) return std::nullopt;
    const std::size_t next = value.find(": ");
    if (next != std::string_view::npos && next < open) return std::nullopt;
    value.remove_prefix(open + 1);
    return mpi_number(value.substr(0, value.find('>')));
  }

  void read_line(std::map<std::string, std::uint64_t>& left_out) {
    std::string_view rest = lines_.text();
    const std::string_view name = word(rest);
    if (name == "CLOCK_PROPERTIES") {
      ticks_ = std::max<std::int64_t>(needed(rest, "Ticks per Seconds: "), 1);
      return;
    }
    const bool wanted = name == "ENTER" || name == "MPI_SEND" || name == "MPI_ISEND" || name == "MPI_RECV" ||
                        name == "MPI_IRECV" || name == "MPI_IRECV_REQUEST";
    if (name == "MPI_COLLECTIVE_END") ++left_out["collectives"];
    if (!wanted) return;
    const auto place = mpi_number(word(rest));
    const auto ticks = mpi_number(word(rest));
    if (!place || !ticks || *ticks < 0) lines_.refuse("EVENT LOCATION TICKS ATTRIBUTES");
    Location& location = locations_[*place];
    const auto wide_ns = static_cast<__int128>(*ticks) * kNsPerSecond / ticks_;
    if (wide_ns > kMostNs) lines_.refuse("a time of less than 2^61 ns");
    const auto time_ns = static_cast<std::int64_t>(wide_ns);
    if (name == "ENTER") {
      if (rest.find("\"MPI_") != std::string_view::npos) location.entered_ns = time_ns;
    } else if (name == "MPI_IRECV_REQUEST") {
      location.requests[needed(rest, "Request: ")] = location.rank.calls.size();
      location.open.insert(location.rank.calls.size());
      location.rank.calls.push_back({});
      location.rank.calls.back().receives = true;
      location.rank.calls.back().time_ns = time_ns;
    } else {
      take(location, name, rest, time_ns);
    }
  }

  void take(Location& location, std::string_view name, std::string_view rest, std::int64_t time_ns) {
    MpiTracedCall call;
    call.receives = name == "MPI_RECV" || name == "MPI_IRECV";
    const std::string_view key = call.receives ? "Sender: " : "Receiver: ";
    call.peer = needed(rest, key);
    call.world_peer = reference_of(rest, key).value_or(MpiTracedCall::kNull);
    call.communicator = reference_of(rest, "Communicator: ").value_or(0);
    call.tag = needed(rest, "Tag: ");
    call.bytes = static_cast<std::uint64_t>(needed(rest, "Length: "));
    call.time_ns = name == "MPI_RECV" ? location.entered_ns : time_ns;
    if (name != "MPI_IRECV") {
      location.rank.calls.push_back(call);
      return;
    }
    const auto request = location.requests.find(needed(rest, "Request: "));
    if (request == location.requests.end()) lines_.refuse("a request that an MPI_IRECV_REQUEST before has named");
    call.time_ns = location.rank.calls[request->second].time_ns;
    location.rank.calls[request->second] = call;
    location.open.erase(request->second);
    location.requests.erase(request);
  }

  // (mpi_trace.h, R1) The locations with calls are the ranks; peers are given as locations.
  void find_ranks(MpiTracedJob& job) {
    std::map<std::int64_t, std::uint32_t> ranks;
    for (const auto& [number, location] : locations_) {
      if (!location.rank.calls.empty()) ranks.emplace(number, static_cast<std::uint32_t>(ranks.size()));
    }
    for (auto& [number, location] : locations_) {
      if (location.rank.calls.empty()) continue;
      MpiTracedRank& rank = job.ranks.emplace_back();
      for (std::size_t n = 0; n < location.rank.calls.size(); ++n) {
        MpiTracedCall call = location.rank.calls[n];
        if (location.open.contains(n)) {
          ++job.left_out["receives that never end"];
          continue;
        }
        const auto peer = ranks.find(call.world_peer);
        if (call.world_peer != MpiTracedCall::kNull && peer == ranks.end()) {
          ++job.left_out["calls whose peer has no events"];
          continue;
        }
        if (peer != ranks.end()) call.world_peer = peer->second;
        rank.calls.push_back(call);
      }
      // Receives were kept when they ended; they count from when they were posted.
      std::stable_sort(rank.calls.begin(), rank.calls.end(),
                       [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
    }
  }

  MpiLines lines_;
  std::int64_t ticks_ = kNsPerSecond;
  std::map<std::int64_t, Location> locations_;
};

}  // namespace

void read_otf2(const MpiText& file, MpiTracedJob& job) { Otf2(file).read(job); }

}  // namespace rxnic
