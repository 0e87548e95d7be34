// SPDX-License-Identifier: Apache-2.0
// Addresses of the RDMA connection manager: an IP address with a port. The forms of an address are the one that
// programs give (sockaddr), a GID and a service ID. The fourth stands in front of the private data of a request (IBTA
// annex A11).
//
//   R1  An IPv4 address is kept as the IPv6 address that it is mapped to, which is its GID over RoCEv2.
//   R2  The service ID of a port is port space << 16 | port.
//   R3  The header: version 0, IP version, source port, source and destination address; an IPv4 address in the last
//       four of its 16 bytes. A request of another version is none of these.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bridge/cm/mad.h"

namespace rxnic::cm {

struct Endpoint {
  bool known = false;
  bool v4 = false;
  GidBytes ip{};  // (R1)
  std::uint16_t port = 0;

  bool is_any() const;  // of any NIC: 0.0.0.0, ::, and, as to a kernel's rdma_cm, a loopback address
  bool is_loopback() const;
  bool is_multicast() const;
  bool operator==(const Endpoint&) const = default;
};

// An AF_INET or AF_INET6 address; otherwise nothing.
std::optional<Endpoint> endpoint_of(std::span<const std::uint8_t> sockaddr_bytes);
// Writes it as sockaddr_in or sockaddr_in6, and returns its size; 0 when it is not known.
std::size_t write_sockaddr(const Endpoint& endpoint, std::span<std::uint8_t> to);
Endpoint ipv4_endpoint(std::uint32_t host_order, std::uint16_t port = 0);

constexpr std::uint64_t service_id(std::uint16_t port_space, std::uint16_t port) {  // (R2)
  return std::uint64_t{port_space} << 16 | port;
}
constexpr std::uint16_t port_space_of(std::uint64_t service) { return static_cast<std::uint16_t>(service >> 16); }
constexpr std::uint16_t port_of(std::uint64_t service) { return static_cast<std::uint16_t>(service); }

inline constexpr std::size_t kCmHeaderBytes = 36;
void write_header(const Endpoint& source, const Endpoint& destination, std::span<std::uint8_t> to);
struct CmHeader {
  Endpoint source, destination;  // the destination without its port, which the service ID has
};
std::optional<CmHeader> parse_header(std::span<const std::uint8_t> data);  // (R3)

}  // namespace rxnic::cm
