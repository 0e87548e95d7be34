// SPDX-License-Identifier: Apache-2.0
#include "model/engine/wave_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "model/types/activity.h"
#include "testbench/unit/temporary_folder.h"

namespace rxnic::wave_file_test {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kPeriodPs = 10;

class WaveFileTest : public testing::Test {
 protected:
  void make(const WaveWindow& window = {}) {
    file = std::make_unique<WaveFile>(path, kPeriodPs, window);
    const std::size_t scope = file->tree.scope("nic.block");
    bit = file->tree.add(scope, {"bit"});
    word = file->tree.add(scope, {"word", WaveKind::kNumber, 16});
    name = file->tree.add(scope, {"name", WaveKind::kName, 0, false, Enumeration<Activity>::kValues});
    text = file->tree.add(scope, {"text", WaveKind::kText});
    wide = file->tree.add(scope, {"wide", WaveKind::kWide, 68});
  }
  void set(Cycle cycle, WaveId id, std::uint64_t value) {
    file->begin(cycle);
    file->set(id, value);
  }
  std::string content() const {
    std::ifstream in(path);
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
  }
  std::string body() const {  // of the simulation, without $dumpvars
    const std::string all = content();
    const std::string end = "$end\n";
    const std::size_t from = all.rfind(end);
    return all.substr(from + end.size());
  }

  TemporaryFolder folder;
  std::string path = folder.file("waves.vcd");
  std::unique_ptr<WaveFile> file;
  WaveId bit = 0, word = 0, name = 0, text = 0, wide = 0;
};

TEST_F(WaveFileTest, ValuesOfEachKind) {  // (R1)
  make();
  file->begin(Cycle{0});
  file->begin(Cycle{1});
  file->set(bit, 1);
  file->set(word, 0x12);
  file->set(name, static_cast<std::uint64_t>(Activity::kBusy));
  file->set_text(text, "RC_SEND");
  file->set_text(wide, "1" + std::string(67, '0'));
  file->begin(Cycle{2});
  file->set(bit, 1);  // as it is
  file->set_unknown(word);
  file->close(Cycle{2});
  EXPECT_THAT(content(), HasSubstr("$timescale 1 ps $end\n"
                                   "$scope module nic $end\n"
                                   " $var wire 1 ! clk $end\n"
                                   " $scope module block $end\n"
                                   "  $var wire 1 \" bit $end\n"
                                   "  $var wire 16 # word [15:0] $end\n"
                                   "  $var string 1 $ name $end\n"
                                   "  $var string 1 % text $end\n"
                                   "  $var wire 68 & wide [67:0] $end\n"
                                   " $upscope $end\n"
                                   "$upscope $end\n"
                                   "$enddefinitions $end\n"
                                   "#0\n$dumpvars\n0!\nx\"\nbx #\nsx $\nsx %\nbx &\n$end\n"));
  EXPECT_EQ(body(), "#10\n1!\n1\"\nb10010 #\nsbusy $\nsRC_SEND %\nb1" + std::string(67, '0') +
                        " &\n#15\n0!\n#20\n1!\nbx #\n#25\n0!\n#30\n");
}

TEST_F(WaveFileTest, ClkGoesOnInAShortStretchAndStandsStillInALongOne) {  // (R2)
  make();
  set(Cycle{0}, bit, 0);
  set(Cycle{WaveFile::kIdleCycles + 1}, bit, 1);
  file->close(Cycle{WaveFile::kIdleCycles + 1});
  EXPECT_THAT(body(), HasSubstr("#10\n1!\n#15\n0!\n#20\n1!\n"));
  make();
  set(Cycle{0}, bit, 0);
  set(Cycle{WaveFile::kIdleCycles + 2}, bit, 1);
  file->close(Cycle{WaveFile::kIdleCycles + 2});
  EXPECT_EQ(body(), "#5\n0!\n#2580\n1!\n1\"\n#2585\n0!\n#2590\n");
}

TEST_F(WaveFileTest, ACycleWithoutAChangeMakesNoDifference) {  // (R2)
  for (const bool more : {false, true}) {
    make();
    set(Cycle{0}, word, 7);
    for (std::uint64_t n = 1; more && n < 900; ++n) set(Cycle{n}, word, 7);
    set(Cycle{900}, word, 8);
    file->close(Cycle{1200});
    EXPECT_EQ(body(), "#5\n0!\n#9000\n1!\nb1000 #\n#9005\n0!\n#12010\n") << more;
  }
  make({Cycle{920}});  // a window after the last change is not empty
  set(Cycle{900}, word, 8);
  file->close(Cycle{950});
  EXPECT_FALSE(file->empty());
  EXPECT_THAT(content(), HasSubstr("#9200\n$dumpvars\n"));
  EXPECT_THAT(content(), HasSubstr("b1000 #\n"));
}

TEST_F(WaveFileTest, AWindowBeginsWithTheValuesBeforeIt) {  // (R3)
  make({Cycle{3}, Cycle{5}});
  for (std::uint64_t n = 0; n < 8; ++n) set(Cycle{n}, word, n);
  EXPECT_TRUE(file->done());
  file->close(Cycle{7});
  EXPECT_FALSE(file->empty());
  EXPECT_THAT(content(), HasSubstr("#30\n$dumpvars\n1!\nx\"\nb11 #\n"));
  EXPECT_EQ(body(), "#35\n0!\n#40\n1!\nb100 #\n#45\n0!\n#50\n");
}

TEST_F(WaveFileTest, AWindowInAStretchWithoutACycle) {  // (R2) (R3)
  make({Cycle{400}, Cycle{500}});
  set(Cycle{1}, word, 1);
  set(Cycle{1000}, word, 2);
  file->close(Cycle{1000});
  EXPECT_THAT(content(), HasSubstr("#4000\n$dumpvars\n0!\nx\"\nb1 #\n"));
  EXPECT_EQ(body(), "#5000\n");
  make({Cycle{4}, Cycle{6}});
  set(Cycle{1}, word, 1);
  set(Cycle{10}, word, 2);
  file->close(Cycle{10});
  EXPECT_THAT(content(), HasSubstr("#40\n$dumpvars\n1!\nx\"\nb1 #\n"));
  EXPECT_EQ(body(), "#45\n0!\n#50\n1!\n#55\n0!\n#60\n");
}

TEST_F(WaveFileTest, AWindowAfterTheEndIsEmpty) {  // (R3)
  make({Cycle{9}});
  set(Cycle{8}, word, 1);
  file->close(Cycle{8});
  EXPECT_TRUE(file->empty());
  EXPECT_THAT(content(), HasSubstr("$enddefinitions $end\n$comment The window is empty. $end\n"));
  make();
  file->close(Cycle{});
  EXPECT_TRUE(file->empty());
}

TEST_F(WaveFileTest, AroundAPacketTheCyclesBeforeAreKept) {  // (R4)
  make({.packet = 1, .margin = 2});
  for (std::uint64_t n = 0; n < 10; ++n) {
    set(Cycle{n}, word, n);
    if (n == 4) file->notice_packet();
    if (n == 5) file->hold_packet();
  }
  file->close(Cycle{9});
  EXPECT_THAT(content(), HasSubstr("#20\n$dumpvars\n1!\nx\"\nb10 #\n"));
  EXPECT_THAT(body(), HasSubstr("#70\n1!\nb111 #\n#75\n0!\n#80\n"));
  EXPECT_EQ(body().find("#85"), std::string::npos);
}

TEST_F(WaveFileTest, AFullDiskIsReportedByClose) {  // (R5)
  path = "/dev/full";
  make();
  for (std::uint64_t n = 0; n < 200'000; ++n) set(Cycle{n}, word, n % 65536);
  try {
    file->close(Cycle{200'000});
    FAIL() << "nothing was reported";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "/dev/full: cannot be written: No space left on device");
  }
  path = folder.file("no/waves.vcd");
  EXPECT_THROW(make(), std::runtime_error);
}

}  // namespace
}  // namespace rxnic::wave_file_test
