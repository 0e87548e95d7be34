// SPDX-License-Identifier: Apache-2.0
#include "traces/mpi_job.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "traces/mpi_tag.h"

namespace rxnic {
namespace {

constexpr std::uint64_t kPsPerNs = 1000;
constexpr std::int64_t kLongestNs = std::int64_t{1} << 53;
constexpr std::uint64_t kMostMpiBytes = (std::uint64_t{1} << 30) - 1;
constexpr double kPsPerByteAtOneGbps = 8000;

struct MpiStep {
  std::uint64_t time_ps = 0;
  bool arrives = false;
  std::uint32_t sender = 0;
  const MpiCall* call = nullptr;
};

// (R2) A rank's calls are in their order, since sorting is stable.
bool earlier(const MpiStep& a, const MpiStep& b) {
  return std::tie(a.time_ps, a.arrives, a.sender) < std::tie(b.time_ps, b.arrives, b.sender);
}

TagPost post_of(const MpiCall& call, std::uint64_t time_ps) {
  TagPost post{time_ps, 0, ~std::uint64_t{0}};
  if (call.peer == MpiCall::kAny) post.mask &= ~kMpiSourceMask;
  if (call.tag == MpiCall::kAny) post.mask &= ~kMpiTagMask;
  post.tag =
      mpi_tag(call.tag == MpiCall::kAny ? 0 : call.tag, call.peer == MpiCall::kAny ? 0 : call.peer, call.context);
  return post;
}

}  // namespace

MpiJob make_mpi_job(const MpiTrace& trace, const std::string& path, const MpiJobOptions& o) {
  MpiJob job;
  job.ranks = static_cast<std::uint32_t>(trace.ranks.size());
  job.rank = o.rank;
  if (o.rank >= job.ranks) {
    throw TraceError(path, 0, "rank " + std::to_string(o.rank) + " of " + std::to_string(job.ranks) + " ranks",
                     job.ranks == 0 ? "a trace with calls" : "0 to " + std::to_string(job.ranks - 1));
  }
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max(), last_ns = std::numeric_limits<std::int64_t>::min();
  for (const std::vector<MpiCall>& calls : trace.ranks) {
    for (const MpiCall& call : calls)
      first_ns = std::min(first_ns, call.time_ns), last_ns = std::max(last_ns, call.time_ns);
  }
  if (last_ns > first_ns && last_ns - first_ns > kLongestNs) {
    throw TraceError(path, 0, "a job of " + std::to_string(last_ns - first_ns) + " ns", "at most 2^53 ns");
  }
  const auto time_of = [&](const MpiCall& call) {  // (R3)
    return o.start_ps + static_cast<std::uint64_t>(call.time_ns - first_ns) / o.speedup * kPsPerNs;
  };
  std::vector<MpiStep> steps;
  std::uint64_t own = 0;
  for (std::uint32_t rank = 0; rank < job.ranks; ++rank) {
    for (const MpiCall& call : trace.ranks[rank]) {
      const bool for_rank = rank == o.rank ? call.receives : !call.receives && call.world_peer == o.rank;
      if (!for_rank && !(rank == o.rank && call.world_peer == o.rank)) continue;
      if (rank == o.rank && call.world_peer == o.rank) {  // (R5)
        ++own;
        continue;
      }
      if (call.bytes > kMostMpiBytes) {
        throw TraceError(path, 0,
                         "rank " + std::to_string(rank) + ": a message of " + std::to_string(call.bytes) + " bytes",
                         "less than 2^30");
      }
      job.largest = std::max(job.largest, static_cast<std::uint32_t>(call.bytes));
      steps.push_back({time_of(call) + (call.receives ? 0 : o.delay_ps), !call.receives, rank, &call});
    }
  }
  std::stable_sort(steps.begin(), steps.end(), earlier);
  std::uint64_t free_ps = 0;
  for (const MpiStep& step : steps) {  // (R4)
    const std::uint64_t time_ps = o.gap_ps == 0 ? step.time_ps : std::max(step.time_ps, free_ps);
    job.moved += time_ps != step.time_ps;
    free_ps = time_ps + o.gap_ps;
    if (step.arrives) {
      free_ps += static_cast<std::uint64_t>(static_cast<double>(step.call->bytes) * kPsPerByteAtOneGbps / o.link_gbps);
      job.messages.push_back({time_ps - o.delay_ps, step.sender, static_cast<std::uint32_t>(step.call->bytes),
                              mpi_tag(step.call->tag, step.call->own_rank, step.call->context)});
    } else {
      job.posts.push_back(post_of(*step.call, time_ps));
    }
  }
  for (const auto& [what, calls] : trace.left_out) {
    job.notes.push_back(std::to_string(calls) + " times left out of the MPI trace: " + what);
  }
  if (own != 0) job.notes.push_back(std::to_string(own) + " calls of the rank with itself never reach its NIC");
  if (job.moved != 0) {
    job.notes.push_back(std::to_string(job.moved) + " of " + std::to_string(steps.size()) +
                        " receives and messages of the MPI trace come later than it says, so that their order holds");
  }
  return job;
}

}  // namespace rxnic
