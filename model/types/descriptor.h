// SPDX-License-Identifier: Apache-2.0
// Access to the fields of a descriptor, the struct that a link carries. descriptors.toml describes each descriptor;
// generate.py makes from it the struct, and a specialisation of the templates below.
//
//   R1  A field on the port is one that blocks decide by, and has a width. Observers' fields and opaque ones (pointers
//       of the model) are not on the port.
//   R2  Two descriptors are equal when their fields on the port are.
//   R3  A descriptor fits when no number on the port has more bits than its field's width.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "model/types/ids.h"

namespace rxnic {

struct EnumeratorInfo {
  std::uint8_t value = 0;
  std::string_view name;  // snake_case
  std::string_view sentence;
};

enum class FieldUse : std::uint8_t { kPort, kObserver, kOpaque };

struct FieldInfo {
  std::string_view name;     // of the C++ member
  std::string_view sv_name;  // the same, or with an underscore behind a keyword
  unsigned bits = 0;         // of one element; 0: opaque
  unsigned count = 1;        // elements
  FieldUse use = FieldUse::kPort;
  bool hex = false;                          // written in hexadecimal
  bool blob = false;                         // bytes without a meaning of their own
  std::span<const EnumeratorInfo> values{};  // of an enumeration
  std::string_view sentence;
};

// Specialised for each descriptor:
//   kName, kSvName, kSentence   of the type
//   kBits                       on the port
//   kFields                     all, in order
//   for_each_field(f, d...)     f(kFields[i], d.member...) for each field on the port, the members of all objects d
//   for_each_observer(f, d...)  the same for the observers' fields
template <class T>
struct Descriptor {};
template <class T>
concept Described = requires {
  Descriptor<T>::kFields;
};

// Specialised for each enumeration: kName, kSentence, kBits and kValues in ascending order.
template <class E>
struct Enumeration {};
template <class E>
concept Enumerated = requires {
  Enumeration<E>::kValues;
};

// The name of a value; "?" for a number that is no value of the enumeration.
template <Enumerated E>
constexpr std::string_view name_of(E value) {
  for (const EnumeratorInfo& e : Enumeration<E>::kValues) {
    if (e.value == raw(value)) return e.name;
  }
  return "?";
}

// The place of a number in a descriptor.
struct FieldPath {
  const FieldInfo& field;
  const FieldPath* outer = nullptr;  // the field of the descriptor around it
  int index = -1;                    // of an array's element
};

namespace detail {

template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t n>
inline constexpr bool kIsArray<std::array<T, n>> = true;

constexpr std::uint64_t number_of(std::uint64_t v) { return v; }
constexpr std::uint64_t number_of(Psn v) { return v.value; }
constexpr std::uint64_t number_of(Cycle v) { return v.count; }
template <class E>
requires std::is_enum_v<E>
constexpr std::uint64_t number_of(E v) { return raw(v); }

template <class F, Described T, class... Others>
constexpr void visit_numbers(const FieldPath* outer, F& f, const T& d, const Others&... others);

template <class F, class M, class... Others>
constexpr void visit_member(const FieldPath& at, F& f, const M& member, const Others&... others) {
  if constexpr (Described<M>) {
    visit_numbers(&at, f, member, others...);
  } else if constexpr (kIsArray<M>) {
    for (std::size_t i = 0; i < member.size(); ++i) {
      visit_member(FieldPath{at.field, at.outer, static_cast<int>(i)}, f, member[i], others[i]...);
    }
  } else {
    f(at, number_of(member), number_of(others)...);
  }
}

template <class F, Described T, class... Others>
constexpr void visit_numbers(const FieldPath* outer, F& f, const T& d, const Others&... others) {
  Descriptor<T>::for_each_field(
      [&](const FieldInfo& field, const auto&... member) {
        visit_member(FieldPath{field, outer}, f, member...);
      },
      d, others...);
}

}  // namespace detail

// f(path, number...) for each number on the port, in order: of `d` and of the others, which are of its type. GCC
// compiles a visitor of one type in half the time of a lambda in a template, which has a type for each descriptor.
template <class F, Described T, class... Others>
constexpr void for_each_number(F&& f, const T& d, const Others&... others) {
  detail::visit_numbers(nullptr, f, d, others...);
}

constexpr bool fits(const FieldInfo& field, std::uint64_t number) {
  return field.bits >= 64 || number >> field.bits == 0;
}

namespace detail {

struct AllEqual {
  bool so = true;
  constexpr void operator()(const FieldPath&, std::uint64_t x, std::uint64_t y) { so = so && x == y; }
};
struct AllFit {
  bool so = true;
  constexpr void operator()(const FieldPath& at, std::uint64_t number) { so = so && fits(at.field, number); }
};

}  // namespace detail

template <Described T>
constexpr bool operator==(const T& a, const T& b) {  // (R2)
  detail::AllEqual all;
  for_each_number(all, a, b);
  return all.so;
}
template <Described T>
constexpr bool fits(const T& d) {  // (R3)
  detail::AllFit all;
  for_each_number(all, d);
  return all.so;
}

}  // namespace rxnic
