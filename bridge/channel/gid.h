// SPDX-License-Identifier: Apache-2.0
// The GID table of a port, as a program gets it.
#pragma once

#include <array>
#include <cstdint>

namespace rxnic::channel {

inline constexpr std::uint32_t kGids = 4;  // entries; the last is empty
enum class GidType : std::uint8_t { kNone, kRoceV1, kRoceV2 };

struct Gid {
  std::array<std::uint8_t, 16> bytes{};
  GidType type = GidType::kNone;  // kNone: empty slot
  std::uint8_t reserved[7] = {};
};

}  // namespace rxnic::channel
