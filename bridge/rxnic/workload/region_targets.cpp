// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/region_targets.h"

#include <algorithm>

namespace rxnic {

RegionTargets::RegionTargets(const ReceiverPage& page, std::uint64_t region_bytes)
    : locality_(page.locality), regions_(page.regions), region_bytes_(region_bytes), stride_(page.stride) {
  if (locality_ == RegionLocality::kZipf) zipf_.emplace(regions_, page.region_zipf_s);
}

RegionTarget RegionTargets::next(std::uint64_t bytes, RandomNumbers& random) {
  const bool follows = locality_ == RegionLocality::kSequential || locality_ == RegionLocality::kStride;
  if (!follows) {  // (R1)
    std::uint32_t region = 0;
    if (zipf_) {
      region = static_cast<std::uint32_t>(zipf_->quantile(random.unit()));
    } else if (regions_ > 1) {
      region = static_cast<std::uint32_t>(random.below(regions_));
    }
    return {region, random.below(region_bytes_ - bytes + 1)};
  }
  if (at_.offset + bytes > region_bytes_) {  // (R2)
    at_.offset = 0;
    at_.region = static_cast<std::uint32_t>((at_.region + 1) % regions_);
  }
  RegionTarget target = at_;
  at_.offset += locality_ == RegionLocality::kStride ? stride_ : std::max<std::uint64_t>(bytes, 1);
  return target;
}

}  // namespace rxnic
