// SPDX-License-Identifier: Apache-2.0
// A descriptor for tests of what is made for every descriptor.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/types/descriptor.h"
#include "model/types/descriptors.h"
#include "model/types/make_descriptor_operations.h"

namespace rxnic {

// A struct with every kind of member, as generate.py would write it.
struct Parcel {
  std::array<DataSegment, 2> pieces{};
  std::array<std::uint16_t, 3> list{};
  std::array<std::uint8_t, 4> blob{};
  Psn psn{};
  Cycle stamp{};
  const int* pointer{};
};
template <>
struct Descriptor<Parcel> {
  static constexpr std::string_view kName = "Parcel";
  static constexpr unsigned kBits = 348;
  static constexpr std::array<FieldInfo, 6> kFields = {{
      {"pieces", "pieces", 128, 2, FieldUse::kPort, false, false, {}, "Pieces."},
      {"list", "list", 12, 3, FieldUse::kPort, false, false, {}, "List."},
      {"blob", "blob", 8, 4, FieldUse::kPort, false, true, {}, "Blob."},
      {"psn", "psn", 24, 1, FieldUse::kPort, true, false, {}, "PSN."},
      {"stamp", "stamp", 64, 1, FieldUse::kObserver, false, false, {}, "Stamp."},
      {"pointer", "pointer", 0, 1, FieldUse::kOpaque, false, false, {}, "Pointer."},
  }};
  template <class F, class... D>
  static constexpr void for_each_field(F&& f, D&... d) {
    f(kFields[0], d.pieces...);
    f(kFields[1], d.list...);
    f(kFields[2], d.blob...);
    f(kFields[3], d.psn...);
  }
  template <class F, class... D>
  static constexpr void for_each_observer(F&& f, D&... d) {
    f(kFields[4], d.stamp...);
  }
};

inline Parcel parcel() {
  Parcel p;
  p.pieces[1] = {4, 0x100, 0xabcd};
  p.list = {1, 2, 3};
  p.blob = {0, 0x0f, 0xf0, 0xff};
  p.psn = Psn{0x12};
  p.stamp = Cycle{99};
  return p;
}

}  // namespace rxnic
