// SPDX-License-Identifier: Apache-2.0
// Damaged captures through the whole path. Every capture ends in a named error or in a report that accounts for every
// packet. The model's time is bounded by what the capture holds.
//
//   R1  10^4 mutations in all, kShards tests of kMutations each, every one made from a number of its own that a failure
//       prints. RXNIC_SEED (default 1) shifts the numbers of all.
//   R2  A mutation keeps a run of a capture's records (at most kMostRecords) and damages a few of them. It damages
//       bits, bytes and fields of packets, cuts packets short, and repeats, leaves out and exchanges records. It also
//       changes lengths and times in record headers, the file's header, and the file's end.
//   R3  In half of the mutations the ICRC of what still parses is made good again, so that the damage gets past it.
//   R4  A READ asks for less than kMostRead bytes: a longer one is answered in full, which is right and takes its time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "bridge/rxnic/capture/replay.h"
#include "model/core/wire/icrc.h"
#include "testbench/unit/temporary_folder.h"
#include "traces/capture_reader.h"

namespace rxnic::bad_input_test {
namespace {

constexpr std::uint64_t kShards = 40;
constexpr std::uint64_t kMutations = 250;
constexpr std::size_t kMostRecords = 32;
constexpr std::uint32_t kMostRead = 1u << 24;
constexpr std::size_t kRethLength = 12;             // offset of its length
constexpr std::uint64_t kCyclesOfPacket = 200'000;  // generous: 86 us at line rate, with all that waits behind it

using Octets = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

struct Record {
  std::array<std::uint32_t, 4> header{};  // seconds, fraction, captured, on the wire
  Octets bytes;
};

struct Capture {
  std::string name;
  std::array<std::uint8_t, 24> header{};
  std::vector<Record> records;
};

// A classic little-endian pcap file.
Capture load(const std::string& path) {
  Capture c;
  c.name = std::filesystem::path(path).filename();
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(c.header.data()), c.header.size());
  for (Record r; in.read(reinterpret_cast<char*>(r.header.data()), sizeof r.header);) {
    r.bytes.resize(r.header[2]);
    in.read(reinterpret_cast<char*>(r.bytes.data()), static_cast<std::streamsize>(r.bytes.size()));
    c.records.push_back(r);
  }
  return c;
}

std::vector<Capture> load_all() {
  std::vector<std::string> paths{RXNIC_SOURCE_DIR "/traces/sample.pcap"};
  const std::filesystem::path shared = RXNIC_SHARED_DIR "/captures";
  if (std::filesystem::exists(shared)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(shared)) {
      if (entry.path().extension() == ".pcap") paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin() + 1, paths.end());
  std::vector<Capture> all;
  for (const std::string& path : paths) all.push_back(load(path));
  return all;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }
  bool chance(unsigned percent) { return below(100) < percent; }

  // R2, R3: the damaged file.
  Octets mutate(const Capture& from, bool sealed) {
    const std::size_t count = 1 + below(std::min(kMostRecords, from.records.size()));
    const std::size_t first = below(from.records.size() - count + 1);
    records_.assign(from.records.begin() + static_cast<std::ptrdiff_t>(first),
                    from.records.begin() + static_cast<std::ptrdiff_t>(first + count));
    for (std::size_t left = 1 + below(6); left != 0; --left) sealed ? damage_headers() : damage();
    if (sealed) {
      for (Record& r : records_) reseal(r);
    }
    Octets file(from.header.begin(), from.header.end());
    if (!sealed && chance(4)) file[below(file.size())] = any_byte();
    for (const Record& r : records_) {
      const auto* header = reinterpret_cast<const std::uint8_t*>(r.header.data());
      file.insert(file.end(), header, header + sizeof r.header);
      file.insert(file.end(), r.bytes.begin(), r.bytes.end());
    }
    if (!sealed && chance(10)) file.resize(below(file.size() + 1));
    return file;
  }

 private:
  std::uint8_t any_byte() {
    constexpr std::array<std::uint8_t, 6> kEdges{0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
    return chance(50) ? kEdges[below(kEdges.size())] : static_cast<std::uint8_t>(random_());
  }
  std::uint32_t any_word() {
    return std::uint32_t{any_byte()} << 24 | std::uint32_t{any_byte()} << 16 | std::uint32_t{any_byte()} << 8 |
           any_byte();
  }

  void shuffle_records() {
    const std::size_t at = below(records_.size());
    switch (below(3)) {
      case 0: {
        const Record copy = records_[at];
        records_.insert(records_.begin() + static_cast<std::ptrdiff_t>(below(records_.size() + 1)), copy);
        break;
      }
      case 1:
        std::swap(records_[at], records_[below(records_.size())]);
        break;
      default:
        if (records_.size() > 1) records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  void cut(Record& r) {
    r.bytes.resize(below(r.bytes.size() + 1));
    r.header[2] = static_cast<std::uint32_t>(r.bytes.size());
    if (chance(50)) r.header[3] = r.header[2];
  }

  void damage() {
    Record& r = records_[below(records_.size())];
    switch (below(7)) {
      case 0:
        if (!r.bytes.empty()) r.bytes[below(r.bytes.size())] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1:
        if (!r.bytes.empty()) r.bytes[below(r.bytes.size())] = any_byte();
        break;
      case 2:  // a header
        if (!r.bytes.empty()) r.bytes[below(std::min<std::size_t>(r.bytes.size(), 80))] = any_byte();
        break;
      case 3:
        cut(r);
        break;
      case 4:
        shuffle_records();
        break;
      case 5:  // a length
        r.header[2 + below(2)] = chance(50) ? any_word() : static_cast<std::uint32_t>(below(5000));
        break;
      default:  // a time
        r.header[below(2)] = any_word();
    }
  }

  // Fields from the network header to the payload, and the order of packets.
  void damage_headers() {
    if (chance(25)) return shuffle_records();
    Record& r = records_[below(records_.size())];
    if (chance(10)) {
      r.header[below(2)] = any_word();
      return;
    }
    Headers h;
    if (parse(r.bytes, LinkLayer::kEthernet, h) != ParseStatus::kOk) return;
    const std::size_t from = chance(80) ? h.bth_offset : h.network_offset;
    const std::size_t at = from + below(h.payload_offset - from);
    r.bytes[at] = chance(50) ? any_byte() : static_cast<std::uint8_t>(r.bytes[at] ^ 1u << below(8));
  }

  static void reseal(Record& r) {
    Headers h;
    if (parse(r.bytes, LinkLayer::kEthernet, h) != ParseStatus::kOk) return;
    if ((opcode_info(h.opcode).traits & (kRead | kRequest)) == (kRead | kRequest)) {
      store_be32(&r.bytes[h.bth_offset + kBthBytes + kRethLength], h.length % kMostRead);  // R4
    }
    seal(r.bytes, h);
  }

  Random random_;
  std::vector<Record> records_;
};

// What can be read of a capture.
struct Readable {
  std::uint64_t frames = 0;
  std::uint64_t wire_bytes = 0;  // as the record headers tell: may be 4 GB for one frame
  std::uint64_t last_time_ps = 0;
};

Readable read_all(const std::string& path) {
  CaptureReader reader(path);
  Readable r;
  for (CapturedFrame f; reader.next(f); ++r.frames) {
    r.wire_bytes += f.wire_bytes;
    r.last_time_ps = f.time_ps;
  }
  return r;
}

class BadInput : public testing::TestWithParam<std::uint64_t> {
 protected:
  static std::uint64_t base_seed() {
    const char* text = std::getenv("RXNIC_SEED");
    return text == nullptr ? 1 : std::strtoull(text, nullptr, 0);
  }

  ReplayOptions options(Mutator& m, const std::string& trace) const {
    ReplayOptions o;
    o.trace = trace;
    o.config = m.chance(50) ? "tiny" : "nic_100g_gen3";
    constexpr std::array kHosts{"", "", "receive=srq", "receive=srq,layout=cyclic", "receive=tm_srq", "depth=2,sges=3"};
    o.host = kHosts[m.below(kHosts.size())];
    o.strict_psn = m.chance(30);
    if (m.chance(50)) o.pace = {Pace::Kind::kLineRate, 0};
    o.ignore_icrcs = m.chance(20);
    if (m.chance(20)) o.udp_ports = {4789, 4790, 4795};
    o.responses_limit = 0;
    o.responses_path = folder_.file("responses.pcap");
    return o;
  }

  void expect_accounted(const ReplayOptions& o, const RunResult& r) const {
    const Readable trace = read_all(o.trace);
    EXPECT_EQ(r.captured, trace.frames);
    EXPECT_EQ(r.captured, r.packets.seen + r.from_receiver + r.to_others);
    EXPECT_EQ(r.packets.seen, r.packets.accepted + r.packets.not_rdma + r.packets.dropped_total());
    EXPECT_EQ(r.answers.compared, r.answers.equal + r.answers.given + r.answers.different);
    std::uint64_t bound_ps = trace.wire_bytes * 8000 / r.params.nic.link_gbps;
    if (o.pace.kind == Pace::Kind::kCaptured) bound_ps += trace.last_time_ps;
    const std::uint64_t bound =
        bound_ps / r.params.nic.clock_period_ps + (r.captured + r.answers_sent + 1) * kCyclesOfPacket;
    EXPECT_LE(r.cycles, bound);
    for (const BlockResult& b : r.blocks) {
      std::uint64_t cycles = 0;
      for (const std::uint64_t n : b.account) cycles += n;
      EXPECT_EQ(cycles, r.cycles) << b.stem;
    }
    EXPECT_EQ(read_all(o.responses_path).frames, r.answers_sent);
  }

  TemporaryFolder folder_;
};

TEST_P(BadInput, EndsInANamedErrorOrInCountedPackets) {
  std::cout << "RXNIC_SEED=" << base_seed() << '\n';
  const std::vector<Capture> captures = load_all();
  const std::string path = folder_.file("mutated.pcap");
  std::uint64_t errors = 0, reports = 0, accepted = 0, past_the_icrc = 0;
  for (std::uint64_t i = 0; i < kMutations && !HasFailure(); ++i) {
    const std::uint64_t seed = (base_seed() * kShards + GetParam()) * kMutations + i;
    Mutator m(seed);
    const Capture& from = captures[m.below(captures.size())];
    SCOPED_TRACE("mutation " + std::to_string(seed) + " of " + from.name);
    const bool sealed = i % 2 == 1;
    const Octets file = m.mutate(from, sealed);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    const ReplayOptions o = options(m, path);
    try {
      const RunResult r = replay(o);
      expect_accounted(o, r);
      ++reports;
      accepted += r.packets.accepted;
      const auto dropped = [&r](DropReason reason) { return r.packets.dropped[static_cast<std::size_t>(reason)]; };
      if (sealed) past_the_icrc += r.packets.dropped_total() - dropped(DropReason::kIcrc);
    } catch (const TraceError& e) {
      EXPECT_NE(std::string(e.what()).find(path), std::string::npos) << e.what();
      ++errors;
    }
  }
  RecordProperty("errors", static_cast<int>(errors));
  RecordProperty("reports", static_cast<int>(reports));
  // A test that mutates everything beyond recognition, or nothing, shows nothing.
  EXPECT_GT(errors, 0u);
  EXPECT_GT(reports, kMutations / 2);
  EXPECT_GT(accepted, kMutations);
  EXPECT_GT(past_the_icrc, kMutations / 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BadInput, testing::Range<std::uint64_t>(0, kShards));

}  // namespace
}  // namespace rxnic::bad_input_test
