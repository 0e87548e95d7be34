// SPDX-License-Identifier: Apache-2.0
// The memory that DMA reaches, behind one interface: local memory for replay and tests, another program's memory for
// live runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/types/ids.h"
#include "model/types/large_pages.h"

namespace rxnic {

// An access to memory that says how long it takes.
struct TimedAccess {
  bool ok = false;                            // as of read() or write()
  std::optional<std::uint64_t> latency_ps{};  // without: what the NIC's parameters say
};

class HostMemory {
 public:
  virtual ~HostMemory() = default;
  // False when any byte of the range is not mapped (or not writable); then nothing was copied.
  virtual bool read(BusAddress from, std::span<std::uint8_t> to) = 0;
  virtual bool write(BusAddress to, std::span<const std::uint8_t> from) = 0;
  // A read that may be carried out at any time before settle() returns: together with others it costs less. `to` and
  // `ok`, the result, have to live until then. It sees no write() that was called after it.
  virtual void read_later(BusAddress from, std::span<std::uint8_t> to, bool& ok) { ok = read(from, to); }
  virtual void settle() {}
  // Whether accesses say how long they take; always the same. If so, DMA uses read_at() and write_at(). `time_ps` is
  // when the access happens, which sc_time_stamp() may not have reached.
  virtual bool has_latency() const { return false; }
  virtual TimedAccess read_at(std::uint64_t /*time_ps*/, BusAddress from, std::span<std::uint8_t> to) {
    return {read(from, to)};
  }
  virtual TimedAccess write_at(std::uint64_t /*time_ps*/, BusAddress to, std::span<const std::uint8_t> from) {
    return {write(to, from)};
  }
  // Asked about an address whose read has failed: it was the memory of a program that has ended.
  virtual bool gone(BusAddress) const { return false; }

  template <class T>
  T load(BusAddress from) {
    T value{};
    read(from, {reinterpret_cast<std::uint8_t*>(&value), sizeof value});
    return value;
  }
  template <class T>
  void store(BusAddress to, const T& value) {
    write(to, {reinterpret_cast<const std::uint8_t*>(&value), sizeof value});
  }
};

// Sparse memory that exists where it is touched: every address is mapped and reads as zero until written.
class LocalMemory final : public HostMemory {
 public:
  static constexpr std::size_t kChunkBytes = 16384;
  bool read(BusAddress from, std::span<std::uint8_t> to) override;
  bool write(BusAddress to, std::span<const std::uint8_t> from) override;
  std::size_t resident_bytes() const { return chunks_ * kChunkBytes; }
  // FNV-1a over all touched chunks in address order: equal contents, equal digest.
  std::uint64_t digest() const;

 private:
  struct Chunk {
    std::array<std::uint8_t, kChunkBytes> bytes;
  };
  static constexpr std::uint64_t kRegionChunks = 1024, kSlabChunks = LargePages<Chunk>::kPageBytes / kChunkBytes;
  struct Free {
    void operator()(Chunk* slab) const { LargePages<Chunk>::deallocate(slab, kSlabChunks); }
  };
  using Region = std::array<Chunk*, kRegionChunks>;  // by chunk; null: never written
  Region* find_region(std::uint64_t index);
  Chunk* find(std::uint64_t index);
  Chunk& touch(std::uint64_t index);
  Chunk& add(std::uint64_t index);                                      // the chunk has never been written
  std::unordered_map<std::uint64_t, std::unique_ptr<Region>> regions_;  // by chunk number / kRegionChunks
  std::vector<std::unique_ptr<Chunk[], Free>> slabs_;                   // the chunks, as they were touched
  std::size_t chunks_ = 0;                                              // touched
  // Regions found recently, by a hash of their index: enough for the few thousand queues of a big run.
  struct Recent {
    std::uint64_t index = ~std::uint64_t{0};
    Region* region = nullptr;
  };
  static constexpr unsigned kRecentBits = 8;
  Recent& recent(std::uint64_t index) { return recent_[index * 0x9e3779b97f4a7c15u >> (64 - kRecentBits)]; }
  std::array<Recent, std::size_t{1} << kRecentBits> recent_;
};

}  // namespace rxnic
