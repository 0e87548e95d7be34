// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/nic_rtl.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

namespace rxnic {

namespace {

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

std::unique_ptr<NicRtl> NicRtl::make(const RtlRequest& request, const Params& params, Engine& engine) {
  return request.wanted() ? std::unique_ptr<NicRtl>(new NicRtl(request, params, engine)) : nullptr;
}

void NicRtl::add(Nic& nic) {
  for (const RtlChoice& choice : request_.lockstep) add_lockstep(nic, choice);
  for (const RtlChoice& choice : request_.rtl) add_rtl(nic, choice);
}

void NicRtl::add_lockstep(Nic& nic, const RtlChoice& choice) {
  Block& block = block_of(nic, choice.block);
  auto twin = make_twin(choice.block, params_, choice.file);
  if (choice.transactions) {
    transactions_.emplace_back(
        block.name(),
        std::make_unique<TransactionLockstep>(engine_, block, std::move(twin), TransactionOptions{request_.always, 0}));
  } else {
    LockstepOptions options;
    options.always = request_.always;
    options.transactions = 0;
    options.waves = (std::filesystem::path(request_.folder) / block.name()).string() + ".vcd";
    lockstep_.emplace_back(block.name(), std::make_unique<Lockstep>(engine_, block, std::move(twin), options));
  }
}

void NicRtl::add_rtl(Nic& nic, const RtlChoice& choice) {
  Block& block = block_of(nic, choice.block);
  NicShared& shared = nic.shared;
  const Station station = station_of(choice.block);
  const auto stamp = [&shared, station](PacketHandle buffer, Cycle now, bool leaves) {
    if (station == Station::kCount) return;
    leaves ? shared.stamp(buffer, station, now) : shared.stamp_taken(buffer, station, now);
  };
  const std::string module = fmt::format("{}_{}_rtl", nic.basename(), choice.block);
  rtl_.emplace_back(block.name(),
                    std::make_unique<RtlBlock>(module.c_str(), engine_, block,
                                               make_twin(choice.block, params_, choice.file), stamp, request_.always));
}

std::vector<std::string> NicRtl::finish() {
  std::vector<std::string> lines;
  std::map<std::string, std::uint64_t> compared;  // transactions of each block, by its name without the NIC's
  const auto count = [&](const std::string& name, std::uint64_t transactions) {
    compared[name.substr(name.rfind('.') + 1)] += transactions;
  };
  for (const auto& [name, lockstep] : lockstep_) {
    const LockstepResult result = lockstep->finish();
    if (!result.failure.empty()) throw LockstepError(result.failure);
    count(name, result.transactions);
    lines.push_back("lockstep: " + result.text(name));
  }
  for (const auto& [name, transactions] : transactions_) {
    const TransactionResult result = transactions->finish();
    if (!result.failure.empty()) throw LockstepError(result.failure);
    count(name, result.transactions());
    const std::vector<std::string> of_block = result.lines("lockstep: " + name);
    lines.insert(lines.end(), of_block.begin(), of_block.end());
  }
  for (const auto& [block, transactions] : compared) {
    if (transactions == 0) throw LockstepError(fmt::format("{}: 0 transactions compared; expected 1 or more", block));
  }
  for (const auto& [name, rtl] : rtl_) {
    if (!rtl->failure().empty()) throw LockstepError(fmt::format("{}: {}", name, rtl->failure()));
    lines.push_back(
        fmt::format("rtl: {}: {} cycles clocked, {} transactions", name, rtl->clocked(), rtl->transactions()));
  }
  return lines;
}

}  // namespace rxnic
