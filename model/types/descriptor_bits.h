// SPDX-License-Identifier: Apache-2.0
// Descriptors as the vectors of their ports: the packed structs of rxnic_link_pkg.sv, in 32-bit words. The first word
// has the least significant bits, as Verilator has them.
//
//   R1  A struct's first field is in its most significant bits, element 0 of an array in the array's least significant
//       ones. The bits above the vector are 0.
//   R2  Fields that are not on the port keep their values in unpack().
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "model/types/descriptor.h"

namespace rxnic {

constexpr unsigned words_of_bits(unsigned bits) { return (bits + 31) / 32; }

// `bits` bits, 64 at most, from bit `lsb` of a vector on.
inline std::uint64_t get_bits(const std::uint32_t* vector, unsigned lsb, unsigned bits) {
  std::uint64_t value = 0;
  for (unsigned got = 0; got < bits;) {
    const unsigned at = lsb + got, within = at % 32;
    value |= std::uint64_t{vector[at / 32] >> within} << got;
    got += 32 - within;
  }
  return bits < 64 ? value & ((std::uint64_t{1} << bits) - 1) : value;
}
inline void set_bits(std::uint32_t* vector, unsigned lsb, unsigned bits, std::uint64_t value) {
  for (unsigned put = 0; put < bits;) {
    const unsigned at = lsb + put, within = at % 32, n = bits - put < 32 - within ? bits - put : 32 - within;
    const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1) << within;
    vector[at / 32] = (vector[at / 32] & ~mask) | (static_cast<std::uint32_t>(value >> put) << within & mask);
    put += n;
  }
}
// Copies `bits` bits from one place to another.
inline void copy_bits(const std::uint32_t* from, unsigned from_lsb, std::uint32_t* to, unsigned to_lsb, unsigned bits) {
  for (unsigned done = 0; done < bits; done += 64) {
    const unsigned n = bits - done < 64 ? bits - done : 64;
    set_bits(to, to_lsb + done, n, get_bits(from, from_lsb + done, n));
  }
}

namespace detail {

template <class M>
constexpr void assign(M& member, std::uint64_t number) {
  if constexpr (std::is_same_v<M, Psn>) {
    member = Psn{static_cast<std::uint32_t>(number)};
  } else if constexpr (std::is_same_v<M, Cycle>) {
    member = Cycle{number};
  } else {
    member = static_cast<M>(number);
  }
}

// f(member, lsb, bits) for each number of `d`, whose vector ends below bit `end`.
template <class F, class D>
constexpr void visit_bits(F& f, unsigned end, D& d) {
  using T = std::remove_const_t<D>;
  Descriptor<T>::for_each_field(
      [&](const FieldInfo& field, auto& member) {
        using M = std::remove_const_t<std::remove_reference_t<decltype(member)>>;
        end -= field.bits * field.count;
        if constexpr (kIsArray<M>) {
          for (std::size_t i = 0; i < member.size(); ++i) {
            const unsigned lsb = end + static_cast<unsigned>(i) * field.bits;
            if constexpr (Described<typename M::value_type>) {
              visit_bits(f, lsb + field.bits, member[i]);
            } else {
              f(member[i], lsb, field.bits);
            }
          }
        } else if constexpr (Described<M>) {
          visit_bits(f, end + field.bits, member);
        } else {
          f(member, end, field.bits);
        }
      },
      d);
}

struct Pack {
  std::uint32_t* vector;
  void operator()(const auto& member, unsigned lsb, unsigned bits) const {
    set_bits(vector, lsb, bits, number_of(member));
  }
};
struct Unpack {
  const std::uint32_t* vector;
  void operator()(auto& member, unsigned lsb, unsigned bits) const { assign(member, get_bits(vector, lsb, bits)); }
};

}  // namespace detail

template <Described T>
void pack(const T& d, std::uint32_t* vector) {
  std::memset(vector, 0, words_of_bits(Descriptor<T>::kBits) * sizeof *vector);
  const detail::Pack pack{vector};
  detail::visit_bits(pack, Descriptor<T>::kBits, d);
}

template <Described T>
void unpack(const std::uint32_t* vector, T& d) {
  const detail::Unpack unpack{vector};
  detail::visit_bits(unpack, Descriptor<T>::kBits, d);
}
template <Described T>
T unpack(const std::uint32_t* vector) {
  T d;
  unpack(vector, d);
  return d;
}

}  // namespace rxnic
