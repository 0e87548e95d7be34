// SPDX-License-Identifier: Apache-2.0
// One traffic, that of the sample trace, on every link, encapsulation and file format that can be replayed. The path
// does the same with all of them, and answers in kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bridge/rxnic/capture/replay.h"
#include "model/core/wire/icrc.h"
#include "testbench/unit/temporary_folder.h"
#include "traces/capture_reader.h"
#include "traces/sample_trace.h"

namespace rxnic::link_types_test {
namespace {

using Octets = std::vector<std::uint8_t>;

constexpr std::uint32_t kDltEthernet = 1;
constexpr std::uint32_t kDltRaw = 101;
constexpr std::uint32_t kDltSll = 113;
constexpr std::uint32_t kDltErf = 197;
constexpr std::uint32_t kDltIpv6 = 229;
constexpr std::uint32_t kDltInfiniband = 247;
constexpr std::uint32_t kDltSll2 = 276;
constexpr std::uint8_t kErfEthernet = 2;
constexpr std::uint8_t kErfInfiniband = 21;
constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;

// What a capture of the sample's traffic looks like.
struct Form {
  const char* name;
  Encapsulation encapsulation = Encapsulation::kRoceV2Ipv4;
  unsigned vlan_tags = 0;
  enum class File { kPcap, kPcapng } file = File::kPcap;
  bool big_endian = false;
  bool nanoseconds = true;
  bool erf = false;
  bool erf_extension = false;
  std::uint32_t link = 0;  // Linux cooked or raw IP, instead of the Ethernet header
};
void PrintTo(const Form& f, std::ostream* out) { *out << f.name; }

bool is_infiniband(const Form& f) {
  return f.encapsulation == Encapsulation::kIbLocal || f.encapsulation == Encapsulation::kIbGlobal;
}

class Writer {
 public:
  explicit Writer(bool big_endian) : big_endian_(big_endian) {}
  template <std::integral T>
  void put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      const std::size_t shift = 8 * (big_endian_ ? sizeof(T) - 1 - i : i);
      octets.push_back(static_cast<std::uint8_t>(value >> shift));
    }
  }
  void put(Bytes bytes) { octets.insert(octets.end(), bytes.begin(), bytes.end()); }
  Octets octets;

 private:
  bool big_endian_;
};

// 10.0.0.n as an address of that encapsulation.
Address converted(const Address& a, Encapsulation to) {
  const std::uint8_t host = a.bytes[15];
  if (to == Encapsulation::kRoceV2Ipv4) return a;
  if (to == Encapsulation::kIbLocal) return Address::lid(host);
  std::array<std::uint8_t, 16> gid{0xfd};
  gid[15] = host;
  return Address::ipv6(gid);
}

// The frame in the form's encapsulation, its ICRC as good or as bad as it was.
Octets converted(const Octets& frame, const Form& form) {
  Headers h;
  if (parse(frame, LinkLayer::kEthernet, h) != ParseStatus::kOk) {
    if (!is_infiniband(form)) return frame;
    return {0, 0, 0, 1, 0, 5, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};  // LNH 0: a raw packet, no RDMA
  }
  const bool good = icrc_matches(frame, h);
  const Bytes payload = payload_of(frame, h);
  h.encapsulation = form.encapsulation;
  h.source_lid = h.source.bytes[15];
  h.destination_lid = h.destination.bytes[15];
  h.source = converted(h.source, form.encapsulation);
  h.destination = converted(h.destination, form.encapsulation);
  h.vlan_tags = static_cast<std::uint8_t>(form.vlan_tags);
  h.vlan = form.vlan_tags > 0 ? 0x6064 : 0;
  h.outer_vlan = form.vlan_tags > 1 ? 0x00c8 : 0;
  Octets out(kMaxFrameBytes);
  out.resize(build(h, payload, out));
  seal(out, h);
  if (good) return out;
  out[h.icrc_offset] ^= 0x10;
  if (is_infiniband(form)) {  // the last link computes its VCRC anew
    const std::size_t end = h.icrc_offset + kIcrcBytes;
    const std::uint16_t variant = vcrc(Bytes(out).first(end));
    out[end] = static_cast<std::uint8_t>(variant);
    out[end + 1] = static_cast<std::uint8_t>(variant >> 8);
  }
  return out;
}

// An Ethernet frame as tcpdump keeps it that has no Ethernet header.
Octets without_ethernet(const Octets& frame, std::uint32_t link) {
  Octets out;
  if (link == kDltSll) out = {0, 0, 0, 1, 0, 6, frame[6], frame[7], frame[8], frame[9], frame[10], frame[11], 0, 0};
  if (link == kDltSll) out.insert(out.end(), frame.begin() + 12, frame.begin() + 14);
  if (link == kDltSll2) {
    out = {frame[12], frame[13], 0, 0, 0, 0, 0, 1, 0, 1, 0, 6};
    out.insert(out.end(), frame.begin() + 6, frame.begin() + 12);
    out.resize(20);
  }
  out.insert(out.end(), frame.begin() + 14, frame.end());
  return out;
}

// The record's bytes behind the pcap or pcapng header: the frame, in an ERF record where it is to be one.
Octets enclosed(const Octets& frame, const Form& form) {
  if (form.link != 0) return without_ethernet(frame, form.link);
  if (!form.erf) return frame;
  const bool ib = is_infiniband(form);
  const std::size_t extension = form.erf_extension ? 8 : 0;
  const std::size_t pad = ib ? 0 : 2;
  Octets record(8, 0);  // its own timestamp: libpcap's is that of the file
  record.push_back(static_cast<std::uint8_t>((ib ? kErfInfiniband : kErfEthernet) | (extension != 0 ? 0x80 : 0)));
  record.push_back(4);  // flags: varying length
  const std::size_t bytes = 16 + extension + pad + frame.size();
  for (const std::size_t v : {bytes, std::size_t{0}, frame.size()}) {  // rlen, lctr, wlen
    record.push_back(static_cast<std::uint8_t>(v >> 8));
    record.push_back(static_cast<std::uint8_t>(v));
  }
  record.resize(record.size() + extension + pad, 0);
  record.insert(record.end(), frame.begin(), frame.end());
  return record;
}

void write_pcap(const Form& form, std::uint32_t link, const std::vector<SampleFrame>& frames, Writer& w) {
  w.put<std::uint32_t>(form.nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4);
  w.put<std::uint16_t>(2);
  w.put<std::uint16_t>(4);
  w.put<std::uint64_t>(0);
  w.put<std::uint32_t>(262144);
  w.put<std::uint32_t>(link);
  for (const SampleFrame& f : frames) {
    w.put(static_cast<std::uint32_t>(f.time_ps / kPsPerSecond));
    w.put(static_cast<std::uint32_t>(f.time_ps % kPsPerSecond / (form.nanoseconds ? 1000 : 1'000'000)));
    w.put(static_cast<std::uint32_t>(f.bytes.size()));
    w.put(static_cast<std::uint32_t>(f.bytes.size()));
    w.put(f.bytes);
  }
}

void write_pcapng(std::uint32_t link, const std::vector<SampleFrame>& frames, Writer& w) {
  w.put<std::uint32_t>(0x0a0d0d0a);  // section header block
  w.put<std::uint32_t>(28);
  w.put<std::uint32_t>(0x1a2b3c4d);
  w.put<std::uint16_t>(1);
  w.put<std::uint16_t>(0);
  w.put<std::uint64_t>(~std::uint64_t{0});
  w.put<std::uint32_t>(28);
  w.put<std::uint32_t>(1);  // interface description block with if_tsresol = 10^-9
  w.put<std::uint32_t>(32);
  w.put(static_cast<std::uint16_t>(link));
  w.put<std::uint16_t>(0);
  w.put<std::uint32_t>(262144);
  w.put<std::uint16_t>(9);
  w.put<std::uint16_t>(1);
  w.put(Octets{9, 0, 0, 0});
  w.put<std::uint32_t>(0);
  w.put<std::uint32_t>(32);
  for (const SampleFrame& f : frames) {
    const auto padded = static_cast<std::uint32_t>((f.bytes.size() + 3) / 4 * 4);
    w.put<std::uint32_t>(6);  // enhanced packet block
    w.put(32 + padded);
    w.put<std::uint32_t>(0);
    w.put(static_cast<std::uint32_t>(f.time_ps / 1000 >> 32));
    w.put(static_cast<std::uint32_t>(f.time_ps / 1000));
    w.put(static_cast<std::uint32_t>(f.bytes.size()));
    w.put(static_cast<std::uint32_t>(f.bytes.size()));
    w.put(f.bytes);
    w.octets.resize(w.octets.size() + padded - f.bytes.size(), 0);
    w.put(32 + padded);
  }
}

void write_capture(const std::string& path, const Form& form) {
  std::vector<SampleFrame> frames = sample_frames(&seal);
  for (SampleFrame& f : frames) f.bytes = enclosed(converted(f.bytes, form), form);
  const std::uint32_t link = form.link != 0        ? form.link
                             : form.erf            ? kDltErf
                             : is_infiniband(form) ? kDltInfiniband
                                                   : kDltEthernet;
  Writer w(form.big_endian);
  if (form.file == Form::File::kPcap) write_pcap(form, link, frames, w);
  if (form.file == Form::File::kPcapng) write_pcapng(link, frames, w);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(w.octets.data()), static_cast<std::streamsize>(w.octets.size()));
}

class LinkType : public testing::TestWithParam<Form> {
 protected:
  RunResult run(const Form& form) {
    ReplayOptions o;
    o.trace = folder_.file(std::string(form.name) + ".pcap");
    o.config = "nic_100g_gen3";
    o.receiver = converted(Address::parse("10.0.0.2"), form.encapsulation).text();
    o.responses_path = responses(form);
    write_capture(o.trace, form);
    return replay(o);
  }
  std::string responses(const Form& form) const { return folder_.file(std::string(form.name) + ".responses.pcap"); }

 private:
  TemporaryFolder folder_;
};

TEST_P(LinkType, ThePathDoesTheSameWithIt) {
  const Form& form = GetParam();
  const RunResult ipv4 = run({"ipv4"});
  const RunResult r = run(form);
  EXPECT_TRUE(r.warnings.empty());
  EXPECT_EQ(r.captured, ipv4.captured);
  EXPECT_EQ(r.from_receiver, ipv4.from_receiver);
  EXPECT_EQ(r.packets.seen, ipv4.packets.seen);
  EXPECT_EQ(r.packets.accepted, ipv4.packets.accepted);
  EXPECT_EQ(r.packets.not_rdma, ipv4.packets.not_rdma);
  EXPECT_EQ(r.packets.dropped, ipv4.packets.dropped);
  EXPECT_EQ(r.messages, ipv4.messages);
  EXPECT_EQ(r.cqes, ipv4.cqes);
  EXPECT_EQ(r.error_cqes, ipv4.error_cqes);
  EXPECT_EQ(r.bytes, ipv4.bytes);
  EXPECT_EQ(r.transport, ipv4.transport);
  EXPECT_EQ(r.answers_sent, ipv4.answers_sent);
  EXPECT_EQ(r.answers.compared, ipv4.answers.compared);
  EXPECT_GE(r.answers.compared, 10u);
  EXPECT_EQ(r.answers.different, 0u);
  const bool only_the_file_differs =
      form.encapsulation == Encapsulation::kRoceV2Ipv4 && form.vlan_tags == 0 && form.nanoseconds && form.link == 0;
  if (only_the_file_differs) {
    EXPECT_EQ(r.state_hash, ipv4.state_hash);
  }
}

TEST_P(LinkType, AnswersAreInKind) {
  const Form& form = GetParam();
  const RunResult r = run(form);
  CaptureReader reader(responses(form));
  std::uint64_t frames = 0;
  for (CapturedFrame frame; reader.next(frame); ++frames) {
    Headers h;
    ASSERT_EQ(parse(frame.bytes, frame.link, h), ParseStatus::kOk);
    EXPECT_EQ(frame.link, is_infiniband(form) ? LinkLayer::kInfiniband : LinkLayer::kEthernet);
    EXPECT_EQ(h.encapsulation, form.encapsulation);
    EXPECT_EQ(h.source, converted(Address::parse("10.0.0.2"), form.encapsulation));
    EXPECT_EQ(h.destination, converted(Address::parse("10.0.0.1"), form.encapsulation));
    EXPECT_EQ(h.vlan_tags, form.vlan_tags);
    EXPECT_EQ(h.vlan & 0xfff, form.vlan_tags > 0 ? 0x064 : 0);
    EXPECT_EQ(h.outer_vlan & 0xfff, form.vlan_tags > 1 ? 0x0c8 : 0);
    EXPECT_TRUE(icrc_matches(frame.bytes, h));
    if (!is_infiniband(form)) continue;
    EXPECT_EQ(h.source_lid, 2);
    EXPECT_EQ(h.destination_lid, 1);
    const std::size_t end = h.icrc_offset + kIcrcBytes;
    ASSERT_EQ(frame.bytes.size(), end + 2) << "an InfiniBand packet ends in its VCRC";
    const std::uint16_t check = vcrc(frame.bytes.first(end));
    EXPECT_EQ(frame.bytes[end] | frame.bytes[end + 1] << 8, check);
  }
  EXPECT_EQ(frames, r.answers_sent);
  EXPECT_GT(frames, 10u);
}

const Form kForms[] = {
    {"vlan", Encapsulation::kRoceV2Ipv4, 1},
    {"qinq", Encapsulation::kRoceV2Ipv4, 2},
    {"ipv6", Encapsulation::kRoceV2Ipv6},
    {"ipv6_vlan", Encapsulation::kRoceV2Ipv6, 1},
    {"roce_v1", Encapsulation::kRoceV1},
    {"roce_v1_vlan", Encapsulation::kRoceV1, 1},
    {"infiniband_local", Encapsulation::kIbLocal},
    {"infiniband_global", Encapsulation::kIbGlobal},
    {.name = "erf_infiniband_local", .encapsulation = Encapsulation::kIbLocal, .erf = true},
    {.name = "erf_infiniband_extended", .encapsulation = Encapsulation::kIbGlobal, .erf = true, .erf_extension = true},
    {.name = "erf_ethernet", .erf = true},
    {.name = "erf_pcapng", .encapsulation = Encapsulation::kIbLocal, .file = Form::File::kPcapng, .erf = true},
    {.name = "pcapng", .file = Form::File::kPcapng},
    {.name = "pcapng_big_endian", .file = Form::File::kPcapng, .big_endian = true},
    {.name = "pcapng_infiniband", .encapsulation = Encapsulation::kIbLocal, .file = Form::File::kPcapng},
    {.name = "cooked", .link = kDltSll},
    {.name = "cooked_vlan", .vlan_tags = 1, .link = kDltSll},
    {.name = "cooked_roce_v1", .encapsulation = Encapsulation::kRoceV1, .link = kDltSll},
    {.name = "cooked_v2", .link = kDltSll2},
    {.name = "cooked_v2_pcapng",
     .encapsulation = Encapsulation::kRoceV2Ipv6,
     .file = Form::File::kPcapng,
     .link = kDltSll2},
    {.name = "raw_ip", .link = kDltRaw},
    {.name = "raw_ip_pcapng", .file = Form::File::kPcapng, .link = kDltRaw},
    {.name = "raw_ipv6", .encapsulation = Encapsulation::kRoceV2Ipv6, .link = kDltIpv6},
    {.name = "big_endian", .big_endian = true},
    {.name = "microseconds", .nanoseconds = false},
    {.name = "microseconds_big_endian", .big_endian = true, .nanoseconds = false},
};
INSTANTIATE_TEST_SUITE_P(Sample, LinkType, testing::ValuesIn(kForms),
                         [](const testing::TestParamInfo<Form>& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace rxnic::link_types_test
