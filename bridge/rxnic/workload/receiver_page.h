// SPDX-License-Identifier: Apache-2.0
// The tables [receiver] and [receiver.tags] of a workload's page.
#pragma once

#include <cstdint>
#include <string>

#include "traces/host_options.h"

namespace rxnic {

enum class PageReceive : std::uint8_t { kRq, kSrq, kTagMatchingSrq };
enum class PageLayout : std::uint8_t { kByParameter, kLinkedList, kCyclic };
enum class PageSize : std::uint8_t { k4K, k2M, k1G };
enum class PageService : std::uint8_t { kNone, kFixed, kExponential };
enum class RegionLocality : std::uint8_t { kUniform, kSequential, kStride, kZipf };
enum class PageCompletions : std::uint8_t { kPolled, kEvents };

struct TagsPage {
  std::uint64_t ahead = 64;
  TagOrder order = TagOrder::kInOrder;
  std::uint64_t window = 16;
  std::uint64_t unexpected_ppm = 0, unexpected_lag = 0;
  std::uint64_t any_source_ppm = 0, any_tag_ppm = 0;
  std::uint64_t delete_ppm = 0, failing_ppm = 0;
  std::uint64_t sync_lag = 0;
  bool operator==(const TagsPage&) const = default;
};

struct ReceiverPage {
  PageReceive receive = PageReceive::kRq;
  std::uint64_t qps_per_srq = 0;
  std::uint64_t depth = 0;
  std::uint64_t buffer = 0;
  std::uint64_t sges = 1;
  std::string sge_bytes;
  std::uint64_t refill = 1;
  PageLayout layout = PageLayout::kByParameter;
  WqeOrder wqe_order = WqeOrder::kCompletion;
  PageSize page = PageSize::k4K;

  std::uint64_t regions = 1;
  std::uint64_t region_bytes = 0;
  RegionLocality locality = RegionLocality::kUniform;
  std::uint64_t stride = 4096;
  double region_zipf_s = 1;

  std::uint64_t qps_per_cq = 0;
  std::uint64_t cqes = 0;
  CqCompression compression = CqCompression::kByParameter;
  PageCompletions completions = PageCompletions::kPolled;
  std::uint64_t moderation_count = 0, moderation_period_us = 0;

  PageService service_time = PageService::kNone;
  std::uint64_t service = 1'000'000;
  std::uint64_t workers = 1;

  TagsPage tags;
};

// What the host plan of the workload is made with.
HostOptions host_options(const ReceiverPage& page);

}  // namespace rxnic
