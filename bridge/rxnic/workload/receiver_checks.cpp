// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "bridge/rxnic/workload/page_checks.h"

namespace rxnic {

std::optional<PageFault> receiver_fault(const WorkloadPage& workload) {
  const ReceiverPage& page = workload.receiver;
  const auto fault = [](const char* key, std::string found, std::string expected) {
    return PageFault{"receiver", key, 0, std::move(found), std::move(expected)};
  };
  if (page.cqes != 0 && (page.cqes < 16 || !std::has_single_bit(page.cqes))) {
    return fault("cqes", std::to_string(page.cqes), "0, or a power of two from 16");
  }
  try {
    host_options(page);
  } catch (const OptionError& e) {
    return fault(e.key.c_str(), '"' + e.found + '"', e.expected);
  }
  if (!page.sge_bytes.empty() && page.sges != 1) return fault("sges", std::to_string(page.sges), "1 beside sge_bytes");
  if (!page.sge_bytes.empty() && page.buffer != 0)
    return fault("buffer", std::to_string(page.buffer), "0 beside sge_bytes");
  constexpr std::uint64_t kMostBytesOfRegions = std::uint64_t{1} << 44;
  if (page.regions > kMostBytesOfRegions / std::max<std::uint64_t>(page.region_bytes, 1)) {
    return fault("regions", fmt::format("{} regions of {} bytes", page.regions, page.region_bytes),
                 "at most 2^44 bytes of all regions");
  }
  const TagsPage& tags = page.tags;
  if (page.receive != PageReceive::kTagMatchingSrq && tags != TagsPage{}) {
    return PageFault{"receiver.tags", "", 0, "tags for a receiver without tag matching",
                     "receive = \"tm_srq\" in [receiver]"};
  }
  if (page.receive == PageReceive::kTagMatchingSrq && page.qps_per_srq != 0) {
    return fault("qps_per_srq", std::to_string(page.qps_per_srq), "0 with receive = \"tm_srq\": one list of tags");
  }
  if (workload.mpi.any() && tags != TagsPage{}) {
    return PageFault{"receiver.tags", "", 0, "tags beside [mpi]", "one of the two: the trace says what is posted"};
  }
  if (tags.unexpected_lag != 0 && tags.unexpected_ppm == 0) {
    return PageFault{"receiver.tags", "unexpected_lag", 0, std::to_string(tags.unexpected_lag),
                     "0, or unexpected_ppm above 0 beside it"};
  }
  return std::nullopt;
}

}  // namespace rxnic
