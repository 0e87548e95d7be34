// SPDX-License-Identifier: Apache-2.0
// The blocks that have RTL. for_each_rtl_block() has a line for each: its name, its place in a NIC, and the class that
// stands there for the RTL.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "bridge/rtl/rtl_block.h"
#include "bridge/rtl/twin_ports.h"
#include "model/nic/nic_blocks.h"
#include "model/ports/block_facts.h"
#include "model/ports/cqe_generator_ports.h"
#include "model/ports/grh_scatter_ports.h"
#include "model/ports/srq_wqe_fetcher_ports.h"
#include "model/ports/tag_match_cam_ports.h"

namespace rxnic {

// The ports of a block with the work of RTL. In a cycle without a step the RTL rests.
template <class OfBlock>
class InPlace : public OfBlock, public RtlBlock {
 public:
  using Ports = OfBlock;
  InPlace(const sc_core::sc_module_name& name, Engine& engine, std::shared_ptr<Block> model, std::unique_ptr<Twin> twin,
          const Options& options)
      : Ports(name), RtlBlock(engine, *this, std::move(model), std::move(twin), options) {
    behind_rtl(this->model()).stand_behind(*this);
  }
  Cycle step(Cycle now) override {
    const Step done = step_rtl(now);
    return this->rest(now, done.activity, now + 1, Activity::kStarved, done.next);
  }

 protected:
  Ports& behind() { return static_cast<Ports&>(model()); }
  const Ports& behind() const { return static_cast<const Ports&>(model()); }
  void start_of_simulation() override { start(); }
};

class GrhScatterRtl final : public InPlace<GrhScatterPorts> {
 public:
  using InPlace::InPlace;
  const GrhScatterCounters& counters() const override { return behind().counters(); }
};

class SrqWqeFetcherRtl final : public InPlace<SrqWqeFetcherPorts> {
 public:
  using InPlace::InPlace;
  const SrqWqeFetcherCounters& counters() const override { return behind().counters(); }
  const WorkQueueTableCounters& prefetch_counters() const override { return behind().prefetch_counters(); }
  WqId create(const WqContext& queue, HostMemory& memory) override { return behind().create(queue, memory); }
};

class TagMatchCamRtl final : public InPlace<TagMatchCamPorts> {
 public:
  using InPlace::InPlace;
  const TagMatchCamCounters& counters() const override { return behind().counters(); }
  bool create(WqId srq, const WqContext& attributes) override { return behind().create(srq, attributes); }
  bool has_room() const override { return behind().has_room(); }
};

class CqeGeneratorRtl final : public InPlace<CqeGeneratorPorts> {
 public:
  using InPlace::InPlace;
  const CqeGeneratorCounters& counters() const override { return behind().counters(); }
  void create(const CqContext& attributes, HostMemory& memory) override { behind().create(attributes, memory); }
  void attach_srq(WqId queue, Srqn srqn) override { behind().attach_srq(queue, srqn); }
  void set_observer(CompletionObserver* observer) override { behind().set_observer(observer); }
};

template <class Rtl>
struct RtlEntry {
  std::string_view name;
  MakeBlock<typename Rtl::Ports> NicBlocks::*place;

  static BlockFacts facts(const Params& params) { return Rtl::facts(params); }
  // RTL in the place of `model`, which is the block in C++. Throws std::invalid_argument: that block does nothing for
  // RTL.
  static std::unique_ptr<Rtl> make(const char* name, Engine& engine, std::shared_ptr<Block> model,
                                   std::unique_ptr<Twin> twin, const RtlBlock::Options& options) {
    return std::make_unique<Rtl>(name, engine, std::move(model), std::move(twin), options);
  }
};

// f(entry) for each of them.
template <class F>
void for_each_rtl_block(F&& f) {
  f(RtlEntry<CqeGeneratorRtl>{"cqe_generator", &NicBlocks::cqe_generator});
  f(RtlEntry<GrhScatterRtl>{"grh_scatter", &NicBlocks::grh_scatter});
  f(RtlEntry<SrqWqeFetcherRtl>{"srq_wqe_fetcher", &NicBlocks::srq_wqe_fetcher});
  f(RtlEntry<TagMatchCamRtl>{"tag_match_cam", &NicBlocks::tag_match_cam});
}

// f(entry) for the one of that name. Throws std::invalid_argument: there is none; it says which there are.
template <class F>
void with_rtl_block(std::string_view name, F&& f) {
  std::string names;
  bool found = false;
  for_each_rtl_block([&](const auto& entry) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
    if (entry.name != name) return;
    found = true;
    f(entry);
  });
  if (!found) throw std::invalid_argument(fmt::format("{}: has no RTL; expected one of: {}", name, names));
}

}  // namespace rxnic
