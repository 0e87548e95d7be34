// SPDX-License-Identifier: Apache-2.0
// dumpi2ascii of SST-DUMPI (dumpi/bin/dumpi2ascii-callbacks.c). A call begins with a line "NAME entering at walltime
// SECONDS, ..." and ends with a line "NAME returning at ...". In between each argument has a line: "int tag=5", "int
// source=-1 (MPI_ANY_SOURCE)".
#include <algorithm>
#include <array>
#include <utility>

#include "traces/mpi_lines.h"

namespace rxnic {
namespace {

constexpr std::string_view kEntering = " entering at walltime ", kReturning = " returning at walltime ";
constexpr unsigned kSecondsToNs = 9;

// The size of MPI's own datatypes, in bytes. Those of the program have none in the trace.
constexpr std::pair<std::string_view, std::uint64_t> kTypeSizes[] = {{"MPI_CHAR", 1},
                                                                     {"MPI_SIGNED_CHAR", 1},
                                                                     {"MPI_UNSIGNED_CHAR", 1},
                                                                     {"MPI_BYTE", 1},
                                                                     {"MPI_PACKED", 1},
                                                                     {"MPI_WCHAR", 4},
                                                                     {"MPI_SHORT", 2},
                                                                     {"MPI_UNSIGNED_SHORT", 2},
                                                                     {"MPI_INT", 4},
                                                                     {"MPI_UNSIGNED", 4},
                                                                     {"MPI_LONG", 8},
                                                                     {"MPI_UNSIGNED_LONG", 8},
                                                                     {"MPI_FLOAT", 4},
                                                                     {"MPI_DOUBLE", 8},
                                                                     {"MPI_LONG_DOUBLE", 16},
                                                                     {"MPI_LONG_LONG_INT", 8},
                                                                     {"MPI_LONG_LONG", 8},
                                                                     {"MPI_UNSIGNED_LONG_LONG", 8},
                                                                     {"MPI_CHARACTER", 1},
                                                                     {"MPI_LOGICAL", 4},
                                                                     {"MPI_INTEGER", 4},
                                                                     {"MPI_REAL", 4},
                                                                     {"MPI_DOUBLE_PRECISION", 8},
                                                                     {"MPI_COMPLEX", 8},
                                                                     {"MPI_DOUBLE_COMPLEX", 16},
                                                                     {"MPI_INTEGER4", 4},
                                                                     {"MPI_INTEGER8", 8},
                                                                     {"MPI_REAL4", 4},
                                                                     {"MPI_REAL8", 8}};
constexpr std::array<std::string_view, 8> kSendCalls = {"MPI_Send",  "MPI_Bsend",  "MPI_Ssend",  "MPI_Rsend",
                                                        "MPI_Isend", "MPI_Ibsend", "MPI_Issend", "MPI_Irsend"};

class Dumpi {
 public:
  Dumpi(const MpiText& file, std::uint32_t number, MpiTracedJob& job)
      : lines_(file), number_(number), rank_(job.ranks.at(number)), left_out_(job.left_out) {}

  void read() {
    while (lines_.next()) {
      const std::string_view text = lines_.text();
      const std::size_t entering = text.find(kEntering);
      if (entering == std::string_view::npos || !text.starts_with("MPI_")) continue;  // the header, the footer
      const std::string name(text.substr(0, entering));
      const std::string_view behind = text.substr(entering + kEntering.size());
      const auto time = mpi_decimal(behind.substr(0, behind.find(',')), kSecondsToNs);
      if (!time) lines_.refuse("a time in seconds behind 'walltime'");
      read_arguments(name);
      take(name, *time);
    }
  }

 private:
  // Arguments up to the line in which the call returns.
  void read_arguments(const std::string& name) {
    arguments_.clear();
    while (lines_.next()) {
      const std::string_view text = lines_.text();
      if (text.starts_with(name) && text.substr(name.size()).starts_with(kReturning)) return;
      if (text.find(kEntering) != std::string_view::npos) lines_.refuse("the return of " + name);
      const std::size_t equals = text.find('=');
      const std::size_t space = text.substr(0, equals).rfind(' ');
      if (equals == std::string_view::npos) continue;
      const std::string_view key = text.substr(0, equals).substr(space == std::string_view::npos ? 0 : space + 1);
      arguments_.emplace_back(key, text.substr(equals + 1));
    }
    lines_.refuse("the end of the file", "the return of " + name);
  }

  std::string_view argument(std::string_view key) {
    for (const auto& [name, value] : arguments_) {
      if (name == key) return value;
    }
    lines_.refuse("no '" + std::string(key) + "' above", "each argument of the call");
  }
  // What stands in parentheses behind the number.
  static std::string_view name_in(std::string_view value) {
    const std::size_t open = value.find('('), close = value.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "";
    return value.substr(open + 1, close - open - 1);
  }
  std::int64_t number(std::string_view key) {
    const std::string_view value = argument(key);
    const std::string_view name = name_in(value);
    if (name == "MPI_ANY_SOURCE" || name == "MPI_ANY_TAG") return MpiTracedCall::kAny;
    const auto found = mpi_number(value.substr(0, value.find(' ')));
    if (!found) lines_.refuse("'" + std::string(key) + "=" + std::string(value) + "' above", "a number");
    return *found;
  }

  void take(const std::string& name, std::int64_t time_ns) {
    if (name == "MPI_Comm_rank") {
      own_rank(number("comm"), number("rank"));
    } else if (std::find(kSendCalls.begin(), kSendCalls.end(), name) != kSendCalls.end()) {
      add(time_ns, false, "count", "datatype", "dest", "tag");
    } else if (name == "MPI_Recv" || name == "MPI_Irecv") {
      add(time_ns, true, "count", "datatype", "source", "tag");
    } else if (name == "MPI_Sendrecv") {
      add(time_ns, true, "recvcount", "recvtype", "source", "recvtag");
      add(time_ns, false, "sendcount", "sendtype", "dest", "sendtag");
    } else if (name == "MPI_Sendrecv_replace") {
      add(time_ns, true, "count", "datatype", "source", "recvtag");
      add(time_ns, false, "count", "datatype", "dest", "sendtag");
    } else if (name != "MPI_Init" && name != "MPI_Finalize" && name != "MPI_Comm_size" &&
               !name.starts_with("MPI_Wait")) {
      ++left_out_[name];
    }
  }

  void own_rank(std::int64_t communicator, std::int64_t rank) {
    if (rank < 0 || rank > 0x7fffffff) lines_.refuse("a rank from 0 of MPI_Comm_rank");
    rank_.own_ranks[communicator] = static_cast<std::uint32_t>(rank);
  }

  void add(std::int64_t time_ns, bool receives, std::string_view count_key, std::string_view type_key,
           std::string_view peer_key, std::string_view tag_key) {
    MpiTracedCall call;
    call.receives = receives;
    call.time_ns = time_ns;
    call.peer = number(peer_key);
    if (call.peer < 0 && name_in(argument(peer_key)) != "MPI_ANY_SOURCE") call.peer = MpiTracedCall::kNull;
    call.tag = number(tag_key);
    call.communicator = number("comm");
    if (name_in(argument("comm")) == "MPI_COMM_WORLD") rank_.own_ranks[call.communicator] = number_;
    const std::int64_t count = number(count_key);
    const std::string_view type = name_in(argument(type_key));
    std::uint64_t size = 1;
    bool known = false;
    for (const auto& [name, bytes] : kTypeSizes) {
      if (name == type) size = bytes, known = true;
    }
    if (!known) ++left_out_["the size of datatypes of the program: a byte is taken"];
    if (count < 0 || count > std::int64_t{1} << 31) lines_.refuse("a count of 0 to 2^31");
    call.bytes = static_cast<std::uint64_t>(count) * size;
    rank_.calls.push_back(call);
  }

  MpiLines lines_;
  std::uint32_t number_;
  MpiTracedRank& rank_;
  std::map<std::string, std::uint64_t>& left_out_;
  std::vector<std::pair<std::string, std::string>> arguments_;
};

}  // namespace

void read_dumpi(const MpiText& file, std::uint32_t rank, MpiTracedJob& job) { Dumpi(file, rank, job).read(); }

}  // namespace rxnic
