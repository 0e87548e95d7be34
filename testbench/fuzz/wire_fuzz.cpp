// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for the packet parser: both links, ICRC, and rule R4 of model/types/wire.h on whatever parses.
// A rebuilt packet must have the same headers and, once what R4 does not keep is taken out of the original, the same
// bytes.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "model/core/wire/icrc.h"
#include "model/types/wire.h"
#include "traces/other_udp_ports.h"
#include "traces/tunnels.h"

namespace {

using namespace rxnic;

void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", rule);
  std::abort();
}

// Zeroes reserved bits, pad and CNP's reserved bytes.
void clear_reserved(std::vector<std::uint8_t>& f, const Headers& h) {
  std::uint8_t* bth = f.data() + h.bth_offset;
  bth[4] &= 0xc0;
  bth[8] &= 0x80;
  std::uint8_t* extension = bth + kBthBytes;
  const OpcodeInfo& info = opcode_info(h.opcode);
  if (info.traits & kIsCnp) std::memset(extension, 0, info.extension_bytes);
  if (info.traits & kHasXrceth) extension[0] = 0;
  if (info.traits & kHasDeth) extension[4] = 0;
  std::memset(f.data() + h.icrc_offset - h.pad, 0, h.pad);
  if (h.encapsulation == Encapsulation::kRoceV2Ipv4) f[h.network_offset + 6u] &= 0x40;
}

void check(Bytes input, LinkLayer link) {
  const std::vector<std::uint8_t> exact(input.begin(), input.end());  // so that a read past the end is seen
  Headers h;
  const ParseStatus status = parse(exact, link, h);
  if (link == LinkLayer::kEthernet) {
    const auto carried = open_tunnel(exact, exact.size());
    require(!carried || carried->begin <= carried->end, "tunnels R2: what is inside ends behind its begin");
    looks_like_roce(exact, &icrc_matches);
  }
  if (status != ParseStatus::kOk) return;
  require(std::size_t{h.icrc_offset} + kIcrcBytes <= exact.size(), "R1: the packet ends inside its frame");
  require(h.payload_offset + h.payload_bytes + h.pad == h.icrc_offset, "payload and pad reach to the ICRC");
  (void)icrc_matches(exact, h);

  Headers written = h;
  std::vector<std::uint8_t> again(exact.size() + 64);
  const std::size_t bytes = build(written, payload_of(exact, h), again);
  require(bytes != 0, "what was parsed can be built");
  again.resize(bytes);
  seal(again, written);
  Headers read;
  require(parse(again, link, read) == ParseStatus::kOk, "what was built can be parsed");
  require(read == written, "built headers are read as they were written");
  require(icrc_matches(again, read), "a sealed packet has a good ICRC");

  // Headers are equal but for offsets, which IPv4 options shift.
  const bool options = h.bth_offset - h.network_offset != read.bth_offset - read.network_offset;
  Headers moved = h;
  moved.network_offset = read.network_offset;
  moved.bth_offset = read.bth_offset;
  moved.payload_offset = read.payload_offset;
  moved.icrc_offset = read.icrc_offset;
  require(moved == read, "R4: headers come back");
  require(options || h == read, "without options, offsets too");

  std::vector<std::uint8_t> original = exact;
  clear_reserved(original, h);
  if (h.encapsulation == Encapsulation::kRoceV2Ipv4) {
    std::copy_n(again.begin() + read.network_offset + 10, 2, original.begin() + h.network_offset + 10);  // checksum
  }
  const std::size_t from = options ? h.bth_offset : h.network_offset;
  const std::size_t to = options ? read.bth_offset : read.network_offset;
  require(std::equal(original.begin() + static_cast<std::ptrdiff_t>(from), original.begin() + h.icrc_offset,
                     again.begin() + static_cast<std::ptrdiff_t>(to), again.begin() + read.icrc_offset),
          "R4: bytes come back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({data, size}, LinkLayer::kEthernet);
  check({data, size}, LinkLayer::kInfiniband);
  return 0;
}
