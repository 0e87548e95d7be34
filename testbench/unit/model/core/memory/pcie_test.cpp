// SPDX-License-Identifier: Apache-2.0
// Rules R1..R4 of model/core/memory/pcie.h.
#include "model/core/memory/pcie.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace rxnic::pcie_test {
namespace {

DmaEngineParams gen3() {
  DmaEngineParams p;
  p.mps_bytes = 256;
  p.mrrs_bytes = 512;
  p.rcb_bytes = 64;
  p.write_header_bytes = p.read_header_bytes = 24;
  p.completion_header_bytes = 20;
  return p;
}

// The TLPs of a whole transfer, cut into one TLP after the other.
TlpCount writes_of(std::uint64_t address, std::uint32_t bytes) {
  TlpCount all;
  while (bytes > 0) {
    const std::uint32_t n = std::min(bytes, write_tlp_room(gen3(), address));
    const TlpCount tlp = write_tlp(gen3(), n);
    all = {all.tlps + tlp.tlps, all.link_bytes + tlp.link_bytes};
    address += n;
    bytes -= n;
  }
  return all;
}
struct ReadCost {
  TlpCount up, down;
};
ReadCost reads_of(std::uint64_t address, std::uint32_t bytes) {
  ReadCost all;
  while (bytes > 0) {
    const std::uint32_t n = std::min(bytes, read_tlp_room(gen3(), address));
    const TlpCount up = read_request_tlp(gen3()), down = completion_tlps(gen3(), address, n);
    all.up = {all.up.tlps + up.tlps, all.up.link_bytes + up.link_bytes};
    all.down = {all.down.tlps + down.tlps, all.down.link_bytes + down.link_bytes};
    address += n;
    bytes -= n;
  }
  return all;
}
std::uint32_t writes(std::uint64_t address, std::uint32_t bytes) { return writes_of(address, bytes).tlps; }
std::uint32_t reads(std::uint64_t address, std::uint32_t bytes) { return reads_of(address, bytes).up.tlps; }
std::uint32_t completions(std::uint64_t address, std::uint32_t bytes) { return reads_of(address, bytes).down.tlps; }

TEST(Pcie, ATlpReachesToItsSizeOrTheNextFourKibibytes) {  // R1
  const DmaEngineParams p = gen3();
  for (const std::uint64_t page : {std::uint64_t{0}, std::uint64_t{0xfffffffff000}}) {
    for (const auto& [offset, write, read] : {std::array{0u, 256u, 512u},
                                              {17u, 256u, 512u},
                                              {3584u, 256u, 512u},
                                              {3585u, 256u, 511u},
                                              {3840u, 256u, 256u},
                                              {3841u, 255u, 255u},
                                              {4095u, 1u, 1u}}) {
      EXPECT_EQ(write_tlp_room(p, page + offset), write) << offset;
      EXPECT_EQ(read_tlp_room(p, page + offset), read) << offset;
    }
  }
}

TEST(Pcie, WritesAreCutAtMps) {  // R1
  EXPECT_EQ(writes(0, 1), 1u);
  EXPECT_EQ(writes(0, 64), 1u);
  EXPECT_EQ(writes(0, 65), 1u);
  EXPECT_EQ(writes(0, 256), 1u);
  EXPECT_EQ(writes(0, 257), 2u);
  EXPECT_EQ(writes(0, 4096), 16u);
  EXPECT_EQ(writes(17, 256), 1u);
}

TEST(Pcie, NothingCrossesFourKibibytes) {  // R1
  EXPECT_EQ(writes(4096 - 1, 2), 2u);
  EXPECT_EQ(writes(4096 - 256, 256), 1u);
  EXPECT_EQ(writes(4096 - 255, 256), 2u);
  EXPECT_EQ(writes(4096 - 100, 100 + 3 * 4096 + 1), 1u + 3u * 16u + 1u);
  EXPECT_EQ(reads(4096 - 1, 2), 2u);
}

TEST(Pcie, ReadRequestsAreCutAtMrrs) {  // R1
  EXPECT_EQ(reads(0, 512), 1u);
  EXPECT_EQ(reads(0, 513), 2u);
  EXPECT_EQ(reads(0, 4096), 8u);
}

TEST(Pcie, CompletionsAreWholeReadCompletionBlocksUpToMps) {  // R2
  EXPECT_EQ(completions(0, 64), 1u);
  EXPECT_EQ(completions(0, 65), 2u);
  EXPECT_EQ(completions(0, 128), 1u);
  EXPECT_EQ(completions(0, 256), 1u);
  EXPECT_EQ(completions(0, 257), 2u);
  EXPECT_EQ(completions(0, 512), 2u);
}

TEST(Pcie, AnUnalignedReadBeginsWithACompletionUpToTheBoundary) {  // R2
  EXPECT_EQ(completions(63, 1), 1u);
  EXPECT_EQ(completions(63, 2), 2u);
  EXPECT_EQ(completions(32, 64), 2u);
  EXPECT_EQ(completions(32, 256), 3u);
  EXPECT_EQ(completions(4096 - 32, 64), 2u);
}

TEST(Pcie, EachTlpCostsItsHeader) {  // R3, R4
  const DmaEngineParams p = gen3();
  EXPECT_EQ(write_tlp(p, 256).link_bytes, 256u + 24u);
  EXPECT_EQ(read_request_tlp(p).link_bytes, 24u);
  EXPECT_EQ(writes_of(0, 257).link_bytes, 257u + 2 * 24u);
  EXPECT_EQ(reads_of(0, 513).up.link_bytes, 2 * 24u);
  EXPECT_EQ(completion_tlps(p, 0, 65).link_bytes, 65u + 2 * 20u);
  EXPECT_EQ(atomic_request_tlp(p, 16).link_bytes, 24u + 16u);
  EXPECT_EQ(atomic_completion_tlp(p).link_bytes, 20u + 8u);
}

// reference: pcie-bench's link arithmetic, payload in Gb/s, write and read, by TLP-layer rate.
TEST(Pcie, LinkArithmeticIsThatOfThePublishedTable) {
  struct Row {
    double rate;
    std::uint32_t bytes;
    double write, read;
  };
  for (const Row& r : {Row{57.885, 64, 42.10, 44.10}, Row{57.885, 256, 52.92, 53.69}, Row{113.7, 64, 82.69, 86.63},
                       Row{113.7, 256, 103.95, 105.46}, Row{227.4, 64, 165.38, 173.26}, Row{227.4, 256, 207.91, 210.92},
                       Row{454.8, 64, 330.76, 346.51}, Row{454.8, 256, 415.82, 421.84}}) {
    const double up = static_cast<double>(writes_of(0, r.bytes).link_bytes);
    const double down = static_cast<double>(reads_of(0, r.bytes).down.link_bytes);
    EXPECT_NEAR(r.rate * r.bytes / up, r.write, 0.01) << r.rate << " Gb/s, write of " << r.bytes;
    EXPECT_NEAR(r.rate * r.bytes / down, r.read, 0.01) << r.rate << " Gb/s, read of " << r.bytes;
  }
}

}  // namespace
}  // namespace rxnic::pcie_test
