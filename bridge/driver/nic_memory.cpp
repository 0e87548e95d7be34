// SPDX-License-Identifier: Apache-2.0
#include "bridge/driver/nic_memory.h"

#include <algorithm>

namespace rxnic {

namespace {

constexpr unsigned kClientShift = 48;
constexpr std::uint64_t kWithinClient = (std::uint64_t{1} << kClientShift) - 1;

constexpr bool is_table(BusAddress a) { return raw(a) >> 62 != 0; }
constexpr ClientId client_of(BusAddress a) { return ClientId{static_cast<std::uint16_t>(raw(a) >> kClientShift)}; }
constexpr bool within_client(BusAddress a, std::size_t bytes) {
  return (raw(a) & kWithinClient) + bytes <= kWithinClient + 1;
}

}  // namespace

bool NicMemory::read(BusAddress from, std::span<std::uint8_t> to) {
  if (is_table(from)) return tables_.read(from, to);
  const std::uint64_t address = raw(from) & kWithinClient;
  const bool ok = within_client(from, to.size()) && programs_.read(client_of(from), address, to);
  finish_read(client_of(from), address, to, ok);
  return ok;
}

void NicMemory::finish_read(ClientId client, std::uint64_t address, std::span<const std::uint8_t> data, bool ok) {
  bool lost = false;
  if (!ok) {  // (R4)
    lost = !programs_.exists(client);
    set_gone(client, lost);
  }
  if (observer_ != nullptr) observer_->on_read(engine_.now(), client, address, data, ok, lost);
}

void NicMemory::set_gone(ClientId client, bool gone) {
  const std::size_t at = static_cast<std::uint16_t>(client);
  if (at >= gone_.size()) gone_.resize(at + 1);
  gone_[at] = gone;
}

bool NicMemory::gone(BusAddress from) const {
  const std::size_t client = static_cast<std::uint16_t>(client_of(from));
  return !is_table(from) && client < gone_.size() && gone_[client];
}

// R5.
void NicMemory::read_later(BusAddress from, std::span<std::uint8_t> to, bool& ok) {
  const std::uint64_t address = raw(from) & kWithinClient;
  if (is_table(from) || !within_client(from, to.size()) || address >= ProgramMemory::kShared) {
    ok = read(from, to);
    return;
  }
  late_.push_back({client_of(from), address, to, &ok});
  if (late_.size() == kMostLate) settle();
}

void NicMemory::settle() {
  if (late_.empty()) return;
  programs_.read_all(late_);
  for (const ProgramMemory::Read& r : late_) finish_read(r.client, r.address, r.to, *r.ok);
  late_.clear();
}

bool NicMemory::is_read_late(ClientId client, std::uint64_t address, std::size_t bytes) const {
  return std::any_of(late_.begin(), late_.end(), [&](const ProgramMemory::Read& r) {
    return r.client == client && address < r.address + r.to.size() && r.address < address + bytes;
  });
}

bool NicMemory::write(BusAddress to, std::span<const std::uint8_t> from) {
  if (is_table(to)) return tables_.write(to, from);
  const std::uint64_t address = raw(to) & kWithinClient;
  if (address < ProgramMemory::kShared && is_read_late(client_of(to), address, from.size())) settle();  // (R5)
  const bool ok = (within_client(to, from.size()) && programs_.write(client_of(to), address, from)) ||
                  !programs_.exists(client_of(to));  // (R4)
  if (!ok) set_gone(client_of(to), false);
  if (observer_ != nullptr) observer_->on_write(engine_.now(), client_of(to), address, from, ok);
  return ok;
}

}  // namespace rxnic
