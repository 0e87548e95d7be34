// SPDX-License-Identifier: Apache-2.0
// The fields of a descriptor as signals: a scope for each descriptor within one, an element of an array as
// `name(2)`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/engine/wave_file.h"
#include "model/types/descriptor_operations.h"

namespace rxnic {

class WaveFields {
 public:
  WaveFields() = default;
  // `of`: the descriptor; nullptr: it has no description, and no signals.
  WaveFields(WaveTree& tree, std::size_t scope, const DescriptorOperations* of);

  // Shows the present cycle: a copy of a value, or the vector of its port.
  void show(WaveFile& file, const void* value) const;
  void show_bits(WaveFile& file, const std::uint32_t* bits) const;

 private:
  const DescriptorOperations* of_ = nullptr;
  WaveId first_ = 0;
};

}  // namespace rxnic
