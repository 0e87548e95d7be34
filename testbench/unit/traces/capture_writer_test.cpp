// SPDX-License-Identifier: Apache-2.0
#include "traces/capture_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "testbench/unit/temporary_folder.h"
#include "traces/capture_reader.h"

namespace rxnic::capture_writer_test {
namespace {

std::string temporary(const char* name) {
  return (std::filesystem::path(testing::TempDir()) / (std::string(name) + std::to_string(::getpid()))).string();
}

TEST(CaptureWriter, WhatIsWrittenIsReadBack) {
  for (const LinkLayer link : {LinkLayer::kEthernet, LinkLayer::kInfiniband}) {
    const std::string path = temporary("written.pcap");
    CaptureWriter writer(path, link);
    std::vector<std::uint8_t> frame(1082);
    for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<std::uint8_t>(i);
    writer.write(3'000'000'123'999, frame);
    writer.write(3'000'000'124'000, Bytes(frame).first(60));
    writer.write(7'000'000'000'000, Bytes(frame).first(100), 1082);
    writer.close();
    EXPECT_EQ(writer.frames(), 3u);

    CaptureReader reader(path);
    CapturedFrame f;
    ASSERT_TRUE(reader.next(f));
    EXPECT_EQ(f.link, link);
    EXPECT_EQ(std::vector<std::uint8_t>(f.bytes.begin(), f.bytes.end()), frame);
    ASSERT_TRUE(reader.next(f));
    EXPECT_EQ(f.time_ps, 1000u);  // rounded down to nanoseconds
    EXPECT_EQ(f.bytes.size(), 60u);
    EXPECT_FALSE(f.truncated);
    ASSERT_TRUE(reader.next(f));
    EXPECT_EQ(f.time_ps, 3'999'999'877'000u);
    EXPECT_EQ(f.wire_bytes, 1082u);
    EXPECT_TRUE(f.truncated);
    EXPECT_FALSE(reader.next(f));
    std::filesystem::remove(path);
  }
}

TEST(CaptureWriter, TimesCountFromItsStart) {
  const std::string path = temporary("started.pcap");
  CaptureWriter writer(path, LinkLayer::kEthernet, {1'700'000'000, 999'999'998});
  writer.write(1'999, std::vector<std::uint8_t>(60));
  writer.write(3'000'000'002'000, std::vector<std::uint8_t>(60));
  writer.close();
  CaptureReader reader(path);
  CapturedFrame f;
  ASSERT_TRUE(reader.next(f));
  EXPECT_EQ(reader.start().seconds, 1'700'000'000);
  EXPECT_EQ(reader.start().nanoseconds, 999'999'999);
  ASSERT_TRUE(reader.next(f));
  EXPECT_EQ(f.time_ps, 3'000'000'001'000u);
  std::filesystem::remove(path);
}

TEST(CaptureWriter, AFileThatCannotBeMadeIsNamed) {
  try {
    CaptureWriter writer(testing::TempDir() + "no such folder/x.pcap", LinkLayer::kEthernet);
    FAIL();
  } catch (const TraceError& e) {
    EXPECT_NE(std::string(e.what()).find("no such folder/x.pcap: found No such file"), std::string::npos) << e.what();
  }
}

TEST(CaptureWriter, AFullDiskShowsWhenTheFileIsOpened) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  EXPECT_THROW(CaptureWriter("/dev/full", LinkLayer::kEthernet), TraceError);
}

// Files of this process hold no more than `bytes` while it lives, as on a disk that fills.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(CaptureWriter, AFullDiskShowsWhileWriting) {
  const TemporaryFolder folder;
  CaptureWriter writer(folder.file("full.pcap"), LinkLayer::kEthernet);
  const FileSizeLimit limit(65'536);
  const std::vector<std::uint8_t> frame(4096);
  EXPECT_THROW(
      {
        for (int i = 0; i < 1000; ++i) writer.write(0, frame);
      },
      TraceError);
}

TEST(CaptureWriter, AFullDiskIsAnErrorByClose) {
  const TemporaryFolder folder;
  CaptureWriter writer(folder.file("full.pcap"), LinkLayer::kEthernet);
  const FileSizeLimit limit(64);
  EXPECT_THROW(
      {
        writer.write(0, std::vector<std::uint8_t>(64));
        writer.close();
      },
      TraceError);
}

}  // namespace
}  // namespace rxnic::capture_writer_test
