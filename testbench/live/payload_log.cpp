// SPDX-License-Identifier: Apache-2.0
#include "testbench/live/payload_log.h"

#include <fmt/format.h>

#include <cstdlib>

namespace rxnic::live {

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

PayloadLog::PayloadLog() {
  // Several tests of one program add to the same file.
  if (const char* name = std::getenv("RXNIC_LIVE_PAYLOADS")) file_.open(name, std::ios::app);
}

void PayloadLog::request(std::uint32_t nic, std::uint32_t qpn, std::string_view opcode,
                         std::span<const std::uint8_t> payload) {
  line(nic, qpn, "request", fmt::format(R"("opcode": "{}", "hex": "{}")", opcode, hex(payload)));
}

void PayloadLog::response(std::uint32_t nic, std::uint32_t qpn, std::span<const std::uint8_t> payload) {
  line(nic, qpn, "response", fmt::format(R"("hex": "{}")", hex(payload)));
}

void PayloadLog::atomic(std::uint32_t nic, std::uint32_t qpn, std::uint64_t compare, std::uint64_t swap) {
  line(nic, qpn, "atomic", fmt::format(R"("compare": {}, "swap": {})", compare, swap));
}

void PayloadLog::line(std::uint32_t nic, std::uint32_t qpn, std::string_view kind, std::string_view rest) {
  if (!file_.is_open()) return;
  file_ << fmt::format(R"({{"nic": {}, "qpn": {}, "kind": "{}", {}}})", nic, qpn, kind, rest) << '\n';
}

}  // namespace rxnic::live
