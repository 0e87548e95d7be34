// SPDX-License-Identifier: Apache-2.0
#include "model/types/address.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstring>
#include <stdexcept>

#include "model/types/wire.h"

namespace rxnic {

template <class A>
A AddressFacts<A>::ipv4(std::uint32_t host_order) {
  A a;
  a.kind = Kind::kIpv4;
  a.bytes[10] = a.bytes[11] = 0xff;
  store_be32(&a.bytes[12], host_order);
  return a;
}

template <class A>
A AddressFacts<A>::ipv6(Bytes sixteen) {
  if (sixteen.size() != 16) throw std::invalid_argument("an IPv6 address has 16 bytes");
  A a;
  a.kind = Kind::kIpv6;
  std::memcpy(a.bytes.data(), sixteen.data(), 16);
  return a;
}

template <class A>
A AddressFacts<A>::lid(std::uint16_t lid) {
  A a;
  a.kind = Kind::kLid;
  store_be16(&a.bytes[14], lid);
  return a;
}

template <class A>
bool AddressFacts<A>::is_multicast() const {
  const auto& [bytes, kind] = static_cast<const A&>(*this);
  switch (kind) {
    case Kind::kIpv4:
      return bytes[12] >> 4 == 14;
    case Kind::kIpv6:
      return bytes[0] == 0xff;
    case Kind::kLid:
      return bytes[14] >= 0xc0 && load_be16(&bytes[14]) != 0xffff;
    default:
      return false;
  }
}

template <class A>
A AddressFacts<A>::parse(const std::string& text) {
  constexpr std::size_t kPrefix = 4;
  if (text.starts_with("lid:")) {
    std::uint16_t value = 0;
    const bool hex = text.compare(kPrefix, 2, "0x") == 0;
    const char* first = text.data() + kPrefix + (hex ? 2 : 0);
    const char* last = text.data() + text.size();
    const auto [stop, error] = std::from_chars(first, last, value, hex ? 16 : 10);
    if (error == std::errc{} && stop == last) return lid(value);
  }
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return ipv4(load_be32(bytes.data()));
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return ipv6(bytes);
  throw std::invalid_argument("'" + text + "' is not an address; expected IPv4, IPv6 or lid:NUMBER");
}

template <class A>
std::string AddressFacts<A>::text() const {
  const auto& [bytes, kind] = static_cast<const A&>(*this);
  char buffer[INET6_ADDRSTRLEN] = "";
  switch (kind) {
    case Kind::kIpv4:
      return inet_ntop(AF_INET, &bytes[12], buffer, sizeof buffer);
    case Kind::kIpv6:
      return inet_ntop(AF_INET6, bytes.data(), buffer, sizeof buffer);
    case Kind::kLid:
      return "lid:" + std::to_string(load_be16(&bytes[14]));
    default:
      return "none";
  }
}

template struct AddressFacts<Address>;

}  // namespace rxnic
