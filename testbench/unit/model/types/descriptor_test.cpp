// SPDX-License-Identifier: Apache-2.0
// Generated descriptors: their text, comparison and widths, and the SystemVerilog package of the same fields.
#include "model/types/descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/types/descriptor_text.h"
#include "model/types/descriptors.h"
#include "testbench/unit/model/types/generator_fixture.h"
#include "testbench/unit/model/types/parcel.h"

namespace rxnic::descriptor_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(DescriptorText, HasEveryFieldWithItsValue) {
  EXPECT_EQ(text_of(AnswerNotice{Qpn{17}, Psn{0x12}, AnswerKind::kRnrNak, 0x2e}),
            "qpn=17 psn=0x12 kind=rnr_nak syndrome=0x2e");
  EXPECT_EQ(text_of(Doorbell{DoorbellKind::kSend, true, 3, 4, 64, Cycle{120}}),
            "kind=send solicited_only=1 number=3 value=4 wqe_bytes=64 rung=120");
}

TEST(DescriptorText, NestedOnesArraysAndBytes) {
  EXPECT_EQ(text_of(parcel()),
            "pieces[0].length=0 pieces[0].lkey=0x0 pieces[0].address=0x0 pieces[1].length=4 pieces[1].lkey=0x100 "
            "pieces[1].address=0xabcd list=[1 2 3] blob=000ff0ff psn=0x12 stamp=99");
}

TEST(DescriptorText, NamesOfAnEnumeration) {
  EXPECT_EQ(name_of(CqeOpcode::kReceiveWriteImm), "receive_write_imm");
  EXPECT_EQ(name_of(WcStatus::kRnrRetryExceeded), "rnr_retry_exceeded");
  EXPECT_EQ(name_of(static_cast<WcStatus>(3)), "?");
  EXPECT_EQ(static_cast<int>(WcStatus::kRendezvousIncomplete), 23);
}

TEST(DescriptorComparison, SaysWhichFieldDiffers) {
  AnswerNotice a{Qpn{17}, Psn{0x12}, AnswerKind::kNak, 0x60};
  AnswerNotice b = a;
  EXPECT_EQ(a, b);
  EXPECT_EQ(first_difference(a, b), "");
  b.syndrome = 0x61;
  EXPECT_NE(a, b);
  EXPECT_EQ(first_difference(a, b), "syndrome: 0x60 and 0x61");
  b.kind = AnswerKind::kGap;
  EXPECT_EQ(first_difference(a, b), "kind: nak and gap");
  b = a;
  b.qpn = Qpn{18};
  EXPECT_NE(a, b);
  EXPECT_EQ(first_difference(a, b), "qpn: 17 and 18");
}

TEST(DescriptorComparison, SeesNestedFieldsAndElements) {
  TagOperation a, b;
  b.entry.buffer.address = 0x40;
  EXPECT_NE(a, b);
  EXPECT_EQ(first_difference(a, b), "entry.buffer.address: 0x0 and 0x40");
  Parcel p = parcel(), q = parcel();
  q.list[2] = 7;
  q.psn = Psn{0};
  EXPECT_EQ(first_difference(p, q), "list[2]: 3 and 7");
  q.list[0] = 7;
  EXPECT_EQ(first_difference(p, q), "list[0]: 1 and 7");
  q.pieces[1].length = 5;
  EXPECT_EQ(first_difference(p, q), "pieces[1].length: 4 and 5");
}

TEST(DescriptorComparison, LeavesOutObserversAndPointers) {
  Parcel p = parcel(), q = parcel();
  const int somewhere = 0;
  q.stamp = Cycle{100};
  q.pointer = &somewhere;
  EXPECT_EQ(p, q);
  EXPECT_EQ(first_difference(p, q), "");
  EXPECT_EQ((Doorbell{DoorbellKind::kSend, false, 1, 2, 0, Cycle{3}}),
            (Doorbell{DoorbellKind::kSend, false, 1, 2, 0, {}}));
}

TEST(DescriptorWidths, GreatestNumberFitsAndTheNextDoesNot) {
  RequestNotice n;
  n.psn_count = 0xffffff;
  EXPECT_TRUE(fits(n));
  EXPECT_EQ(misfit(n), "");
  n.psn_count = 0x1000000;
  EXPECT_FALSE(fits(n));
  EXPECT_EQ(misfit(n), "psn_count: 16777216 has more than 24 bits");
  n.qpn = Qpn{0xffffffff};
  EXPECT_EQ(misfit(n), "qpn: 4294967295 has more than 24 bits");
}

TEST(DescriptorWidths, OfAnEnumerationAndOfElements) {
  AnswerNotice a;
  a.kind = static_cast<AnswerKind>(8);
  EXPECT_EQ(misfit(a), "kind: 8 has more than 3 bits");
  Parcel p = parcel();
  EXPECT_TRUE(fits(p));
  p.list[1] = 0x1000;
  EXPECT_EQ(misfit(p), "list[1]: 4096 has more than 12 bits");
}

TEST(DescriptorWidths, AreLookedAtInConstantExpressions) {
  static_assert(fits(Event{EventType::kCompletion, 5}));
  static_assert(!fits(Event{EventType::kCompletion, 1u << 24}));
  static_assert(TagReturn{} == TagReturn{});
}

TEST(Descriptors, DefaultsFitAndWidthsAddUp) {
  std::size_t seen = 0;
  for_each_descriptor([&]<class T>() {
    SCOPED_TRACE(Descriptor<T>::kName);
    ++seen;
    EXPECT_TRUE(fits(T{}));
    EXPECT_EQ(T{}, T{});
    unsigned bits = 0;
    std::set<std::string_view> names;
    for (const FieldInfo& f : Descriptor<T>::kFields) {
      if (f.use == FieldUse::kPort) bits += f.bits * f.count;
      EXPECT_TRUE(names.insert(f.name).second) << f.name;
      EXPECT_FALSE(f.sentence.empty()) << f.name;
    }
    EXPECT_EQ(bits, Descriptor<T>::kBits);
  });
  EXPECT_GE(seen, 9u);
}

class GeneratedDescriptors : public GeneratorFixture {
 protected:
  const std::filesystem::path package_ = std::filesystem::path(RXNIC_BINARY_DIR) / "generated/rtl/rxnic_link_pkg.sv";

  // Verilator's findings in the package and a module, which it elaborates.
  std::string lint(const std::filesystem::path& package, const std::string& module) const {
    std::ofstream(folder_ / "widths.sv") << module;
    const std::string command = "verilator --lint-only -Wall -Wno-DECLFILENAME -Wno-UNUSED " + package.string() + " " +
                                (folder_ / "widths.sv").string() + " >" + (folder_ / "lint").string() + " 2>&1";
    if (std::system(command.c_str()) == 0) return "";
    return "verilator: " + contents(folder_ / "lint");
  }
  static bool has_verilator() { return std::system("command -v verilator >/dev/null") == 0; }
  bool generate(const std::string& descriptors) const { return GeneratorFixture::generate(descriptors, ""); }
};

TEST_F(GeneratedDescriptors, SystemVerilogWidthsAreThoseOfTheTraits) {
  if (!has_verilator()) GTEST_SKIP() << "verilator is not installed";
  std::ostringstream module;
  std::size_t compared = 0;
  module << "module widths;\n  import rxnic_link_pkg::*;\n";
  const auto expect = [&](const std::string& expression, std::uint64_t value) {
    module << "  if (" << expression << " != " << value << ") $error(\"" << expression << " is not " << value
           << "\");\n";
    ++compared;
  };
  for_each_descriptor([&]<class T>() {
    const std::string type(Descriptor<T>::kSvName);
    module << "  " << type << " a_" << type << ";\n";
    expect("$bits(" + type + ")", Descriptor<T>::kBits);
    expect(std::string(Descriptor<T>::kName) + "Bits", Descriptor<T>::kBits);
    for (const FieldInfo& f : Descriptor<T>::kFields) {
      if (f.use == FieldUse::kPort) expect("$bits(a_" + type + "." + std::string(f.sv_name) + ")", f.bits * f.count);
    }
  });
  for_each_enumeration([&]<class E>() {
    for (const EnumeratorInfo& e : Enumeration<E>::kValues) {
      std::string name(Enumeration<E>::kName);
      bool upper = true;
      for (const char c : e.name) {
        if (c != '_') name += upper ? static_cast<char>(std::toupper(c)) : c;
        upper = c == '_';
      }
      expect("$bits(" + name + ")", Enumeration<E>::kBits);
      expect("32'(" + name + ")", e.value);
    }
  });
  module << "endmodule\n";
  EXPECT_EQ(lint(package_, module.str()), "");
  EXPECT_GE(compared, 100u);
  EXPECT_THAT(
      lint(package_, "module widths;\n  if ($bits(rxnic_link_pkg::event_t) != 1) $error(\"differs\");\nendmodule\n"),
      HasSubstr("differs"))
      << "the comparison itself must be able to fail";
}

constexpr char kParcel[] = R"(
[parcel]
about = "A test."
[parcel.Colour]
about = "A colour."
[parcel.Colour.values]
red = "Red."
blue = { value = 9, sentence = "" }
[parcel.Piece]
about = "A piece."
[parcel.Piece.fields]
psn = { type = "Psn", sentence = "PSN." }
colour = { type = "Colour", default = "blue", sentence = "Colour." }
[parcel.Parcel]
about = "A parcel."
[parcel.Parcel.fields]
pieces = { type = "Piece", array = 3, sentence = "Pieces." }
colours = { type = "Colour", array = 2, sentence = "Colours." }
context = { type = "u16", bits = 12, array = 4, sentence = "Numbers." }
flags = { type = "bool", array = 5, sentence = "Flags." }
header = { bytes = 6, sentence = "Bytes." }
stamp = { type = "u64", observer = true, sentence = "Stamp." }
pointer = { opaque = "const int*", sentence = "Pointer." }
)";

TEST_F(GeneratedDescriptors, EveryKindOfFieldHasItsForm) {
  ASSERT_TRUE(generate(kParcel)) << complaint();
  const std::string header = made("model/types/parcel.h");
  EXPECT_THAT(header, HasSubstr("enum class Colour : std::uint8_t {\n  kRed,  // Red.\n  kBlue = 9,\n};"));
  EXPECT_THAT(header, HasSubstr("  Colour colour = Colour::kBlue;\n"));
  EXPECT_THAT(header, HasSubstr("  std::array<Piece, 3> pieces{};\n"));
  EXPECT_THAT(header, HasSubstr("  // Numbers. [4 x 12 bits]\n  std::array<std::uint16_t, 4> context{};\n"));
  EXPECT_THAT(header, HasSubstr("  std::array<std::uint8_t, 6> header{};\n"));
  EXPECT_THAT(header, HasSubstr("  const int* pointer{};\n"));
  EXPECT_THAT(header, HasSubstr("static constexpr unsigned kBits = 193;"));
  const std::string package = made("rtl/rxnic_link_pkg.sv");
  EXPECT_THAT(package, HasSubstr("    logic [83:0] pieces;\n"));
  EXPECT_THAT(package, HasSubstr("    logic [7:0] colours;\n"));
  EXPECT_THAT(package, HasSubstr("    logic [3:0][11:0] context_;\n"));
  EXPECT_THAT(package, HasSubstr("    logic [5:0][7:0] header;\n"));
  EXPECT_THAT(package, Not(HasSubstr("stamp")));
  EXPECT_THAT(package, Not(HasSubstr("pointer")));
  if (!has_verilator()) GTEST_SKIP() << "verilator is not installed";
  EXPECT_EQ(lint(folder_ / "out/rtl/rxnic_link_pkg.sv",
                 "module widths;\n  if ($bits(rxnic_link_pkg::parcel_t) != 193) $error(\"differs\");\nendmodule\n"),
            "");
}

TEST_F(GeneratedDescriptors, AreWrittenOnlyWhenChanged) {
  ASSERT_TRUE(generate(kParcel));
  const auto header = folder_ / "out/model/types/parcel.h";
  const std::filesystem::file_time_type long_ago{};
  std::filesystem::last_write_time(header, long_ago);
  ASSERT_TRUE(generate(kParcel));
  EXPECT_EQ(std::filesystem::last_write_time(header), long_ago);
}

TEST_F(GeneratedDescriptors, FlawsAreRefusedByName) {
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& because) {
    std::string text = kParcel;
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    EXPECT_FALSE(generate(text.replace(at, from.size(), to))) << to;
    EXPECT_THAT(complaint(), HasSubstr("descriptors.toml: " + because));
  };
  refused("\"Psn\"", "\"Psm\"", "Piece.psn: expected a type that is known");
  refused("bits = 12", "bits = 17", "Parcel.context: expected 1 to 16 bits");
  refused("\"PSN.\"", "\"PSN\"", "Piece.psn: expected a sentence");
  refused("default = \"blue\"", "default = \"green\"", "Piece.colour: expected a default");
  refused("value = 9", "value = 0", "Colour.blue: expected a number that ascends");
  refused("bytes = 6", "bytes = 6, type = \"u8\"", "Parcel.header: expected one of type, bytes, opaque");
  refused("array = 5", "aray = 5", "Parcel.flags: expected no keys but");
  refused("about = \"A piece.\"", "", "parcel.Piece: expected about");
}

}  // namespace
}  // namespace rxnic::descriptor_test
