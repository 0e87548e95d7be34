// SPDX-License-Identifier: Apache-2.0
// Writes a capture of generated requests: make_traffic FILE PACKETS [SEED] [KEY=VALUE...]
//
//   rc_qps, uc_qps, ud_qps, xrc_qps                 QPs of each transport
//   spare_qps                                       QPs that replace those that fail
//   send, send_imm, send_inv, write, write_imm,     weights of the kinds of message
//   read, swap, add, atomic_write
//   min_bytes, max_bytes, mtu, receive_buffer       sizes of messages and packets, in bytes
//   tags                                            SENDs carry an eager TMH, their tags count up modulo this number
//   errors, cause                                   packets per million that are wrong; the only cause (injected_name)
//   load                                            per cent of 100 Gb/s at which the packets follow each other
//
// Without any: 64 RC and 4 UD QPs, all kinds of message, 8 to 128 bytes, half the rate.
#include <array>
#include <charconv>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model/core/wire/icrc.h"
#include "traces/capture_writer.h"
#include "traces/traffic.h"

namespace rxnic {
namespace {

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end || text.empty()) {
    throw std::invalid_argument("found '" + std::string(text) + "'; expected a number");
  }
  return value;
}

std::uint64_t cause_bit(std::string_view name) {
  for (std::size_t i = 1; i < kInjectedCauses; ++i) {
    if (name == injected_name(static_cast<Injected>(i))) return std::uint64_t{1} << i;
  }
  throw std::invalid_argument("found the cause '" + std::string(name) + "'; expected a name of injected_name()");
}

TrafficConfig ordinary() {
  TrafficConfig c;
  c.rc_qps = 64;
  c.ud_qps = 4;
  c.mix = {.send = 4, .send_imm = 1, .write = 2, .write_imm = 1, .read = 1, .add = 1};
  c.min_bytes = 8;
  c.max_bytes = 128;
  c.load = 0.5;
  return c;
}

void set(TrafficConfig& c, std::string_view text) {
  const std::map<std::string_view, std::uint32_t*> counts = {{"rc_qps", &c.rc_qps},
                                                             {"uc_qps", &c.uc_qps},
                                                             {"ud_qps", &c.ud_qps},
                                                             {"xrc_qps", &c.xrc_qps},
                                                             {"spare_qps", &c.spare_qps},
                                                             {"send", &c.mix.send},
                                                             {"send_imm", &c.mix.send_imm},
                                                             {"send_inv", &c.mix.send_inv},
                                                             {"write", &c.mix.write},
                                                             {"write_imm", &c.mix.write_imm},
                                                             {"read", &c.mix.read},
                                                             {"swap", &c.mix.swap},
                                                             {"add", &c.mix.add},
                                                             {"atomic_write", &c.mix.atomic_write},
                                                             {"min_bytes", &c.min_bytes},
                                                             {"max_bytes", &c.max_bytes},
                                                             {"receive_buffer", &c.receive_buffer},
                                                             {"errors", &c.errors_per_million}};
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) throw std::invalid_argument("found '" + std::string(text) + "'; expected =");
  const std::string_view key = text.substr(0, equals), value = text.substr(equals + 1);
  if (const auto at = counts.find(key); at != counts.end()) {
    *at->second = static_cast<std::uint32_t>(number(value));
  } else if (key == "mtu") {
    c.mtu = static_cast<std::uint16_t>(number(value));
  } else if (key == "tags") {
    c.tag_matching = true;
    c.tags = number(value);
  } else if (key == "cause") {
    c.causes = cause_bit(value);
  } else if (key == "load") {
    c.load = static_cast<double>(number(value)) / 100;
  } else {
    throw std::invalid_argument("found the key '" + std::string(key) + "'; expected one of those in make_traffic.cpp");
  }
}

void write(const TrafficConfig& config, const char* file, std::uint64_t packets) {
  Traffic traffic(config);
  CaptureWriter writer(file, LinkLayer::kEthernet);
  std::array<std::uint8_t, kMaxFrameBytes> frame{};
  for (std::uint64_t i = 0; i < packets; ++i) {
    TrafficFrame f = traffic.next(frame);
    if (f.rdma) seal(std::span(frame).first(f.bytes), f.h);
    Traffic::damage({frame.data(), f.bytes}, f);
    writer.write(f.time_ps, std::span(frame).first(f.bytes));
  }
  writer.close();
}

}  // namespace
}  // namespace rxnic

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: make_traffic FILE PACKETS [SEED] [KEY=VALUE...]\n");
    return 2;
  }
  try {
    rxnic::TrafficConfig config = rxnic::ordinary();
    for (int i = 3; i < argc; ++i) {
      const std::string_view text = argv[i];
      if (i == 3 && text.find('=') == std::string_view::npos) {
        config.seed = rxnic::number(text);
      } else {
        rxnic::set(config, text);
      }
    }
    rxnic::write(config, argv[1], rxnic::number(argv[2]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_traffic: %s\n", error.what());
    return 1;
  }
}
