// SPDX-License-Identifier: Apache-2.0
// What the sources of the manager have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace rxnic::cm {

inline constexpr std::uint32_t kUdpQkey = 0x01234567;  // of port space UDP, and of its multicast groups
inline constexpr std::uint8_t kPort = 1, kHopLimit = 64, kAckTimeout = 19;
inline constexpr std::uint16_t kPkey = 0xffff;
inline constexpr std::uint16_t kFirstFreePort = 32768, kLastFreePort = 60999;  // of those that are given, as by Linux

// A command's struct; what an older library leaves out is 0.
template <class T>
T read(std::span<const std::uint8_t> in) {
  T value{};
  if (!in.empty()) std::memcpy(&value, in.data(), std::min(in.size(), sizeof value));
  return value;
}

// A reply, of which a program may want the beginning alone.
template <class T>
void put(const T& value, std::size_t out, std::vector<std::uint8_t>& reply) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&value);
  reply.assign(bytes, bytes + std::min(out, sizeof value));
}

template <class T>
std::span<const std::uint8_t> bytes_of(const T& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof value};
}
template <class T>
std::span<std::uint8_t> bytes_of(T& value) {
  return {reinterpret_cast<std::uint8_t*>(&value), sizeof value};
}

}  // namespace rxnic::cm
