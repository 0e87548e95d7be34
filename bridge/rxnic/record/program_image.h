// SPDX-License-Identifier: Apache-2.0
// The memory of the programs of a recorded run as far as it is known. Known is what the device has read from this
// memory and written to it. The memory is in address spaces, since programs have addresses in common.
//
//   R1  Each byte has a stamp, that of the last put() with it, and says whether that put() was the device's. The stamp
//       is 0 for a byte that is not known, whose value is 0.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

namespace rxnic {

class ProgramImage {
 public:
  static constexpr std::uint64_t kPageBytes = 4096;
  struct Byte {
    std::uint8_t value = 0;
    std::uint32_t stamp = 0;
    bool by_device = false;
  };
  // `space` < 2^28, addresses < 2^48, stamps < 2^31.
  void put(std::uint32_t space, std::uint64_t address, std::span<const std::uint8_t> from, std::uint32_t stamp,
           bool by_device = false);
  // How many of these bytes are not known.
  std::uint64_t get(std::uint32_t space, std::uint64_t address, std::span<std::uint8_t> to) const;
  Byte at(std::uint32_t space, std::uint64_t address) const;
  // How many of the bytes that are known here have another value there, in the spaces for which in(space) holds.
  template <class In>
  std::uint64_t differences(const ProgramImage& other, In in) const {
    std::uint64_t different = 0;
    for (const auto& [key, page] : pages_) {
      if (!in(static_cast<std::uint32_t>(key >> kSpaceShift))) continue;
      const auto there = other.pages_.find(key);
      for (std::uint64_t i = 0; i < kPageBytes; ++i) {
        const std::uint8_t value = there == other.pages_.end() ? 0 : there->second->values[i];
        different += page->stamps[i] != 0 && page->values[i] != value ? 1 : 0;
      }
    }
    return different;
  }
  // Whether every byte has a stamp of at least this.
  bool is_since(std::uint32_t space, std::uint64_t address, std::uint64_t bytes, std::uint32_t stamp) const;

 private:
  static constexpr std::uint32_t kByDevice = 1u << 31;
  static constexpr unsigned kSpaceShift = 36;  // 48 - 12 bits of a page's number
  struct Page {
    std::array<std::uint8_t, kPageBytes> values{};
    std::array<std::uint32_t, kPageBytes> stamps{};  // | kByDevice
  };
  static std::uint64_t key(std::uint32_t space, std::uint64_t address) {
    return std::uint64_t{space} << kSpaceShift | address / kPageBytes;
  }
  const Page* find(std::uint32_t space, std::uint64_t address) const;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace rxnic
