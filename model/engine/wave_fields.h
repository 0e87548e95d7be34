// SPDX-License-Identifier: Apache-2.0
// The fields of a link's descriptors as signals: a scope for each descriptor within one, an element of an array as
// `name(2)`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/engine/link.h"
#include "model/engine/wave_file.h"

namespace rxnic {

class WaveFields {
 public:
  WaveFields() = default;
  WaveFields(WaveTree& tree, std::size_t scope, const LinkBase& link);

  // Of the present cycle: a copy of a value of the link, or the vector of its port.
  void show(WaveFile& file, const LinkBase& link, const void* value) const;
  void show_bits(WaveFile& file, const LinkBase& link, const std::uint32_t* bits) const;

 private:
  WaveId first_ = 0;
};

}  // namespace rxnic
