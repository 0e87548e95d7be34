// SPDX-License-Identifier: Apache-2.0
// The version of bridge/channel/messages.toml, which its generator does not let anybody forget.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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
  // Puts `by` in the place of the first such text.
  void replace(const char* file, const std::string& what, const std::string& by) const {
    std::string text = contents(folder_ / file);
    const std::size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    std::ofstream(folder_ / file) << text.replace(at, what.size(), by);
  }
  // The first line that begins so, with the end of the line before it.
  std::string line(const char* file, const std::string& begin) const {
    const std::string text = "\n" + contents(folder_ / file);
    const std::size_t at = text.find("\n" + begin);
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at + 1) - at);
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
    const std::string expected = "expected version = " + next() + " and digest = ";
    const std::string said = complaint();
    const std::size_t at = said.find(expected);
    ASSERT_NE(at, std::string::npos) << said;
    const std::size_t begin = at + expected.size();
    const std::string digest = said.substr(begin, said.find('"', begin + 1) + 1 - begin);
    replace(kTable, line(kTable, "version = "), "\nversion = " + next());
    EXPECT_FALSE(generate()) << "the digest is still that of the version before";
    EXPECT_NE(complaint().find(digest), std::string::npos) << complaint();
    replace(kTable, line(kTable, "digest = "), "\ndigest = " + digest);
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
  const std::string first = line(kTable, "allocate_pd = "), second = line(kTable, "free_pd = ");
  expect_moves_on(kTable, first + second, second + first);
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
  replace(kMapping, line(kMapping, "//   "), "\n// Other words.\n");
  EXPECT_TRUE(generate()) << complaint();
}

TEST_F(MessagesVersion, IsANumber) {
  for (const char* bad : {"0", "-1", "\"19\"", "1.5", "true", "4294967296"}) {
    replace(kTable, line(kTable, "version = "), std::string("\nversion = ") + bad);
    EXPECT_FALSE(generate()) << bad;
    EXPECT_NE(complaint().find("messages.toml: version: expected a number from 1"), std::string::npos) << complaint();
  }
}

}  // namespace
}  // namespace rxnic::messages_version_test
