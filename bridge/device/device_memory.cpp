// SPDX-License-Identifier: Apache-2.0
// Protection domains and memory regions.
#include <algorithm>
#include <bit>
#include <cerrno>

#include "bridge/device/device.h"

namespace rxnic {

namespace {

constexpr unsigned kLeastPageShift = 12;
constexpr unsigned kGreatestPageShift = 34;                  // 16 GiB, the largest page of a Linux
constexpr std::uint64_t kMttLineBytes = 64;                  // lists of pages do not share lines
constexpr std::uint64_t kMaxPages = std::uint64_t{1} << 22;  // of a client: 16 GiB; bounds the simulator's memory

constexpr std::uint64_t page_bytes(unsigned shift) { return std::uint64_t{1} << shift; }

// (R7) A page holds the same bytes in both address spaces: theirs must be equal modulo its size.
unsigned page_shift_of(const channel::Memory& m) {
  const auto alike = static_cast<unsigned>(std::countr_zero(m.iova ^ m.address));
  return std::min({m.page_shift, alike, kGreatestPageShift});
}
std::uint64_t pages_of(const channel::Memory& m) {
  const std::uint64_t bytes = page_bytes(page_shift_of(m));
  return m.length == 0 ? 0 : (m.address % bytes + m.length + bytes - 1) / bytes;
}
std::uint64_t mtt_bytes(std::uint64_t pages) { return (pages * 8 + kMttLineBytes - 1) / kMttLineBytes * kMttLineBytes; }

}  // namespace

CommandResult Device::allocate_pd(ClientId client, Command& c) {
  const auto number = pd_numbers_.take(pds_.size(), [this](std::uint32_t n) { return pds_.contains(n); });
  if (pds_.size() == attributes_.max_pds || !number) return refuse(c, ENOMEM);
  pds_[*number] = {client};
  c.message.body.handle.number = *number;
  return CommandResult::kDone;
}

CommandResult Device::free_pd(ClientId client, Command& c) {
  const std::uint32_t number = c.message.body.handle.number;
  const PdObject* pd = owned(pds_, client, number);
  if (pd == nullptr) return refuse(c, EINVAL);
  if (pd->users != 0) return refuse(c, EBUSY);
  pds_.erase(number);
  return CommandResult::kDone;
}

std::int32_t Device::check_region(ClientId client, const channel::Memory& m) const {
  if (owned(pds_, client, m.pd) == nullptr) return EINVAL;
  if (m.page_shift < kLeastPageShift || m.page_shift > kGreatestPageShift) return EINVAL;
  constexpr std::uint32_t kKnown =
      kAccessRights | kAccessBindWindow | kAccessZeroBased | kAccessHugePages | kAccessOptional;
  if ((m.access & ~kKnown) != 0) return EINVAL;
  const bool written_from_afar = (m.access & (kRemoteWrite | kRemoteAtomic)) != 0;
  if (written_from_afar && (m.access & kLocalWrite) == 0) return EINVAL;  // ibv_reg_mr(3)
  if (m.address >= ProgramMemory::kShared || m.length > ProgramMemory::kShared - m.address) return EINVAL;
  if (m.iova + m.length < m.iova || (m.iova ^ m.address) % page_bytes(kLeastPageShift) != 0) return EINVAL;
  return 0;
}

Ticket Device::install_region(Key key, const RegionObject& region) {
  const channel::Memory& m = region.asked;
  MptEntry entry;
  entry.key = raw(key);
  entry.valid = 1;
  entry.access = static_cast<std::uint8_t>(m.access & kAccessRights);
  entry.page_shift = static_cast<std::uint8_t>(page_shift_of(m));
  entry.pd = m.pd;
  entry.va = m.iova;
  entry.length = m.length;
  entry.mtt_base = raw(icm::kMtt + region.mtt_offset);
  std::vector<BusAddress> pages(region.pages);
  const std::uint64_t bytes = page_bytes(entry.page_shift);
  const std::uint64_t first = m.address / bytes * bytes;
  for (std::uint64_t n = 0; n < pages.size(); ++n) pages[n] = program_address(region.owner, first + n * bytes);
  return commands_.create_region(entry, pages);
}

CommandResult Device::register_memory(ClientId client, Command& c) {
  if (c.begun) return await(c.ticket);
  channel::Memory& m = c.message.body.memory;
  if (const std::int32_t error = check_region(client, m); error != 0) return refuse(c, error);
  Objects& own = clients_.at(client);
  RegionObject region{client, m, 0, pages_of(m)};
  if (regions_.size() == attributes_.max_mrs || own.pages + region.pages > kMaxPages) return refuse(c, ENOMEM);
  const auto index =
      key_indices_.take(key_indices_used_.size(), [this](std::uint32_t n) { return key_indices_used_.contains(n); });
  if (!index) return refuse(c, ENOMEM);
  const auto offset = mtt_.take(mtt_bytes(region.pages));
  if (!offset) return refuse(c, ENOMEM);
  region.mtt_offset = *offset;
  std::uint8_t& tag = key_tags_[*index];
  if (++tag == 0) ++tag;
  const Key key{*index << 8 | tag};  // (R3)
  key_indices_used_.insert(*index);
  own.pages += region.pages;
  ++pds_.at(m.pd).users;
  c.ticket = install_region(key, region);
  c.begun = true;
  m.lkey = m.rkey = raw(key);
  region.asked = m;
  regions_[raw(key)] = region;
  return CommandResult::kGiven;
}

// The key does not change. Accesses with it fail until the new translation is in place.
CommandResult Device::reregister_memory(ClientId client, Command& c) {
  channel::Memory& m = c.message.body.memory;
  RegionObject* region = owned(regions_, client, m.lkey);
  constexpr std::uint32_t kFlags = kReregTranslation | kReregPd | kReregAccess;
  if (region == nullptr || m.rereg_flags == 0 || (m.rereg_flags & ~kFlags) != 0) return refuse(c, EINVAL);
  channel::Memory wanted = region->asked;
  if ((m.rereg_flags & kReregTranslation) != 0) {
    wanted.address = m.address;
    wanted.length = m.length;
    wanted.iova = m.iova;
    wanted.page_shift = m.page_shift;
  }
  if ((m.rereg_flags & kReregPd) != 0) wanted.pd = m.pd;
  if ((m.rereg_flags & kReregAccess) != 0) wanted.access = m.access;
  Objects& own = clients_.at(client);
  RegionObject next{client, wanted, region->mtt_offset, pages_of(wanted)};
  if (!c.begun) {
    if (const std::int32_t error = check_region(client, wanted); error != 0) return refuse(c, error);
    if (own.pages - region->pages + next.pages > kMaxPages) return refuse(c, ENOMEM);
    c.begun = true;
    c.ticket = commands_.free_region(Key{m.lkey});
  }
  if (const CommandResult r = await(c.ticket); r != CommandResult::kDone) return r;
  if (c.step == 1) {
    m = region->asked;
    return CommandResult::kDone;
  }
  c.step = 1;
  mtt_.give_back(region->mtt_offset, mtt_bytes(region->pages));
  next.mtt_offset = *mtt_.take(mtt_bytes(next.pages));  // a client's share is far below the whole
  own.pages += next.pages - region->pages;
  --pds_.at(region->asked.pd).users;
  ++pds_.at(wanted.pd).users;
  c.ticket = install_region(Key{m.lkey}, next);
  *region = next;
  return CommandResult::kGiven;
}

CommandResult Device::free_memory(ClientId client, Command& c) {
  const Key key{c.message.body.handle.number};
  if (owned(regions_, client, raw(key)) == nullptr) return refuse(c, EINVAL);
  return destroy_region(key);
}

CommandResult Device::destroy_region(Key key) {
  Teardown& t = regions_.at(raw(key)).teardown;
  if (t.step == 0) t = {1, commands_.free_region(key)};
  if (const CommandResult r = await(t.ticket); r != CommandResult::kDone) return r;
  forget_region(key);
  return CommandResult::kDone;
}

void Device::forget_region(Key key) {
  const RegionObject& region = regions_.at(raw(key));
  Objects& own = clients_.at(region.owner);
  own.pages -= region.pages;
  --pds_.at(region.asked.pd).users;
  mtt_.give_back(region.mtt_offset, mtt_bytes(region.pages));
  key_indices_used_.erase(raw(key) >> 8);
  regions_.erase(raw(key));
}

}  // namespace rxnic
