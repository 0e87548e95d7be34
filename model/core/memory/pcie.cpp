// SPDX-License-Identifier: Apache-2.0
#include "model/core/memory/pcie.h"

#include <algorithm>

namespace rxnic {

namespace {

constexpr std::uint32_t pieces(std::uint32_t bytes, std::uint32_t size) { return (bytes + size - 1) / size; }

}  // namespace

TlpCount completion_tlps(const DmaEngineParams& p, std::uint64_t address, std::uint32_t bytes) {
  const auto offset = static_cast<std::uint32_t>(address % p.rcb_bytes);
  const std::uint32_t head = offset == 0 ? 0 : std::min(bytes, p.rcb_bytes - offset);
  const std::uint32_t tail = (bytes - head) % p.rcb_bytes;
  const std::uint32_t whole = bytes - head - tail;
  const std::uint32_t n = (head != 0) + (tail != 0) + pieces(whole, p.mps_bytes);
  return {n, std::uint64_t{n} * p.completion_header_bytes + bytes};
}

}  // namespace rxnic
