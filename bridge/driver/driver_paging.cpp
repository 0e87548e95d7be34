// SPDX-License-Identifier: Apache-2.0
// On-demand paging: answers the page requests of the NIC, and carries out ibv_advise_mr(3). (R12 of driver.h)
#include <algorithm>
#include <cerrno>
#include <new>

#include "bridge/driver/driver.h"
#include "model/core/memory/translation.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kTableBytes = kTableEntries * sizeof(std::uint64_t);

constexpr std::ptrdiff_t kMostAdvice = 1024;  // of a client, that nobody waits for

}  // namespace

// A table all of whose entries are absent; nothing: the client has its share.
std::optional<std::uint64_t> Driver::add_table(RegionObject& region) {
  Objects& own = clients_.at(region.owner);
  if (own.pages + kTableEntries > kMaxPagesOfClient) return std::nullopt;
  const std::uint64_t offset = *mtt_.take(kTableBytes);  // a client's share is far below the whole
  own.pages += kTableEntries;
  region.tables.push_back(offset);
  const std::vector<std::uint64_t> absent(kTableEntries, kAbsentPage);
  const BusAddress table = icm::kMtt + offset;
  memory_.write(table, {reinterpret_cast<const std::uint8_t*>(absent.data()), kTableBytes});
  return raw(table);
}

void Driver::free_tables(RegionObject& region) {
  clients_.at(region.owner).pages -= region.tables.size() * kTableEntries;
  for (const std::uint64_t offset : region.tables) mtt_.give_back(offset, kTableBytes);
  region.tables.clear();
}

// Where the entry of the page is that holds `va`, with the tables on the way to it; nothing: no room for one.
std::optional<BusAddress> Driver::make_entry(RegionObject& region, const MptEntry& entry, std::uint64_t va) {
  PageStep step = first_step(entry);
  for (;;) {
    const BusAddress at{entry_address(entry, step, va)};
    if (is_last(entry, step)) return at;
    std::uint64_t next = memory_.load<std::uint64_t>(at);
    if ((next & kAbsentPage) != 0) {
      const auto table = add_table(region);
      if (!table) return std::nullopt;
      memory_.store(at, next = *table);
    }
    step = {next, static_cast<std::uint8_t>(step.level + 1)};
  }
}

// The page is there, and the NIC has read of a cache or before it was.
bool Driver::is_present(const Event& request) {
  const auto it = regions_.find(raw(request.key));
  if (it == regions_.end() || !is_on_demand(it->second.asked)) return true;
  const MptEntry entry = entry_of(request.key, it->second);
  if (request.va < entry.va || request.va - entry.va >= entry.length) return true;
  PageStep step = first_step(entry);
  for (;;) {
    const std::uint64_t value = memory_.load<std::uint64_t>(BusAddress{entry_address(entry, step, request.va)});
    if ((value & kAbsentPage) != 0) return false;
    if (is_last(entry, step)) return true;
    step = {value, static_cast<std::uint8_t>(step.level + 1)};
  }
}

// Up to `count` pages from that of `va` on, as far as the region goes. Returns how many: those before the first that is
// not the program's, or for whose entry there is no room.
std::uint64_t Driver::make_present(Key key, std::uint64_t va, std::uint64_t count) {
  const auto it = regions_.find(raw(key));
  if (it == regions_.end() || !is_on_demand(it->second.asked)) return 0;
  RegionObject& region = it->second;
  const MptEntry entry = entry_of(key, region);
  if (va < entry.va || va - entry.va >= entry.length) return 0;
  const std::uint64_t page_bytes = std::uint64_t{1} << entry.page_shift;
  const std::uint64_t to_program = region.asked.address - region.asked.iova;
  for (std::uint64_t n = 0; n < count; ++n) {
    std::uint8_t byte = 0;
    const BusAddress there = program_address(region.owner, va + to_program);
    if (!memory_.read(there, {&byte, 1}) && !memory_.gone(there)) return n;
    const auto at = make_entry(region, entry, va);
    if (!at) return n;
    const std::uint64_t page = (va + to_program) / page_bytes * page_bytes;
    memory_.store(*at, program_address(region.owner, page));
    va = page + page_bytes - to_program;
    if (va - entry.va >= entry.length) return n + 1;
  }
  return count;
}

void Driver::request_page(const Event& request, bool of_requester, Cycle now) {
  const Cycle due = is_present(request) ? now : after(now, host_.page_fault_ps);
  page_work_.push_back({request.key, request.va, host_.page_fault_pages, due, {}, 0, request.number, of_requester});
}

// Outside of a request nobody is ended by what cannot be had: such a page does not exist.
std::uint64_t Driver::present_or_none(const PageWork& work) {
  try {
    return make_present(work.key, work.va, work.pages);
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

bool Driver::answer_pages(Out<Doorbell>& translator, Out<Doorbell>& requester, Cycle now) {
  bool any = false, advised = false;
  std::erase_if(page_work_, [&](PageWork& work) {
    if (work.due > now) return false;
    if (work.number == 0) {
      if (advised) return false;
      any = advised = true;
      try {
        return !go_on(work, now) || work.pages == 0;
      } catch (const std::bad_alloc&) {
        return true;
      }
    }
    Out<Doorbell>& to = work.of_requester ? requester : translator;
    if (!to.can_push(now)) return false;
    Doorbell reply;
    reply.kind = DoorbellKind::kPageReply;
    reply.number = work.number;
    reply.value = present_or_none(work) > 0 ? 0 : 1;
    to.push(now, reply);
    return any = true;
  });
  return any;
}

Cycle Driver::next_page(Cycle now) const {
  Cycle next = kNever;
  for (const PageWork& work : page_work_) next = earliest(next, latest(work.due, now + 1));
  return next;
}

// As many pages of an advice as a page request brings; false: one of them cannot be had.
bool Driver::go_on(PageWork& advice, Cycle now) {
  const std::uint64_t count = std::min<std::uint64_t>(advice.pages, host_.page_fault_pages);
  if (make_present(advice.key, advice.va, count) != count) return false;
  const std::uint64_t page_bytes = std::uint64_t{1} << entry_of(advice.key, regions_.at(raw(advice.key))).page_shift;
  advice.va = advice.va / page_bytes * page_bytes + count * page_bytes;
  advice.pages -= count;
  advice.due = latest(after(now, advice.each_ps), now + count * kCyclesOfAPage);  // (R17)
  return true;
}

CommandResult Driver::advise_memory(ClientId client, Command& c, Cycle now) {
  channel::Advice& a = c.message.body.advice;
  const bool faults = a.advice != kAdvicePrefetchNoFault;  // without: the program has the pages
  PageWork work{Key{a.lkey}, a.address, a.pages, c.due, client, faults ? host_.page_fault_ps : 0, 0, false};
  if (c.begun) {
    if (now < c.due) return CommandResult::kBusy;
    if (!go_on(work, now)) return refuse(c, EFAULT);
    a.address = work.va;
    a.pages = work.pages;
    c.due = work.due;
    return a.pages == 0 ? CommandResult::kDone : CommandResult::kBusy;
  }
  const RegionObject* region = owned(regions_, client, a.lkey);
  if (a.advice > kAdvicePrefetchNoFault || (a.flags & ~kAdviceFlush) != 0) return refuse(c, EINVAL);
  if (region == nullptr) return refuse(c, ENOENT);
  if (region->asked.pd != a.pd) return refuse(c, EPERM);
  if (!is_on_demand(region->asked)) return refuse(c, EINVAL);
  if (a.advice == kAdvicePrefetchWrite && (region->asked.access & kLocalWrite) == 0) return refuse(c, EPERM);
  const MptEntry entry = entry_of(Key{a.lkey}, *region);
  const bool inside = a.address >= entry.va && a.address - entry.va <= entry.length &&
                      a.length <= entry.length - (a.address - entry.va);
  if (!inside) return refuse(c, EFAULT);
  if (a.length == 0) return CommandResult::kDone;
  const std::uint64_t page_bytes = std::uint64_t{1} << entry.page_shift;
  work.pages = a.pages = ((a.address + entry.paged_offset) % page_bytes + a.length + page_bytes - 1) / page_bytes;
  work.due = c.due = faults ? after(now, host_.page_fault_ps) : now;
  if ((a.flags & kAdviceFlush) == 0) {
    const auto is_own = [&](const PageWork& w) { return w.number == 0 && w.client == client; };
    if (std::count_if(page_work_.begin(), page_work_.end(), is_own) >= kMostAdvice) return refuse(c, ENOMEM);
    page_work_.push_back(work);
    return CommandResult::kDone;
  }
  c.begun = true;
  return CommandResult::kBusy;
}

}  // namespace rxnic
