// SPDX-License-Identifier: Apache-2.0
// What a block of C++ does for RTL of the same block: for RTL beside the block, and for RTL in its place.
//
//   R1  RTL in the place of a block is a block of its own, the face: the face has the ports, and is stepped. The block
//       of C++ stands behind the face and is not stepped. The block gives the face its memories, and completes what the
//       RTL sends. A descriptor may carry more than the bits of the RTL, such as where a DMA write finds its bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <systemc>

#include "model/types/descriptor_operations.h"

namespace rxnic {

class Block;

class BehindRtl {
 public:
  virtual ~BehindRtl() = default;
  // Before the simulation starts: binds the memory ports of `face`, which has the same ports, to this block's memories.
  virtual void stand_behind(Block& face) = 0;
  // Sets in a value that leaves `port` of the face what the RTL's bits do not carry.
  virtual void complete(const sc_core::sc_object& port, void* value) { (void)port, (void)value; }
  // Is called with each value that the RTL takes at `port` of the face.
  virtual void taken(const sc_core::sc_object& port, const void* value) { (void)port, (void)value; }
  // A counter that the face counts up by what passes its ports; nullptr: the block has none of the name.
  virtual std::uint64_t* counter(std::string_view name) = 0;
  // Replays what was set up before the first cycle as values at the block's inputs, so that RTL begins in the same
  // state.
  using Give = std::function<void(const sc_core::sc_object& input, const DescriptorOperations& of, const void* value)>;
  virtual void repeat_setup(const Give& give) const { (void)give; }
};

}  // namespace rxnic
