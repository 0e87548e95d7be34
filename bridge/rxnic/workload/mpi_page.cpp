// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/mpi_page.h"

#include <algorithm>
#include <filesystem>

#include "bridge/rxnic/workload/page_keys.h"
#include "traces/mpi_job.h"

namespace rxnic {

namespace {

constexpr double kMostGapPs = 1e12, kMostRank = 65535;

constexpr WorkloadKey kMpiKeys[] = {
    text_key<&MpiPage::trace>(
        KeyType::kText, "mpi", "trace",
        "Of an MPI job: a folder with a text file for each rank (liballprof, dumpi2ascii), or the "
        "output of otf2-print."),
    integer_key<&MpiPage::rank>("mpi", "rank", "rank", 0, kMostRank, "Whose receives the host posts."),
    integer_key<&MpiPage::order_gap>(
        "mpi", "order_gap", "ps", 0, kMostGapPs,
        "Least time between two receives or messages, so that the order of the trace holds; 0: its times as they are."),
    integer_key<&MpiPage::speedup>("mpi", "speedup", "times", 1, 1e6, "By which the times of the trace are divided."),
    integer_key<&MpiPage::mtu>("mpi", "mtu", "bytes", 256, 4096,
                               "Path MTU: payload of a packet at most; a power of two."),
};

}  // namespace

std::span<const WorkloadKey> mpi_keys() { return kMpiKeys; }

void add_mpi_senders(WorkloadPage& page, const std::string& folder) {
  MpiPage& mpi = page.mpi;
  const std::filesystem::path path = std::filesystem::path(folder) / mpi.trace;
  mpi.trace = path.lexically_normal().string();
  mpi.calls = std::make_shared<const MpiTrace>(read_mpi_trace(mpi.trace));
  MpiJobOptions options;
  options.rank = static_cast<std::uint32_t>(mpi.rank);
  const MpiJob job = make_mpi_job(*mpi.calls, mpi.trace, options);
  SendersPage& s = page.senders.emplace_back();
  s.arrivals = ArrivalKind::kMpi;
  s.peers = std::max(job.ranks, 2u) - 1;
  s.mtu = mpi.mtu;
  s.mix = {.send = 0, .eager = 1};
  s.size = SizeKind::kFixed;
  s.bytes = job.largest;
}

}  // namespace rxnic
