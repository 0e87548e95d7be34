// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/report/verdict_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "model/params/descriptor.h"

namespace rxnic {

namespace {

// Which parameters move what binds, the one to try first first.
struct Mover {
  std::string_view block;  // "": any
  Activity activity;
  std::vector<std::string_view> parameters;
};
const std::vector<Mover>& all_movers() {
  static const std::vector<Mover> kAll = {
      {"rx_parser", Activity::kBusy, {"rx_parser.beat_bytes", "nic.clock_period_ps"}},
      {"qp_context_cache", Activity::kBusy, {"qp_context_cache.hit_cycles", "nic.clock_period_ps"}},
      {"transport_checker", Activity::kBusy, {"transport_checker.cycles_per_packet", "nic.clock_period_ps"}},
      {"tag_match_cam", Activity::kBusy, {"tag_match_cam.search_cycles", "tag_match_cam.append_cycles"}},
      {"srq_wqe_fetcher", Activity::kBusy, {"srq_wqe_fetcher.hit_cycles", "nic.clock_period_ps"}},
      {"grh_scatter", Activity::kBusy, {"grh_scatter.bytes_per_cycle", "grh_scatter.sges_per_cycle"}},
      {"address_translator", Activity::kBusy, {"address_translator.hit_cycles", "nic.clock_period_ps"}},
      {"dma_engine", Activity::kBusy, {"dma_engine.tlp_rate_mbps", "cqe_generator.compression"}},
      {"cqe_generator", Activity::kBusy, {"cqe_generator.cycles_per_cqe", "cqe_generator.compression"}},
      {"ack_generator", Activity::kBusy, {"ack_generator.response_cycles", "ack_generator.coalesce_packets"}},
      {"",
       Activity::kWaitContext,
       {"qp_context_cache.sets", "qp_context_cache.ways", "qp_context_cache.misses_in_flight",
        "dma_engine.read_latency_ps"}},
      {"", Activity::kWaitContextWay, {"qp_context_cache.ways", "qp_context_cache.sets"}},
      {"", Activity::kWaitCqContext, {"cqe_generator.cq_contexts", "cqe_generator.cq_misses_in_flight"}},
      {"", Activity::kWaitQueueContext, {"srq_wqe_fetcher.queue_contexts", "srq_wqe_fetcher.queue_misses_in_flight"}},
      {"",
       Activity::kWaitWqe,
       {"dma_engine.read_latency_ps", "srq_wqe_fetcher.prefetch", "srq_wqe_fetcher.prefetch_depth",
        "srq_wqe_fetcher.srq_layout", "srq_wqe_fetcher.reads_in_flight"}},
      {"", Activity::kWaitWqeStore, {"srq_wqe_fetcher.wqe_store_entries", "srq_wqe_fetcher.wqe_store_share"}},
      {"", Activity::kWaitTag, {"tag_match_cam.entries", "tag_match_cam.refill_reads", "tag_match_cam.search_cycles"}},
      {"",
       Activity::kWaitTranslation,
       {"address_translator.mtt_sets", "address_translator.mpt_sets", "address_translator.walks_in_flight",
        "dma_engine.read_latency_ps"}},
      {"", Activity::kWaitPage, {}},
      {"", Activity::kWaitDmaTag, {"dma_engine.tags", "dma_engine.read_latency_ps"}},
      {"",
       Activity::kWaitDmaCredit,
       {"dma_engine.posted_credit_bytes", "dma_engine.posted_header_credits", "dma_engine.read_buffer_bytes",
        "dma_engine.completion_credits"}},
      {"", Activity::kWaitDmaData, {"dma_engine.read_latency_ps", "ack_generator.read_responses_in_flight"}},
      {"",
       Activity::kWaitResponse,
       {"ack_generator.response_cycles", "ack_generator.packet_buffers", "ack_generator.answers_waiting"}},
      {"", Activity::kWaitHazard, {"transport_checker.hazard", "tag_match_cam.hazard"}},
      {"", Activity::kWaitRate, {}},
      {"", Activity::kWaitAtomic, {"ack_generator.atomic_buckets", "ack_generator.atomics_in_flight"}},
  };
  return kAll;
}

const ParamDescriptor& descriptor_of(std::string_view name) {
  for (const ParamDescriptor& d : param_descriptors()) {
    if (name.size() == d.section.size() + 1 + d.key.size() && name.starts_with(d.section) && name.ends_with(d.key)) {
      return d;
    }
  }
  throw std::logic_error("no parameter " + std::string(name));
}

std::string value_text(const ParamDescriptor& d, std::uint64_t value) {
  if (d.type == ParamType::kBool) return value != 0 ? "true" : "false";
  if (!d.values.empty()) return std::string(d.values[std::min<std::size_t>(value, d.values.size() - 1)]);
  return std::to_string(value);
}

}  // namespace

std::span<const std::string_view> movers(std::string_view block, Activity activity) {
  for (const Mover& m : all_movers()) {
    if ((m.block.empty() || m.block == block) && m.activity == activity) return m.parameters;
  }
  return {};
}

bool is_on(std::string_view name, const Params& params) {
  const ParamDescriptor& d = descriptor_of(name);
  return d.type == ParamType::kBool && d.get(params) != 0;
}

VerdictParameter verdict_parameter(std::string_view name, const Params& params) {
  const ParamDescriptor& d = descriptor_of(name);
  const std::string value = value_text(d, d.get(params));
  return {fmt::format("{}.{}", d.section, d.key), d.unit.empty() ? value : fmt::format("{} {}", value, d.unit),
          std::string(kEvidenceNames[static_cast<std::size_t>(d.evidence)])};
}

std::string other_value(std::string_view name, const Params& params) {
  const ParamDescriptor& d = descriptor_of(name);
  const std::uint64_t now = d.get(params);
  if (d.type == ParamType::kBool) return value_text(d, now == 0 ? 1 : 0);
  if (!d.values.empty()) return d.values.size() == 2 ? value_text(d, 1 - now) : std::string();
  const bool less = d.kind == ParamKind::kLatency || d.key.find("cycles") != std::string_view::npos;
  const std::uint64_t other = less ? now / 2 : now * 2;
  return other >= d.least && other <= d.greatest && other != now ? std::to_string(other) : std::string();
}

}  // namespace rxnic
