// SPDX-License-Identifier: Apache-2.0
#include "traces/mpi_trace.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "traces/mpi_lines.h"
#include "traces/mpi_tag.h"

namespace rxnic {
namespace {

enum class MpiFormat : std::uint8_t { kNone, kAllprof, kDumpi, kOtf2 };
constexpr const char* kFormatNames[] = {"", "liballprof", "dumpi", "otf2"};
constexpr std::uint32_t kMostRanks = 65536;
constexpr std::uint32_t kLinesLookedAt = 64;

MpiText text_of(const std::string& file) {
  return {file, [file] { return std::make_unique<std::ifstream>(file, std::ios::binary); }};
}

// By the first line that belongs to one format.
MpiFormat format_of(const MpiText& file) {
  MpiLines lines(file);
  for (std::uint32_t n = 0; n < kLinesLookedAt && lines.next(); ++n) {
    const std::string_view text = lines.text();
    if (text.find(" entering at walltime ") != std::string_view::npos) return MpiFormat::kDumpi;
    if (text.starts_with("# collprof") || text.starts_with("# allprof") || text.starts_with("MPI_Init:")) {
      return MpiFormat::kAllprof;
    }
    if (text.starts_with("=== OTF2-PRINT") || text.starts_with("=== Events") || text.starts_with("ENTER ")) {
      return MpiFormat::kOtf2;
    }
  }
  return MpiFormat::kNone;
}

// The number that the file's name ends in, before its extension.
std::optional<std::uint32_t> rank_of(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  const std::size_t letter = stem.find_last_not_of("0123456789");
  const auto number = mpi_number(std::string_view(stem).substr(letter == std::string::npos ? 0 : letter + 1));
  if (!number || *number < 0 || *number >= kMostRanks) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

// (R1) The files of the ranks.
std::map<std::uint32_t, std::string> rank_files(const std::string& folder) {
  std::map<std::uint32_t, std::string> files;
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) names.insert(entry.path().string());
  }
  for (const std::string& name : names) {
    const auto rank = rank_of(name);
    if (!rank || format_of(text_of(name)) == MpiFormat::kNone) continue;
    const auto [other, fresh] = files.emplace(*rank, name);
    if (!fresh) throw TraceError(name, 0, "rank " + std::to_string(*rank) + ", as in " + other->second, "a rank once");
  }
  if (files.empty()) {
    throw TraceError(folder, 0, "no file of a rank",
                     "a text trace for each rank, whose name ends in the rank's number");
  }
  std::uint32_t next = 0;
  for (const auto& [rank, name] : files) {
    if (rank != next) {
      throw TraceError(folder, 0, "rank " + std::to_string(rank) + " and no rank " + std::to_string(next),
                       "all ranks from 0 on");
    }
    ++next;
  }
  return files;
}

class Job {
 public:
  Job(const MpiTracedJob& traced, const std::string& path) : traced_(traced), path_(path) {
    for (std::uint32_t rank = 0; rank < traced.ranks.size(); ++rank) {
      for (const auto& [communicator, own] : traced.ranks[rank].own_ranks) {
        contexts_.insert(communicator);
        const auto [at, fresh] = members_.try_emplace({communicator, own}, rank);
        if (!fresh && at->second != rank) ambiguous_.insert(communicator);
      }
      for (const MpiTracedCall& call : traced.ranks[rank].calls) {
        contexts_.insert(call.communicator);
        if (call.world_peer >= 0)
          numbers_[{call.communicator, call.world_peer}] = static_cast<std::uint32_t>(call.peer);
      }
    }
  }

  MpiTrace make() {
    MpiTrace trace;
    trace.left_out = traced_.left_out;
    for (std::uint32_t rank = 0; rank < traced_.ranks.size(); ++rank) {
      std::vector<MpiCall>& calls = trace.ranks.emplace_back();
      for (const MpiTracedCall& c : traced_.ranks[rank].calls) {
        if (c.peer == MpiTracedCall::kNull) continue;  // (R2)
        if (const auto call = call_of(c, rank)) {
          calls.push_back(*call);
        } else {
          ++trace.left_out["calls on communicators whose members are unknown"];
        }
      }
    }
    return trace;
  }

 private:
  // (R4)
  std::optional<MpiCall> call_of(const MpiTracedCall& c, std::uint32_t rank) const {
    const auto refuse_number = [&](const char* what, std::int64_t found, std::uint32_t most) {
      throw TraceError(path_, 0, "rank " + std::to_string(rank) + ": " + what + " " + std::to_string(found),
                       "0 to " + std::to_string(most));
    };
    MpiCall call;
    call.receives = c.receives;
    call.time_ns = c.time_ns;
    call.bytes = c.bytes;
    call.tag = call.peer = call.world_peer = MpiCall::kAny;
    const bool any_tag = c.receives && c.tag == MpiTracedCall::kAny;
    const bool any_peer = c.receives && c.peer == MpiTracedCall::kAny;
    if (!any_tag) {
      if (c.tag < 0 || c.tag > kMostMpiTag) refuse_number("tag", c.tag, kMostMpiTag);
      call.tag = static_cast<std::uint32_t>(c.tag);
    }
    if (!any_peer) {
      if (c.peer < 0 || c.peer > kMostMpiSource) refuse_number("peer", c.peer, kMostMpiSource);
      call.peer = static_cast<std::uint32_t>(c.peer);
    }
    const auto context = std::distance(contexts_.begin(), contexts_.find(c.communicator));
    if (context > kMostMpiContext) refuse_number("communicators", context, kMostMpiContext);
    call.context = static_cast<std::uint32_t>(context);
    if (c.world_peer != MpiTracedCall::kNull) {
      call.world_peer = static_cast<std::uint32_t>(c.world_peer);
      const auto number = numbers_.find({c.communicator, rank});
      call.own_rank = number == numbers_.end() ? rank : number->second;
      return call;
    }
    if (ambiguous_.contains(c.communicator)) return std::nullopt;
    const auto own = traced_.ranks[rank].own_ranks.find(c.communicator);
    if (own == traced_.ranks[rank].own_ranks.end()) return std::nullopt;
    call.own_rank = own->second;
    if (any_peer) return call;
    const auto member = members_.find({c.communicator, call.peer});
    if (member == members_.end()) return std::nullopt;
    call.world_peer = member->second;
    return call;
  }

  const MpiTracedJob& traced_;
  const std::string& path_;
  std::set<std::int64_t> contexts_, ambiguous_;
  std::map<std::pair<std::int64_t, std::uint32_t>, std::uint32_t> members_;  // by communicator and rank in it
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> numbers_;   // by communicator and rank of the job
};

}  // namespace

MpiTrace read_mpi_texts(const std::string& name, const std::vector<MpiText>& files) {
  MpiTracedJob job;
  const MpiFormat format = format_of(files.at(0));
  const auto refuse = [](const MpiText& file, MpiFormat found) {
    throw TraceError(file.name, 0,
                     found == MpiFormat::kNone ? "no trace of MPI" : kFormatNames[static_cast<std::size_t>(found)],
                     "liballprof or dumpi in a file for each rank, or otf2-print's output in one file");
  };
  if (format == MpiFormat::kOtf2 && files.size() == 1) {
    read_otf2(files[0], job);
  } else {
    job.ranks.resize(files.size());
    for (std::uint32_t rank = 0; rank < files.size(); ++rank) {
      const MpiFormat own = format_of(files[rank]);
      if (own != format || own == MpiFormat::kOtf2 || own == MpiFormat::kNone) refuse(files[rank], own);
      own == MpiFormat::kAllprof ? read_allprof(files[rank], rank, job) : read_dumpi(files[rank], rank, job);
    }
  }
  MpiTrace trace = Job(job, name).make();
  trace.format = kFormatNames[static_cast<std::size_t>(format)];
  return trace;
}

MpiTrace read_mpi_trace(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return read_mpi_texts(path, {text_of(path)});
  std::vector<MpiText> files;
  for (const auto& [rank, file] : rank_files(path)) files.push_back(text_of(file));
  return read_mpi_texts(path, files);
}

}  // namespace rxnic
