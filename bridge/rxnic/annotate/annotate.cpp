// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/annotate/annotate.h"

#include "model/engine/output_file.h"
#include "traces/pcapng_blocks.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kWindowPackets = 32768;
constexpr std::uint32_t kDirections = 3;  // bits of the flags

}  // namespace

std::string annotated_begins() {
  std::string section;
  add_section(section, "rxnic");
  return section;
}

std::uint64_t annotate(CaptureReader& reader, RunEvents& events, const PacketNotes* notes,
                       const PacketComments::Findings& findings, const std::string& path) {
  PacketComments comments(events, notes, findings);
  OutputFile file(path);
  file.text() += annotated_begins();
  std::uint32_t section = 0, interfaces = 0;  // what of the capture is written
  CapturedFrame frame;
  while (reader.next_record(frame)) {
    const PcapRecord& record = reader.record();
    const std::uint64_t number = reader.records();
    if (number == 1) section = record.section;
    if (record.section != section) {
      section = record.section;
      interfaces = 0;
      file.text() += annotated_begins();
    }
    for (; interfaces <= record.interface; ++interfaces) add_interface(file.text(), reader.interface(interfaces));
    if (number % kWindowPackets == 1) comments.load(number, number + kWindowPackets - 1);
    const PacketComment comment = comments.of(number, reader.holds_packet() ? &frame : nullptr);
    PcapngPacket packet;
    packet.interface = record.interface;
    packet.ticks = record.ticks;
    packet.bytes = record.bytes;
    packet.wire_bytes = record.wire_bytes;
    const std::string kept = kept_options(record, packet.flags);
    packet.options = kept;
    const std::string words = "rxnic: " + comment.words;
    packet.comment = words;
    if (comment.direction != 0 && (packet.flags.value_or(0) & kDirections) == 0) {
      packet.flags = packet.flags.value_or(0) | comment.direction;
    }
    packet.id = number;
    packet.queue = comment.queue;
    packet.verdict = comment.verdict;
    add_packet(file.text(), packet);
    file.flush_when_long();
  }
  file.close();
  return reader.records();
}

}  // namespace rxnic
