// SPDX-License-Identifier: Apache-2.0
#include "bridge/device/nic_memory.h"

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
  bool ok = within_client(from, to.size()) && programs_.read(client_of(from), address, to);
  if (!ok && !programs_.exists(client_of(from))) {  // (R4)
    std::fill(to.begin(), to.end(), std::uint8_t{0});
    ok = true;
  }
  if (observer_ != nullptr) observer_->on_read(engine_.now(), client_of(from), address, to, ok);
  return ok;
}

bool NicMemory::write(BusAddress to, std::span<const std::uint8_t> from) {
  if (is_table(to)) return tables_.write(to, from);
  const std::uint64_t address = raw(to) & kWithinClient;
  const bool ok = (within_client(to, from.size()) && programs_.write(client_of(to), address, from)) ||
                  !programs_.exists(client_of(to));  // (R4)
  if (observer_ != nullptr) observer_->on_write(engine_.now(), client_of(to), address, from, ok);
  return ok;
}

}  // namespace rxnic
