// SPDX-License-Identifier: Apache-2.0
// Making, comparing and writing addresses: the member functions of Address (descriptors.toml).
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace rxnic {

using Bytes = std::span<const std::uint8_t>;
enum class AddressKind : std::uint8_t;

template <class A>
struct AddressFacts {
  using Kind = AddressKind;
  static A ipv4(std::uint32_t host_order);
  static A ipv6(Bytes sixteen);
  static A lid(std::uint16_t lid);
  // An IPv4 or IPv6 group (RFC 1112, RFC 4291), or a multicast LID: 0xc000..0xfffe (IBTA volume 1, 4.1.3).
  bool is_multicast() const;
  static A parse(const std::string& text);  // "10.1.16.61", "fe80::1", "lid:5"; throws std::invalid_argument
  std::string text() const;

  friend bool operator==(const A& a, const A& b) {  // two words: the default calls memcmp
    std::array<std::uint64_t, 2> x, y;
    std::memcpy(x.data(), a.bytes.data(), sizeof x);
    std::memcpy(y.data(), b.bytes.data(), sizeof y);
    return a.kind == b.kind && ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
  }
  friend std::strong_ordering operator<=>(const A& a, const A& b) {
    const auto order = a.bytes <=> b.bytes;
    return order != 0 ? order : a.kind <=> b.kind;
  }
};

}  // namespace rxnic
