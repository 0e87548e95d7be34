// SPDX-License-Identifier: Apache-2.0
// The benchmarks; with --load=NAME --packets=N one run of a load of replay_loads.h, for scripts/bench --instructions.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <systemc>

#include "testbench/bench/replay_loads.h"

namespace {

constexpr std::string_view kLoad = "--load=", kPackets = "--packets=";

int run_load(std::string_view name, std::string_view packets) {
  try {
    rxnic::run_load(name, std::stoull(std::string(packets)));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rxnic_bench: %s\n", error.what());
    return 2;
  }
}

}  // namespace

int sc_main(int argc, char** argv) {
  if (argc == 3) {
    const std::string_view load = argv[1], packets = argv[2];
    if (load.starts_with(kLoad) && packets.starts_with(kPackets)) {
      return run_load(load.substr(kLoad.size()), packets.substr(kPackets.size()));
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

// SystemC's library has a main() too, which prints a banner.
int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
