// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/nic_rtl.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "bridge/rtl/ended_by_rtl.h"
#include "bridge/rtl/rtl_blocks.h"
#include "model/types/splitmix.h"

namespace rxnic {

namespace {

constexpr const char* kRtl = "rtl";

Block& block_of(Nic& nic, const std::string& name) {
  for (Block* block : nic.blocks()) {
    if (block->basename() == name) return *block;
  }
  throw std::invalid_argument(fmt::format("{}: found no block of that name; expected one with RTL", name));
}

Station station_of(const std::string& block) {
  for (const EnumeratorInfo& e : Enumeration<Station>::kValues) {
    if (e.name == block) return Station{e.value};
  }
  return Station::kCount;  // not on the packets' path
}

}  // namespace

std::unique_ptr<NicRtl> NicRtl::make(const RtlRequest& request, const Params& params) {
  if (!request.wanted()) return nullptr;
  std::string blocks;
  for (const auto* choices : {&request.lockstep, &request.rtl}) {
    for (const RtlChoice& choice : *choices) blocks += (blocks.empty() ? "" : ", ") + choice.block;
  }
  tell_what_rtl_ends(blocks, !request.rtl.empty());
  return std::unique_ptr<NicRtl>(new NicRtl(request, params));
}

NicBlocks NicRtl::blocks() {
  NicBlocks of;
  for (const RtlChoice& choice : request_.rtl) {
    with_rtl_block(choice.block, [&](const auto& entry) { put(entry, of, choice); });
  }
  return of;
}

// The RTL has the block behind it that stood in its place.
template <class Entry>
void NicRtl::put(const Entry& entry, NicBlocks& of, const RtlChoice& choice) {
  auto& make = of.*entry.place;
  make = [this, entry, choice, make_model = make](const char* name, const BlockPlace& at) {
    RtlBlock::Options options{.always = request_.always};
    options.patience += params_.host.page_fault_ps / params_.nic.clock_period_ps;  // data may wait for a page
    // Random bits in registers look for faults, as assertions do.
    const RtlBuild in_place = request_.random_init ? RtlBuild::kChecked : RtlBuild::kLean;
    const Station station = station_of(choice.block);
    if (station != Station::kCount) {
      const PacketStamps stamps(at.memories.packets);
      options.stamp = [stamps, station](PacketHandle buffer, Cycle now, bool leaves) {
        leaves ? stamps.stamp(buffer, station, now) : stamps.stamp_taken(buffer, station, now);
      };
    }
    std::shared_ptr<Block> model = make_model((std::string(name) + "_model").c_str(), at);
    auto rtl = entry.make(name, at.engine, std::move(model), twin_of(choice, in_place), options);
    rtl_.emplace_back(rtl->name(), rtl.get());
    return rtl;
  };
}

void NicRtl::add(Nic& nic, Engine& engine) {
  for (const RtlChoice& choice : request_.lockstep) add_lockstep(nic, engine, choice);
}

// Each with registers of its own.
std::unique_ptr<Twin> NicRtl::twin_of(const RtlChoice& choice, RtlBuild build) {
  const std::uint64_t n = made_++;
  const std::uint64_t seed = request_.random_init ? splitmix64(splitmix64(*request_.random_init) ^ n) | 1 : 0;
  return make_twin(choice.block, params_, choice.file, seed, build);
}

void NicRtl::add_lockstep(Nic& nic, Engine& engine, const RtlChoice& choice) {
  Block& block = block_of(nic, choice.block);
  auto twin = twin_of(choice, RtlBuild::kChecked);
  if (choice.transactions) {
    transactions_.emplace_back(
        block.name(),
        std::make_unique<TransactionLockstep>(engine, block, std::move(twin), TransactionOptions{request_.always, 0}));
  } else {
    LockstepOptions options;
    options.always = request_.always;
    options.transactions = 0;
    options.waves = (std::filesystem::path(request_.folder) / block.name()).string() + ".vcd";
    lockstep_.emplace_back(block.name(), std::make_unique<Lockstep>(engine, block, std::move(twin), options));
  }
}

void NicRtl::refuse_packets_inside(const LedgerCounters& packets, Cycle last) const {
  if (rtl_.empty()) return;
  const std::uint64_t out = packets.accepted + packets.not_rdma + packets.dropped_total();
  if (packets.seen <= out) return;
  std::string inside;
  for (const auto& [name, rtl] : rtl_) inside += fmt::format("\n  {}: {}", name, rtl->passed());
  throw LockstepError(
      fmt::format("found {} of {} packets inside the NIC at the end of the run, in cycle {}; expected none: RTL in the "
                  "model's place keeps them, or says quiescent_o with work left{}",
                  packets.seen - out, packets.seen, last.count, inside));
}

RtlResult NicRtl::finish() {
  RtlResult r;
  std::map<std::string, std::uint64_t> compared;  // transactions of each block, by its name without the NIC's
  const auto add = [&](const std::string& name, const char* use, std::uint64_t clocked, std::uint64_t transactions) {
    r.uses.push_back({name, use, clocked, transactions});
    if (std::string_view(use) != kRtl) compared[name.substr(name.rfind('.') + 1)] += transactions;
  };
  for (const auto& [name, lockstep] : lockstep_) {
    const LockstepResult result = lockstep->finish();
    if (!result.failure.empty()) throw LockstepError(result.failure);
    add(name, "lockstep", result.clocked, result.transactions);
    r.lines.push_back("lockstep: " + result.text(name));
  }
  for (const auto& [name, transactions] : transactions_) {
    const TransactionResult result = transactions->finish();
    if (!result.failure.empty()) throw LockstepError(result.failure);
    add(name, "transactions", result.clocked, result.transactions());
    const std::vector<std::string> of_block = result.lines("lockstep: " + name);
    r.lines.insert(r.lines.end(), of_block.begin(), of_block.end());
  }
  for (const auto& [name, rtl] : rtl_) {
    rtl->finish();
    if (!rtl->failure().empty()) throw LockstepError(fmt::format("{}: {}", name, rtl->failure()));
    add(name, kRtl, rtl->clocked(), rtl->transactions());
    r.lines.push_back(
        fmt::format("rtl: {}: {} cycles clocked, {} transactions{}", name, rtl->clocked(), rtl->transactions(),
                    rtl->knows_activity() ? "" : "; its busy cycles are an upper bound: it has no activity_o"));
  }
  for (const auto& [block, transactions] : compared) {
    if (transactions != 0) continue;
    r.nothing += fmt::format("{}{}: nothing was compared, since it had nothing to do in this run{}",
                             r.nothing.empty() ? "" : "\n", block,
                             block == "tag_match_cam" ? " (it works for SRQs with tags)" : "");
  }
  return r;
}

void NicRtl::leave_unknown_out(RunResult& result) const {
  for (const RtlChoice& choice : request_.rtl) {
    const std::vector<std::string_view> known = counters_at_ports(choice.block, params_);
    const auto leave_out = [&](std::vector<BlockResult>& blocks) {
      for (BlockResult& b : blocks) {
        if (b.stem != choice.block) continue;
        b.busy_at_most = std::ranges::any_of(
            rtl_, [&](const auto& r) { return r.first.ends_with("." + choice.block) && !r.second->knows_activity(); });
        std::erase_if(b.counters, [&](const NamedCount& c) { return std::ranges::count(known, c.first) == 0; });
      }
    };
    leave_out(result.blocks);
    for (NicResult& nic : result.nics) leave_out(nic.blocks);
  }
}

void refuse_nothing_compared(const RtlResult& result) {
  if (!result.nothing.empty()) throw NothingCompared(result.nothing);
}

}  // namespace rxnic
