// SPDX-License-Identifier: Apache-2.0
// Numbers that must not be mixed up: an index is a type of its own, and a cycle is not a byte count.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace rxnic {

enum class Qpn : std::uint32_t {};    // queue pair number, 24 bits
enum class Srqn : std::uint32_t {};   // shared receive queue number, 24 bits
enum class Cqn : std::uint32_t {};    // completion queue number, 24 bits
enum class Pdn : std::uint32_t {};    // protection domain number
enum class Xrcdn : std::uint32_t {};  // XRC domain number
enum class WqId : std::uint32_t {};   // index of a work queue (an RQ or an SRQ) in the WQE fetcher
enum class Key : std::uint32_t {};    // lkey or rkey: index of the MPT entry << 8 | tag of the owner
enum class PacketHandle : std::uint32_t {};
enum class BusAddress : std::uint64_t {};  // the address in a DMA TLP

template <class Id>
constexpr auto raw(Id id) {
  return static_cast<std::underlying_type_t<Id>>(id);
}
constexpr BusAddress operator+(BusAddress a, std::uint64_t n) { return BusAddress{raw(a) + n}; }

inline constexpr WqId kNoWq{0xffffffffu};
inline constexpr PacketHandle kNoPacket{0xffffffffu};
inline constexpr Key kInvalidKey{0x100};  // ends a short SGE list (rules 1.5)

// A point in device time or a span of it, in clock cycles.
struct Cycle {
  std::uint64_t count = 0;
  constexpr Cycle() = default;
  constexpr explicit Cycle(std::uint64_t n) : count(n) {}
  constexpr auto operator<=>(const Cycle&) const = default;
  constexpr Cycle operator+(Cycle o) const { return Cycle{count + o.count}; }
  constexpr Cycle operator-(Cycle o) const { return Cycle{count - o.count}; }
  constexpr Cycle operator+(std::uint64_t n) const { return Cycle{count + n}; }
  constexpr Cycle& operator+=(std::uint64_t n) {
    count += n;
    return *this;
  }
};
inline constexpr Cycle kNever{std::numeric_limits<std::uint64_t>::max()};
constexpr Cycle earliest(Cycle a, Cycle b) { return a < b ? a : b; }
constexpr Cycle latest(Cycle a, Cycle b) { return a < b ? b : a; }
// The cycles of a time: a part of one counts whole.
constexpr std::uint64_t cycles_in(std::uint64_t ps, std::uint64_t clock_period_ps) {
  return (ps + clock_period_ps - 1) / clock_period_ps;
}

// Packet sequence number: 24 bits, circular. `a - b` is the signed distance in -2^23 .. 2^23-1.
struct Psn {
  std::uint32_t value = 0;
  constexpr Psn() = default;
  constexpr explicit Psn(std::uint32_t v) : value(v & 0xffffffu) {}
  constexpr bool operator==(const Psn&) const = default;
  constexpr Psn operator+(std::uint32_t n) const { return Psn{value + n}; }
  constexpr Psn previous() const { return Psn{value - 1}; }
  constexpr std::int32_t operator-(Psn o) const { return static_cast<std::int32_t>((value - o.value) << 8) >> 8; }
};

}  // namespace rxnic
