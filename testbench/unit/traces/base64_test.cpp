// SPDX-License-Identifier: Apache-2.0
#include "traces/base64.h"

#include <gtest/gtest.h>

#include <random>

namespace rxnic::base64_test {
namespace {

std::string encoded(std::string_view text) {
  std::string out = "-";
  append_base64(out, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return out.substr(1);
}

TEST(Base64, VectorsOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, text] : vectors) {
    EXPECT_EQ(encoded(plain), text);
    std::vector<std::uint8_t> back;
    ASSERT_TRUE(parse_base64(text, back)) << text;
    EXPECT_EQ(std::string(back.begin(), back.end()), plain);
  }
}

TEST(Base64, EveryByteComesBack) {
  std::mt19937 random(1);
  for (std::size_t length = 0; length < 300; ++length) {
    std::vector<std::uint8_t> data(length);
    for (auto& byte : data) byte = static_cast<std::uint8_t>(random());
    std::string text;
    append_base64(text, data);
    std::vector<std::uint8_t> back;
    ASSERT_TRUE(parse_base64(text, back));
    ASSERT_EQ(back, data);
  }
}

TEST(Base64, WhatIsNoneIsRefused) {
  std::vector<std::uint8_t> out;
  for (const char* text : {"Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9v\n", "Zm9-", "Zh==", "Zm9=", "=Zg="}) {
    EXPECT_FALSE(parse_base64(text, out)) << text;
  }
}

}  // namespace
}  // namespace rxnic::base64_test
