// SPDX-License-Identifier: Apache-2.0
// Any bytes as a capture, as they are and compressed. The reader (with and without filled payloads, other UDP ports and
// ICRCs made right) ends in a TraceError or in counts. So do tunnels, the survey and the host plan. A name or a limit
// that grows with the input would show as memory. Records that are written again as pcapng come back as they were.
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "model/core/wire/icrc.h"
#include "model/core/wire/parsed.h"
#include "model/types/parse_reason.h"
#include "traces/answer_compare.h"
#include "traces/capture_reader.h"
#include "traces/host_plan.h"
#include "traces/pcapng_blocks.h"
#include "traces/survey.h"
#include "traces/unreadable_requests.h"

namespace {

void look_at(rxnic::CaptureReader& reader) {
  using namespace rxnic;
  CaptureSurvey survey(&wrong_checksum, SurveyLimits{.icrc_matches = &icrc_matches, .pause_quantum_ps = 5120});
  for (CapturedFrame f; reader.next(f);) survey.add(f);
  for (const EndpointCounts& end : survey.endpoints()) {
    const ReceiverSurvey receiver = survey.of_receiver(end.address);
    const HostPlan plan = make_host_plan(receiver, {});
    if (plan.qps.size() != receiver.qps.size()) std::abort();
    AnswerCompare compare(receiver);
    UnreadableRequests unreadable(receiver);
    reader.rewind();
    std::uint64_t last = 0;
    for (CapturedFrame f; reader.next(f);) {
      if (f.time_ps < last) std::abort();
      last = f.time_ps;
      if (f.filled_bytes > f.bytes.size() || f.wire_bytes < f.bytes.size()) std::abort();
      Headers h;
      const ParseStatus status = parse(f.bytes, f.link, h);
      if (f.status != status || (status != ParseStatus::kNotRdma && f.headers != h)) std::abort();
      if (status != ParseStatus::kOk) {
        if (status != ParseStatus::kNotRdma) unreadable.request(f, reason_of(status));
        continue;
      }
      unreadable.answer(f);
      if (h.destination == end.address) compare.request(h);
      if (h.source != end.address) continue;
      compare.captured(h, f.number);
      compare.model(h, f.number);
    }
    compare.finish();
    const rxnic::CompareCounts& counts = compare.counts();
    if (counts.compared != counts.equal + counts.given + counts.different) std::abort();
  }
}

// Records of a file, as pcapng, and what is to come back of them.
void write_again(const std::uint8_t* data, std::size_t size) {
  using namespace rxnic;
  struct Kept {
    std::vector<std::uint8_t> bytes;
    std::uint64_t ticks;
    std::uint32_t wire_bytes;
  };
  std::string text;
  std::vector<Kept> kept;
  std::uint32_t section = 0, interfaces = 0;
  CaptureReader reader([data, size] { return ::fmemopen(const_cast<std::uint8_t*>(data), size, "rb"); }, "input");
  for (CapturedFrame f; reader.next_record(f);) {
    const PcapRecord& r = reader.record();
    if (text.empty() || r.section != section) add_section(text, "fuzz"), interfaces = 0;
    section = r.section;
    for (; interfaces <= r.interface; ++interfaces) add_interface(text, reader.interface(interfaces));
    PcapngPacket packet;
    packet.interface = r.interface;
    packet.ticks = r.ticks;
    packet.bytes = r.bytes;
    packet.wire_bytes = r.wire_bytes;
    const std::string options = kept_options(r, packet.flags);
    packet.options = options;
    packet.comment = "again";
    add_packet(text, packet);
    kept.push_back({{r.bytes.begin(), r.bytes.end()}, r.ticks, r.wire_bytes});
  }
  if (kept.empty()) return;
  CaptureReader again([&text] { return ::fmemopen(text.data(), text.size(), "rb"); }, "again");
  std::size_t n = 0;
  for (CapturedFrame f; again.next_record(f); ++n) {
    const PcapRecord& r = again.record();
    const std::vector<std::uint8_t> bytes(r.bytes.begin(), r.bytes.end());
    if (n >= kept.size() || bytes != kept[n].bytes || r.ticks != kept[n].ticks || r.wire_bytes != kept[n].wire_bytes) {
      std::abort();
    }
  }
  if (n != kept.size()) std::abort();
}

// Frames of the capture, or nothing when it is refused.
std::optional<std::uint64_t> frames_of(const std::vector<std::uint8_t>& file) {
  try {
    rxnic::CaptureReader reader(
        [&file] { return ::fmemopen(const_cast<std::uint8_t*>(file.data()), file.size(), "rb"); }, "input");
    for (rxnic::CapturedFrame f; reader.next(f);) {
    }
    return reader.frames();
  } catch (const rxnic::TraceError&) {
    return std::nullopt;
  }
}

std::vector<std::uint8_t> gzipped(const std::uint8_t* data, std::size_t size) {
  z_stream s{};
  if (deflateInit2(&s, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  std::vector<std::uint8_t> out(deflateBound(&s, size) + 32);
  s.next_in = const_cast<Bytef*>(data);
  s.avail_in = static_cast<uInt>(size);
  s.next_out = out.data();
  s.avail_out = static_cast<uInt>(out.size());
  if (deflate(&s, Z_FINISH) != Z_STREAM_END) std::abort();
  out.resize(s.total_out);
  deflateEnd(&s);
  return out;
}

std::vector<std::uint8_t> zstd(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> out(ZSTD_compressBound(size));
  const std::size_t bytes = ZSTD_compress(out.data(), out.size(), data, size, 1);
  if (ZSTD_isError(bytes)) std::abort();
  out.resize(bytes);
  return out;
}

// Compressed, a capture has the frames that it has as it is; damaged, it has no more memory or time to ask for.
void compress(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> plain(data, data + size);
  if (rxnic::decoder_of(rxnic::Bytes(plain).first(std::min<std::size_t>(size, rxnic::kDecoderMagicBytes)))) return;
  const std::optional<std::uint64_t> frames = frames_of(plain);
  for (std::vector<std::uint8_t> packed : {gzipped(data, size), zstd(data, size)}) {
    if (frames_of(packed) != frames) std::abort();
    packed[data[size / 2] % packed.size()] ^= static_cast<std::uint8_t>(1u << size % 8);
    frames_of(packed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;  // fmemopen refuses it
  for (const bool fill : {false, true}) {
    try {
      rxnic::CaptureReader reader([data, size] { return ::fmemopen(const_cast<std::uint8_t*>(data), size, "rb"); },
                                  "input");
      if (fill) {
        reader.fill_cut_payloads(&rxnic::seal);
        reader.read_as_roce({4790, 1021}, &rxnic::icrc_matches, &rxnic::seal);
        reader.take_icrcs_as_right(&rxnic::icrc_matches, &rxnic::seal);
      }
      look_at(reader);
    } catch (const rxnic::TraceError&) {
      // named: all is well
    }
  }
  try {
    write_again(data, size);
  } catch (const rxnic::TraceError&) {
    // named: all is well
  }
  compress(data, size);
  return 0;
}
