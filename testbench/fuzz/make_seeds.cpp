// SPDX-License-Identifier: Apache-2.0
// usage: make_seeds FOLDER
// Writes the first inputs of each fuzz target into FOLDER/<target>: what the project itself makes, a good input of each
// kind. The bytes are equal on every machine.
#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "bridge/dpi/pins.h"
#include "bridge/rxnic/events/event_file.h"
#include "bridge/rxnic/record/message_fields.h"
#include "bridge/rxnic/record/recorded_run.h"
#include "bridge/rxnic/report/report.h"
#include "bridge/rxnic/workload/page_reader.h"
#include "model/core/wire/icrc.h"
#include "model/params/config.h"
#include "model/params/params_table.h"
#include "testbench/unit/bridge/rxnic/record/recording.h"
#include "testbench/unit/traces/mpi_texts.h"
#include "traces/capture_writer.h"
#include "traces/sample_trace.h"

namespace rxnic {
namespace {

namespace fs = std::filesystem;

class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) {}
  fs::path folder(const char* target) const {
    fs::create_directories(folder_ / target);
    return folder_ / target;
  }
  void write(const char* target, const std::string& name, std::string_view bytes) const {
    std::ofstream out(folder(target) / name, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) throw std::runtime_error(fmt::format("{}/{}: cannot be written", target, name));
  }

 private:
  fs::path folder_;
};

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path.string() + ": cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class Value>
void append(std::string& to, const Value& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A pcapng file of one Ethernet interface with times in nanoseconds.
std::string pcapng_of(std::span<const SampleFrame> frames) {
  std::string file;
  const auto block = [&file](std::uint32_t type, std::string body) {
    body.resize((body.size() + 3) / 4 * 4);
    const auto bytes = static_cast<std::uint32_t>(body.size() + 12);
    append(file, type);
    append(file, bytes);
    file += body;
    append(file, bytes);
  };
  std::string section;
  append(section, std::array<std::uint32_t, 4>{0x1a2b3c4d, 1, ~0u, ~0u});  // version 1.0, of unknown length
  block(0x0a0d0d0a, section);
  std::string interface;
  append(interface, std::array<std::uint32_t, 4>{1, 0, 9 | 1 << 16, 9});  // Ethernet; if_tsresol: 10^-9 s
  append(interface, std::uint32_t{0});
  block(1, interface);
  for (const SampleFrame& frame : frames) {
    const std::uint64_t ns = frame.time_ps / 1000;
    const auto bytes = static_cast<std::uint32_t>(frame.bytes.size());
    std::string packet;
    append(packet, std::array<std::uint32_t, 5>{0, static_cast<std::uint32_t>(ns >> 32), static_cast<std::uint32_t>(ns),
                                                bytes, bytes});
    packet += text_of(frame.bytes);
    block(6, packet);
  }
  return file;
}

// Frames and captures, a few frames each: a short input is mutated and run faster.
void captures(const Seeds& seeds) {
  constexpr std::size_t kFramesEach = 6;
  const std::vector<SampleFrame> frames = sample_frames(&seal);
  for (std::size_t n = 0; n < frames.size(); ++n) {
    const std::string name = fmt::format("frame_{:02}", n);
    for (const char* target : {"wire", "flow", "ip_offload"}) seeds.write(target, name, text_of(frames[n].bytes));
  }
  for (std::size_t first = 0; first < frames.size(); first += kFramesEach) {
    const auto some = std::span(frames).subspan(first, std::min(kFramesEach, frames.size() - first));
    const std::string name = fmt::format("frames_{:02}", first);
    CaptureWriter pcap((seeds.folder("capture_reader") / (name + ".pcap")).string(), LinkLayer::kEthernet);
    for (const SampleFrame& frame : some) pcap.write(frame.time_ps, frame.bytes);
    pcap.close();
    seeds.write("capture_reader", name + ".pcapng", pcapng_of(some));
  }
}

// The chunks of a file of events as events_fuzz takes them: kind, rows and bytes, and what was compressed.
std::string chunks_of(const std::string& file) {
  std::string chunks;
  for (std::size_t at = kEventMagic.size(); at < file.size();) {
    std::uint32_t bytes = 0, packed = 0;
    std::memcpy(&bytes, file.data() + at + 5, sizeof bytes);
    std::memcpy(&packed, file.data() + at + 9, sizeof packed);
    chunks.append(file, at, 9);
    std::string raw(bytes, '\0');
    const std::size_t got = ZSTD_decompress(raw.data(), raw.size(), file.data() + at + 13, packed);
    if (got != bytes) throw std::runtime_error("the events of a run cannot be decompressed");
    chunks += raw;
    at += 13 + packed;
  }
  return chunks;
}

void records(const Seeds& seeds) {
  const fs::path folder = seeds.folder("record") / "run";
  fs::create_directories(folder);
  record_pair(folder);
  const std::string log = content(host_log_file(folder)), wire = content(wire_file(folder));
  RecordedRunOptions options;
  options.events.path = folder / "events.rxev";
  const RecordedRun run = replay_recorded_run(folder, options);
  seeds.write("events", "send_rnr_refused", chunks_of(content(options.events.path)));
  if (!run.difference.empty()) throw std::runtime_error("the record cannot be repeated: " + run.difference);
  fs::remove_all(folder);
  std::string both;
  append(both, static_cast<std::uint32_t>(log.size()));
  seeds.write("record", "send_rnr_refused", both + log + wire);
  seeds.write("host_log", "send_rnr_refused", log);
  seeds.write("report", "send_rnr_refused", report_json(run.result));
}

void request_bodies(const Seeds& seeds) {
  for (unsigned n = 1; n <= static_cast<unsigned>(channel::kLastRequest); ++n) {
    channel::Message message;
    message.type = static_cast<channel::Request>(n);
    const std::string type = request_name(message.type);
    seeds.write("request_body", type, type + "\n" + body_text(message));
  }
}

void workloads(const Seeds& seeds) {
  for (const NamedText& page : named_workloads())
    seeds.write("workload", std::string(page.name), std::string(page.text));
  for (const NamedText& sizes : named_sizes())
    seeds.write("workload", std::string(sizes.name), std::string(sizes.text));
}

void configurations(const Seeds& seeds) {
  for (const NamedConfig& config : named_configs()) {
    seeds.write("config", std::string(config.name), std::string(config.text) + '\0' + "nic.clock_period_ps=2325\n");
  }
  std::string overrides = "base = \"nic_100g_gen3\"\n";
  overrides += '\0';
  seeds.write("config", "override", overrides + "srq_wqe_fetcher.prefetch_depth=16\ndma_engine.read_latency_ps=900000");
}

void mpi_traces(const Seeds& seeds) {
  using namespace mpi_texts;
  seeds.write("mpi_trace", "liballprof", std::string(kAllprof0) + '\0' + kAllprof1);
  seeds.write("mpi_trace", "dumpi", dumpi_of_rank_0() + '\0' + dumpi_of_rank_1());
  seeds.write("mpi_trace", "otf2", kOtf2);
}

// A module with a parameter, an input and an output, and two exchanges.
void pins(const Seeds& seeds) {
  std::string input;
  const auto packet = [&input](const std::string& bytes) {
    append(input, static_cast<std::uint16_t>(bytes.size()));
    input += bytes;
  };
  std::string records;
  const auto record = [&records](const char* name, dpi::PinKind kind, std::uint64_t value) {
    dpi::PinRecord r{{}, kind, value};
    dpi::set_name(r, name);
    append(records, r);
  };
  record("grh_scatter", dpi::PinKind::kModule, dpi::kPinsVersion);
  record("LatencyCycles", dpi::PinKind::kParameter, 4);
  record("clk_i", dpi::PinKind::kInput, 1);
  record("job_i", dpi::PinKind::kInput, 200);
  record("segment_o", dpi::PinKind::kOutput, 40);
  packet(records);
  for (const std::uint32_t value : {1u, 0x12345678u}) {
    std::string answer;
    append(answer, std::array<std::uint32_t, 3>{0, value, 0xff});
    packet(answer);
  }
  seeds.write("pins", "two_exchanges", input);
}

// What libfuzzer's FuzzedDataProvider takes apart: any bytes are a good input.
void numbers(const Seeds& seeds) {
  constexpr unsigned kInputs = 4, kBytes = 512;
  for (const char* target : {"device", "manager"}) {
    std::mt19937 random(1);
    for (unsigned n = 0; n < kInputs; ++n) {
      std::string bytes(kBytes, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      seeds.write(target, fmt::format("random_{}", n), bytes);
    }
  }
}

void make_all(const Seeds& seeds) {
  for (const auto make : {captures, records, request_bodies, configurations, workloads, mpi_traces, pins, numbers}) {
    make(seeds);
  }
}

}  // namespace
}  // namespace rxnic

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: make_seeds FOLDER\n", stderr);
    return 2;
  }
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  try {
    rxnic::make_all(rxnic::Seeds(argv[1]));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "make_seeds: %s\n", e.what());
    return 1;
  }
  return 0;
}
