// SPDX-License-Identifier: Apache-2.0
// Host memory that fails where and how a test says, above memory of its own or another one.
#pragma once

#include <functional>
#include <new>
#include <span>
#include <vector>

#include "model/types/host_memory.h"

namespace rxnic {

class FaultyMemory final : public HostMemory {
 public:
  struct Access {
    BusAddress at;
    std::size_t bytes;
    bool operator==(const Access&) const = default;
  };
  struct Late {
    BusAddress from;
    std::span<std::uint8_t> to;
    bool* ok;
  };

  FaultyMemory() : below_(own_) {}
  explicit FaultyMemory(HostMemory& below) : below_(below) {}

  // What a test sets. Addresses are those at which an access begins.
  std::function<bool(BusAddress)> is_unmapped = [](BusAddress) { return false; };
  std::function<bool(BusAddress)> is_unreadable = [](BusAddress) { return false; };  // reads fail, writes do not
  std::function<bool(BusAddress)> is_gone = [](BusAddress) { return false; };
  std::function<void(std::span<std::uint8_t>)> on_read = [](auto) {};  // may change what was read
  bool keeps_log = true;        // false: `reads` and `writes` stay empty, for a long run
  bool throws = false;          // std::bad_alloc, whoever reads or writes
  bool reads_together = false;  // late reads, when they are settled

  void unmap_all() {
    is_unmapped = [](BusAddress) { return true; };
  }
  void unmap(BusAddress address) {
    is_unmapped = [address](BusAddress at) { return at == address; };
  }

  // What a test looks at: accesses that did not fail, late reads that wait, how many were settled at a time.
  std::vector<Access> reads, writes;
  std::vector<Late> late;
  std::vector<std::size_t> together;

  bool read(BusAddress from, std::span<std::uint8_t> to) override {
    if (throws) throw std::bad_alloc();
    if (is_unmapped(from) || is_unreadable(from) || !below_.read(from, to)) return false;
    on_read(to);
    if (keeps_log) reads.push_back({from, to.size()});
    return true;
  }
  bool write(BusAddress to, std::span<const std::uint8_t> from) override {
    if (throws) throw std::bad_alloc();
    if (is_unmapped(to) || !below_.write(to, from)) return false;
    if (keeps_log) writes.push_back({to, from.size()});
    return true;
  }
  void read_later(BusAddress from, std::span<std::uint8_t> to, bool& ok) override {
    if (reads_together) {
      late.push_back({from, to, &ok});
    } else {
      ok = read(from, to);
    }
  }
  void settle() override {
    if (!reads_together) return;
    together.push_back(late.size());
    for (const Late& l : late) *l.ok = read(l.from, l.to);
    late.clear();
  }
  bool gone(BusAddress from) const override { return is_gone(from) || below_.gone(from); }

 private:
  LocalMemory own_;
  HostMemory& below_;
};

}  // namespace rxnic
