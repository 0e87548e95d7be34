// SPDX-License-Identifier: Apache-2.0
// Rules R1 and R2 of model/types/descriptor_bits.h.
#include "model/types/descriptor_bits.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "model/types/descriptor_text.h"
#include "model/types/descriptors.h"

namespace rxnic::descriptor_bits_test {
namespace {

TEST(DescriptorBits, TheFirstFieldIsInTheMostSignificantBits) {  // R1
  std::uint32_t bits[2] = {~0u, ~0u};
  pack(ScatterListRead{0x12345678, 0x2a}, bits);  // 32 bits and 6
  EXPECT_EQ(bits[0], 0x12345678u << 6 | 0x2a);
  EXPECT_EQ(bits[1], 0x12345678u >> 26) << "nothing above";
}

TEST(DescriptorBits, FieldsThatAreNotOnThePortKeepTheirValues) {  // R2
  AckRequest p;
  p.qpn = Qpn{5};
  std::vector<std::uint32_t> bits(words_of_bits(Descriptor<AckRequest>::kBits));
  pack(p, bits.data());
  AckRequest other;
  other.id = 77;
  unpack(bits.data(), other);
  EXPECT_EQ(other.id, 77u);
  EXPECT_EQ(first_difference(other, p), "");
}

// Every bit of every descriptor is one of its fields', once; and those of an array are in its order. (R1)
TEST(DescriptorBits, EveryDescriptorIsWhatItsBitsSay) {
  std::mt19937_64 random(3);
  for_each_descriptor([&]<class T>() {
    constexpr unsigned kBits = Descriptor<T>::kBits;
    std::vector<std::uint32_t> bits(words_of_bits(kBits)), again(bits.size());
    for (std::uint32_t& word : bits) word = static_cast<std::uint32_t>(random());
    if (kBits % 32 != 0) bits.back() &= (1u << kBits % 32) - 1;
    const T d = unpack<T>(bits.data());
    EXPECT_TRUE(fits(d)) << Descriptor<T>::kName;
    pack(d, again.data());
    EXPECT_EQ(again, bits) << Descriptor<T>::kName;
  });
}

TEST(DescriptorBits, BitsAreCopiedFromAnyPlaceToAnyOther) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 1000; ++round) {
    std::uint32_t from[8], to[8], expected[8];
    for (int i = 0; i < 8; ++i) {
      from[i] = static_cast<std::uint32_t>(random());
      to[i] = expected[i] = static_cast<std::uint32_t>(random());
    }
    const unsigned bits = static_cast<unsigned>(random() % 150), a = static_cast<unsigned>(random() % 100),
                   b = static_cast<unsigned>(random() % 100);
    for (unsigned n = 0; n < bits; ++n) set_bits(expected, b + n, 1, get_bits(from, a + n, 1));
    copy_bits(from, a, to, b, bits);
    for (int i = 0; i < 8; ++i) ASSERT_EQ(to[i], expected[i]);
  }
}

}  // namespace
}  // namespace rxnic::descriptor_bits_test
