// SPDX-License-Identifier: Apache-2.0
#include "model/core/wire/impairments.h"

#include <algorithm>
#include <utility>

#include "model/types/opcode.h"
#include "model/types/splitmix.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kMillion = 1'000'000;
constexpr std::uint64_t kWrongBit = kImpairments;  // what a number is drawn for, besides the impairments
constexpr std::size_t kBehindMacAddresses = 12;
constexpr std::size_t kBitsPerByte = 8;

struct ByteRange {
  std::size_t from = 0, to = 0;
};

ByteRange corruptible(Bytes frame, LinkLayer layer) {  // (R4)
  Headers h;
  if (parse(frame, layer, h) != ParseStatus::kOk) return {std::min(kBehindMacAddresses, frame.size()), frame.size()};
  const Transport transport = opcode_info(h.opcode).transport;
  const bool connected = transport == Transport::kRc || transport == Transport::kUc;
  return {connected ? h.bth_offset + kBthBytes : h.payload_offset, h.icrc_offset + kIcrcBytes};
}

}  // namespace

Impairments::Impairments(ImpairmentPlan plan) : plan_(std::move(plan)) {
  any_ = std::ranges::any_of(plan_.rates, [](const ImpairmentRate& r) { return r.ppm != 0 || !r.at.empty(); });
}

// A number below `below`, all alike. (R1)
std::uint64_t Impairments::drawn(std::uint64_t link, std::uint64_t number, std::uint64_t purpose,
                                 std::uint64_t below) const {
  const std::uint64_t of_frame = splitmix64(splitmix64(splitmix64(plan_.seed) ^ link) ^ number);
  const std::uint64_t bits = splitmix64(of_frame + purpose * kSplitmixStep);
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * below) >> 64);
}

FrameFate Impairments::fate_of(std::uint64_t link, std::uint64_t number) const {
  FrameFate fate;
  const bool draws = plan_.drawn.has(number) && (number - plan_.drawn.first) % plan_.every == 0;  // (R3)
  for (std::size_t i = 0; i < kImpairments; ++i) {
    const ImpairmentRate& rate = plan_.rates[i];
    const bool named = std::ranges::any_of(rate.at, [&](const FrameRange& range) { return range.has(number); });
    if (named || (draws && rate.ppm != 0 && drawn(link, number, i, kMillion) < rate.ppm)) {  // (R2)
      fate.add(static_cast<Impairment>(i));
    }
  }
  if (fate.has(Impairment::kLoss)) {
    for (const Impairment other :
         {Impairment::kCorruption, Impairment::kDuplication, Impairment::kReordering, Impairment::kMark}) {
      fate.remove(other);
    }
  }
  return fate;
}

void Impairments::corrupt(std::span<std::uint8_t> frame, LinkLayer layer, std::uint64_t link,
                          std::uint64_t number) const {
  const ByteRange range = corruptible(frame, layer);
  if (range.from >= range.to) return;
  const std::uint64_t wrong = drawn(link, number, kWrongBit, (range.to - range.from) * kBitsPerByte);
  frame[range.from + wrong / kBitsPerByte] ^= static_cast<std::uint8_t>(1u << wrong % kBitsPerByte);
}

}  // namespace rxnic
