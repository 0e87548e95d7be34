// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/annotate/packet_notes.h"

#include <gtest/gtest.h>

#include "traces/answer_compare.h"

namespace rxnic::packet_notes_test {
namespace {

TEST(PacketNotes, AnswersAreFoundByPacketAndByFrame) {
  PacketNotes notes;
  notes.on_compared({9, 2, Qpn{0x11}, AnswerVerdict::kEqual, {}, {}});
  notes.on_compared({4, 2, Qpn{0x11}, AnswerVerdict::kEqual, {}, {}});
  notes.on_compared({7, 0, Qpn{0x11}, AnswerVerdict::kNotCompared, Uncompared::kNoRequest, {}});
  notes.on_compared({6, 1, Qpn{0x12}, AnswerVerdict::kDifferent, {}, "MSN 3, the model 2"});
  notes.on_compared({0, 5, Qpn{0x12}, AnswerVerdict::kDifferent, {}, "none"});
  notes.sort();
  ASSERT_NE(notes.answer(7), nullptr);
  EXPECT_EQ(notes.answer(7)->reason, Uncompared::kNoRequest);
  EXPECT_EQ(notes.answer(5), nullptr);
  EXPECT_EQ(notes.answers(5, 8).size(), 2u);
  EXPECT_EQ(notes.answers(10, 20).size(), 0u);
  ASSERT_NE(notes.compared_with(2), nullptr);
  EXPECT_EQ(notes.compared_with(2)->captured, 4u);  // the first one
  EXPECT_EQ(notes.compared_with(0), nullptr);       // no frame of the model
  EXPECT_EQ(notes.compared_with(3), nullptr);
  EXPECT_EQ(notes.words(6), "MSN 3, the model 2");
  EXPECT_EQ(notes.uncaptured().at(5), "none");
}

// R1
TEST(PacketNotes, WordsOfSoManyDifferencesAreKept) {
  PacketNotes notes;
  for (std::uint64_t n = 1; n <= PacketNotes::kMostWords + 1; ++n) {
    notes.on_compared({n, 0, Qpn{1}, AnswerVerdict::kDifferent, {}, "other"});
  }
  notes.sort();
  EXPECT_EQ(notes.words(PacketNotes::kMostWords), "other");
  EXPECT_EQ(notes.words(PacketNotes::kMostWords + 1), "");
  EXPECT_EQ(notes.answers(1, ~std::uint64_t{0}).size(), PacketNotes::kMostWords + 1);
}

}  // namespace
}  // namespace rxnic::packet_notes_test
