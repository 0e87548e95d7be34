// SPDX-License-Identifier: Apache-2.0
#include "model/core/memory/pcie.h"

#include <algorithm>

namespace rxnic {

namespace {

constexpr std::uint32_t kBoundary = 4096;  // no TLP crosses one

constexpr std::uint32_t pieces(std::uint32_t bytes, std::uint32_t size) { return (bytes + size - 1) / size; }

// Number of pieces of at most `size` bytes, cut at 4 KiB boundaries too.
std::uint32_t pieces_within_pages(std::uint64_t address, std::uint32_t bytes, std::uint32_t size) {
  const auto offset = static_cast<std::uint32_t>(address % kBoundary);
  if (bytes <= kBoundary - offset) return pieces(bytes, size);
  const std::uint32_t first = kBoundary - offset;
  const std::uint32_t rest = bytes - first;
  return pieces(first, size) + rest / kBoundary * (kBoundary / size) + pieces(rest % kBoundary, size);
}

// Completions of one read request. (R2)
std::uint32_t completions(const DmaEngineParams& p, std::uint64_t address, std::uint32_t bytes) {
  const auto offset = static_cast<std::uint32_t>(address % p.rcb_bytes);
  const std::uint32_t head = offset == 0 ? 0 : std::min(bytes, p.rcb_bytes - offset);
  const std::uint32_t tail = (bytes - head) % p.rcb_bytes;
  const std::uint32_t whole = bytes - head - tail;
  return (head != 0) + (tail != 0) + pieces(whole, p.mps_bytes);
}

}  // namespace

TlpCount write_tlps(const DmaEngineParams& p, std::uint64_t address, std::uint32_t bytes) {  // (R1)
  const std::uint32_t n = pieces_within_pages(address, bytes, p.mps_bytes);
  return {n, std::uint64_t{n} * p.write_header_bytes + bytes};
}

TlpCount read_request_tlps(const DmaEngineParams& p, std::uint64_t address, std::uint32_t bytes) {  // (R1)
  const std::uint32_t n = pieces_within_pages(address, bytes, p.mrrs_bytes);
  return {n, std::uint64_t{n} * p.read_header_bytes};
}

TlpCount completion_tlps(const DmaEngineParams& p, std::uint64_t address, std::uint32_t bytes) {
  std::uint32_t n = 0;
  for (std::uint32_t left = bytes; left > 0;) {
    const auto to_boundary = static_cast<std::uint32_t>(kBoundary - address % kBoundary);
    const std::uint32_t request = std::min({left, p.mrrs_bytes, to_boundary});
    n += completions(p, address, request);
    address += request;
    left -= request;
  }
  return {n, std::uint64_t{n} * p.completion_header_bytes + bytes};
}

}  // namespace rxnic
