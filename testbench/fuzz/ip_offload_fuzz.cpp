// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for checksums, headers of segments and the WQE that asks for them. Nothing is read or written
// outside of the bytes, and what was filled in is good.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "model/core/requester/send_wqe_format.h"
#include "model/core/wire/ip_offload.h"

namespace {

using namespace rxnic;

void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", rule);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 16) return 0;
  for (const IpFraming framing : {IpFraming::kEthernet, IpFraming::kIpoib}) {
    const std::vector<std::uint8_t> exact(data, data + size);  // so that an access behind the end is seen
    std::vector<std::uint8_t> filled = exact;
    fill_checksums(filled, framing);
    std::vector<std::uint8_t> again = filled;
    fill_checksums(again, framing);
    require(again == filled, "R3: what was in the place of a checksum does not matter");
    if (checksums_ok(exact, framing)) require(checksums_ok(filled, framing), "R4: filled in, it is good as well");
    std::vector<std::uint8_t> header = exact;
    set_segment_header(header, framing,
                       {load_be32(data), load_be32(data + 4), load_be16(data + 8), (data[10] & 1) != 0});
  }
  const std::vector<std::uint8_t> slot(data, data + size / 64 * 64);
  for (const Transport transport : {Transport::kUd, Transport::kRaw}) {
    SendWqe wqe;
    if (parse_send_wqe(slot, transport, 4096, wqe, 1u << 18) != WcStatus::kSuccess) continue;
    const std::uint32_t sum = [&] {
      std::uint32_t all = 0;
      for (const std::uint8_t byte : wqe.header) all += byte;
      return all;
    }();
    require(wqe.header.empty() == (wqe.mss == 0), "R6: a header is there with its MSS");
    require(sum <= 255 * kMaxTsoHeaderBytes, "R6: a header is short");
  }
  return 0;
}
