// SPDX-License-Identifier: Apache-2.0
// liballprof and its forerunner collprof (LogGOPSim, T. Hoefler et al., HPDC 2010). A line is a call, and colons
// separate its fields. They are its name, the time of its begin, its arguments, and the time of its end. Times are
// microseconds. A datatype is "number,size,extent", a communicator "number,own rank,size".
#include <algorithm>
#include <array>

#include "traces/mpi_lines.h"

namespace rxnic {
namespace {

constexpr std::string_view kInitDifference = "# Init clockdiff: ", kFinalizeDifference = "# Finalize clockdiff: ";
constexpr unsigned kUsToNs = 3;  // decimals

// Where a call has what, counted from its name; 0: it does not have it.
struct AllprofShape {
  std::string_view name;
  std::uint8_t fields;  // at least
  std::uint8_t communicator;
  std::uint8_t send_count, send_type, destination, send_tag;
  std::uint8_t receive_count, receive_type, source, receive_tag;
};
constexpr std::array<AllprofShape, 12> kShapes = {{
    {"MPI_Send", 8, 7, 3, 4, 5, 6, 0, 0, 0, 0},
    {"MPI_Bsend", 8, 7, 3, 4, 5, 6, 0, 0, 0, 0},
    {"MPI_Ssend", 8, 7, 3, 4, 5, 6, 0, 0, 0, 0},
    {"MPI_Rsend", 8, 7, 3, 4, 5, 6, 0, 0, 0, 0},
    {"MPI_Isend", 8, 7, 3, 4, 5, 6, 0, 0, 0, 0},
    {"MPI_Ibsend", 8, 7, 3, 4, 5, 6, 0, 0, 0, 0},
    {"MPI_Issend", 8, 7, 3, 4, 5, 6, 0, 0, 0, 0},
    {"MPI_Irsend", 8, 7, 3, 4, 5, 6, 0, 0, 0, 0},
    {"MPI_Recv", 8, 7, 0, 0, 0, 0, 3, 4, 5, 6},
    {"MPI_Irecv", 8, 7, 0, 0, 0, 0, 3, 4, 5, 6},
    {"MPI_Sendrecv", 13, 12, 3, 4, 5, 6, 8, 9, 10, 11},
    {"MPI_Sendrecv_replace", 10, 9, 3, 4, 5, 6, 3, 4, 7, 8},
}};

class Allprof {
 public:
  Allprof(const MpiText& file, MpiTracedRank& rank, std::map<std::string, std::uint64_t>& left_out)
      : lines_(file), rank_(rank), left_out_(left_out) {}

  void read() {
    while (lines_.next()) {
      const std::string_view text = lines_.text();
      if (text.starts_with(kInitDifference)) {
        first_difference_ = difference(text.substr(kInitDifference.size()));
      } else if (text.starts_with(kFinalizeDifference)) {
        last_difference_ = difference(text.substr(kFinalizeDifference.size()));
      } else if (!text.empty() && !text.starts_with('#')) {
        read_call(text);
      }
    }
    correct_clock();
  }

 private:
  std::int64_t difference(std::string_view text) {
    const auto ns = mpi_decimal(text, kUsToNs);
    constexpr std::int64_t kMost = std::int64_t{1} << 50;  // 13 days
    if (!ns || *ns > kMost || *ns < -kMost) lines_.refuse("a number of microseconds, less than 10^12");
    return *ns;
  }

  void read_call(std::string_view text) {
    fields_.clear();
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t colon = std::min(text.find(':', from), text.size());
      fields_.push_back(text.substr(from, colon - from));
      from = colon + 1;
    }
    const std::string_view name = fields_[0];
    if (!name.starts_with("MPI_") || fields_.size() < 2) lines_.refuse("MPI_NAME:TIME:...");
    const auto shape = std::find_if(kShapes.begin(), kShapes.end(), [name](const auto& s) { return s.name == name; });
    if (name == "MPI_Init" || name == "MPI_Finalize") {
      note_end(name == "MPI_Init");
    } else if (shape == kShapes.end()) {
      if (name != "MPI_Comm_size" && name != "MPI_Comm_rank" && !name.starts_with("MPI_Wait")) {
        ++left_out_[std::string(name)];
      }
    } else {
      if (fields_.size() < shape->fields) lines_.refuse("the arguments of " + std::string(name));
      if (shape->source != 0) add(*shape, true);
      if (shape->destination != 0) add(*shape, false);
    }
  }

  // MPI_Init ends, MPI_Finalize begins: the clocks were compared there.
  void note_end(bool init) {
    const auto time = mpi_decimal(init ? fields_.back() : fields_[1], kUsToNs);
    if (!time) lines_.refuse("a time in microseconds");
    (init ? first_time_ : last_time_) = *time;
  }

  std::int64_t number(std::string_view text, std::size_t part = 0) {
    for (; part > 0; --part) {
      const std::size_t comma = text.find(',');
      if (comma == std::string_view::npos)
        lines_.refuse("a datatype as NUMBER,SIZE,EXTENT, a communicator as NUMBER,RANK,SIZE");
      text.remove_prefix(comma + 1);
    }
    const auto value = mpi_number(text.substr(0, text.find(',')));
    if (!value) lines_.refuse("a number instead of '" + std::string(text.substr(0, text.find(','))) + "'");
    return *value;
  }

  void add(const AllprofShape& shape, bool receives) {
    MpiTracedCall call;
    call.receives = receives;
    const auto time = mpi_decimal(fields_[1], kUsToNs);
    if (!time) lines_.refuse("a time in microseconds");
    call.time_ns = *time;
    call.peer = number(fields_[receives ? shape.source : shape.destination]);
    call.tag = number(fields_[receives ? shape.receive_tag : shape.send_tag]);
    const std::int64_t count = number(fields_[receives ? shape.receive_count : shape.send_count]);
    const std::int64_t size = number(fields_[receives ? shape.receive_type : shape.send_type], 1);
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    if (count < 0 || size < 0 || count > kMost || size > kMost) lines_.refuse("a count and a size of 0 to 2^31");
    call.bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
    call.communicator = number(fields_[shape.communicator]);
    const std::int64_t own = number(fields_[shape.communicator], 1);
    if (own < 0 || own > 0x7fffffff) lines_.refuse("a rank of the communicator from 0");
    rank_.own_ranks[call.communicator] = static_cast<std::uint32_t>(own);
    rank_.calls.push_back(call);
  }

  void correct_clock() {
    const std::int64_t span = last_time_ - first_time_;
    for (MpiTracedCall& call : rank_.calls) {
      std::int64_t add = first_difference_;
      if (span > 0) {
        const std::int64_t since = std::clamp<std::int64_t>(call.time_ns, first_time_, last_time_) - first_time_;
        const auto change = static_cast<__int128>(last_difference_ - first_difference_) * since;
        add += static_cast<std::int64_t>(change / span);
      }
      call.time_ns += add;
    }
  }

  MpiLines lines_;
  MpiTracedRank& rank_;
  std::map<std::string, std::uint64_t>& left_out_;
  std::vector<std::string_view> fields_;
  std::int64_t first_time_ = 0, last_time_ = 0;              // ns
  std::int64_t first_difference_ = 0, last_difference_ = 0;  // ns
};

}  // namespace

void read_allprof(const MpiText& file, std::uint32_t rank, MpiTracedJob& job) {
  Allprof(file, job.ranks.at(rank), job.left_out).read();
}

}  // namespace rxnic
