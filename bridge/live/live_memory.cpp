// SPDX-License-Identifier: Apache-2.0
#include "bridge/live/live_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "bridge/live/live_programs.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kUnit = 64;  // R1

bool inside(const LiveMapping& mapping, std::uint64_t offset, std::uint64_t bytes) {
  return offset <= mapping.bytes() && bytes <= mapping.bytes() - offset;
}

}  // namespace

LiveMemory::LiveMemory(LivePrograms& programs, const LiveMemoryOptions& options)
    : programs_(programs), options_(options), rights_(options.map_queries), watch_(options.watch) {
  if (options_.gather) programs_.set_later(this);
}

LiveMemory::~LiveMemory() {
  if (!options_.gather) return;
  programs_.show();
  programs_.set_later(nullptr);
}

bool LiveMemory::read(ClientId id, std::uint64_t address, std::span<std::uint8_t> to) {
  bool done = false;
  if (waits()) show_before(id, address, to.size());
  if (address >= kShared) {
    const LiveMapping* const mapping = programs_.mapping_of(id);
    done = mapping != nullptr && inside(*mapping, address - kShared, to.size());
    if (done) {
      std::memcpy(to.data(), static_cast<const std::uint8_t*>(mapping->base()) + (address - kShared), to.size());
      count(counters_.shared_reads, to.size());
    }
  } else if (const LiveClient* const client = programs_.find(id)) {
    bool ok = false;
    const Read alone{id, address, to, &ok};
    done = to.empty() || (!rights_.queries() && read_at_once({&alone, 1}) == 1) ||  // (R7)
           move(*client, address, to.data(), to.size(), false);
  }
  counters_.failures += done ? 0u : 1u;
  return done;
}

// R1.
void LiveMemory::write_shared(const LiveMapping& mapping, std::uint64_t address, std::span<const std::uint8_t> from) {
  auto* const base = static_cast<std::uint8_t*>(mapping.base());
  const std::uint64_t offset = address - ProgramMemory::kShared;
  for (std::uint64_t end = offset + from.size(); end > offset;) {
    const std::uint64_t begin = std::max(offset, (end - 1) / kUnit * kUnit);
    const std::uint8_t* source = from.data() + (begin - offset);
    const std::uint64_t bytes = end - begin;
    std::memcpy(base + begin, source, bytes - 1);
    std::atomic_ref<std::uint8_t>(base[end - 1]).store(source[bytes - 1], std::memory_order_release);
    end = begin;
  }
}

bool LiveMemory::write(ClientId id, std::uint64_t address, std::span<const std::uint8_t> from) {
  bool done = false;
  if (address >= kShared) {
    const LiveMapping* const mapping = programs_.mapping_of(id);
    done = mapping != nullptr && inside(*mapping, address - kShared, from.size());
    if (done) {
      if (!keep_shared(id, address, from)) write_shared(*mapping, address, from);
      count(counters_.shared_writes, from.size());
    }
  } else if (const LiveClient* const client = programs_.find(id)) {
    done = from.empty() || keep(*client, address, from) ||
           move(*client, address, const_cast<std::uint8_t*>(from.data()), from.size(), true);
  }
  counters_.failures += done ? 0u : 1u;
  return done;
}

// R6.
void LiveMemory::read_all(std::span<const Read> reads) {
  if (waits()) {
    for (const Read& r : reads) show_before(r.client, r.address, r.to.size());
  }
  while (!reads.empty()) {
    const auto other = std::find_if(reads.begin(), reads.begin() + std::min(reads.size(), kMostAtOnce),
                                    [&](const Read& r) { return r.client != reads[0].client || r.address >= kShared; });
    const auto together = static_cast<std::size_t>(other - reads.begin());
    std::size_t done = together > 1 ? read_at_once(reads.first(together)) : 0;
    if (done < together || together == 0) {
      *reads[done].ok = read(reads[done].client, reads[done].address, reads[done].to);
      ++done;
    }
    reads = reads.subspan(done);
  }
}

// Returns how many were read, from the first on.
std::size_t LiveMemory::read_at_once(std::span<const Read> reads) {
  const LiveClient* client = programs_.find(reads[0].client);
  if (client == nullptr || !way(*client).process_vm) return 0;
  Identity found{};
  std::array<iovec, kMostAtOnce + 1> here, there;
  here[0] = {found.data(), found.size()};
  there[0] = {reinterpret_cast<void*>(client->identity_at()), found.size()};
  for (std::size_t n = 0; n < reads.size(); ++n) {
    here[n + 1] = {reads[n].to.data(), reads[n].to.size()};
    there[n + 1] = {reinterpret_cast<void*>(reads[n].address), reads[n].to.size()};
  }
  const Access access{client->pid(), client->process(), client->maps(), std::span(there).first(reads.size() + 1)};
  watch_.begin(access);
  const ssize_t moved =
      process_vm_readv(client->pid(), here.data(), reads.size() + 1, there.data(), reads.size() + 1, 0);
  report_cost(*client, watch_.end());
  if (moved < static_cast<ssize_t>(found.size()) || found != client->identity()) {
    way(*client).process_vm = false;
    for (const Read& read : reads) std::fill(read.to.begin(), read.to.end(), std::uint8_t{0});  // another's
    return 0;
  }
  std::size_t done = 0;
  for (auto left = static_cast<std::size_t>(moved) - found.size(); done < reads.size(); ++done) {
    if (reads[done].to.size() > left) break;
    left -= reads[done].to.size();
    *reads[done].ok = true;
    count(counters_.process_reads, reads[done].to.size());
  }
  if (reads.size() > 1) counters_.together += done;
  return done;
}

bool LiveMemory::exists(ClientId id) {  // (R4)
  const LiveClient* client = programs_.find(id);
  return client != nullptr && !way(*client).gone;
}

LiveMemory::Way& LiveMemory::way(const LiveClient& client) {
  const std::size_t index = raw(client.id());
  if (index >= ways_.size()) ways_.resize(index + 1);
  Way& w = ways_[index];
  if (w.serial == client.serial()) return w;
  w = {client.serial(), options_.process_vm && client.pid() != 0 && client.identity_at() != 0, false};
  return w;
}

// R5.
bool LiveMemory::move(const LiveClient& client, std::uint64_t address, std::uint8_t* local, std::size_t bytes,
                      bool write) {
  const iovec range{reinterpret_cast<void*>(address), bytes};
  const Access access{client.pid(), client.process(), client.maps(), {&range, 1}};
  watch_.begin(access);
  const bool done = move_unwatched(client, address, local, bytes, write);
  report_cost(client, watch_.end());
  return done;
}

void LiveMemory::report_cost(const LiveClient& client, const AccessWatch::Cost& cost) const {
  if (!cost.killed) return;
  programs_.say("killed process " + std::to_string(client.pid()) + " (" + client.program() +
                "): an access to its memory did not end in time; pages that a program supplies by itself (userfaultfd, "
                "FUSE) cannot be registered");
  if (cost.aborted.empty()) return;
  programs_.say("aborted the file system in user space (FUSE connection " + cost.aborted +
                ") of which the page of process " + std::to_string(client.pid()) + " was: it did not answer");
}

// `local` is only read when `write`.
bool LiveMemory::move_unwatched(const LiveClient& client, std::uint64_t address, std::uint8_t* local, std::size_t bytes,
                                bool write) {
  Way& w = way(client);
  if (client.own_memory() < 0 || !permitted(w, client, address, bytes, write)) return false;
  for (std::size_t done = 0; done < bytes;) {
    const auto at = static_cast<off_t>(address + done);
    const ssize_t moved = write ? pwrite(client.own_memory(), local + done, bytes - done, at)
                                : pread(client.own_memory(), local + done, bytes - done, at);
    if (moved < 0 && errno == EINTR) continue;
    w.gone = moved == 0;
    if (moved <= 0) return false;
    done += static_cast<std::size_t>(moved);
  }
  count(write ? counters_.descriptor_writes : counters_.descriptor_reads, bytes);
  return true;
}

// R2.
bool LiveMemory::permitted(Way& w, const LiveClient& client, std::uint64_t address, std::uint64_t bytes, bool write) {
  if (client.maps() < 0) return !write;
  const PageRights::Answer answer = rights_.ask(client.maps(), address, bytes, write);
  w.gone = answer == PageRights::Answer::kGone;
  return answer == PageRights::Answer::kYes;
}

}  // namespace rxnic
