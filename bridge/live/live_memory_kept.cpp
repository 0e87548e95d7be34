// SPDX-License-Identifier: Apache-2.0
// Writes that are carried out together (R8, R9, R10 of live_memory.h).
#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "bridge/live/live_memory.h"

namespace rxnic {

// False: it is to be carried out at once.
bool LiveMemory::keep(const LiveClient& client, std::uint64_t address, std::span<const std::uint8_t> from) {
  if (!options_.gather) return false;
  const std::uint64_t look = programs_.counters().looks;
  const bool near = near_ && look - last_look_ <= kNear;
  near_ = true;
  last_look_ = look;
  const auto others = [&](const KeptWrites::Write& w) { return w.client != client.id(); };
  if (!kept_.has_room(from.size()) || kept_.overlaps(address, from.size(), others)) programs_.show();
  if (!near || !kept_.has_room(from.size()) || !may_keep(client, address, from.size())) {
    show_before(client.id(), address, from.size());
    return false;
  }
  if (!waits()) first_look_ = look;
  kept_.add(client.id(), address, from);
  return true;
}

// Nothing is kept for the sake of a mapping alone.
bool LiveMemory::keep_shared(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) {
  if (!waits()) return false;
  if (!kept_shared_.has_room(from.size())) {
    programs_.show();
    return false;
  }
  kept_shared_.add(client, address, from);
  return true;
}

// R9.
bool LiveMemory::may_keep(const LiveClient& client, std::uint64_t address, std::size_t bytes) {
  if (kept_.is_allowed(client.id(), address, bytes)) return true;
  if (!way(client).process_vm || client.maps() < 0) return false;
  const PageRights::Range range = PageRights::range_at(client.maps(), address);
  const bool inside = range.begin <= address && address < range.end && bytes <= range.end - address;
  if (!inside || !range.writable || range.has_file()) return false;
  kept_.allow(client.id(), range.begin, range.end);
  return true;
}

// A program may have opened several devices: its memory is that of several clients.
void LiveMemory::show_before(ClientId client, std::uint64_t address, std::size_t bytes) {
  const bool overlaps =
      address < kShared
          ? kept_.overlaps(address, bytes, [](const KeptWrites::Write&) { return true; })
          : kept_shared_.overlaps(address, bytes, [&](const KeptWrites::Write& w) { return w.client == client; });
  if (overlaps) programs_.show();
}

bool LiveMemory::is_due(std::uint64_t look) const {
  return !kept_shared_.empty() || look - last_look_ > kNear || look - first_look_ >= kLongest;
}

void LiveMemory::show(bool idle) {
  if (idle) near_ = false;
  const auto all = kept_.all();
  for (std::size_t n = 0; n < all.size(); ++n) {
    const auto same = [&](const KeptWrites::Write& w) { return w.client == all[n].client; };
    if (std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n), same)) continue;
    of_one_client_.clear();
    std::copy_if(all.begin(), all.end(), std::back_inserter(of_one_client_), same);
    if (const LiveClient* const client = programs_.find(all[n].client)) write_kept(*client, of_one_client_);  // (R4)
  }
  for (const KeptWrites::Write& w : kept_shared_.all()) {
    const LiveMapping* const mapping = programs_.mapping_of(w.client);
    if (mapping != nullptr) write_shared(*mapping, w.address, kept_shared_.bytes_of(w));
  }
  kept_.clear();
  kept_shared_.clear();
}

void LiveMemory::write_kept(const LiveClient& client, std::span<const KeptWrites::Write> writes) {
  while (!writes.empty()) {
    std::size_t done = write_at_once(client, writes);
    if (done < writes.size()) {
      const KeptWrites::Write& w = writes[done++];
      auto* const from = const_cast<std::uint8_t*>(kept_.bytes_of(w).data());
      if (!move(client, w.address, from, w.bytes, true) && !way(client).gone) ++counters_.lost;
    }
    writes = writes.subspan(done);
  }
}

// Returns how many were written, from the first on. (R10)
std::size_t LiveMemory::write_at_once(const LiveClient& client, std::span<const KeptWrites::Write> writes) {
  if (!way(client).process_vm) return 0;
  Identity identity = client.identity();
  std::array<iovec, KeptWrites::kMost + 1> here, there;
  here[0] = {identity.data(), identity.size()};
  there[0] = {reinterpret_cast<void*>(client.identity_at()), identity.size()};
  std::size_t ranges = 1;  // of `there`: writes that follow each other in memory are one
  for (std::size_t n = 0; n < writes.size(); ++n) {
    const KeptWrites::Write& w = writes[n];
    here[n + 1] = {const_cast<std::uint8_t*>(kept_.bytes_of(w).data()), w.bytes};
    if (n > 0 && writes[n - 1].end() == w.address) {
      there[ranges - 1].iov_len += w.bytes;
    } else {
      there[ranges++] = {reinterpret_cast<void*>(w.address), w.bytes};
    }
  }
  const Access access{client.pid(), client.process(), client.maps(), std::span(there).first(ranges)};
  watch_.begin(access);
  const ssize_t moved = process_vm_writev(client.pid(), here.data(), writes.size() + 1, there.data(), ranges, 0);
  report_cost(client, watch_.end());
  ++counters_.write_calls;
  if (moved < static_cast<ssize_t>(identity.size())) {
    way(client).process_vm = false;
    return 0;
  }
  std::size_t done = 0;
  for (auto left = static_cast<std::size_t>(moved) - identity.size(); done < writes.size(); ++done) {
    if (writes[done].bytes > left) break;
    left -= writes[done].bytes;
    count(counters_.process_writes, writes[done].bytes);
  }
  return done;
}

}  // namespace rxnic
