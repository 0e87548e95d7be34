// SPDX-License-Identifier: Apache-2.0
// Device ABI, flow steering. By fields of an Ethernet frame that is not RDMA a NIC finds the RAW_PACKET QP that gets
// the frame (ibv_create_flow(3)). By some of these fields it spreads frames over receive queues (RSS).
//
//   R1  Fields are as on the wire, big-endian. Fields of a header that the frame does not have are zero.
#pragma once

#include <array>
#include <cstdint>

#include "model/types/ids.h"

namespace rxnic {

struct FlowKey {
  std::array<std::uint8_t, 6> destination_mac{}, source_mac{};
  std::array<std::uint8_t, 2> ether_type{};  // behind the VLAN tags
  std::array<std::uint8_t, 2> vlan{};        // TCI of the inner tag
  // IPv6; IPv4 in the first four bytes.
  std::array<std::uint8_t, 16> source{}, destination{};
  std::uint8_t protocol = 0;       // of IPv4, or the next header of IPv6
  std::uint8_t traffic_class = 0;  // or TOS
  std::uint8_t hop_limit = 0;      // or TTL
  std::uint8_t reserved = 0;
  std::array<std::uint8_t, 4> flow_label{};  // IPv6
  // TCP and UDP, not of a fragment.
  std::array<std::uint8_t, 2> source_port{}, destination_port{};
  std::array<std::uint8_t, 4> reserved2{};
};
inline constexpr std::size_t kFlowKeyBytes = 64;
static_assert(sizeof(FlowKey) == kFlowKeyBytes);

// Numbered as ibv_flow_attr_type.
enum class FlowKind : std::uint8_t {
  kNormal,            // frames that agree with `value` in the bits of `mask`
  kAllDefault,        // those that no normal flow takes
  kMulticastDefault,  // of them those with a multicast address
};

struct alignas(64) FlowMailbox {
  FlowKey value, mask;
  std::uint32_t qpn = 0;
  std::uint16_t priority = 0;  // the lowest wins
  FlowKind kind = FlowKind::kNormal;
};

// Numbered as ibv_rx_hash_fields.
enum HashField : std::uint8_t {
  kHashSourceIpv4 = 1u << 0,
  kHashDestinationIpv4 = 1u << 1,
  kHashSourceIpv6 = 1u << 2,
  kHashDestinationIpv6 = 1u << 3,
  kHashSourcePortTcp = 1u << 4,
  kHashDestinationPortTcp = 1u << 5,
  kHashSourcePortUdp = 1u << 6,
  kHashDestinationPortUdp = 1u << 7,
};
inline constexpr std::size_t kHashKeyBytes = 40;
inline constexpr std::uint32_t kMostLogRssEntries = 6;  // of an indirection table
inline constexpr std::uint32_t kMostRssEntries = 1u << kMostLogRssEntries;

// What a flow has counted, as the NIC writes it into host memory.
struct FlowCounts {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  // of their frames, without FCS
};

// What a QP that spreads frames over others does.
struct alignas(64) RssMailbox {
  std::array<std::uint8_t, kHashKeyBytes> key{};
  std::uint8_t fields = 0;       // HashField
  std::uint8_t log_entries = 0;  // of the indirection table
  std::uint8_t reserved[2] = {};
  std::array<std::uint32_t, kMostRssEntries> qpns{};  // the indirection table
};

}  // namespace rxnic
