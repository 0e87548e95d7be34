// SPDX-License-Identifier: Apache-2.0
// PCI Express as arithmetic: which TLPs a transfer takes, how many bytes they are on the link, and when the link has
// carried them. Everything is computed for a whole transfer, not TLP by TLP.
//
//   R1  A write is cut every MPS bytes and at 4 KiB boundaries; a read request every MRRS bytes and at 4 KiB
//       boundaries. Each read request takes one tag.
//   R2  The host answers a read request by whole blocks of RCB bytes, up to MPS of them in one completion. The bytes
//       before the first RCB boundary are a completion of their own, and so are those after the last one. So an
//       aligned 65-byte read has two completions and costs more than 64 bytes do (the step at 64 -> 65 that pcie-bench
//       measured).
//   R3  Each TLP costs its header bytes (framing, sequence number, header, LCRC) besides its payload, at the rate that
//       is left for TLPs after encoding, flow control and acknowledgements. The two directions do not disturb each
//       other.
//   R4  A read request or a write goes up; a completion comes down. An atomic goes up with its operands (8 bytes, a
//       compare and swap 16) and comes down with 8 bytes; it takes one tag.
//   R5  Link time is exact: it is counted in fractions of a cycle that a byte and a picosecond are whole multiples of.
#pragma once

#include <compare>
#include <cstdint>

#include "model/params/params.h"
#include "model/types/ids.h"

namespace rxnic {

struct TlpCount {
  std::uint32_t tlps = 0;
  std::uint64_t link_bytes = 0;  // headers and payload
};

TlpCount write_tlps(const DmaEngineParams& p, std::uint64_t address, std::uint32_t bytes);
TlpCount read_request_tlps(const DmaEngineParams& p, std::uint64_t address, std::uint32_t bytes);
TlpCount completion_tlps(const DmaEngineParams& p, std::uint64_t address, std::uint32_t bytes);
inline TlpCount atomic_request_tlp(const DmaEngineParams& p, std::uint32_t operand_bytes) {
  return {1, p.read_header_bytes + operand_bytes};
}
inline TlpCount atomic_completion_tlp(const DmaEngineParams& p) { return {1, p.completion_header_bytes + 8u}; }

// A point in time, or a span of time: cycles and a fraction, in units of PcieTime. (R5)
struct Instant {
  std::uint64_t cycle = 0;
  std::uint64_t fraction = 0;
  constexpr auto operator<=>(const Instant&) const = default;
  constexpr Cycle floor() const { return Cycle{cycle}; }                      // the cycle that it lies in
  constexpr Cycle ceiling() const { return Cycle{cycle + (fraction != 0)}; }  // the first that starts at or after it
};

// The unit of time in which one byte on the link and one picosecond are both whole: 1 / (rate in Mb/s) ps.
class PcieTime {
 public:
  PcieTime(std::uint32_t rate_mbps, std::uint32_t clock_period_ps)
      : per_cycle_(std::uint64_t{rate_mbps} * clock_period_ps), per_ps_(rate_mbps) {}
  Instant after_bytes(Instant from, std::uint64_t bytes) const { return after(from, bytes * kPerByte); }
  Instant after_ps(Instant from, std::uint64_t ps) const { return after(from, ps * per_ps_); }
  Instant after_span(Instant from, Instant span) const {
    Instant to{from.cycle + span.cycle, from.fraction + span.fraction};
    if (to.fraction >= per_cycle_) {
      to.fraction -= per_cycle_;
      ++to.cycle;
    }
    return to;
  }

 private:
  static constexpr std::uint64_t kPerByte = 8'000'000;  // 8 bits at 1 Mb/s take 8,000,000 ps
  Instant after(Instant from, std::uint64_t units) const {
    units += from.fraction;
    if (units < per_cycle_) return {from.cycle, units};
    return {from.cycle + units / per_cycle_, units % per_cycle_};
  }
  std::uint64_t per_cycle_;
  std::uint64_t per_ps_;
};

// One direction of the link.
class PcieLink {
 public:
  explicit PcieLink(const PcieTime& time) : time_(time) {}
  // Carries `bytes` from `earliest` on, or from when the link is free; returns when the last byte has passed.
  Instant carry(Instant from, std::uint64_t bytes) {
    free_ = time_.after_bytes(from < free_ ? free_ : from, bytes);
    return free_;
  }
  Instant free() const { return free_; }

 private:
  PcieTime time_;
  Instant free_;
};

}  // namespace rxnic
