// SPDX-License-Identifier: Apache-2.0
// What report.json looks like, said once. The writer (report.cpp), the parser (report_parser.cpp) and the schema
// (report_schema.cpp) visit the results with shape(v, x). This function calls v for each key, in the order of the file.
//
//   v(key, value, about)                   a number, a text, a list, an object: as the value's type is
//   v.optional(key, value, there, about)   left out where it says nothing
//   v.newer(key, value, about)             what reports of earlier versions do not have; an optional
//   v.flag(key, value, about)              true, or left out
//   v.positive(key, value, about)          a count that is not 0
//   v.derived(key, value, about)           follows from others, and is not read
//   v.whole(key, value, about)             a number that stands without a point when it is whole
//   v.choice(key, value, {names}, about)   one of these texts
//   v.object(key, [&](auto& o) {...}, about)
//   v.map(key, list, name, about, least)   an object with a key for each: that member of it; so many at least
//   v.each(key, list, f, about)            a list of objects, one at least; f(o, element) visits one
//   v.nonzero(names, counts)               a key for each count that is not 0
//   v.of_captures([&] {...}), v.of_programs([&] {...}): keys of that kind of run alone
//
// `about` goes into the schema.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "bridge/rxnic/report/report.h"
#include "bridge/rxnic/report/table_shape.h"
#include "bridge/rxnic/report/verdict.h"

namespace rxnic {

// A struct that has a shape, not a text or a list.
template <class T>
concept Shaped = std::is_class_v<T> && !requires(T & t) {
  t.begin();
};

template <class V>
void shape(V& v, LatencyResult& l) {
  v("count", l.count);
  v("p50", l.p50);
  v("p90", l.p90);
  v("p99", l.p99);
  v("p999", l.p999);
  v("max", l.max);
}

template <class V>
void shape(V& v, StageTimes& t) {
  v("mean", t.mean);
  v("p50", t.p50);
  v("p99", t.p99);
}

template <class V>
void shape(V& v, StageResult& s) {
  shape(v, s.stay);
  v("max", s.max);
  v("wait", s.wait,
    "from the block before until this one takes the packet: a cycle in the link, and what goes before it");
  v("block", s.block, "the rest, in the block");
}

template <class V>
void shape(V& v, BlockResult& b) {
  for (const Activity a : {Activity::kBusy, Activity::kStarved, Activity::kBlocked}) {
    v(std::string(name_of(a)), b.account[static_cast<std::size_t>(a)]);
  }
  constexpr auto kFirst = static_cast<std::size_t>(Activity::kWaitContext);
  const auto name = [](std::size_t n) { return name_of(static_cast<Activity>(kFirst + n)).substr(5); };
  v.object(
      "waiting", [&](auto& o) { o.nonzero(name, std::span(b.account).subspan(kFirst)); },
      "cycles by the resource that was waited for");
  v("counters", b.counters, "rxnic counters says what each counts");
  v.flag(
      "busy_at_most", b.busy_at_most,
      "with --rtl: the RTL does not say what it does (no activity_o), so that busy is an upper bound: cycles in which "
      "it is blocked or waits are in it, too");
}

template <class V>
void shape(V& v, ProgramResult& p) {
  v("name", p.name);
  v("nic", p.nic);
  v.positive("clients", p.clients, "how often it opened the NIC");
}

template <class V>
void shape(V& v, RtlUse& u) {
  v("block", u.block, "NIC and block");
  v.choice("use", u.use, {"lockstep", "transactions", "rtl"},
           "compared in every cycle, compared by transactions, in the model's place");
  v("clocked", u.clocked, "cycles in which the RTL was clocked");
  v("transactions", u.transactions,
    "compared, none different (0 of a block in all NICs: it had nothing to do, exit status 5); of the use rtl: that "
    "passed its ports");
}

template <class V>
void shape(V& v, PossibleReceiver& p) {
  v("address", p.address);
  v("requests", p.requests, "packets");
  v("bytes", p.bytes, "payload of them");
}

template <class V>
void shape(V& v, CapturedNaks& n) {
  v.choice("kind", n.kind, {"rnr", "sequence", "invalid_request", "remote_access", "remote_operational", "other"});
  v("psn", n.psn);
  v("packets", n.packets, "packets of the capture in which it was sent");
}

template <class V>
void shape(V& v, CapturedQp& q) {
  v("qp", q.qp);
  v("peer", q.peer);
  v("peer_qp", q.peer_qp);
  v.choice("paired_by", q.paired_by, {"cm", "udp_port", "psn", "only_pair", "option", "none"},
           "what shows that peer_qp is connected with it: CM messages; a UDP source port that both sides use; PSNs of "
           "answers; nothing else was left; --pair");
  v("ambiguous", q.ambiguous, "others fit as well");
  v("transport", q.transport);
  v("mtu", q.mtu);
  v("requests", q.requests);
  v("sent_again", q.sent_again, "of them, with a PSN behind the expected one");
  v("psns_missing", q.psns_missing, "PSNs of requests that the capture skips");
  v("lost", q.lost,
    "times that the network lost packets before the sniffer: the captured receiver sent a sequence NAK");
  v("naks", q.naks);
}

template <class V>
void shape(V& v, SnifferResult& s) {
  v("copies", s.copies, "packets that the sniffer has twice, left out");
  v("reordered", s.reordered, "times that a packet overtook another within microseconds, put in order");
  v("reused_qps", s.reused_qps, "new connections of a QPN that was in use before");
  v("clock_steps", s.clock_steps, "packets that are older than the one before");
  v("one_in", s.one_in, "1 packet in so many was captured; 0: all");
  v("sampled_psns", s.sampled_psns, "PSNs that a sample leaves out: no gaps");
  v("late_frames", s.late_frames,
    "that came more than 100 us late, because the line could not carry them when the capture says");
  v("most_late_ns", s.most_late_ns, "how late at most");
}

template <class V>
void shape(V& v, UnreadableResult& u) {
  v("reason", u.reason, "of its drop, when it is for the receiver");
  v("packets", u.packets);
  v("first", u.first, "numbers of the first ones");
  v("words", u.words);
}

template <class V>
void shape(V& v, TunnelResult& t) {
  v("kind", t.kind);
  v("source", t.source, "outer address; empty: it has none");
  v("destination", t.destination);
  v("packets", t.packets);
}

template <class V>
void shape(V& v, PauseResult& p) {
  v("frames", p.frames);
  v("paused_ps", p.paused_ps, "time that they pause, up to the end of the trace");
}

template <class V>
void shape(V& v, CongestionResult& c) {
  v("marked", c.marked, "packets to the receiver that are marked Congestion Experienced");
  v("cnps_sent", c.cnps_sent, "by the receiver");
  v("cnps_received", c.cnps_received);
  v.map("pauses", c.pauses, &PauseResult::of, "by priority_0 to priority_7 (PFC) and link");
}

template <class V>
void shape(V& v, RegionResult& g) {
  v("from_ps", g.from_ps);
  v("to_ps", g.to_ps);
  v("run_ps", g.run_ps, "how long the whole run was");
}

template <class V>
void shape(V& v, ComparedFigure& f) {
  v.whole("record", f.recorded);
  v.whole("what_if", f.what_if);
  v.derived("ratio", f.recorded != 0 ? std::optional(f.what_if / f.recorded) : std::nullopt,
            "what_if / record; null: record is 0");
}

template <class V>
void shape(V& v, WorkloadResult& w) {
  v("about", w.about, "the page's sentence");
  v("packets", w.packets, "that came to the NIC");
  v("messages", w.messages, "that senders began; 0, as what follows: the packets came from a file");
  v("answered", w.answered, "of them: those that the NIC answered, those of UC and UD that were sent");
  v("repeated", w.repeated, "packets that had been sent before: after a NAK or a timeout");
  v("timeouts", w.timeouts, "of senders' QPs that waited for an answer");
  v("failed_qps", w.failed_qps, "senders' QPs that gave up, or got a NAK that ends a QP");
  v.object("network", [&](auto& o) {
    o("lost", w.lost, "packets on their way to the NIC");
    o("corrupted", w.corrupted);
    o("duplicated", w.duplicated);
    o("reordered", w.reordered);
    o("marked", w.marked, "Congestion Experienced");
    o("pauses", w.pauses, "of the link to the NIC");
    o("answers_lost", w.answers_lost, "packets of the NIC on their way to a sender");
  });
}

template <class V>
void shape(V& v, WhatIfResult& w) {
  v.choice("loop", w.loop, {"closed", "open"}, "when the programs' inputs were given (bridge/rxnic/record/WHAT_IF.md)");
  v.object("record", [&](auto& o) {
    o("config", w.config);
    o("overrides", w.overrides);
  });
  v("inputs", w.inputs, "opens, control messages, doorbells and closes that were given to the NICs");
  v("given_up", w.given_up,
    "control inputs that were given, and polls left out, although something that they follow in the record did not "
    "happen (open loop)");
  v("unposted_bytes", w.unposted_bytes, "bytes that the programs changed without a post that hands them to the device");
  v("unknown_bytes", w.unknown_bytes, "bytes that the device read and the record does not hold: they were 0");
  v("different_bytes", w.different_bytes,
    "bytes of the programs' memory that the recorded device wrote or read and that differ at the end");
  v.map("figures", w.figures, &ComparedFigure::name,
        "by the place of the figure in a report; blocks: summed over all NICs");
}

// `whole`: the run, when this is of all its NICs together; null: one NIC of it.
template <class V>
void shape(V& v, NicResult& r, double seconds, RunResult* whole) {
  const auto of_programs = [&](auto f) { whole != nullptr ? v.of_programs(f) : f(); };
  const auto of_captures = [&](auto f) { whole != nullptr ? v.of_captures(f) : f(); };
  v.object("packets", [&](auto& o) {
    o("seen", r.packets.seen, "frames that reached the NIC: accepted + not_rdma + dropped.total");
    o("accepted", r.packets.accepted);
    o("not_rdma", r.packets.not_rdma);
    o.object(
        "dropped",
        [&](auto& d) {
          d.derived("total", r.packets.dropped_total());
          const auto name = [](std::size_t n) { return name_of(static_cast<DropReason>(n + 1)); };
          d.nonzero(name, std::span(r.packets.dropped).subspan(1));
        },
        "total, and each reason that occurred");
    if (whole == nullptr) return;
    o.of_captures([&] {
      o("captured", whole->captured,
        "frames in the trace: from_receiver + to_others + seen + sniffer.copies; what the receiver sends to itself is "
        "seen when it is a request");
      o("from_receiver", whole->from_receiver, "of them RDMA packets that the receiver itself sent");
      o("to_others", whole->to_others, "of them RDMA packets between other hosts");
    });
  });
  v("messages", r.messages, "requests received to their end");
  v("cqes", r.cqes, "of a capture: completions polled by the host; of programs: CQEs written");
  v("error_cqes", r.error_cqes);
  v("bytes", r.bytes,
    "payload carried into and out of host memory: of programs where it is received, of a capture with what its READs "
    "fetched");
  v.object("rates", [&](auto& o) {
    o.derived("packets_per_s", seconds > 0 ? static_cast<double>(r.packets.accepted) / seconds : 0.0, "in model time");
    o.derived("payload_gbps", seconds > 0 ? static_cast<double>(r.bytes) * 8e-9 / seconds : 0.0, "of the whole run");
    o.optional("steady_payload_gbps", r.steady_gbps, r.steady_gbps > 0,
               "from when a twentieth of the payload had come from the line until a twentieth was missing; absent: too "
               "few packets");
  });
  v("latency_ns", r.latency_ns,
    "receives: from the arrival of a message's first packet until its CQE is visible in host memory, ns");
  v("handed_over_latency_ns", r.handed_over_ns,
    "receives: from the arrival of a message's first packet to its completion's hand-over to DMA, ns");
  v.optional(
      "match_latency_ns", r.match_ns, r.match_ns.count != 0,
      "tagged messages whose match is completed before their data: from the arrival of the first packet until the "
      "CQE of the match is visible, ns");
  v.optional("no_end_latency_ns", r.no_end_ns, r.no_end_ns.count != 0,
             "receives that no packet of their own ended, which are in no other figure: the end of the message never "
             "came, or a READ fetched its data (rendezvous), ns");
  v("write_latency_ns", r.write_ns,
    "RDMA WRITEs without immediate: from the arrival of the first packet until the last byte is visible, ns");
  v("read_latency_ns", r.read_ns,
    "RDMA READs and atomics: from the arrival of the request until its last response leaves, ns");
  v.map("stages_ns", r.stages, &StageResult::name,
        "of receives and WRITEs, last packet: until it left each block, waiting contained; first its own arrival, last "
        "its visibility (model/system/latencies.h, R5)");
  of_programs([&] {
    v("one_way_latency_ns", r.one_way_ns,
      "of programs: from the sender's doorbell to the receive completion in the receiver's memory, of the receives in "
      "latency_ns, ns");
  });
  v.optional("tag_depths", r.tag_depths, r.tag_depths.any(),
             "with tag matching: how deep linear searches of the lists would go (model/system/tag_depths.h)");
  v("transport", r.transport, "PSN gaps, duplicates, NAKs: rxnic counters");
  v("events", r.events, "that the device wrote into its event queue, by kind");
  of_captures([&] {
    v.map(
        "blocks", r.blocks, &BlockResult::stem,
        "every cycle of every block, and its counters. Of a block in whose place RTL was (--rtl): those that its ports "
        "show, and the cycles that its activity_o says",
        1);
  });
}

template <class V>
void shape(V& v, VerdictParameter& p) {
  v("name", p.name);
  v("value", p.value, "in the run, with its unit");
  v("evidence", p.evidence, "what its default rests on: documented, measured or assumed");
}

template <class V>
void shape(V& v, Verdict& d) {
  v("bound_by", d.bound_by,
    "nothing (no packet came), idle, sender (what came, at its times), line, out_line, host (no receive WQE posted), "
    "or "
    "the block that held up the path");
  v("resource", d.resource, "of a block: busy, or what it waited for; empty: none");
  v("share", d.share, "of the block's cycles in which it was so; idle: without work; host: of the packets");
  v("parameters", d.parameters, "that move it, the one to try first first");
  v("backlog", d.backlog, "more than half of the mean latency are waits in front of blocks");
  v("words", d.words, "the reason first");
  v("distrust", d.distrust, "what to know before quoting a figure");
  v("next", d.next, "what to try");
}

template <class V>
void shape(V& v, RunResult& r) {
  v.schema("schema", kReportSchema);
  Verdict verdict = verdict_of(r);
  v.derived("verdict", verdict, "what bound the run, and how one knows: bridge/rxnic/report/verdict.h");
  v.of_programs([&] {
    v("command", r.command, "the program that was started; empty: programs attached by themselves");
    v("programs", r.programs, "who opened which NIC");
  });
  v.of_captures([&] {
    v("trace", r.trace, "file that was replayed");
    v.object("receiver", [&](auto& o) {
      o("address", r.receiver);
      o("choice", r.receiver_choice, "why this side");
      o("possible", r.receivers, "who gets requests, the busiest first");
    });
  });
  v.object("config", [&](auto& o) {
    o("name", r.config);
    o("overrides", r.overrides);
    o.parameters("values", r.params, "every parameter by section and key");
  });
  v("seed", r.seed);
  v.object("run", [&](auto& o) {
    o.choice("mode", r.mode, {"fast", "step-all", "per-cycle"});
    o.of_captures([&] {
      o("pace", r.pace);
      o.choice("psn", r.psn, {"resynchronise", "strict"});
      o("host", r.host);
    });
  });
  v.of_captures([&] {
    v("assumptions", r.assumptions, "what the capture does not tell and was assumed");
    v("qps", r.qps, "the receiver's QPs in the capture: their peers, and what the captured receiver refused");
    v("sniffer", r.sniffer,
      "what the sniffer did to the capture, not the network: undone, and in no other count (traces/CAPTURES.md)");
  });
  v.optional("workload", r.workload, "of a workload: what its senders and its network did (bridge/rxnic/workload)");
  v.optional("rtl", r.rtl.uses, !r.rtl.uses.empty(),
             "with --lockstep and --rtl: RTL beside blocks of the model, or in their place");
  v.optional("what_if", r.what_if, "of a what-if of a recorded run: the record's figures beside its own");
  v.optional("region", r.region,
             "with --from, --to or --warmup: the part of the run that cycles, time_ps and all counts, latencies and "
             "blocks are of; state_hash, answers and qps are of the whole run");
  v("warnings", r.warnings);
  v("cycles", r.cycles, "cycles simulated");
  v("time_ps", r.time_ps, "model time, ps");
  const double seconds = static_cast<double>(r.time_ps) * 1e-12;
  shape(v, r, seconds, &r);
  v.of_programs([&] {
    v("fabric", r.fabric, "what the switch carried: frames between NICs and within one; paused, marked, dropped");
    v.each(
        "nics", r.nics, [&](auto& o, NicResult& nic) { shape(o, nic, seconds, nullptr); },
        "what each NIC did; the keys outside are the sums");
  });
  v.of_captures([&] {
    v.object("answers", [&](auto& o) {
      AnswerResult& a = r.answers;
      o("sent", r.answers_sent, "frames that the model sent");
      o("compared", a.compared, "with the captured receiver's: equal + given + different");
      o("equal", a.equal);
      o("given", a.given,
        "equal because the replay took them from the captured answers: RNR NAKs, sequence NAKs, first results of "
        "atomics");
      o("different", a.different);
      o("uncompared", a.uncompared, "by reason");
      o("differences", a.differences, "the first ones, in words");
      o("rules", a.rules, "captured receivers that deviate from the specification, and how they were compared");
      o("to_unreadable", a.to_unreadable, "packets that cannot be read and that the captured receiver answered");
      o("unreadable", a.unreadable, "the first of them, in words");
    });
    v("unreadable", r.unreadable, "RDMA packets of the trace that cannot be read, in both directions");
    v("tunnels", r.tunnels, "packets that were taken out of tunnels");
    v("congestion", r.congestion, "what the trace shows of it");
  });
  v.newer("tables", r.tables, "what happened by QP, message size, opcode and NIC; rxnic report --by prints them");
  v.newer("incidents", r.incidents, "what went wrong, with time, NIC, QP and packet");
  v.hash("state_hash", r.state_hash,
         "digest of everything that happened, inside of blocks, too: equal in all engine modes, and in a run and its "
         "replay; another one with RTL in the place of a block");
}

}  // namespace rxnic
