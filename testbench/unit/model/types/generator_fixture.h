// SPDX-License-Identifier: Apache-2.0
// Runs model/types/generate.py on the test's descriptions, in a folder that is removed after the test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace rxnic {

class GeneratorFixture : public testing::Test {
 protected:
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("rxnic_generate_") + testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() + "_" +
       testing::UnitTest::GetInstance()->current_test_info()->name());

  void SetUp() override {
    const std::filesystem::path model = std::filesystem::path(RXNIC_SOURCE_DIR) / "model";
    std::filesystem::remove_all(folder_);  // of a run that was killed
    std::filesystem::create_directories(folder_ / "model/types");
    std::filesystem::create_directories(folder_ / "model/params");
    for (const char* name : {"types/generate.py", "types/counters.py", "params/emit.py"}) {
      std::filesystem::copy_file(model / name, folder_ / "model" / name);
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // True when generate.py accepts the descriptions; its output files are in made(), its messages in complaint().
  bool generate(const std::string& descriptors, const std::string& counters) const {
    std::ofstream(folder_ / "model/types/descriptors.toml") << "[ids]\nPsn = { bits = 24, hex = true }\n"
                                                            << descriptors;
    std::ofstream(folder_ / "model/types/counters.toml") << counters;
    const std::string command = std::string(RXNIC_PYTHON) + " -B " + (folder_ / "model/types/generate.py").string() +
                                " --out " + (folder_ / "out").string() + " 2>" + (folder_ / "stderr").string();
    return std::system(command.c_str()) == 0;
  }
  static std::string contents(const std::filesystem::path& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  std::string made(const char* name) const { return contents(folder_ / "out" / name); }
  std::string complaint() const { return contents(folder_ / "stderr"); }
};

}  // namespace rxnic
