// SPDX-License-Identifier: Apache-2.0
// Writes a long capture of generated requests: make_traffic FILE PACKETS [SEED]
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "model/core/wire/icrc.h"
#include "traces/capture_writer.h"
#include "traces/traffic.h"

int main(int argc, char** argv) {
  const unsigned long long packets = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (argc < 3 || argc > 4 || packets == 0) {
    std::fprintf(stderr, "usage: make_traffic FILE PACKETS [SEED]\n");
    return 2;
  }
  rxnic::TrafficConfig config;
  config.seed = argc > 3 ? std::strtoull(argv[3], nullptr, 0) : 1;
  config.rc_qps = 64;
  config.ud_qps = 4;
  config.mix = {.send = 4, .send_imm = 1, .write = 2, .write_imm = 1, .read = 1, .add = 1};
  config.min_bytes = 8;
  config.max_bytes = 128;
  config.load = 0.5;
  try {
    rxnic::Traffic traffic(config);
    rxnic::CaptureWriter writer(argv[1], rxnic::LinkLayer::kEthernet);
    std::array<std::uint8_t, rxnic::kMaxFrameBytes> frame{};
    for (unsigned long long i = 0; i < packets; ++i) {
      const rxnic::TrafficFrame f = traffic.next(frame);
      rxnic::seal(std::span(frame).first(f.bytes), f.h);
      writer.write(f.time_ps, std::span(frame).first(f.bytes));
    }
    writer.close();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_traffic: %s\n", error.what());
    return 1;
  }
}
