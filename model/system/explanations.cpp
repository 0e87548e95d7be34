// SPDX-License-Identifier: Apache-2.0
#include "model/system/explanations.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "model/system/units.h"

namespace rxnic {

namespace {

constexpr double kGoodPart = 0.25;

std::uint64_t counter_of(const BlockResult& b, std::string_view name) {
  const auto at = std::find_if(b.counters.begin(), b.counters.end(), [name](const auto& c) { return c.first == name; });
  return at == b.counters.end() ? 0 : at->second;
}

void explain(RunResult& r, const BlockResult& cam, const std::string& of_nic) {
  const std::uint64_t waits = cam.account[static_cast<std::size_t>(Activity::kWaitTag)];
  const double share = r.cycles == 0 ? 0 : static_cast<double>(waits) / static_cast<double>(r.cycles);
  const std::uint64_t walks = counter_of(cam, "walks"), refills = counter_of(cam, "refill_waits");
  if (share < kGoodPart || walks + refills == 0) return;
  std::string text = fmt::format(
      "tag_match_cam{}: {:.0f} % of the cycles it waited for tags in memory: the CAM holds {} "
      "(tag_match_cam.entries), and",
      of_nic, 100 * share, r.params.tag_match_cam.entries);
  if (walks != 0) {
    text += fmt::format(
        " {} of {} searches walked the rest of their list, {:.1f} reads of memory one after the other "
        "each",
        count_text(walks), count_text(counter_of(cam, "searches")),
        static_cast<double>(counter_of(cam, "walk_reads")) / static_cast<double>(walks));
    text += fmt::format(" ({} messages matched no tag, which only the end of the list shows)",
                        count_text(counter_of(cam, "unexpected")));
  }
  if (refills != 0) {
    text += fmt::format("{} {} waited for tags on their way into it", walks == 0 ? "" : ",", count_text(refills));
  }
  r.warnings.push_back(text + ". With fewer entries messages may be so slow that the host posts tags in time");
}

}  // namespace

void explain_tag_searches(RunResult& r) {
  for (const BlockResult& b : r.blocks) {
    if (b.stem == "tag_match_cam") explain(r, b, "");
  }
  for (std::size_t n = 0; n < r.nics.size(); ++n) {
    for (const BlockResult& b : r.nics[n].blocks) {
      if (b.stem == "tag_match_cam") explain(r, b, fmt::format(" of NIC {}", n));
    }
  }
}

}  // namespace rxnic
