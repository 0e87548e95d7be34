// SPDX-License-Identifier: Apache-2.0
// The payloads that a test program expects on the wire: one JSON object a line in the file $RXNIC_LIVE_PAYLOADS, when
// that is set. wire_check.py compares it with wire.pcap. Lines with the same nic, qpn and kind are in order of posting.
//
//   {"nic": N, "qpn": N, "kind": "request", "opcode": "send", "hex": "..."}   payload of one message to that QP
//   {"nic": N, "qpn": N, "kind": "response", "hex": "..."}                    what a READ of that QP has fetched;
//   ATOMIC WRITE: ""
//   {"nic": N, "qpn": N, "kind": "atomic", "compare": N, "swap": N}           AtomicETH to that QP
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace rxnic::live {

std::string hex(std::span<const std::uint8_t> bytes);

class PayloadLog {
 public:
  PayloadLog();
  void request(std::uint32_t nic, std::uint32_t qpn, std::string_view opcode, std::span<const std::uint8_t> payload);
  void response(std::uint32_t nic, std::uint32_t qpn, std::span<const std::uint8_t> payload);
  void atomic(std::uint32_t nic, std::uint32_t qpn, std::uint64_t compare, std::uint64_t swap);

 private:
  void line(std::uint32_t nic, std::uint32_t qpn, std::string_view kind, std::string_view rest);

  std::ofstream file_;
};

}  // namespace rxnic::live
