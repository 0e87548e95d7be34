// SPDX-License-Identifier: Apache-2.0
// A policy: which entry of a full set of a cache is evicted for another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rxnic {

// The caches of a NIC. A cache has a policy of its own.
enum class NicCache : std::uint8_t { kQpContexts, kQueueContexts, kCqContexts, kMpt, kMtt };

struct CacheWay {
  std::uint64_t key = 0;   // number of the context, key of the region, address of the MTT line
  std::uint64_t used = 0;  // grows with each use of the cache: the least recently used way has the smallest one
};

class Replacement {
 public:
  virtual ~Replacement() = default;
  // `ways`: those of the set that may be evicted, at least one. The index of that which is; another number than an
  // index is the first one. How often it is asked before one is evicted depends on the engine's mode: what it answers
  // is to follow from `ways` alone.
  virtual std::size_t victim(std::span<const CacheWay> ways) const = 0;
};

}  // namespace rxnic
