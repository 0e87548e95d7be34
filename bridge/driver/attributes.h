// SPDX-License-Identifier: Apache-2.0
// Addresses and limits of a NIC of the fabric. NIC n has
//
//   R1  MAC 02:72:78:00:00:(n+1).
//   R2  GID 0 (RoCEv1) and GID 1 (RoCEv2): fe80::/64 with the EUI-64 of the MAC. GID 2 (RoCEv2): its IPv4 address
//       (nic_addresses.h), ::ffff:198.18.0.(n+1) unless the run says otherwise. GID 3: an empty slot.
//   R3  A GID resolves to the MAC of the NIC that has it, a multicast GID to its group's MAC (RFC 1112, RFC 2464). A
//       link-local GID that no NIC has resolves to the MAC in it: frames to this MAC reach nobody, as in a real
//       network.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "bridge/channel/protocol.h"
#include "bridge/driver/nic_addresses.h"
#include "model/nic/fabric.h"
#include "model/params/params.h"

namespace rxnic {

using Mac = std::array<std::uint8_t, 6>;
using GidBytes = std::array<std::uint8_t, 16>;

// MTU of the network interface that a NIC's GIDs name: payload of 4096 bytes, and headers.
inline constexpr std::uint32_t kInterfaceMtu = 4200;

Mac nic_mac(std::uint32_t nic);
std::array<channel::Gid, channel::kGids> nic_gids(std::uint32_t nic, NicAddresses addresses = {});
PortAddress port_address(std::uint32_t nic, NicAddresses addresses = {});            // for Fabric::attach
std::vector<SourceGid> source_gids(std::uint32_t nic, NicAddresses addresses = {});  // for Requester::set_port
std::uint64_t node_guid(std::uint32_t nic);  // as 8 bytes in memory: network byte order
channel::DeviceAttributes device_attributes(std::uint32_t nic, const Params& params, NicAddresses addresses = {});

// As the destination or source address of packets from that entry of the GID table.
Address address_of(const GidBytes& gid, channel::GidType type);
std::optional<Mac> resolve(const GidBytes& gid, std::uint32_t nics, NicAddresses addresses);  // (R3)

}  // namespace rxnic
