// SPDX-License-Identifier: Apache-2.0
// What comes from a simulator of SystemVerilog: packets of any length and content, each behind its length in two bytes.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bridge/dpi/pin_client.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) return 0;
  rxnic::channel::Descriptor ours(pair[0]), theirs(pair[1]);
  std::size_t packets = 0;
  for (std::size_t at = 0; at + 2 <= size; ++packets) {
    const std::size_t bytes = std::min<std::size_t>(data[at] | data[at + 1] << 8, size - at - 2);
    if (send(theirs.get(), data + at + 2, bytes, MSG_NOSIGNAL) < 0) break;
    at += 2 + bytes;
  }
  rxnic::dpi::PinClient pins;
  if (!pins.open(std::move(ours), "grh_scatter").empty()) return 0;
  for (std::size_t turn = 0; turn <= packets; ++turn) {
    std::uint32_t sum = 0;
    for (std::size_t n = 0; n < pins.records().size(); ++n) {
      for (std::uint32_t& word : pins.words(n)) sum += word++;
    }
    pins.exchange();
    if (sum == 0 && !pins.failure().empty()) break;
  }
  return 0;
}
