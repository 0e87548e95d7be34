// SPDX-License-Identifier: Apache-2.0
#include "bridge/cm/endpoint.h"

#include <algorithm>
#include <cstring>

namespace rxnic::cm {

namespace {

constexpr std::size_t kIpv4At = 12;  // of 16 bytes
constexpr std::size_t kPortAt = 2, kSourceAt = 4, kDestinationAt = 20;
constexpr std::array<std::uint8_t, kIpv4At> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

GidBytes mapped(const std::uint8_t* ipv4) {
  GidBytes ip{};
  std::copy(kMapped.begin(), kMapped.end(), ip.begin());
  std::copy_n(ipv4, 4, ip.begin() + kIpv4At);
  return ip;
}

// An address in the header. (R3)
Endpoint address_at(std::span<const std::uint8_t> from, bool v4) {
  Endpoint e;
  e.known = true;
  e.v4 = v4;
  if (v4) {
    e.ip = mapped(from.data() + kIpv4At);
  } else {
    std::copy_n(from.begin(), e.ip.size(), e.ip.begin());
  }
  return e;
}

}  // namespace

bool Endpoint::is_any() const {
  const auto first = ip.begin() + (v4 ? kIpv4At : 0);
  return is_loopback() || std::all_of(first, ip.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool Endpoint::is_loopback() const {
  if (v4) return ip[kIpv4At] == 127;
  return ip[15] == 1 && std::all_of(ip.begin(), ip.end() - 1, [](std::uint8_t byte) { return byte == 0; });
}

bool Endpoint::is_multicast() const { return v4 ? ip[kIpv4At] >> 4 == 0xe : ip[0] == 0xff; }

std::optional<Endpoint> endpoint_of(std::span<const std::uint8_t> bytes) {
  sa_family_t family = 0;
  if (bytes.size() < sizeof family) return std::nullopt;
  std::memcpy(&family, bytes.data(), sizeof family);
  Endpoint e;
  e.known = true;
  if (family == AF_INET && bytes.size() >= sizeof(sockaddr_in)) {
    sockaddr_in in;
    std::memcpy(&in, bytes.data(), sizeof in);
    e.v4 = true;
    e.ip = mapped(reinterpret_cast<const std::uint8_t*>(&in.sin_addr));
    e.port = ntohs(in.sin_port);
    return e;
  }
  if (family == AF_INET6 && bytes.size() >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in;
    std::memcpy(&in, bytes.data(), sizeof in);
    std::memcpy(e.ip.data(), &in.sin6_addr, e.ip.size());
    e.port = ntohs(in.sin6_port);
    return e;
  }
  return std::nullopt;
}

std::size_t write_sockaddr(const Endpoint& endpoint, std::span<std::uint8_t> to) {
  if (!endpoint.known) return 0;
  if (endpoint.v4) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(endpoint.port);
    std::memcpy(&in.sin_addr, endpoint.ip.data() + kIpv4At, sizeof in.sin_addr);
    std::memcpy(to.data(), &in, sizeof in);
    return sizeof in;
  }
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(endpoint.port);
  std::memcpy(&in.sin6_addr, endpoint.ip.data(), sizeof in.sin6_addr);
  std::memcpy(to.data(), &in, sizeof in);
  return sizeof in;
}

Endpoint ipv4_endpoint(std::uint32_t host_order, std::uint16_t port) {
  const std::uint32_t network = htonl(host_order);
  Endpoint e;
  e.known = e.v4 = true;
  e.ip = mapped(reinterpret_cast<const std::uint8_t*>(&network));
  e.port = port;
  return e;
}

void write_header(const Endpoint& source, const Endpoint& destination, std::span<std::uint8_t> to) {
  std::fill_n(to.begin(), kCmHeaderBytes, std::uint8_t{0});
  to[1] = static_cast<std::uint8_t>((source.v4 ? 4 : 6) << 4);
  to[kPortAt] = static_cast<std::uint8_t>(source.port >> 8);
  to[kPortAt + 1] = static_cast<std::uint8_t>(source.port);
  const auto put = [&](const GidBytes& ip, std::size_t at) {
    const std::size_t skipped = source.v4 ? kIpv4At : 0;
    std::copy(ip.begin() + static_cast<std::ptrdiff_t>(skipped), ip.end(),
              to.begin() + static_cast<std::ptrdiff_t>(at + skipped));
  };
  put(source.ip, kSourceAt);
  put(destination.ip, kDestinationAt);
}

std::optional<CmHeader> parse_header(std::span<const std::uint8_t> data) {
  if (data.size() < kCmHeaderBytes || data[0] != 0) return std::nullopt;
  const unsigned version = data[1] >> 4;
  if (version != 4 && version != 6) return std::nullopt;
  CmHeader header{address_at(data.subspan(kSourceAt), version == 4),
                  address_at(data.subspan(kDestinationAt), version == 4)};
  header.source.port = static_cast<std::uint16_t>(data[kPortAt] << 8 | data[kPortAt + 1]);
  return header;
}

}  // namespace rxnic::cm
