// SPDX-License-Identifier: Apache-2.0
#include "model/core/receive_queue/wqe_store.h"

#include <gtest/gtest.h>

namespace rxnic::wqe_store_test {
namespace {

ScatterListWrite list_of(std::uint32_t slot, std::uint32_t elements) {
  ScatterListWrite w;
  w.wqe_slot = slot;
  w.count = static_cast<std::uint8_t>(elements);
  for (std::uint32_t n = 0; n < elements; ++n) w.sge[n] = {100 + n, 0x777, 0x1000 * slot};
  return w;
}

TEST(WqeStore, AListIsReadAsItWasWritten) {  // R1
  WqeStore store(2000);
  store.write(Cycle{}, list_of(1500, 3));
  std::uint32_t words = 0;
  const DataSegment* const last = store.read({1500, 2}, words);
  ASSERT_EQ(words, 1u);
  EXPECT_EQ(last->length, 102u);
  EXPECT_EQ(last->address, 0x1000u * 1500);
  store.read({1500, 3}, words);
  EXPECT_EQ(words, 0u) << "no such element";
  store.write(Cycle{}, list_of(1500, 1));
  store.read({1500, 1}, words);
  EXPECT_EQ(words, 0u) << "an element of the list before";
}

TEST(WqeStore, WhatIsWrittenOutsideIsLost) {
  WqeStore store(4);
  store.write(Cycle{}, list_of(4, 1));
  std::uint32_t words = 0;
  EXPECT_EQ(store.read({4, 0}, words), nullptr);
  EXPECT_EQ(words, 0u);
}

}  // namespace
}  // namespace rxnic::wqe_store_test
