// SPDX-License-Identifier: Apache-2.0
// Descriptors as text: "qpn=17 first_psn=0x12 kind=ack", which field differs, and which one is too wide for its port.
#pragma once

#include <string>
#include <type_traits>

#include "model/types/descriptor.h"

namespace rxnic {

// "entry.buffer.length", "sges[3].lkey".
std::string text_of(const FieldPath& path);
// A number as its field is written: "17", "0x11", or the name of the enumeration's value.
std::string value_text(const FieldInfo& field, std::uint64_t number);

namespace detail {

template <class M>
void append_field(std::string& out, const std::string& prefix, const FieldInfo& field, const M& member);

template <Described T>
void append_fields(std::string& out, const std::string& prefix, const T& d) {
  Descriptor<T>::for_each_field(
      [&](const FieldInfo& field, const auto& member) { append_field(out, prefix, field, member); }, d);
  Descriptor<T>::for_each_observer(
      [&](const FieldInfo& field, const auto& member) { append_field(out, prefix, field, member); }, d);
}

void append_bytes(std::string& out, std::span<const std::uint8_t> bytes);

template <class M>
void append_field(std::string& out, const std::string& prefix, const FieldInfo& field, const M& member) {
  const std::string name = prefix + std::string(field.name);
  if constexpr (Described<M>) {
    append_fields(out, name + ".", member);
  } else if constexpr (kIsArray<M>) {
    if constexpr (Described<typename M::value_type>) {
      for (std::size_t i = 0; i < member.size(); ++i) {
        append_fields(out, name + "[" + std::to_string(i) + "].", member[i]);
      }
    } else {
      out += (out.empty() ? "" : " ") + name + "=";
      if constexpr (std::is_same_v<typename M::value_type, std::uint8_t>) {
        if (field.blob) return append_bytes(out, member);
      }
      for (std::size_t i = 0; i < member.size(); ++i) {
        out += (i == 0 ? "[" : " ") + value_text(field, number_of(member[i]));
      }
      out += "]";
    }
  } else {
    out += (out.empty() ? "" : " ") + name + "=" + value_text(field, number_of(member));
  }
}

// The text about the first number that differs between two descriptors, or that does not fit; "" when there is none.
struct FirstDifference {
  std::string text;
  void operator()(const FieldPath& at, std::uint64_t x, std::uint64_t y);
};
struct FirstMisfit {
  std::string text;
  void operator()(const FieldPath& at, std::uint64_t number);
};

// Prints on stderr what does not fit, and where.
void report_misfit(std::string_view where, std::string_view type, const std::string& misfit);

}  // namespace detail

// Every field but the opaque ones; a nested descriptor's with its name in front.
template <Described T>
std::string text_of(const T& d) {
  std::string out;
  detail::append_fields(out, "", d);
  return out;
}

// The first field on the port in which they differ, with both values: "psn: 0x12 and 0x13"; "" when they are equal.
template <Described T>
std::string first_difference(const T& a, const T& b) {
  detail::FirstDifference first;
  for_each_number(first, a, b);
  return first.text;
}

// The first field that does not fit: "first_psn: 0x1000000 has more than 24 bits"; "" when all do.
template <Described T>
std::string misfit(const T& d) {
  detail::FirstMisfit first;
  for_each_number(first, d);
  return first.text;
}

// For an assertion at `where`, a link: whether the pushed value fits. If not, the field that does not is printed on
// stderr. A value without a description always fits.
template <class T>
bool check_widths(std::string_view where, const T& value) {
  if constexpr (Described<T>) {
    if (fits(value)) return true;
    detail::report_misfit(where, Descriptor<T>::kName, misfit(value));
    return false;
  } else {
    return true;
  }
}

}  // namespace rxnic
