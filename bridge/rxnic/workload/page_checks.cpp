// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/page_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "bridge/rxnic/workload/mix_kinds.h"
#include "model/types/tag_matching.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kMostPageQps = 131072;   // of a page
constexpr std::uint64_t kMostPosted = 1u << 20;  // messages that are under way at once

std::optional<PageFault> mix_fault(const SendersPage& s, std::size_t group) {
  std::uint64_t sum = 0;
  for (const MixKind& kind : mix_kinds()) {
    const std::uint64_t weight = s.mix.*kind.weight;
    sum += weight;
    if (weight == 0 || mix_kind_is_legal(kind, s.transport)) continue;
    return PageFault{"senders.mix", std::string(kind.name), group, std::to_string(weight),
                     fmt::format("0: transport \"{}\" does not have it", transport_name(s.transport))};
  }
  if (sum != 0) return std::nullopt;
  return PageFault{"senders.mix", "send", group, "no kind of message with a weight", "one weight above 0 at least"};
}

std::optional<PageFault> size_fault(const SendersPage& s, std::size_t group) {
  const auto fault = [&](const char* key, std::uint64_t found, std::string expected) {
    return PageFault{"senders", key, group, std::to_string(found), std::move(expected)};
  };
  if (s.size == SizeKind::kUniform && s.min_bytes > s.max_bytes) {
    return fault("min_bytes", s.min_bytes, fmt::format("at most max_bytes, which is {}", s.max_bytes));
  }
  if (s.size == SizeKind::kBimodal && s.small_bytes > s.large_bytes) {
    return fault("small_bytes", s.small_bytes, fmt::format("at most large_bytes, which is {}", s.large_bytes));
  }
  const std::uint64_t largest = largest_message(s);
  if (s.transport == SenderTransport::kUd && largest > s.mtu) {
    const char* key = s.size == SizeKind::kFixed ? "bytes" : s.size == SizeKind::kBimodal ? "large_bytes" : "max_bytes";
    return fault(key, largest, fmt::format("at most the mtu, {}: a datagram is one packet", s.mtu));
  }
  return std::nullopt;
}

std::optional<PageFault> arrival_fault(const SendersPage& s, std::size_t group) {
  if (s.arrivals == ArrivalKind::kRing && s.peers == 1) {
    return PageFault{"senders", "peers", group, "1", "2 at least: a ring has the NIC and 2 peers at least"};
  }
  const std::uint64_t posted = s.peers * s.qps * s.window;
  if (s.arrivals == ArrivalKind::kClosed && posted > kMostPosted) {
    return PageFault{"senders", "window", group, fmt::format("{}: {} messages of all QPs", s.window, posted),
                     fmt::format("at most {} of all QPs", kMostPosted)};
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t largest_message(const SendersPage& s) {
  switch (s.size) {
    case SizeKind::kFixed:
      return s.bytes;
    case SizeKind::kBimodal:
      return s.large_bytes;
    case SizeKind::kCdf:
      return s.cdf_points.empty() ? s.max_bytes
                                  : std::min(s.max_bytes, static_cast<std::uint64_t>(s.cdf_points.back().bytes));
    default:
      return s.max_bytes;
  }
}

std::optional<PageFault> page_fault(const WorkloadPage& page) {
  std::uint64_t qps = 0;
  for (std::size_t i = 0; i < page.senders.size(); ++i) {
    const SendersPage& s = page.senders[i];
    qps += s.peers * s.qps;
    if (qps > kMostPageQps) {
      return PageFault{"senders", "qps", i, fmt::format("{} QPs of all senders so far", qps),
                       fmt::format("at most {}", kMostPageQps)};
    }
    for (const auto& fault : {mix_fault(s, i), size_fault(s, i), arrival_fault(s, i)}) {
      if (fault) return fault;
    }
    const bool tagged = s.mix.eager != 0 || s.mix.rendezvous != 0;
    if (tagged && s.tags != page.senders[0].tags) {
      return PageFault{"senders", "tags", i, std::to_string(s.tags),
                       fmt::format("{}, as the first senders: all count together", page.senders[0].tags)};
    }
    if (tagged && page.receiver.receive != PageReceive::kTagMatchingSrq) {
      return PageFault{"senders.mix", s.mix.eager != 0 ? "eager" : "rendezvous", i,
                       "tagged messages for a receiver without tag matching", "receive = \"tm_srq\" in [receiver]"};
    }
  }
  return receiver_fault(page);
}

}  // namespace rxnic
