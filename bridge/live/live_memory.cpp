// SPDX-License-Identifier: Apache-2.0
#include "bridge/live/live_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "bridge/live/live_port.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kUnit = 64;  // R1

bool inside(const LiveMapping& mapping, std::uint64_t offset, std::uint64_t bytes) {
  return offset <= mapping.bytes() && bytes <= mapping.bytes() - offset;
}

void count(TransferCounters& counters, std::uint64_t bytes) {
  ++counters.transfers;
  counters.bytes += bytes;
}

// R1.
void write_shared(std::uint8_t* base, std::uint64_t offset, std::span<const std::uint8_t> from) {
  for (std::uint64_t end = offset + from.size(); end > offset;) {
    const std::uint64_t begin = std::max(offset, (end - 1) / kUnit * kUnit);
    const std::uint8_t* source = from.data() + (begin - offset);
    const std::uint64_t bytes = end - begin;
    std::memcpy(base + begin, source, bytes - 1);
    std::atomic_ref<std::uint8_t>(base[end - 1]).store(source[bytes - 1], std::memory_order_release);
    end = begin;
  }
}

bool not_permitted(int number) { return number == EPERM || number == ENOSYS || number == EACCES; }

// A line of /proc/PID/maps: "begin-end perms ..." in hexadecimal.
struct Range {
  std::uint64_t begin = 0, end = 0;
  bool readable = false, writable = false;
};
bool parse_range(const char* line, const char* line_end, Range& range) {
  const auto begin = std::from_chars(line, line_end, range.begin, 16);
  if (begin.ec != std::errc{} || begin.ptr == line_end || *begin.ptr != '-') return false;
  const auto end = std::from_chars(begin.ptr + 1, line_end, range.end, 16);
  if (end.ec != std::errc{} || line_end - end.ptr < 5) return false;
  range.readable = end.ptr[1] == 'r';
  range.writable = end.ptr[2] == 'w';
  return true;
}

}  // namespace

bool LiveMemory::read(ClientId id, std::uint64_t address, std::span<std::uint8_t> to) {
  bool done = false;
  if (address >= kShared) {
    const LiveMapping* const mapping = port_.mapping_of(id);
    done = mapping != nullptr && inside(*mapping, address - kShared, to.size());
    if (done) {
      std::memcpy(to.data(), static_cast<const std::uint8_t*>(mapping->base()) + (address - kShared), to.size());
      count(counters_.shared_reads, to.size());
    }
  } else if (const LiveClient* const client = port_.find(id)) {
    done = to.empty() || move(*client, address, to.data(), to.size(), false);
  }
  counters_.failures += done ? 0u : 1u;
  return done;
}

bool LiveMemory::write(ClientId id, std::uint64_t address, std::span<const std::uint8_t> from) {
  bool done = false;
  if (address >= kShared) {
    const LiveMapping* const mapping = port_.mapping_of(id);
    done = mapping != nullptr && inside(*mapping, address - kShared, from.size());
    if (done) {
      write_shared(static_cast<std::uint8_t*>(mapping->base()), address - kShared, from);
      count(counters_.shared_writes, from.size());
    }
  } else if (const LiveClient* const client = port_.find(id)) {
    done = from.empty() || move(*client, address, const_cast<std::uint8_t*>(from.data()), from.size(), true);
  }
  counters_.failures += done ? 0u : 1u;
  return done;
}

// R6.
void LiveMemory::read_all(std::span<const Read> reads) {
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
  const LiveClient* client = port_.find(reads[0].client);
  if (client == nullptr || way(*client).by_descriptor) return 0;
  std::array<iovec, kMostAtOnce> here, there;
  for (std::size_t n = 0; n < reads.size(); ++n) {
    here[n] = {reads[n].to.data(), reads[n].to.size()};
    there[n] = {reinterpret_cast<void*>(reads[n].address), reads[n].to.size()};
  }
  watch_.begin(client->process());
  const ssize_t moved = process_vm_readv(client->pid(), here.data(), reads.size(), there.data(), reads.size(), 0);
  if (watch_.end()) report_killed(*client);
  std::size_t done = 0;
  for (auto left = static_cast<std::size_t>(std::max<ssize_t>(moved, 0)); done < reads.size(); ++done) {
    if (reads[done].to.size() > left) break;
    left -= reads[done].to.size();
    *reads[done].ok = true;
    count(counters_.process_reads, reads[done].to.size());
  }
  counters_.together += done;
  return done;
}

bool LiveMemory::exists(ClientId id) {  // (R4)
  const LiveClient* client = port_.find(id);
  return client != nullptr && !way(*client).gone;
}

LiveMemory::Way& LiveMemory::way(const LiveClient& client) {
  const std::size_t index = raw(client.id());
  if (index >= ways_.size()) ways_.resize(index + 1);
  Way& w = ways_[index];
  if (w.serial != client.serial()) w = Way{client.serial(), {}, {}, {}, {}};
  if (!options_.process_vm || client.pid() == 0) w.by_descriptor = true;
  return w;
}

// R5.
bool LiveMemory::move(const LiveClient& client, std::uint64_t address, std::uint8_t* local, std::size_t bytes,
                      bool write) {
  watch_.begin(client.process());
  const bool done = move_unwatched(client, address, local, bytes, write);
  if (watch_.end()) report_killed(client);
  return done;
}

void LiveMemory::report_killed(const LiveClient& client) const {
  port_.say("killed process " + std::to_string(client.pid()) + " (" + client.program() +
            "): an access to its memory did not end in time; pages that a program supplies by itself (userfaultfd, "
            "FUSE) cannot be registered");
}

// `local` is only read when `write`.
bool LiveMemory::move_unwatched(const LiveClient& client, std::uint64_t address, std::uint8_t* local, std::size_t bytes,
                                bool write) {
  Way& w = way(client);
  if (!w.by_descriptor) {
    const iovec here{local, bytes};
    const iovec there{reinterpret_cast<void*>(address), bytes};
    const ssize_t moved = (write ? process_vm_writev : process_vm_readv)(client.pid(), &here, 1, &there, 1, 0);
    if (moved == static_cast<ssize_t>(bytes)) {
      count(write ? counters_.process_writes : counters_.process_reads, bytes);
      return true;
    }
    w.gone = moved < 0 && errno == ESRCH;
    if (moved >= 0 || !not_permitted(errno)) return false;
    w.by_descriptor = true;
  }
  if (!permitted(w, client, address, bytes, write)) return false;
  for (std::size_t done = 0; done < bytes;) {
    const auto at = static_cast<off_t>(address + done);
    const ssize_t moved = write ? pwrite(client.own_memory(), local + done, bytes - done, at)
                                : pread(client.own_memory(), local + done, bytes - done, at);
    if (moved < 0 && errno == EINTR) continue;
    w.gone = moved == 0;  // 0 bytes: the process has no address space any more
    if (moved <= 0) return false;
    done += static_cast<std::size_t>(moved);
  }
  count(write ? counters_.descriptor_writes : counters_.descriptor_reads, bytes);
  return true;
}

// R2. The file is opened once: it stays that of the program even when its PID is given to another process.
bool LiveMemory::permitted(Way& w, const LiveClient& client, std::uint64_t address, std::uint64_t bytes, bool write) {
  if (client.own_memory() < 0) return false;
  if (!w.maps_tried && client.pid() != 0) {
    w.maps.reset(open(("/proc/" + std::to_string(client.pid()) + "/maps").c_str(), O_RDONLY | O_CLOEXEC));
  }
  w.maps_tried = true;
  if (!w.maps) return !write;
  // Ranges come in ascending order; `address` moves on as they cover it.
  const std::uint64_t end = address + bytes;
  if (end < address || lseek(w.maps.get(), 0, SEEK_SET) != 0) return false;
  char buffer[16384];
  std::size_t kept = 0;
  for (bool any = false; address < end; any = true) {
    const ssize_t got = ::read(w.maps.get(), buffer + kept, sizeof buffer - kept);
    if (got <= 0) {
      w.gone = !any;  // it has no address space any more
      return false;
    }
    const char* line = buffer;
    const char* const filled = buffer + kept + got;
    for (const char* next; address < end && (next = std::find(line, filled, '\n')) != filled; line = next + 1) {
      Range range;
      if (!parse_range(line, next, range)) return false;
      if (range.end <= address) continue;
      if (range.begin > address || !(write ? range.writable : range.readable)) return false;
      address = range.end;
    }
    kept = static_cast<std::size_t>(filled - line);
    if (kept == sizeof buffer) return false;  // no line is so long
    std::memmove(buffer, line, kept);
  }
  return true;
}

}  // namespace rxnic
