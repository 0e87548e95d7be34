// SPDX-License-Identifier: Apache-2.0
// The drop-in as programs see it: its symbols compared with those of Debian's library, and the libraries that it needs.
// Also its names of enums, and Debian's programs that list devices.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "testbench/unit/bridge/verbs/fake_simulator.h"

namespace rxnic::verbs_library_test {
namespace {

const std::string kOurs = RXNIC_VERBS_LIBRARY;
const std::string kDebians = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1";

std::string output_of(const std::string& command, int& status) {
  std::string out;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  status = pclose(pipe);
  return out;
}

bool have(const std::string& program) {
  int status = 0;
  output_of("command -v " + program, status);
  return status == 0;
}

// "name version kind", where the version is in brackets when it is not the default one.
std::set<std::string> symbols_of(const std::string& library) {
  int status = 0;
  std::istringstream lines(output_of("objdump -T " + library, status));
  std::set<std::string> symbols;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("IBVERBS_") == std::string::npos || line.find("*UND*") != std::string::npos ||
        line.find("*ABS*") != std::string::npos) {
      continue;
    }
    std::istringstream words(line.substr(line.find('\t')));
    std::string size, version, name;
    words >> size >> version >> name;
    symbols.insert(name + " " + version + (line.find(" DO ") != std::string::npos ? " object" : " function"));
  }
  return symbols;
}

TEST(VerbsLibrary, SymbolsAndVersionsAreThoseOfDebians) {
  if (!have("objdump")) GTEST_SKIP() << "objdump is not installed";
  if (!std::filesystem::exists(kDebians)) GTEST_SKIP() << kDebians << " (Debian's libibverbs1) is not installed";
  const auto theirs = symbols_of(kDebians), ours = symbols_of(kOurs);
  ASSERT_GE(theirs.size(), 76u + 71u);
  std::vector<std::string> missing, surplus;
  std::set_difference(theirs.begin(), theirs.end(), ours.begin(), ours.end(), std::back_inserter(missing));
  std::set_difference(ours.begin(), ours.end(), theirs.begin(), theirs.end(), std::back_inserter(surplus));
  EXPECT_TRUE(missing.empty()) << missing.size() << ", the first: " << missing.front();
  EXPECT_TRUE(surplus.empty()) << surplus.size() << ", the first: " << surplus.front();
}

TEST(VerbsLibrary, ShowsNothingElseAndNeedsOnlyTheCLibrary) {
  if (!have("objdump")) GTEST_SKIP() << "objdump is not installed";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's library is needed, too";
#endif
  int status = 0;
  std::istringstream lines(output_of("objdump -T -p " + kOurs, status));
  std::set<std::string> needed;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("NEEDED") != std::string::npos) needed.insert(line.substr(line.find_last_of(' ') + 1));
    const bool defined = line.find(" .text\t") != std::string::npos || line.find(" .bss\t") != std::string::npos ||
                         line.find(" .data\t") != std::string::npos;
    EXPECT_TRUE(!defined || line.find("IBVERBS_") != std::string::npos) << line;
  }
  needed.erase("ld-linux-x86-64.so.2");  // part of the C library
  EXPECT_EQ(needed, std::set<std::string>{"libc.so.6"});
}

TEST(VerbsLibrary, EverySymbolResolves) {
  void* library = dlopen(kOurs.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  dlclose(library);
}

TEST(VerbsLibrary, WordsAndRatesAreThoseOfDebians) {
  void* ours = dlopen(kOurs.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(ours, nullptr) << dlerror();
  // The loader compares the files of the two paths, not their SONAMEs, which are equal.
  void* theirs = dlopen(kDebians.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (theirs == nullptr) GTEST_SKIP() << kDebians << " (Debian's libibverbs1): " << dlerror();
  for (const char* name : {"ibv_node_type_str", "ibv_port_state_str", "ibv_event_type_str", "ibv_wc_status_str"}) {
    const auto a = reinterpret_cast<const char* (*)(int)>(dlsym(ours, name));
    const auto b = reinterpret_cast<const char* (*)(int)>(dlsym(theirs, name));
    ASSERT_TRUE(a != nullptr && b != nullptr && a != b) << name;
    for (int i = -2; i < 30; ++i) EXPECT_STREQ(a(i), b(i)) << name << " " << i;
  }
  for (const char* name : {"ibv_rate_to_mult", "mult_to_ibv_rate", "ibv_rate_to_mbps", "mbps_to_ibv_rate"}) {
    const auto a = reinterpret_cast<int (*)(int)>(dlsym(ours, name));
    const auto b = reinterpret_cast<int (*)(int)>(dlsym(theirs, name));
    ASSERT_TRUE(a != nullptr && b != nullptr) << name;
    for (int i = -2; i < 1'300'000; ++i) ASSERT_EQ(a(i), b(i)) << name << " " << i;
  }
  dlclose(theirs);
  dlclose(ours);
}

class VerbsPrograms : public ::testing::Test {
 protected:
  std::string run(const std::string& command) {
    return output_of("env LD_LIBRARY_PATH=" + std::filesystem::path(kOurs).parent_path().string() + " " + command,
                     status);
  }
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a program without the sanitizer cannot load the library with it";
#endif
  }
  int status = 0;
};

TEST_F(VerbsPrograms, IbvDevicesListsTheNics) {
  if (!have("ibv_devices")) GTEST_SKIP() << "ibv_devices (ibverbs-utils) is not installed";
  FakeSimulator simulator(2);
  const std::string out = run("ibv_devices");
  EXPECT_EQ(status, 0);
  EXPECT_NE(out.find("rxnic0"), std::string::npos) << out;
  EXPECT_NE(out.find("007278fffe000002"), std::string::npos) << out;
}

TEST_F(VerbsPrograms, IbvDevinfoPrintsEverything) {
  if (!have("ibv_devinfo")) GTEST_SKIP() << "ibv_devinfo (ibverbs-utils) is not installed";
  FakeSimulator simulator(2);
  const std::string out = run("ibv_devinfo -v -d rxnic1");
  EXPECT_EQ(status, 0) << out;
  for (const char* line : {"PORT_ACTIVE", "Ethernet", "4X", "25.0 Gbps", "RoCE v1", "RoCE v2", "::ffff:198.18.0.2",
                           "hca_core_clock:\t\t\t1000000", "max_qp_wr:\t\t\t16384", "ATOMIC_HCA"}) {
    EXPECT_NE(out.find(line), std::string::npos) << line << " is not in\n" << out;
  }
}

TEST_F(VerbsPrograms, WithoutASimulatorThereAreNoDevices) {
  if (!have("ibv_devices")) GTEST_SKIP() << "ibv_devices (ibverbs-utils) is not installed";
  unsetenv(channel::kSocketVariable);
  const std::string out = run("ibv_devices");
  EXPECT_EQ(status, 0);
  EXPECT_EQ(out.find("rxnic"), std::string::npos) << out;
}

TEST_F(VerbsPrograms, VendorsLibrariesFindNoDeviceOfTheirs) {
  if (!have("ib_send_bw")) GTEST_SKIP() << "ib_send_bw (perftest) is not installed";
  // perftest binds libmlx5 and libefa, and with them the private node.
  const std::string out = run("LD_BIND_NOW=1 ib_send_bw --version");
  EXPECT_NE(out.find("Version"), std::string::npos) << out;
}

}  // namespace
}  // namespace rxnic::verbs_library_test
