// SPDX-License-Identifier: Apache-2.0
#include "model/params/private_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace rxnic {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

class PrivateFile : public testing::Test {
 protected:
  PrivateFile() {
    std::string name = fs::temp_directory_path() / "rxnic-private-XXXXXX";
    folder = mkdtemp(name.data());
    before = umask(0);  // takes nothing away
  }
  ~PrivateFile() override {
    umask(before);
    fs::remove_all(folder);
  }

  static void fill(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string content(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static mode_t mode(const fs::path& path) {
    struct stat found = {};
    lstat(path.c_str(), &found);
    return found.st_mode & 0777;
  }
  static void write_to(const fs::path& path, Links links = Links::kRefused) {
    std::FILE* const file = open_to_write(path, links);
    std::fputs("new", file);
    std::fclose(file);
  }
  static std::string refusal(const fs::path& path, Links links = Links::kRefused) {
    try {
      write_to(path, links);
    } catch (const Unwritable& e) {
      return e.what();
    }
    return "";
  }

  fs::path folder;
  mode_t before;
};

TEST_F(PrivateFile, HasMode0600WhateverTheUmaskIs) {  // R1
  write_to(folder / "new");
  EXPECT_EQ(mode(folder / "new"), 0600u);
  EXPECT_EQ(content(folder / "new"), "new");
}

TEST_F(PrivateFile, ReplacesAnOldFileAndWritesToNoOtherNameOfIt) {  // R1
  fill(folder / "old", "old");
  fs::create_hard_link(folder / "old", folder / "name");
  std::ifstream reader(folder / "name");
  ASSERT_EQ(mode(folder / "name"), 0666u);
  write_to(folder / "name");
  EXPECT_EQ(mode(folder / "name"), 0600u);
  EXPECT_EQ(content(folder / "name"), "new");
  EXPECT_EQ(content(folder / "old"), "old");
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
}

TEST_F(PrivateFile, DoesNotFollowALinkToAFileOrToNothing) {  // R2
  fill(folder / "target", "precious");
  fs::create_symlink(folder / "target", folder / "name");
  EXPECT_EQ(refusal(folder / "name"), (folder / "name").string() + ": a symbolic link, which is not followed");
  EXPECT_EQ(content(folder / "target"), "precious");
  fs::create_symlink(folder / "absent", folder / "dangling");
  EXPECT_NE(refusal(folder / "dangling"), "");
  EXPECT_FALSE(fs::exists(folder / "absent"));
  EXPECT_THROW(refuse_links(folder / "name"), Unwritable);
  EXPECT_THROW(refuse_links(folder / "dangling"), Unwritable);
  EXPECT_NO_THROW(refuse_links(folder / "target"));
  EXPECT_NO_THROW(refuse_links(folder / "absent"));
}

TEST_F(PrivateFile, WritesToAUsersOwnLinkToADevice) {  // R2
  fs::create_symlink("/dev/null", folder / "name");
  EXPECT_EQ(refusal(folder / "name"), "");
  EXPECT_NO_THROW(refuse_links(folder / "name"));
  EXPECT_TRUE(fs::is_symlink(folder / "name"));
}

TEST_F(PrivateFile, WritesToAFifoOfTheUser) {  // R2
  ASSERT_EQ(mkfifo((folder / "name").c_str(), 0600), 0);
  const int reader = open((folder / "name").c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_EQ(refusal(folder / "name"), "");
  char text[8];
  EXPECT_EQ(read(reader, text, sizeof text), 3);
  close(reader);
}

TEST_F(PrivateFile, LinksAndFifosOfOthersAreRefused) {  // R2, R3, R4
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files to another user";
  const auto give_away = [](const fs::path& path) { return lchown(path.c_str(), kNobody, kNobody); };
  fs::create_symlink("/dev/null", folder / "device");
  fs::create_symlink(folder / "absent", folder / "file");
  fs::create_symlink(fs::temp_directory_path(), folder / "folder");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0666), 0);
  for (const char* name : {"device", "file", "folder", "fifo"}) ASSERT_EQ(give_away(folder / name), 0);
  EXPECT_NE(refusal(folder / "device"), "");
  EXPECT_NE(refusal(folder / "fifo"), "");
  EXPECT_NE(refusal(folder / "file", Links::kOfOwner), "");
  EXPECT_FALSE(fs::exists(folder / "absent"));
  EXPECT_THROW(make_private_folder(folder / "folder"), Unwritable);
}

TEST_F(PrivateFile, AFileThatTheUserNamesMayBeHisLink) {  // R3
  fill(folder / "target", "a long old text");
  fs::create_symlink("target", folder / "name");
  EXPECT_EQ(refusal(folder / "name", Links::kOfOwner), "");
  EXPECT_EQ(content(folder / "target"), "new");
}

TEST_F(PrivateFile, AFolderInItsPlaceIsNamed) { EXPECT_EQ(refusal(folder), folder.string() + ": Is a directory"); }

TEST_F(PrivateFile, NewFoldersHaveMode0700AndOldOnesKeepTheirs) {  // R4
  fs::create_directory(folder / "old");
  make_private_folder(folder / "old" / "a" / "b/");
  EXPECT_EQ(mode(folder / "old"), 0777u);
  EXPECT_EQ(mode(folder / "old" / "a"), 0700u);
  EXPECT_EQ(mode(folder / "old" / "a" / "b"), 0700u);
  make_private_folder(folder / "old");
  EXPECT_EQ(mode(folder / "old"), 0777u);
  fs::create_symlink("old", folder / "link");
  EXPECT_NO_THROW(make_private_folder(folder / "link"));
  fill(folder / "file", "");
  EXPECT_THROW(make_private_folder(folder / "file"), Unwritable);
  EXPECT_THROW(make_private_folder(folder / "file" / "below"), Unwritable);
}

}  // namespace
}  // namespace rxnic
