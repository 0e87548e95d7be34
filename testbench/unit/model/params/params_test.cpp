// SPDX-License-Identifier: Apache-2.0
// The generated parameters: their table, their printed forms, and that the generator writes only what changed.
#include "model/params/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "model/params/config.h"
#include "model/params/descriptor.h"
#include "model/params/params_table.h"

namespace rxnic::params_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Every parameter with an allowed value that is not its default.
Params all_changed() {
  Params params;
  for (const ParamDescriptor& d : param_descriptors()) {
    d.set(params, d.default_value != d.greatest ? d.greatest : d.least);
  }
  return params;
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

TEST(ParamDescriptors, DefaultsAreTheHeadersDefaults) {
  for (const ParamDescriptor& d : param_descriptors())
    EXPECT_EQ(d.get(Params{}), d.default_value) << d.section << '.' << d.key;
}

TEST(ParamDescriptors, EachReachesItsOwnMemberOnly) {
  for (const ParamDescriptor& d : param_descriptors()) {
    SCOPED_TRACE(std::string(d.section) + "." + std::string(d.key));
    Params params;
    const std::uint64_t other = d.default_value != d.greatest ? d.greatest : d.least;
    d.set(params, other);
    for (const ParamDescriptor& e : param_descriptors()) {
      const bool same = e.section == d.section && e.key == d.key;
      EXPECT_EQ(e.get(params), same ? other : e.default_value) << e.section << '.' << e.key;
    }
  }
}

TEST(ParamDescriptors, AreCompleteAndWithinTheirOwnRange) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const ParamDescriptor& d : param_descriptors()) {
    SCOPED_TRACE(std::string(d.section) + "." + std::string(d.key));
    EXPECT_TRUE(seen.emplace(d.section, d.key).second) << "named twice";
    EXPECT_LT(d.least, d.greatest);
    EXPECT_GE(d.default_value, d.least);
    EXPECT_LE(d.default_value, d.greatest);
    EXPECT_FALSE(d.sentence.empty());
    EXPECT_FALSE(d.source.empty());
    EXPECT_EQ(d.type == ParamType::kEnum, !d.values.empty());
    if (d.power_of_two) {
      EXPECT_TRUE(std::has_single_bit(d.least) && std::has_single_bit(d.greatest) &&
                  std::has_single_bit(d.default_value));
    }
  }
  EXPECT_GE(seen.size(), 70U);
}

TEST(ParamsText, MarksOnlyWhatDiffersFromTheDefault) {
  Params params;
  const std::string plain = params_text(params, {.section = "tag_match_cam"});
  EXPECT_EQ(std::count(plain.begin(), plain.end(), '*'), 1);  // the legend
  params.tag_match_cam.entries = 33;
  const std::string changed = params_text(params, {.section = "tag_match_cam"});
  EXPECT_THAT(changed, HasSubstr(" 33* "));
  EXPECT_EQ(std::count(changed.begin(), changed.end(), '*'), 2);
}

TEST(ParamsText, HoldsEveryParameterInAlignedColumns) {
  const std::string text = params_text(Params{});
  std::istringstream lines(text);
  std::string line;
  std::size_t meaning = 0;
  std::size_t rows = 0;
  while (std::getline(lines, line)) {
    if (meaning == 0) meaning = line.find("meaning");
    for (const ParamDescriptor& d : param_descriptors()) {
      if (line.starts_with("  " + std::string(d.key) + " ") && line.ends_with(d.sentence)) {
        ++rows;
        EXPECT_EQ(line.size() - d.sentence.size(), meaning) << line;
        break;
      }
    }
  }
  EXPECT_EQ(rows, param_descriptors().size());
  for (const ParamSection& s : param_sections()) EXPECT_THAT(text, HasSubstr("\n" + std::string(s.name) + ": "));
}

TEST(ParamsText, OfOneSectionHoldsNoOther) {
  const std::string text = params_text(Params{}, {.section = "wire"});
  EXPECT_THAT(text, HasSubstr("rx_full"));
  EXPECT_THAT(text, HasSubstr("pause|drop"));
  EXPECT_THAT(text, Not(HasSubstr("header_cycles")));
}

TEST(ParamsText, ShowsSourcesWhenAsked) {
  EXPECT_THAT(params_text(Params{}, {.section = "dma_engine", .evidence = true}), HasSubstr("source: pcie-bench"));
  EXPECT_THAT(params_text(Params{}, {.section = "dma_engine"}), Not(HasSubstr("source: ")));
  EXPECT_THAT(params_text(Params{}, {.section = "fabric", .evidence = true}), HasSubstr("acts in: programs"));
  EXPECT_THAT(params_text(Params{}, {.section = "cqe_generator", .evidence = true}),
              HasSubstr("needs: cqe_generator.compression=true"));
}

TEST(ParamsText, UnknownSectionIsRefused) {
  EXPECT_THROW(params_text(Params{}, {.section = "wires"}), ConfigError);
  EXPECT_THROW(params_json(Params{}, {.section = "wires"}), ConfigError);
}

TEST(ParamsJson, HoldsEveryFieldOfTheTable) {
  Params params;
  params.tag_match_cam.entries = 33;
  const json all = json::parse(params_json(params));
  const json& entries = all["tag_match_cam"]["entries"];
  EXPECT_EQ(entries["value"], 33);
  EXPECT_EQ(entries["default"], 256);
  EXPECT_EQ(entries["unit"], "tags");
  EXPECT_EQ(entries["range"], json({1, 65536}));
  EXPECT_EQ(entries["kind"], "depth");
  EXPECT_EQ(entries["evidence"], "assumed");
  EXPECT_EQ(entries["acts_in"], "tags");
  EXPECT_EQ(all["dma_engine"]["read_latency_ps"]["needs"], "dma_engine.read_latency=constant");
  EXPECT_EQ(all["wire"]["rx_full"]["acts_in"], "any");
  EXPECT_EQ(all["wire"]["rx_full"]["range"], json({"pause", "drop"}));
  EXPECT_EQ(all["cqe_generator"]["compression"]["value"], false);
  EXPECT_EQ(json::parse(params_json(params, {.section = "wire"})).size(), 1U);
}

TEST(ParamsJson, ValuesAloneHaveTheirTypes) {
  const json values = json::parse(params_values_json(Params{}));
  EXPECT_EQ(values["nic"]["clock_period_ps"], 2325);
  EXPECT_EQ(values["wire"]["rx_full"], "pause");
  EXPECT_EQ(values["srq_wqe_fetcher"]["sequential_prefetch"], true);
}

TEST(ParamsToml, GivesTheSameValuesAgain) {
  EXPECT_EQ(parse_config(params_toml(Params{}), "made.toml"), Params{});
  const Params changed = all_changed();
  EXPECT_NE(changed, Params{});
  EXPECT_EQ(parse_config(params_toml(changed), "made.toml"), changed);
}

class GeneratedFiles : public testing::Test {
 protected:
  const std::filesystem::path source_ = std::filesystem::path(RXNIC_SOURCE_DIR) / "model/params";
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("rxnic_params_") + testing::UnitTest::GetInstance()->current_test_info()->name());

  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  int generate(const std::filesystem::path& source) const {
    const std::string command = std::string(RXNIC_PYTHON) + " " + (source / "generate.py").string() + " --out " +
                                (folder_ / "out").string() + " 2>" + (folder_ / "stderr").string();
    return std::system(command.c_str());
  }
  // A copy of the parameters' folder with one edit of params.toml.
  std::filesystem::path edited(const std::string& from, const std::string& to) const {
    const auto copy = folder_ / "params";
    std::filesystem::copy(source_, copy, std::filesystem::copy_options::recursive);
    std::string text = text_of(copy / "params.toml");
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    std::filesystem::remove(copy / "params.toml");
    std::ofstream(copy / "params.toml") << text;
    return copy;
  }
};

TEST_F(GeneratedFiles, AreHeadedByTheirCommand) {
  for (const char* name : {"model/params/params.h", "model/params/param_descriptors.cpp",
                           "model/params/named_configs.cpp", "rtl/rxnic_params_pkg.sv"}) {
    const std::string text = text_of(std::filesystem::path(RXNIC_BINARY_DIR) / "generated" / name);
    EXPECT_THAT(text, HasSubstr("by: model/params/generate.py --out")) << name;
    EXPECT_TRUE(text.starts_with("// SPDX-License-Identifier: Apache-2.0\n")) << name;
  }
}

TEST_F(GeneratedFiles, AreWrittenOnlyWhenChanged) {
  ASSERT_EQ(generate(source_), 0);
  const auto header = folder_ / "out/model/params/params.h";
  const auto package = folder_ / "out/rtl/rxnic_params_pkg.sv";
  const std::filesystem::file_time_type long_ago{};
  std::filesystem::last_write_time(header, long_ago);
  std::filesystem::last_write_time(package, long_ago);
  ASSERT_EQ(generate(source_), 0);
  EXPECT_EQ(std::filesystem::last_write_time(header), long_ago);
  ASSERT_EQ(generate(edited("default = 2325", "default = 2326")), 0);
  EXPECT_NE(std::filesystem::last_write_time(header), long_ago);
  EXPECT_THAT(text_of(header), HasSubstr("clock_period_ps = 2326;"));
  EXPECT_THAT(text_of(package), HasSubstr("NicClockPeriodPs = 32'd2326;"));
}

TEST_F(GeneratedFiles, FlawedParameterIsRefusedByKey) {
  EXPECT_NE(generate(edited("default = 2325", "default = 99")), 0);
  EXPECT_THAT(text_of(folder_ / "stderr"), HasSubstr("nic.clock_period_ps: expected a default within the range"));
}

TEST_F(GeneratedFiles, ParameterWithoutASourceIsRefused) {
  EXPECT_NE(generate(edited("source = \"round number\"\n", "")), 0);
  EXPECT_THAT(text_of(folder_ / "stderr"), HasSubstr("expected the field 'source'"));
}

TEST_F(GeneratedFiles, WhereAParameterActsIsChecked) {
  const auto refusal = [this](const std::string& from, const std::string& to) {
    std::filesystem::remove_all(folder_ / "params");
    EXPECT_NE(generate(edited(from, to)), 0) << to;
    return text_of(folder_ / "stderr");
  };
  EXPECT_THAT(refusal("acts_in = \"programs\"", "acts_in = \"runs\""), HasSubstr("expected acts_in of any, capture"));
  EXPECT_THAT(refusal("otherwise = \"there is no fabric in the replay of a capture\"\n", ""),
              HasSubstr("fabric: expected otherwise"));
  EXPECT_THAT(refusal("dma_engine.read_latency=constant", "dma_engine.latency=constant"),
              HasSubstr("dma_engine.read_latency_ps: found the need 'dma_engine.latency=constant'"));
  EXPECT_THAT(refusal("dma_engine.read_latency=constant", "dma_engine.read_latency=fixed"),
              HasSubstr("expected another value"));
}

TEST_F(GeneratedFiles, PackageHoldsEveryParameter) {
  const std::string text = text_of(std::filesystem::path(RXNIC_BINARY_DIR) / "generated/rtl/rxnic_params_pkg.sv");
  EXPECT_THAT(text, HasSubstr("localparam int unsigned TagMatchCamEntries = 32'd256;"));
  EXPECT_THAT(text, HasSubstr("localparam int unsigned SrqLayoutCyclic = 32'd1;"));
  EXPECT_THAT(text, HasSubstr("localparam bit CqeGeneratorCompression = 1'd0;"));
  EXPECT_THAT(text, HasSubstr("localparam longint unsigned HostPollLatencyPs = 64'd100000;"));
  std::size_t localparams = 0;
  for (std::size_t at = text.find("localparam"); at != std::string::npos; at = text.find("localparam", at + 1))
    ++localparams;
  std::size_t expected = param_descriptors().size();
  for (const ParamDescriptor& d : param_descriptors()) expected += d.values.size();
  EXPECT_EQ(localparams, expected);
}

}  // namespace
}  // namespace rxnic::params_test
