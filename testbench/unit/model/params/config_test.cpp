// SPDX-License-Identifier: Apache-2.0
// Rules R1..R5 of model/params/config.h: accepted files, and each refusal with its file, line, key and expectation.
#include "model/params/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "model/params/descriptor.h"
#include "model/params/params_table.h"

namespace rxnic::config_test {
namespace {

using testing::HasSubstr;

struct Refusal {
  std::string file;
  std::uint32_t line = 0;
  std::string key;
  std::string found;
  std::string expected;
  std::string what;
};

// The message of the error that `load` throws; a test failure when it throws none.
Refusal refusal_of(const std::function<void()>& load) {
  try {
    load();
  } catch (const ConfigError& e) {
    return {e.file(), e.line(), e.key(), e.found(), e.expected(), e.what()};
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

Refusal refusal_of_text(const std::string& text) {
  return refusal_of([&] { parse_config(text, "user.toml"); });
}

Refusal refusal_of_set(const std::string& set) {
  const std::vector<std::string> overrides = {set};
  return refusal_of([&] { load_config(kDefaultConfig, overrides); });
}

const std::string kBase = "base = \"nic_100g_gen3\"\n";

class ConfigFile : public testing::Test {
 protected:
  // A folder for each test, because tests run at the same time.
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("rxnic_config_") + testing::UnitTest::GetInstance()->current_test_info()->name());

  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
};

// NUMBERS.md, Line rate: frames of 64 bytes, each with a receive WQE. Otherwise an SRQ is bound by its prefetched WQEs.
TEST(NamedConfigs, PrefetchedWqesCoverAReadOfMemoryAtLineRate) {
  for (const char* name : {"nic_100g_gen3", "nic_400g_gen5"}) {
    const Params p = load_config(name);
    const double frames_a_us = p.nic.link_gbps * 1000.0 / (8 * (64 + p.wire.preamble_gap_bytes));
    const double a_read_us = p.dma_engine.read_latency_ps * 1e-6;
    EXPECT_GE(p.srq_wqe_fetcher.prefetch_depth, frames_a_us * a_read_us) << name;
  }
}

TEST(NamedConfigs, HoldEveryKeyAndNoOther) {
  ASSERT_GE(named_configs().size(), 3U);
  for (const NamedConfig& config : named_configs()) {
    SCOPED_TRACE(config.name);
    EXPECT_THAT(std::string(config.text), testing::Not(HasSubstr("base =")));
    EXPECT_NO_THROW(load_config(config.name));
  }
}

TEST(NamedConfigs, DefaultIsTheHeadersDefaults) { EXPECT_EQ(load_config("nic_100g_gen3"), Params{}); }

TEST(NamedConfigs, DifferFromEachOther) {
  const Params p100 = load_config("nic_100g_gen3");
  const Params p400 = load_config("nic_400g_gen5");
  const Params tiny = load_config("tiny");
  EXPECT_EQ(p100.nic.link_gbps, 100U);
  EXPECT_EQ(p100.dma_engine.tlp_rate_mbps, 113700U);
  EXPECT_EQ(p400.nic.link_gbps, 400U);
  EXPECT_EQ(p400.dma_engine.tlp_rate_mbps, 454800U);
  EXPECT_LE(tiny.tag_match_cam.entries, 8U);
  EXPECT_NE(tiny, p100);
}

TEST(ConfigR1, BaseMayBeFollowedByOnlyWhatDiffers) {
  Params expected;
  expected.tag_match_cam.entries = 33;
  expected.wire.rx_full = RxFullPolicy::kDrop;
  expected.cqe_generator.compression = true;
  EXPECT_EQ(parse_config(kBase + "about = \"mine\"\n[tag_match_cam]\nentries = 33\n[wire]\nrx_full = \"drop\"\n"
                                 "[cqe_generator]\ncompression = true\n",
                         "user.toml"),
            expected);
}

TEST(ConfigR1, MissingKeyWithoutBaseIsRefused) {
  std::string text = params_toml(Params{});
  const std::string gone = "search_cycles = 4\n";
  ASSERT_NE(text.find(gone), std::string::npos);
  text.erase(text.find(gone), gone.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(text.find("[tag_match_cam]")), '\n');
  const Refusal r = refusal_of_text(text);
  EXPECT_EQ(r.file, "user.toml");
  EXPECT_EQ(r.line, line);
  EXPECT_EQ(r.key, "tag_match_cam.search_cycles");
  EXPECT_EQ(r.found, "no such key");
  EXPECT_THAT(r.expected, HasSubstr("from 1 to 1024 (cycles)"));
}

TEST(ConfigR1, MissingSectionWithoutBaseIsRefused) {
  const Refusal r = refusal_of_text("about = \"nothing\"\n");
  EXPECT_EQ(r.line, 1U);
  EXPECT_EQ(r.key, "nic.clock_period_ps");
}

TEST(ConfigR1, BaseOfTheWrongTypeIsRefused) {
  const Refusal r = refusal_of_text("base = 3\n");
  EXPECT_EQ(r.line, 1U);
  EXPECT_EQ(r.key, "base");
  EXPECT_EQ(r.found, "3");
}

TEST(ConfigR1, UnknownBaseIsRefusedWithASuggestion) {
  const Refusal r = refusal_of_text("\nbase = \"nic_100g_gen4\"\n");
  EXPECT_EQ(r.file, "user.toml");
  EXPECT_EQ(r.line, 2U);
  EXPECT_EQ(r.key, "base");
  EXPECT_THAT(r.expected, HasSubstr("did you mean 'nic_100g_gen3'?"));
}

TEST_F(ConfigFile, R1BaseMayBeAFileBesideIt) {
  write("base.toml", kBase + "[nic]\nlink_gbps = 25\nclock_period_ps = 4000\n");
  const Params p = load_config(write("user.toml", "base = \"base.toml\"\n[nic]\nlink_gbps = 40\n"));
  EXPECT_EQ(p.nic.link_gbps, 40U);
  EXPECT_EQ(p.nic.clock_period_ps, 4000U);
  EXPECT_EQ(p.tag_match_cam, Params{}.tag_match_cam);
}

TEST_F(ConfigFile, R1BaseThatIsItselfIsRefused) {
  const std::string file = write("loop.toml", "base = \"loop.toml\"\n");
  const Refusal r = refusal_of([&] { load_config(file); });
  EXPECT_EQ(r.key, "base");
  EXPECT_THAT(r.expected, HasSubstr("at most 8 bases"));
}

TEST_F(ConfigFile, R3RefusalInABaseNamesTheBasesFile) {
  const std::string base = write("base.toml", kBase + "[nic]\nlink_gbps = 0\n");
  const std::string user = write("user.toml", "base = \"base.toml\"\n");
  const Refusal r = refusal_of([&] { load_config(user); });
  EXPECT_EQ(r.file, base);
  EXPECT_EQ(r.line, 3U);
}

TEST_F(ConfigFile, FileThatCannotBeReadIsRefused) {
  const std::string absent = (folder_ / "absent.toml").string();
  const Refusal r = refusal_of([&] { load_config(absent); });
  EXPECT_THAT(r.found, HasSubstr("absent.toml"));
  EXPECT_EQ(r.expected, "a file that can be read");
  const std::string folder = folder_.string() + "/";
  EXPECT_EQ(refusal_of([&] { load_config(folder); }).expected, "a file that can be read");
}

TEST(Config, UnknownNameIsRefusedWithASuggestion) {
  const Refusal r = refusal_of([] { load_config("tinny"); });
  EXPECT_EQ(r.found, "\"tinny\"");
  EXPECT_THAT(r.expected, HasSubstr("one of nic_100g_gen3, nic_400g_gen5, tiny; did you mean 'tiny'?"));
}

TEST(Config, SyntaxErrorIsRefusedWithItsLine) {
  const Refusal r = refusal_of_text(kBase + "[nic]\nlink_gbps = = 3\n");
  EXPECT_EQ(r.file, "user.toml");
  EXPECT_EQ(r.line, 3U);
  EXPECT_EQ(r.expected, "a TOML file");
}

TEST(Config, KeyGivenTwiceIsRefused) {
  EXPECT_EQ(refusal_of_text(kBase + "[nic]\nlink_gbps = 3\nlink_gbps = 4\n").line, 4U);
}

TEST(ConfigR2, UnknownSectionIsRefusedWithASuggestion) {
  const Refusal r = refusal_of_text(kBase + "[tag_match_cma]\nentries = 3\n");
  EXPECT_EQ(r.line, 2U);
  EXPECT_EQ(r.key, "tag_match_cma");
  EXPECT_EQ(r.found, "unknown section");
  EXPECT_THAT(r.expected, HasSubstr("did you mean 'tag_match_cam'?"));
}

TEST(ConfigR2, UnknownKeyIsRefusedWithASuggestion) {
  const Refusal r = refusal_of_text(kBase + "[tag_match_cam]\nentires = 3\n");
  EXPECT_EQ(r.line, 3U);
  EXPECT_EQ(r.key, "tag_match_cam.entires");
  EXPECT_EQ(r.found, "unknown key");
  EXPECT_THAT(r.expected, HasSubstr("did you mean 'entries'?"));
  EXPECT_THAT(r.what, HasSubstr("user.toml:3: tag_match_cam.entires: found unknown key, expected one of entries, "));
}

TEST(ConfigR2, UnlikelyWordGetsNoSuggestion) {
  EXPECT_THAT(refusal_of_text(kBase + "[nic]\nzzzzzzzzz = 3\n").expected, testing::Not(HasSubstr("did you mean")));
}

TEST(ConfigR2, SectionThatIsAValueIsRefused) {
  const Refusal r = refusal_of_text(kBase + "nic = 3\n");
  EXPECT_EQ(r.line, 2U);
  EXPECT_EQ(r.expected, "a section [nic]");
}

struct BadValue {
  const char* section;
  const char* line;
  const char* found;
  const char* expected;
};

class ConfigR2Value : public testing::TestWithParam<BadValue> {};

TEST_P(ConfigR2Value, IsRefusedInAFileAndInAnOverride) {
  const BadValue& bad = GetParam();
  const std::string key =
      std::string(bad.section) + "." + std::string(bad.line).substr(0, std::string(bad.line).find(' '));
  const Refusal r = refusal_of_text(kBase + "[" + bad.section + "]\n" + bad.line + "\n");
  EXPECT_EQ(r.file, "user.toml");
  EXPECT_EQ(r.line, 3U);
  EXPECT_EQ(r.key, key);
  EXPECT_EQ(r.found, bad.found);
  EXPECT_EQ(r.expected, bad.expected);

  const std::string value = std::string(bad.line).substr(std::string(bad.line).find("= ") + 2);
  const Refusal set = refusal_of_set(key + "=" + value);
  EXPECT_EQ(set.file, "--set");
  EXPECT_EQ(set.line, 0U);
  EXPECT_EQ(set.key, key);
  EXPECT_EQ(set.expected, bad.expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, ConfigR2Value,
    testing::Values(
        BadValue{"tag_match_cam", "entries = 0", "0", "an integer from 1 to 65536 (tags)"},
        BadValue{"tag_match_cam", "entries = 65537", "65537", "an integer from 1 to 65536 (tags)"},
        BadValue{"tag_match_cam", "entries = -1", "-1", "an integer from 1 to 65536 (tags)"},
        BadValue{"tag_match_cam", "entries = 4294967552", "4294967552", "an integer from 1 to 65536 (tags)"},
        BadValue{"tag_match_cam", "entries = 1.5", "1.5", "an integer from 1 to 65536 (tags)"},
        BadValue{"tag_match_cam", "entries = true", "true", "an integer from 1 to 65536 (tags)"},
        BadValue{"tag_match_cam", "entries = \"many\"", "\"many\"", "an integer from 1 to 65536 (tags)"},
        BadValue{"tag_match_cam", "entries = [1]", "an array", "an integer from 1 to 65536 (tags)"},
        BadValue{"dma_engine", "mps_bytes = 384", "384", "an integer from 128 to 4096, a power of two (bytes)"},
        BadValue{"cqe_generator", "compression = 1", "1", "true or false"},
        BadValue{"wire", "rx_full = \"dorp\"", "\"dorp\"", "\"pause\" or \"drop\"; did you mean 'drop'?"},
        BadValue{"wire", "rx_full = \"\"", "\"\"", "\"pause\" or \"drop\""}));

TEST(ConfigR2, LimitsThemselvesAreTaken) {
  EXPECT_EQ(parse_config(kBase + "[tag_match_cam]\nentries = 1\n", "f").tag_match_cam.entries, 1U);
  EXPECT_EQ(parse_config(kBase + "[tag_match_cam]\nentries = 65536\n", "f").tag_match_cam.entries, 65536U);
}

TEST(ConfigR4, OverrideWinsAndTheLastOneMost) {
  const std::vector<std::string> overrides = {"tag_match_cam.entries=7",
                                              "wire.rx_full=drop",
                                              "tag_match_cam.entries=8",
                                              "cqe_generator.compression=true",
                                              "srq_wqe_fetcher.srq_layout=\"cyclic\"",
                                              "host.poll_latency_ps=1_000_000_000"};
  Params expected;
  expected.tag_match_cam.entries = 8;
  expected.wire.rx_full = RxFullPolicy::kDrop;
  expected.cqe_generator.compression = true;
  expected.srq_wqe_fetcher.srq_layout = SrqLayout::kCyclic;
  expected.host.poll_latency_ps = 1'000'000'000;
  EXPECT_EQ(load_config(kDefaultConfig, overrides), expected);
}

TEST(ConfigR4, OverrideOfAnotherFormIsRefused) {
  for (const std::string set : {"", "=", "entries", "entries=3", "tag_match_cam.entries", ".=3"}) {
    SCOPED_TRACE(set);
    EXPECT_EQ(refusal_of_set(set).file, "--set");
  }
  EXPECT_EQ(refusal_of_set("entries=3").expected, "section.key=value; did you mean 'tag_match_cam.entries'?");
  EXPECT_THAT(refusal_of_set("tag_match_cam.entires=3").expected, HasSubstr("did you mean 'entries'?"));
  EXPECT_THAT(refusal_of_set("tag_match_cma.entries=3").expected, HasSubstr("did you mean 'tag_match_cam'?"));
}

TEST(ConfigR3, AKeyOfManyPartsIsRefusedWithItsLine) {
  std::string key = "a";
  for (int i = 0; i < 50'000; ++i) key += ".a";
  for (const std::string& line : {key + " = 1", "[" + key + "]", "nic = { " + key + " = 1 }", "'x'." + key + " = 1"}) {
    const Refusal r = refusal_of_text(kBase + "# a comment\n" + line + "\n");
    EXPECT_EQ(r.line, 3U);
    EXPECT_EQ(r.found, "a key of more than 8 parts");
  }
  EXPECT_EQ(refusal_of_set("nic.link_gbps={" + key + "=1}").key, "nic.link_gbps");
  EXPECT_EQ(refusal_of_text(kBase + "about = 'a.b.c.d.e.f.g.h.i.j' # ..........\n[nic]\nlink_gbps = 0\n").line, 4U);
}

TEST(ConfigR4, OverrideIsOneValueAndNotADocument) {
  EXPECT_EQ(refusal_of_set("tag_match_cam.entries=3\nw = 4").found, "\"3\nw = 4\"");
  EXPECT_EQ(refusal_of_set("tag_match_cam.entries=").found, "\"\"");
}

TEST(ConfigR5, AnyOtherTopLevelValueIsRefused) {
  EXPECT_EQ(refusal_of_text(kBase + "author = \"me\"\n").key, "author");
  EXPECT_EQ(refusal_of_text(kBase + "about = 3\n").expected, "a sentence");
}

}  // namespace
}  // namespace rxnic::config_test
