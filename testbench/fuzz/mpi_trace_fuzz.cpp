// SPDX-License-Identifier: Apache-2.0
// Any texts as the files of an MPI trace (liballprof, dumpi2ascii, otf2-print), one behind each NUL. What comes out is
// the work of each rank, or a TraceError that names what it found.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "traces/mpi_job.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string all(reinterpret_cast<const char*>(data), size);
  std::vector<rxnic::MpiText> files;
  for (std::size_t at = 0; at <= all.size() && files.size() < 4;) {
    const std::size_t end = std::min(all.find('\0', at), all.size());
    const std::string text = all.substr(at, end - at);
    files.push_back(
        {"input-" + std::to_string(files.size()), [text] { return std::make_unique<std::istringstream>(text); }});
    at = end + 1;
  }
  try {
    const rxnic::MpiTrace trace = rxnic::read_mpi_texts("input", files);
    for (std::uint32_t rank = 0; rank < trace.ranks.size(); ++rank) {
      rxnic::MpiJobOptions options;
      options.rank = rank;
      options.gap_ps = 1000;
      const rxnic::MpiJob job = rxnic::make_mpi_job(trace, "input", options);
      for (std::size_t n = 1; n < job.posts.size(); ++n) {
        if (job.posts[n].time_ps < job.posts[n - 1].time_ps + options.gap_ps) std::abort();  // mpi_job.h R4
      }
    }
  } catch (const rxnic::TraceError& e) {
    if (e.found().empty() || e.expected().empty()) std::abort();
  }
  return 0;
}
