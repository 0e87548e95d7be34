// SPDX-License-Identifier: Apache-2.0
// What can be done with a value of a descriptor without its type: what observers and RTL do with the values of a link.
// A table for each descriptor, made once (descriptor_operations.cpp, from descriptors.toml), so that who includes a
// link compiles none of this.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/types/descriptor.h"

namespace rxnic {

struct DescriptorOperations {
  using NumberVisitor = std::function<void(const FieldPath& at, std::uint64_t number)>;
  using Observers = std::vector<std::pair<std::string_view, std::uint64_t>>;  // fields that only observers read

  unsigned bits = 0;      // of the vector of its port
  std::size_t bytes = 0;  // of an object
  // For each number on the port: of `value`; nullptr: of a default one.
  void (*for_each_number)(const void* value, const NumberVisitor& f) = nullptr;
  Observers (*observers)(const void* value) = nullptr;
  void (*pack)(const void* value, std::uint32_t* bits) = nullptr;  // descriptor_bits.h
  // Pass a default-constructed `value`, or a value whose fields that are not on the port are to survive.
  void (*unpack)(const std::uint32_t* bits, const Observers& observers, void* value) = nullptr;
  // The first field in which a value differs from such a vector, with both values ("": none).
  std::string (*difference)(const void* value, const std::uint32_t* bits) = nullptr;
  std::string (*text)(const std::uint32_t* bits) = nullptr;
  // Whether a value fits its port; if not, the field that does not is printed on stderr.
  bool (*check_widths)(std::string_view where, const void* value) = nullptr;
};

template <Described T>
const DescriptorOperations& operations_of();

}  // namespace rxnic
