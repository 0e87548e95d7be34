// SPDX-License-Identifier: Apache-2.0
// The definition of operations_of(), for descriptor_operations.cpp and for tests that have descriptors of their own.
#pragma once

#include <cstring>

#include "model/types/descriptor_bits.h"
#include "model/types/descriptor_operations.h"
#include "model/types/descriptor_text.h"

namespace rxnic {

namespace detail {

template <Described T>
T copy_of(const void* value) {
  T copy{};
  std::memcpy(static_cast<void*>(&copy), value, sizeof(T));
  return copy;
}

template <Described T>
DescriptorOperations::Observers observers(const void* value) {
  DescriptorOperations::Observers found;
  const T copy = copy_of<T>(value);
  Descriptor<T>::for_each_observer(
      [&](const FieldInfo& field, const auto& member) { found.emplace_back(field.name, number_of(member)); }, copy);
  return found;
}

template <Described T>
void unpack_with(const std::uint32_t* bits, const DescriptorOperations::Observers& observers, void* value) {
  T& made = *static_cast<T*>(value);
  unpack(bits, made);
  Descriptor<T>::for_each_observer(
      [&](const FieldInfo& field, auto& member) {
        for (const auto& [name, number] : observers) {
          if (name == field.name) assign(member, number);
        }
      },
      made);
}

}  // namespace detail

template <Described T>
const DescriptorOperations& operations_of() {
  using Visitor = DescriptorOperations::NumberVisitor;
  static constexpr DescriptorOperations kOperations = {
      Descriptor<T>::kBits,
      sizeof(T),
      [](const void* value, const Visitor& f) {
        for_each_number(f, value == nullptr ? T{} : detail::copy_of<T>(value));
      },
      detail::observers<T>,
      [](const void* value, std::uint32_t* bits) { pack(detail::copy_of<T>(value), bits); },
      detail::unpack_with<T>,
      [](const void* value, const std::uint32_t* bits) {
        return first_difference(detail::copy_of<T>(value), unpack<T>(bits));
      },
      [](const std::uint32_t* bits) { return text_of(unpack<T>(bits)); },
      [](std::string_view where, const void* value) { return check_widths(where, *static_cast<const T*>(value)); },
  };
  return kOperations;
}

}  // namespace rxnic
