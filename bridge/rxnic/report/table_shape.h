// SPDX-License-Identifier: Apache-2.0
// What the tables, the incidents and the depths of searches of report.json look like (report_shape.h). What is 0 has no
// key in a row.
#pragma once

#include "model/system/run_result.h"

namespace rxnic {

template <class V>
void shape(V& v, DepthResult& d) {
  v("searches", d.searches);
  v("p50", d.p50);
  v("p90", d.p90);
  v("p99", d.p99);
  v("max", d.max);
  v("depths", d.depths, "searches by depth; from 512 on by ranges of 1/256, under the greatest depth of each");
}

template <class V>
void shape(V& v, TagDepthResult& t) {
  v("posted", t.posted,
    "by messages: entries of the tag list that were posted before the one that matched; of an unexpected message all "
    "that were posted");
  v("unexpected", t.unexpected,
    "of a simulated host, by receives: unexpected messages that were there and came before the one that matched, all "
    "of "
    "them when none did");
}

template <class V>
void shape(V& v, TableFigures& f) {
  const auto counted = [&v](const char* key, std::uint64_t& n, const char* about) {
    v.optional(key, n, n != 0, about);
  };
  v("packets", f.packets, "that left the NIC, whatever became of them");
  v("messages", f.messages, "that were carried out to their end");
  v("payload_bytes", f.payload_bytes, "of these packets");
  v("payload_gbps", f.payload_gbps, "from the arrival of the first packet until the last one left");
  v("mean_ns", f.mean_ns, "of a packet, from the arrival of its last byte until it left");
  v("wait_ns", f.wait_ns, "of it in front of blocks, in the mean: what stalled the packet");
  v.optional("waits_most_at", f.waits_most_at, !f.waits_most_at.empty(),
             "of a QP and a NIC: the block in front of which the packets waited longest, all together");
  counted("longest_pause_ns", f.longest_pause_ns,
          "of a QP: between two of its packets that left; of a NIC: the longest of its QPs");
  counted("latency_count", f.latency_count,
          "receives, of an opcode and a size also WRITEs without immediate, whose latency is known");
  counted("p50_ns", f.p50_ns, "of them: from the first packet until the CQE, or the last byte, could be seen");
  counted("p99_ns", f.p99_ns, "of a QP within 3.2 %, else within 0.4 %");
  counted("max_ns", f.max_ns, "");
  counted("not_carried_out", f.not_carried_out, "packets that were dropped, silently or with a NAK");
  counted("psn_ahead", f.psn_ahead, "of them: ahead of the expected PSN, something is missing before");
  counted("psn_gaps", f.psn_gaps, "jumps of the PSN in a capture, resynchronised");
  counted("missing_psns", f.missing_psns, "in these gaps");
  counted("repeats", f.repeats, "packets that came again and were acknowledged or answered again");
  counted("rnr_naks", f.rnr_naks, "sent");
  constexpr const char* kNaks[] = {"nak_0x60", "nak_0x61", "nak_0x62", "nak_0x63"};
  constexpr const char* kCauses[] = {"sent: PSN sequence error", "sent: invalid request", "sent: remote access error",
                                     "sent: remote operational error"};
  for (std::size_t n = 0; n < f.naks.size(); ++n) counted(kNaks[n], f.naks[n], kCauses[n]);
  counted("error_cqes", f.error_cqes, "CQEs in error, flushed WQEs among them");
  counted("marked", f.marked, "packets that a switch has marked Congestion Experienced");
  counted("cnps_sent", f.cnps_sent, "");
  counted("cnps_received", f.cnps_received, "");
  counted("timeouts", f.timeouts, "of the NIC's own requester; those of a captured peer are not known");
  counted("rnr_waits", f.rnr_waits, "of the NIC's own requester, since an RNR NAK asked for them");
  counted("went_back", f.went_back, "times that the NIC's own requester began to send again");
  counted("sent_again", f.sent_again, "packets that the NIC's own requester sent again");
}

template <class V>
void shape(V& v, QpRow& r) {
  v("nic", r.nic);
  v("qp", r.qp, "0: the management QP, and packets whose headers cannot be read");
  v.optional("peer", r.peer, !r.peer.empty(), "its address; absent: there is none, or it is not known");
  v.optional("peer_qp", r.peer_qp, r.peer_qp != 0);
  shape(v, r.figures);
}

template <class V>
void shape(V& v, OtherQps& r) {
  v("qps", r.qps, "so many");
  shape(v, r.figures);
}

template <class V>
void shape(V& v, SizeRow& r) {
  v("bytes_from", r.bytes_from, "of the message that the packet ends, or of the packet's payload when it ends none");
  v("bytes_to", r.bytes_to);
  shape(v, r.figures);
}

template <class V>
void shape(V& v, OpcodeRow& r) {
  v("opcode", r.opcode, "of the packets; \"not readable\": their headers cannot be read");
  shape(v, r.figures);
}

template <class V>
void shape(V& v, NicRow& r) {
  v("nic", r.nic);
  shape(v, r.figures);
}

template <class V>
void shape(V& v, RunTables& t) {
  v("qp", t.qps, "the sickest first (model/system/table_rows.h, R1), at most 1,024");
  v.optional("other_qps", t.other_qps, "the QPs besides, all together");
  v("size", t.sizes, "by message size, in powers of two");
  v("opcode", t.opcodes);
  v("nic", t.nics);
}

template <class V>
void shape(V& v, IncidentRow& r) {
  v("time_ps", r.time_ps);
  v("nic", r.nic);
  v.choice(
      "kind", r.kind, {"drop", "psn_gap", "nak", "timeout", "error_cqe", "network", "event"},
      "a packet that was not carried out; a gap that was resynchronised; a NAK or an RNR NAK that was sent; a "
      "timeout of the NIC's own requester; a CQE in error, but of flushed WQEs; a frame for the NIC that came to harm "
      "on its way; an event of the device, but of completions and absent pages");
  v("number", r.number,
    "of the QP (of a frame: that it is for); of an event: of the QP, the CQ or the SRQ that it names");
  v.optional("packet", r.packet, r.packet != 0, "its number in the trace or on the wire; absent: none, or not known");
  v("cause", r.cause,
    "reason of the drop, syndrome of the NAK, status of the CQE, type of the event; of a frame: lost, corrupted, "
    "duplicated, reordered, switch_full (dropped by a full switch)");
}

template <class V>
void shape(V& v, RunIncidents& r) {
  v("counts", r.counts, "all of them, by kind");
  v("first", r.first, "the first 1,000, in the order of time");
}

}  // namespace rxnic
