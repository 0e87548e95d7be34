// SPDX-License-Identifier: Apache-2.0
// Protection domains, memory regions and windows.
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <span>

#include "bridge/driver/driver.h"
#include "model/core/memory/translation.h"

namespace rxnic {

namespace {

constexpr unsigned kLeastPageShift = 12;
constexpr unsigned kGreatestPageShift = 34;  // 16 GiB, the largest page of a Linux

constexpr std::uint64_t page_bytes(unsigned shift) { return std::uint64_t{1} << shift; }

bool is_zero_based(const channel::Memory& m) { return (m.access & kAccessZeroBased) != 0; }
// Whether the region is of the whole address space. (R12)
bool is_implicit(const channel::Memory& m) {
  return is_on_demand(m) && m.address == 0 && m.length == ~std::uint64_t{0};
}

// (R7) A page holds the same bytes in both address spaces: theirs must be equal modulo its size, or it is zero-based.
unsigned page_shift_of(const channel::Memory& m) {
  if (is_zero_based(m)) return m.page_shift;
  const auto alike = static_cast<unsigned>(std::countr_zero(m.iova ^ m.address));
  return std::min({m.page_shift, alike, kGreatestPageShift});
}
std::uint64_t pages_of(const channel::Memory& m) {
  const std::uint64_t bytes = page_bytes(page_shift_of(m));
  return m.length == 0 || is_implicit(m) || m.null_region != 0 ? 0 : (m.address % bytes + m.length + bytes - 1) / bytes;
}
std::uint64_t mtt_bytes(std::uint64_t pages) { return (pages * 8 + kMttLineBytes - 1) / kMttLineBytes * kMttLineBytes; }

}  // namespace

CommandResult Driver::allocate_pd(ClientId client, Command& c) {
  const auto number = pd_numbers_.take(pds_.size(), [this](std::uint32_t n) { return pds_.contains(n); });
  if (pds_.size() == attributes_.max_pds || !number) return refuse(c, ENOMEM);
  pds_[*number] = {client};
  c.message.body.handle.number = *number;
  return CommandResult::kDone;
}

CommandResult Driver::free_pd(ClientId client, Command& c) {
  const std::uint32_t number = c.message.body.handle.number;
  const PdObject* pd = shared(pds_, client, number);
  if (pd == nullptr) return refuse(c, EINVAL);
  if (pd->users != 0) return refuse(c, EBUSY);
  pds_.erase(number);
  return CommandResult::kDone;
}

std::int32_t Driver::check_region(ClientId client, const channel::Memory& m) const {
  if (shared(pds_, client, m.pd) == nullptr) return EINVAL;
  if (m.page_shift < kLeastPageShift || m.page_shift > kGreatestPageShift) return EINVAL;
  if ((m.access & ~kAccessKnown) != 0) return EINVAL;
  if (m.null_region != 0) {
    const bool whole = m.address == 0 && m.iova == 0 && m.length == ~std::uint64_t{0};
    return m.null_region == 1 && whole && m.access == kLocalWrite && m.device_memory == 0 ? 0 : EINVAL;
  }
  const bool written_from_afar = (m.access & (kRemoteWrite | kRemoteAtomic)) != 0;
  if (written_from_afar && (m.access & kLocalWrite) == 0) return EINVAL;  // ibv_reg_mr(3)
  if (m.device_memory != 0) return is_on_demand(m) ? EINVAL : check_device_region(client, m);
  if (is_implicit(m)) return m.iova == 0 && (m.access & (kAccessZeroBased | kAccessBindWindow)) == 0 ? 0 : EINVAL;
  if (m.address >= ProgramMemory::kShared || m.length > ProgramMemory::kShared - m.address) return EINVAL;
  if (is_zero_based(m)) return m.iova == 0 ? 0 : EINVAL;
  if (m.iova + m.length < m.iova || (m.iova ^ m.address) % page_bytes(kLeastPageShift) != 0) return EINVAL;
  return 0;
}

MptEntry Driver::entry_of(Key key, const RegionObject& region) {
  const channel::Memory& m = region.asked;
  MptEntry entry;
  entry.key = raw(key);
  entry.valid = 1;
  entry.access = static_cast<std::uint8_t>(m.access & (kAccessRights | kAccessBindWindow | kAccessZeroBased));
  entry.page_shift = static_cast<std::uint8_t>(page_shift_of(m));
  entry.pd = m.pd;
  entry.va = m.iova;
  entry.length = m.length;
  entry.mtt_base = raw(icm::kMtt + region.mtt_offset);
  entry.paged_offset = is_zero_based(m) ? m.address : 0;
  entry.on_demand = is_on_demand(m);
  if (m.null_region != 0) entry.kind = MemoryKind::kNull;
  if (is_implicit(m)) {
    entry.page_shift = kTreePageShift;
    entry.length = ProgramMemory::kShared;
    entry.levels = kTreeLevels;
    entry.mtt_base = raw(icm::kMtt + region.tables.front());
  }
  return entry;
}

// kPagesAtOnce of its pages; after the last ones the command. (R17)
CommandResult Driver::install_region(Key key, RegionObject& region, Command& c, Cycle now) {
  const channel::Memory& m = region.asked;
  const MptEntry entry = entry_of(key, region);
  const std::uint64_t bytes = page_bytes(entry.page_shift);
  const std::uint64_t first = m.address / bytes * bytes;
  std::array<BusAddress, kPagesAtOnce> pages{};
  const std::uint64_t count = std::min(kPagesAtOnce, region.pages - region.written);
  for (std::uint64_t n = 0; n < count; ++n) {
    const std::uint64_t at = first + (region.written + n) * bytes;
    pages[n] = is_on_demand(m)        ? BusAddress{kAbsentPage}
               : m.device_memory != 0 ? icm::kDeviceMemory + at
                                      : program_address(region.owner, at);
  }
  commands_.write_pages(entry, region.written, std::span(pages).first(count));
  region.written += count;
  if (region.written < region.pages) {
    c.due = now + count;
    return CommandResult::kBusy;
  }
  c.ticket = commands_.create_region(entry, {});
  return CommandResult::kGiven;
}

// Regions and windows share max_mrs keys.
std::optional<Key> Driver::take_key() {
  if (regions_.size() + windows_.size() >= attributes_.max_mrs) return std::nullopt;
  const auto index =
      key_indices_.take(key_indices_used_.size(), [this](std::uint32_t n) { return key_indices_used_.contains(n); });
  if (!index) return std::nullopt;
  key_indices_used_.insert(*index);
  std::uint8_t& tag = key_tags_[*index];
  if (++tag == 0) ++tag;
  return Key{*index << 8 | tag};  // (R3)
}

CommandResult Driver::register_memory(ClientId client, Command& c, Cycle now) {
  if (!c.begun) {
    if (const CommandResult r = begin_region(client, c); r == CommandResult::kDone) return r;
  }
  if (c.ticket != 0) return await(c.ticket);
  const Key key{c.message.body.memory.lkey};
  const auto region = regions_.find(raw(key));
  if (region == regions_.end()) return refuse(c, EINVAL);  // who has its PD has freed it
  return install_region(key, region->second, c, now);
}

// Done: it is refused.
CommandResult Driver::begin_region(ClientId client, Command& c) {
  channel::Memory& m = c.message.body.memory;
  if (const std::int32_t error = check_region(client, m); error != 0) return refuse(c, error);
  Objects& own = clients_.at(client);
  if (m.device_memory != 0) m.address += device_memories_.at(m.device_memory).offset;
  RegionObject region{client, m, 0, pages_of(m)};
  if (own.pages + region.pages > kMaxPagesOfClient) return refuse(c, ENOMEM);
  const auto offset = mtt_.take(mtt_bytes(region.pages));
  if (!offset) return refuse(c, ENOMEM);
  region.mtt_offset = *offset;
  const std::optional<Key> free = take_key();
  if (!free) {
    mtt_.give_back(*offset, mtt_bytes(region.pages));
    return refuse(c, ENOMEM);
  }
  const Key key = *free;
  if (is_implicit(m) && !add_table(region)) {
    key_indices_used_.erase(raw(key) >> 8);
    return refuse(c, ENOMEM);
  }
  own.pages += region.pages;
  ++pds_.at(m.pd).users;
  if (m.device_memory != 0) ++device_memories_.at(m.device_memory).users;
  c.begun = true;
  m.lkey = raw(key);
  m.rkey = m.null_region != 0 ? 0 : m.lkey;
  region.asked = m;
  regions_[raw(key)] = region;
  return CommandResult::kBusy;
}

// The key does not change. Accesses with it fail until the new translation is in place.
CommandResult Driver::reregister_memory(ClientId client, Command& c, Cycle now) {
  channel::Memory& m = c.message.body.memory;
  RegionObject* region = owned(regions_, client, m.lkey);
  constexpr std::uint32_t kFlags = kReregTranslation | kReregPd | kReregAccess;
  if (region == nullptr || m.rereg_flags == 0 || (m.rereg_flags & ~kFlags) != 0) return refuse(c, EINVAL);
  if (region->asked.null_region != 0) return refuse(c, EINVAL);  // (R15)
  if (region->asked.device_memory != 0 || is_implicit(region->asked)) return refuse(c, EOPNOTSUPP);
  channel::Memory wanted = region->asked;
  if ((m.rereg_flags & kReregTranslation) != 0) {
    wanted.address = m.address;
    wanted.length = m.length;
    wanted.iova = m.iova;
    wanted.page_shift = m.page_shift;
  }
  if ((m.rereg_flags & kReregPd) != 0) wanted.pd = m.pd;
  if ((m.rereg_flags & kReregAccess) != 0) wanted.access = m.access;
  if (is_implicit(wanted)) return refuse(c, EOPNOTSUPP);
  Objects& own = clients_.at(client);
  RegionObject next{client, wanted, region->mtt_offset, pages_of(wanted)};
  if (!c.begun) {
    if (const std::int32_t error = check_region(client, wanted); error != 0) return refuse(c, error);
    if (own.pages - region->pages + next.pages > kMaxPagesOfClient) return refuse(c, ENOMEM);
    c.begun = true;
  }
  if (c.step == 1) {
    if (c.ticket == 0) return install_region(Key{m.lkey}, *region, c, now);
    if (const CommandResult r = await(c.ticket); r != CommandResult::kDone) return r;
    m = region->asked;
    return CommandResult::kDone;
  }
  bool in_use = false;
  if (const CommandResult r = take_from_nic(Key{m.lkey}, *region, in_use); r != CommandResult::kDone) return r;
  if (in_use) return refuse(c, EBUSY);
  c.step = 1;
  mtt_.give_back(region->mtt_offset, mtt_bytes(region->pages));
  next.mtt_offset = *mtt_.take(mtt_bytes(next.pages));  // a client's share is far below the whole
  own.pages += next.pages - region->pages;
  --pds_.at(region->asked.pd).users;
  ++pds_.at(wanted.pd).users;
  *region = next;
  return install_region(Key{m.lkey}, *region, c, now);
}

CommandResult Driver::free_memory(ClientId client, Command& c) {
  const Key key{c.message.body.handle.number};
  const auto region = regions_.find(raw(key));
  const bool is_there =
      region != regions_.end() && !region->second.ends &&
      (region->second.owner == client || shared(pds_, client, region->second.asked.pd) != nullptr);  // (R14)
  if (!is_there) return refuse(c, EINVAL);
  const CommandResult r = destroy_region(key);
  return r == CommandResult::kDone && regions_.contains(raw(key)) ? refuse(c, EBUSY) : r;
}

// `in_use`: a window is bound to the region, which stays. The NIC counts windows that a peer has invalidated until it
// is told to look at them, so it is told and asked once more.
CommandResult Driver::take_from_nic(Key key, RegionObject& region, bool& in_use) {
  Teardown& t = region.teardown;
  if (t.step == 0) t = {1, commands_.free_region(key)};
  CommandReply reply;
  if (const CommandResult r = await(t.ticket, &reply); r != CommandResult::kDone) return r;
  in_use = reply.status == CommandStatus::kInUse;
  if (t.step == 1 && in_use) {
    t.step = 2;
    region.window = 0;
  }
  if (t.step == 2) {
    auto next = windows_.upper_bound(region.window);  // whoever's they are (R14)
    while (next != windows_.end() && next->second.pd != region.asked.pd) ++next;
    if (next == windows_.end()) {
      t = {3, commands_.free_region(key)};
    } else {
      region.window = next->first;
      t.ticket = commands_.release_window(Key{next->first});
    }
    return CommandResult::kGiven;
  }
  t = {};
  return CommandResult::kDone;
}

// Unless a window is bound to it.
CommandResult Driver::destroy_region(Key key) {
  bool in_use = false;
  const CommandResult r = take_from_nic(key, regions_.at(raw(key)), in_use);
  if (r == CommandResult::kDone && !in_use) forget_region(key);
  return r;
}

// With its owner's end the NIC loses it whatever is bound to it. Its number and pages are not used again before the
// windows that were bound to it are released. (R14)
CommandResult Driver::end_region(Key key) {
  RegionObject& region = regions_.at(raw(key));
  Teardown& t = region.teardown;
  if (!region.ends) {
    if (const CommandResult r = await(t.ticket); r != CommandResult::kDone)
      return r;  // who has its PD may be freeing it
    region.ends = true;
    t.ticket = commands_.free_region(key, true);
  }
  CommandReply reply;
  if (const CommandResult r = await(t.ticket, &reply); r != CommandResult::kDone) return r;
  if (reply.number != 0) clients_.at(region.owner).windows_remain = true;
  return CommandResult::kDone;
}

// One after the other; the one before may have been freed by its owner meanwhile.
CommandResult Driver::release(Objects& closing, Key window) {
  if (const CommandResult r = await(closing.teardown.ticket); r != CommandResult::kDone) return r;
  if (closing.released == raw(window)) return CommandResult::kDone;
  closing.released = raw(window);
  closing.teardown.ticket = commands_.release_window(window);
  return CommandResult::kGiven;
}

CommandResult Driver::allocate_window(ClientId client, Command& c) {
  if (c.begun) return await(c.ticket);
  channel::Window& w = c.message.body.window;
  if (shared(pds_, client, w.pd) == nullptr || (w.type != kWindowType1 && w.type != kWindowType2)) {
    return refuse(c, EINVAL);
  }
  const std::optional<Key> key = take_key();
  if (!key) return refuse(c, ENOMEM);
  MptEntry entry;
  entry.key = w.rkey = raw(*key);
  entry.valid = 1;
  entry.kind = w.type == kWindowType1 ? MemoryKind::kWindow1 : MemoryKind::kWindow2;
  entry.pd = w.pd;
  entry.invalidated = 1;
  ++pds_.at(w.pd).users;
  windows_[raw(*key)] = {client, w.pd};
  c.ticket = commands_.create_region(entry, {});
  c.begun = true;
  return CommandResult::kGiven;
}

CommandResult Driver::free_window(ClientId client, Command& c) {
  const Key key{c.message.body.handle.number};
  if (owned(windows_, client, raw(key)) == nullptr) return refuse(c, EINVAL);
  return destroy_window(key);
}

CommandResult Driver::destroy_window(Key key) {
  WindowObject& window = windows_.at(raw(key));
  if (window.teardown.step == 0) window.teardown = {1, commands_.free_region(key)};
  if (const CommandResult r = await(window.teardown.ticket); r != CommandResult::kDone) return r;
  --pds_.at(window.pd).users;
  key_indices_used_.erase(raw(key) >> 8);
  windows_.erase(raw(key));
  return CommandResult::kDone;
}

CommandResult Driver::forget_region(Key key) {
  RegionObject& region = regions_.at(raw(key));
  Objects& own = clients_.at(region.owner);
  own.pages -= region.pages;
  --pds_.at(region.asked.pd).users;
  if (region.asked.device_memory != 0) --device_memories_.at(region.asked.device_memory).users;
  mtt_.give_back(region.mtt_offset, mtt_bytes(region.pages));
  free_tables(region);
  key_indices_used_.erase(raw(key) >> 8);
  regions_.erase(raw(key));
  return CommandResult::kDone;
}

}  // namespace rxnic
