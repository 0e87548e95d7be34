// SPDX-License-Identifier: Apache-2.0
// Memory for what the library records about an object. It is the C library's, or what a program's allocator gives when
// the object was made in a parent domain that has an allocator (ibv_alloc_parent_domain).
//
//   R1  The allocator is asked for each array, with the number of the object's kind (RecordsOf) as resource type. Its
//       IBV_ALLOCATOR_USE_DEFAULT means the C library's memory, for which its free is not called; nullptr fails the
//       creation (ENOMEM).
//   R2  The rings that the device reads and writes are not allocated so: they are in the mapping that the program
//       shares with the simulator.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace rxnic::verbs {

struct Pd;

enum class RecordsOf : std::uint64_t { kQp = 1, kSrq = 2 };

// `domain`: nullptr when the memory is the C library's.
void free_records(Pd* domain, RecordsOf kind, void* memory);

struct FreeRecords {
  Pd* domain = nullptr;
  RecordsOf kind{};
  void operator()(void* memory) const { free_records(domain, kind, memory); }
};
template <class T>
using Records = std::unique_ptr<T[], FreeRecords>;

// `bytes` > 0. The owner of the memory comes in `owner`. nullptr: there is none.
void* allocate_records(ibv_pd* pd, RecordsOf kind, std::size_t bytes, FreeRecords& owner);

// False: there is no memory. Not cleared.
template <class T>
bool allocate(Records<T>& records, ibv_pd* pd, RecordsOf kind, std::size_t count) {
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);
  FreeRecords owner;
  void* const memory = allocate_records(pd, kind, (count == 0 ? 1 : count) * sizeof(T), owner);
  records = Records<T>(static_cast<T*>(memory), owner);
  return records != nullptr;
}

}  // namespace rxnic::verbs
