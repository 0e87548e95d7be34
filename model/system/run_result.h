// SPDX-License-Identifier: Apache-2.0
// The results of a run: the data of the report, without its formatting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/blocks/ledger.h"
#include "model/engine/block.h"
#include "model/params/params.h"
#include "model/system/table_rows.h"

namespace rxnic {

using NamedCount = std::pair<std::string, std::uint64_t>;

struct BlockResult {
  std::string stem;
  CycleAccount account{};
  std::vector<NamedCount> counters;
  bool busy_at_most = false;  // RTL in its place that does not say what it does (bridge/rtl/rtl_block.h, R2)
};

struct LatencyResult {  // ns
  std::uint64_t count = 0;
  std::uint64_t p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0;
};

struct DepthResult {  // of searches: entries that a linear search passes
  std::uint64_t searches = 0;
  std::uint64_t p50 = 0, p90 = 0, p99 = 0, max = 0;
  std::vector<NamedCount> depths;  // searches by depth; from 512 on the last depth of a range of 1/256
};

struct TagDepthResult {
  DepthResult posted;      // of the tag lists, by messages
  DepthResult unexpected;  // of the messages that came unexpected, by receives; of a host that is simulated
  bool any() const { return posted.searches + unexpected.searches != 0; }
};

struct StageTimes {  // ns
  double mean = 0;
  std::uint64_t p50 = 0, p99 = 0;
  bool operator==(const StageTimes&) const = default;
};

struct StageResult {  // of messages
  std::string name;   // of the station that it ends at
  StageTimes stay;    // all of it: the wait and the block
  std::uint64_t max = 0;
  StageTimes wait;   // in front of the block
  StageTimes block;  // in it
};

struct AnswerResult {
  std::uint64_t compared = 0;
  std::uint64_t equal = 0;
  std::uint64_t given = 0;  // equal because the replay took them from the capture
  std::uint64_t different = 0;
  std::vector<NamedCount> uncompared;    // by reason
  std::vector<std::string> differences;  // the first ones, in words
  std::vector<std::string> rules;        // of captured receivers that deviate, in words
  std::uint64_t to_unreadable = 0;       // the captured receiver answered packets that the model cannot read
  std::vector<std::string> unreadable;   // the first ones, in words
};

struct UnreadableResult {  // RDMA that cannot be read
  std::string reason;      // of its drop
  std::uint64_t packets = 0;
  std::vector<std::uint64_t> first;  // numbers of frames
  std::string words;
};

struct TunnelResult {
  std::string kind;
  std::string source, destination;  // empty: it has no addresses
  std::uint64_t packets = 0;
};

struct PauseResult {
  std::string of;  // priority_0 to priority_7, link
  std::uint64_t frames = 0;
  std::uint64_t paused_ps = 0;
};

struct CongestionResult {
  std::uint64_t marked = 0;                        // packets to the receiver that are marked Congestion Experienced
  std::uint64_t cnps_sent = 0, cnps_received = 0;  // by the receiver
  std::vector<PauseResult> pauses;
  bool any() const { return marked + cnps_sent + cnps_received != 0 || !pauses.empty(); }
};

struct PossibleReceiver {
  std::string address;
  std::uint64_t requests = 0, bytes = 0;  // packets to it, and their payload
};

// A QP of a captured receiver.
struct CapturedNaks {  // to requests of one PSN
  std::string kind;    // rnr, sequence, invalid_request, remote_access, remote_operational
  std::uint32_t psn = 0;
  std::vector<std::uint64_t> packets;  // of the capture
};
struct CapturedQp {
  std::uint32_t qp = 0;
  std::string peer;  // address
  std::uint32_t peer_qp = 0;
  std::string paired_by;  // cm, udp_port, psn, only_pair, option, none
  bool ambiguous = false;
  std::string transport;
  std::uint32_t mtu = 0;
  std::uint64_t requests = 0;      // packets
  std::uint64_t sent_again = 0;    // of them
  std::uint64_t psns_missing = 0;  // of the requests
  std::uint64_t lost = 0;          // in the network: NAKs of the captured receiver prove it
  std::vector<CapturedNaks> naks;
};

// What the sniffer did to a capture, not the network (traces/sniffer.h).
struct SnifferResult {
  std::uint64_t copies = 0;        // packets that are left out
  std::uint64_t reordered = 0;     // times that a packet overtook another
  std::uint64_t reused_qps = 0;    // new connections of a QPN
  std::uint64_t clock_steps = 0;   // packets older than the one before
  std::uint64_t one_in = 0;        // 1 packet in so many was captured; 0: all of them
  std::uint64_t sampled_psns = 0;  // that a sample leaves out
  std::uint64_t late_frames = 0;   // the line could not carry them when the capture says
  std::uint64_t most_late_ns = 0;
};

// What one NIC did; in a RunResult: the sum over all of them.
struct NicResult {
  LedgerCounters packets;
  std::uint64_t messages = 0;  // received in full
  std::uint64_t cqes = 0;      // of a capture: polled by the host; of programs: written
  std::uint64_t error_cqes = 0;
  std::uint64_t bytes = 0;          // payload carried into or out of host memory
  double steady_gbps = 0;           // payload, without the run's beginning and end; 0: too little to say
  LatencyResult latency_ns;         // receives: first packet's arrival to the CQE in host memory
  LatencyResult handed_over_ns;     // receives: to the hand-over of the CQE to DMA
  LatencyResult match_ns;           // tagged messages: to the CQE of the match, when that of the data comes later
  LatencyResult no_end_ns;          // receives that no packet of their own ended
  LatencyResult write_ns;           // WRITEs without immediate: to the last byte in host memory
  LatencyResult read_ns;            // READs and atomics: to the last response
  std::vector<StageResult> stages;  // of receives and WRITEs, in the order of the path
  TagDepthResult tag_depths;
  LatencyResult one_way_ns;           // programs: the sender's doorbell to the receiver's CQE in its memory
  std::vector<NamedCount> transport;  // PSN gaps, duplicates, NAKs ...
  std::vector<NamedCount> events;
  std::vector<BlockResult> blocks;  // of one NIC only
};

struct RegionResult {  // of the run, that the figures are of
  std::uint64_t from_ps = 0, to_ps = 0;
  std::uint64_t run_ps = 0;  // how long the run was
};

struct ProgramResult {
  std::string name;
  std::uint32_t nic = 0;
  std::uint64_t clients = 0;  // how often programs of this name opened this NIC
};

// A figure of a recorded run and of a what-if of it.
struct ComparedFigure {
  std::string name;  // where it stands in the report
  double recorded = 0, what_if = 0;
};

struct WhatIfResult {
  std::string loop;  // closed, open
  std::string config;
  std::vector<std::string> overrides;  // of the record; those of the what-if are the RunResult's
  std::uint64_t inputs = 0;            // given to the device
  std::uint64_t given_up = 0;          // of them although something that they wait for was missing
  std::uint64_t unposted_bytes = 0;    // that the program changed without a post
  std::uint64_t unknown_bytes = 0;     // that the device read and the record does not hold
  std::uint64_t different_bytes = 0;   // of the programs' own memory, at the end
  std::vector<ComparedFigure> figures;
};

// What the senders and the network of a workload did (bridge/rxnic/workload).
struct WorkloadResult {
  std::string about;
  std::uint64_t packets = 0;                 // that came to the NIC
  std::uint64_t messages = 0, answered = 0;  // begun, and of them ended
  std::uint64_t repeated = 0;                // packets that were sent before
  std::uint64_t timeouts = 0, failed_qps = 0;
  std::uint64_t lost = 0, corrupted = 0, duplicated = 0, reordered = 0, marked = 0, pauses = 0;  // packets to the NIC
  std::uint64_t answers_lost = 0;                                                                // and from it
};

// RTL of a block of one NIC, beside the block or in its place.
struct RtlUse {
  std::string block;  // nic0.grh_scatter
  std::string use;    // lockstep, transactions, rtl
  std::uint64_t clocked = 0;
  std::uint64_t transactions = 0;  // compared; of `rtl`: passed
};

struct RtlResult {
  std::vector<RtlUse> uses;
  std::vector<std::string> lines;  // what was compared or used, in words; not in the report
  std::string nothing;             // blocks of which nothing was compared, in words
};

struct RunResult : NicResult {
  // What was run: a capture ...
  std::string trace;
  std::string receiver;         // address
  std::string receiver_choice;  // why this one
  std::string pace;
  std::string psn;   // resynchronise, strict
  std::string host;  // the synthesised host in words
  std::vector<std::string> assumptions;
  std::vector<CapturedQp> qps;
  // ... or programs.
  std::vector<std::string> command;     // empty: they attached by themselves
  std::vector<ProgramResult> programs;  // in the order in which they came
  std::vector<NicResult> nics;          // empty: a capture
  bool of_programs() const { return !nics.empty(); }

  std::string config;  // name or file
  std::vector<std::string> overrides;
  Params params;
  std::uint64_t seed = 0;
  std::string mode;  // fast, step-all, per-cycle
  std::optional<WhatIfResult> what_if;
  std::optional<RegionResult> region;
  std::vector<std::string> warnings;
  RtlResult rtl;

  // What happened.
  std::uint64_t cycles = 0;
  std::uint64_t time_ps = 0;
  std::uint64_t state_hash = 0;
  std::optional<RunTables> tables;  // empty: of an earlier version
  std::optional<RunIncidents> incidents;
  // Captures.
  std::uint64_t captured = 0;               // frames in the trace
  std::uint64_t from_receiver = 0;          // of them RDMA packets that the receiver sent
  std::uint64_t to_others = 0;              // of them RDMA packets between other hosts
  std::vector<PossibleReceiver> receivers;  // the busiest first
  std::vector<UnreadableResult> unreadable;
  std::vector<TunnelResult> tunnels;
  CongestionResult congestion;
  SnifferResult sniffer;
  std::uint64_t answers_sent = 0;
  AnswerResult answers;
  std::optional<WorkloadResult> workload;  // of a workload, not of a capture
  // Programs.
  std::vector<NamedCount> fabric;
};

}  // namespace rxnic
