// SPDX-License-Identifier: Apache-2.0
// The version of bridge/channel/messages.toml, which its generator does not let anybody forget.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "bridge/channel/messages.h"

namespace rxnic::messages_version_test {
namespace {

namespace fs = std::filesystem;

class MessagesVersion : public testing::Test {
 protected:
  static constexpr const char* kTable = "bridge/channel/messages.toml";
  static constexpr const char* kMapping = "bridge/channel/shared_mapping.h";
  const fs::path folder_ =
      fs::path(testing::TempDir()) /
      (std::string("rxnic_messages_") + testing::UnitTest::GetInstance()->current_test_info()->name());

  void SetUp() override {
    fs::remove_all(folder_);  // of a run that was killed
    fs::create_directories(folder_ / "bridge/channel");
    fs::create_directories(folder_ / "model/params");
    for (const char* name : {kTable, kMapping, "bridge/channel/generate.py", "model/params/emit.py"}) {
      fs::copy_file(fs::path(RXNIC_SOURCE_DIR) / name, folder_ / name);
    }
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string contents(const fs::path& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  // Puts `by` in the place of the first text that matches.
  void replace(const char* file, const std::string& what, const std::string& by) const {
    const std::string before = contents(folder_ / file);
    const std::string after = std::regex_replace(before, std::regex(what), by, std::regex_constants::format_first_only);
    ASSERT_NE(before, after) << what;
    std::ofstream(folder_ / file) << after;
  }
  bool generate() const {
    const std::string command = std::string(RXNIC_PYTHON) + " -B " + (folder_ / "bridge/channel/generate.py").string() +
                                " --out " + (folder_ / "out").string() + " 2>" + (folder_ / "stderr").string();
    return std::system(command.c_str()) == 0;
  }
  std::string complaint() const { return contents(folder_ / "stderr"); }
  static std::string next() { return std::to_string(channel::kVersion + 1); }

  // The change is refused until version and digest are as the error says; then kVersion has moved on.
  void expect_moves_on(const char* file, const std::string& what, const std::string& by) const {
    SCOPED_TRACE(by);
    ASSERT_TRUE(generate()) << complaint();
    replace(file, what, by);
    EXPECT_FALSE(generate());
    std::smatch found;
    const std::string said = complaint();
    ASSERT_TRUE(std::regex_search(said, found, std::regex("expected version = (\\d+) and digest = \"([^\"]+)\"")))
        << said;
    EXPECT_EQ(found[1], next());
    replace(kTable, "\nversion = \\d+", "\nversion = " + next());
    EXPECT_FALSE(generate()) << "the digest is still that of the version before";
    EXPECT_NE(complaint().find(found[2].str()), std::string::npos) << complaint();
    replace(kTable, "\ndigest = .*", "\ndigest = \"" + found[2].str() + "\"");
    ASSERT_TRUE(generate()) << complaint();
    EXPECT_NE(contents(folder_ / "out/bridge/channel/version.h").find("kVersion = " + next() + ";"), std::string::npos);
  }
};

TEST_F(MessagesVersion, IsThatOfTheTable) {
  ASSERT_TRUE(generate()) << complaint();
  EXPECT_NE(contents(folder_ / kTable).find("\nversion = " + std::to_string(channel::kVersion) + "\n"),
            std::string::npos);
}

TEST_F(MessagesVersion, MovesOnWithARequest) { expect_moves_on(kTable, "\nfree_pd = ", "\nrelease_pd = "); }
TEST_F(MessagesVersion, MovesOnWithTheOrderOfRequests) {
  expect_moves_on(kTable, "(\nallocate_pd = .*)(\nfree_pd = .*)", "$2$1");
}
TEST_F(MessagesVersion, MovesOnWithAFieldOfAMessage) { expect_moves_on(kTable, "\nnics = ", "\nports = "); }
TEST_F(MessagesVersion, MovesOnWithTheTypeOfAField) {
  expect_moves_on(kTable, "\nmax_flows = \"u32\"", "\nmax_flows = \"u16\"");
}
TEST_F(MessagesVersion, MovesOnWithTheSharedMapping) {
  expect_moves_on(kMapping, "kArmedForAnyShift = 33", "kArmedForAnyShift = 34");
}

TEST_F(MessagesVersion, StaysWithWordsAndBlanks) {
  replace(kTable, "about = \"with 4", "about = \"said otherwise: with 4");
  replace(kMapping, "// .*\n", "// Other words.\n\n");
  EXPECT_TRUE(generate()) << complaint();
}

TEST_F(MessagesVersion, IsANumber) {
  for (const char* bad : {"0", "-1", "\"19\"", "1.5", "true", "4294967296"}) {
    replace(kTable, "\nversion = .*", std::string("\nversion = ") + bad);
    EXPECT_FALSE(generate()) << bad;
    EXPECT_NE(complaint().find("messages.toml: version: expected a number from 1"), std::string::npos) << complaint();
  }
}

}  // namespace
}  // namespace rxnic::messages_version_test
