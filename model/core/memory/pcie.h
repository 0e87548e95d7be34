// SPDX-License-Identifier: Apache-2.0
// The arithmetic of PCI Express: the TLPs of a transfer, their bytes on the link, and when the link has carried them.
//
//   R1  A write is cut every MPS bytes and at 4 KiB boundaries; a read request every MRRS bytes and at 4 KiB
//       boundaries. Each read request takes one tag.
//   R2  The host answers a read request by whole blocks of RCB bytes, up to MPS of them in one completion. The bytes
//       before the first RCB boundary are a completion of their own, and so are those after the last one. So an
//       aligned 65-byte read has two completions and costs more than 64 bytes do (the step at 64 -> 65 that pcie-bench
//       measured).
//   R3  Each TLP costs its header bytes (framing, sequence number, header, LCRC) besides its payload. The rate is the
//       one that is left for TLPs after encoding, flow control and acknowledgements. The two directions are
//       independent.
//   R4  A read request or a write goes up; a completion comes down. An atomic goes up with its operands (8 bytes, a
//       compare and swap 16) and comes down with 8 bytes; it takes one tag.
//   R5  Flow control: for each kind (posted, non-posted, completion) the receiver has credit for so many headers, one a
//       TLP. It also has credit for so much data, in units of 16 bytes. What is larger than all there is takes all.
//   R6  The host writes to the device by its processor's stores: in pieces of at most host_write_bytes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/params/params.h"

namespace rxnic {

struct TlpCount {
  std::uint32_t tlps = 0;
  std::uint64_t link_bytes = 0;  // headers and payload
};

// Most bytes from `address` on that a TLP of at most `size` can cover (R1).
inline std::uint32_t tlp_room(std::uint32_t size, std::uint64_t address) {
  constexpr std::uint32_t kBoundary = 4096;
  return std::min(size, static_cast<std::uint32_t>(kBoundary - address % kBoundary));
}
// Those that one write, and one read request, can cover.
inline std::uint32_t write_tlp_room(const DmaEngineParams& p, std::uint64_t address) {
  return tlp_room(p.mps_bytes, address);
}
inline std::uint32_t read_tlp_room(const DmaEngineParams& p, std::uint64_t address) {
  return tlp_room(p.mrrs_bytes, address);
}

inline TlpCount write_tlp(const DmaEngineParams& p, std::uint32_t bytes) { return {1, p.write_header_bytes + bytes}; }
// Writes of the host to the device (R6).
inline TlpCount host_writes(const DmaEngineParams& p, std::uint32_t bytes) {
  const std::uint32_t tlps = (bytes + p.host_write_bytes - 1) / p.host_write_bytes;
  return {tlps, std::uint64_t{tlps} * p.write_header_bytes + bytes};
}
inline TlpCount read_request_tlp(const DmaEngineParams& p) { return {1, p.read_header_bytes}; }
// The completions of one read request (R2).
TlpCount completion_tlps(const DmaEngineParams& p, std::uint64_t address, std::uint32_t bytes);
inline TlpCount atomic_request_tlp(const DmaEngineParams& p, std::uint32_t operand_bytes) {
  return {1, p.read_header_bytes + operand_bytes};
}
inline TlpCount atomic_completion_tlp(const DmaEngineParams& p) { return {1, p.completion_header_bytes + 8u}; }

// Credit of one kind. (R5)
struct Credit {
  std::uint32_t headers = 0;
  std::uint32_t data = 0;  // units of 16 bytes
};

class CreditPool {
 public:
  static constexpr std::uint32_t kUnit = 16;  // bytes

  CreditPool(std::uint32_t headers, std::uint32_t data) : all_{headers, data}, left_(all_) {}
  // What `tlps` TLPs with `bytes` of data in all take.
  Credit of(std::uint32_t tlps, std::uint32_t bytes) const {
    return {std::min(tlps, all_.headers), std::min((bytes + kUnit - 1) / kUnit, all_.data)};
  }
  bool covers(const Credit& c) const { return c.headers <= left_.headers && c.data <= left_.data; }
  void take(const Credit& c) {
    left_.headers -= c.headers;
    left_.data -= c.data;
  }
  void give(const Credit& c) {
    left_.headers += c.headers;
    left_.data += c.data;
  }

 private:
  Credit all_;
  Credit left_;
};

}  // namespace rxnic
