// SPDX-License-Identifier: Apache-2.0
// The mapping that a program and the simulator share: one memfd per opened device, made and sealed by the program.
// No system call is needed on the data path: WQE rings, CQs and doorbells are all in here.
//
//   offset 0            MappingHeader
//   kBoardsOffset       five DoorbellBoards: send, receive, consumer, arm, tags
//   kHeapOffset         rings, laid out by the program; the requests that create queues carry their offsets
//
//   R1  The program fills in magic, version and sizes before it sends the descriptor. A simulator of another version
//       refuses the mapping, and its message names both versions.
//   R2  The descriptor is sealed against shrinking and growing; the simulator refuses it otherwise. So the simulator
//       can touch every byte of the mapping, whatever the program does.
//   R3  A doorbell: store the value in its record, set its bit in `dirty`, then the header's `rung`. When
//       `simulator_sleeps` is set then, write 1 to the eventfd. The fences are those of ring().
//   R4  A doorbell record holds the newest value only: of two doorbells between two looks of the simulator it sees the
//       second. An arming says how often the CQ was armed for any completion. So an arming for solicited completions
//       does not undo one for any completion that the simulator did not see.
//   R5  The simulator takes send doorbells before those of receives and tags, and puts the latter into effect first. So
//       a receive or a tag posted before a send by the same thread is never seen after the send.
//   R6  The simulator trusts nothing in here: a program that overwrites it at random harms only itself.
//   R7  A program sets `left` when it closes the device, and when it ends by exit() or a return from main. When a
//       connection ends and `left` is not set, the program was killed.
//   R8  A thread that waits for a CQE sets `waiting` to 1, looks at `completions` once more, and waits while `waiting`
//       is 1. The simulator counts `completions`, sets `waiting` to 0 and wakes all. It may do so late, for an earlier
//       CQE: who has set `waiting` meanwhile does not fall asleep, and sets it again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "bridge/channel/version.h"  // of this header and messages.toml

namespace rxnic::channel {

inline constexpr std::uint64_t kMagic = 0x316e686363696e78;  // "xnicchn1"
inline constexpr std::size_t kIdentityBytes = 16;            // of a program (Open::identity)

inline constexpr std::uint32_t kDoorbells = 16384;  // records of a board: queues of that kind that a program can have
inline constexpr std::uint32_t kDirtyWords = kDoorbells / 64;
inline constexpr std::uint64_t kMappingBytes = std::uint64_t{1} << 30;  // sparse: only touched pages take memory

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

struct DoorbellBoard {
  std::atomic<std::uint64_t> dirty_words[kDirtyWords / 64];  // one bit per word of `dirty`
  std::atomic<std::uint64_t> dirty[kDirtyWords];             // bit per record
  std::atomic<std::uint64_t> value[kDoorbells];              // producer or consumer index, and by board more
};
inline constexpr std::uint64_t kArmSolicited = std::uint64_t{1} << 32;  // kArm
inline constexpr unsigned kArmedForAnyShift = 33;                       // kArm: how often so far, 31 bits
inline constexpr unsigned kWqeBytesShift = 32;  // kSend, a WQE posted alone: its length, which is written with it

enum class Board : std::uint8_t { kSend, kReceive, kConsumer, kArm, kTags, kCount };
inline constexpr std::size_t kBoards = static_cast<std::size_t>(Board::kCount);

struct MappingHeader {
  // Written by the program before the descriptor is sent.
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t mapping_bytes;
  // Written by the program.
  alignas(64) std::atomic<std::uint32_t> rung;     // some doorbell was rung; the simulator sets it to 0 and looks
  alignas(64) std::atomic<std::uint32_t> waiting;  // 1: a thread may wait, on this futex (R8)
  std::atomic<std::uint32_t> left;                 // R7
  // Written by the simulator.
  alignas(64) std::atomic<std::uint32_t> simulator_sleeps;  // a doorbell has to write to the eventfd
  alignas(64) std::atomic<std::uint32_t> completions;       // CQEs made visible, modulo 2^32
  alignas(64) std::atomic<std::uint64_t> model_time_ps;     // of the last look at the doorbells
};

inline constexpr std::uint64_t kBoardsOffset = 4096;
inline constexpr std::uint64_t kBoardBytes = (sizeof(DoorbellBoard) + 4095) / 4096 * 4096;
inline constexpr std::uint64_t kHeapOffset = kBoardsOffset + kBoards * kBoardBytes;
static_assert(sizeof(MappingHeader) <= kBoardsOffset);
static_assert(sizeof(DoorbellBoard) == 4 * 8 + 256 * 8 + 16384 * 8);
static_assert(offsetof(MappingHeader, rung) == 64 && offsetof(MappingHeader, model_time_ps) == 320);

inline DoorbellBoard& board(void* mapping, Board b) {
  return *reinterpret_cast<DoorbellBoard*>(static_cast<char*>(mapping) + kBoardsOffset +
                                           static_cast<std::size_t>(b) * kBoardBytes);
}

// The program's side of R3. True when the eventfd has to be written. `index` < kDoorbells.
inline bool ring(void* mapping, Board b, std::uint32_t index, std::uint64_t value) {
  auto& header = *static_cast<MappingHeader*>(mapping);
  DoorbellBoard& records = board(mapping, b);
  records.value[index].store(value, std::memory_order_release);
  records.dirty[index / 64].fetch_or(std::uint64_t{1} << (index % 64), std::memory_order_release);
  records.dirty_words[index / 4096].fetch_or(std::uint64_t{1} << (index / 64 % 64), std::memory_order_release);
  header.rung.store(1, std::memory_order_seq_cst);
  return b != Board::kConsumer && header.simulator_sleeps.load(std::memory_order_seq_cst) != 0;
}

// The simulator's side: calls take(index, value) for each doorbell of a board that was rung since the last call. When
// there are more than `most`, take() is called for as many, or up to 63 more. The others stay rung: returns whether
// there are any.
template <class Take>
bool take_rung(DoorbellBoard& records, std::uint32_t most, Take&& take) {
  std::uint32_t taken = 0;
  for (std::uint32_t s = 0; s < kDirtyWords / 64; ++s) {
    if (records.dirty_words[s].load(std::memory_order_relaxed) == 0) continue;
    if (taken >= most) return true;
    std::uint64_t words = records.dirty_words[s].exchange(0, std::memory_order_acquire);
    for (; words != 0 && taken < most; words &= words - 1) {
      const std::uint32_t w = s * 64 + static_cast<std::uint32_t>(__builtin_ctzll(words));
      std::uint64_t bits = records.dirty[w].exchange(0, std::memory_order_acquire);
      for (; bits != 0; bits &= bits - 1, ++taken) {
        const std::uint32_t index = w * 64 + static_cast<std::uint32_t>(__builtin_ctzll(bits));
        take(index, records.value[index].load(std::memory_order_acquire));
      }
    }
    if (words != 0) {
      records.dirty_words[s].fetch_or(words, std::memory_order_release);
      return true;
    }
  }
  return false;
}

// How many doorbells of a board are rung; when it is more than `most`, at least one more than that.
inline std::uint32_t count_rung(const DoorbellBoard& records, std::uint32_t most) {
  std::uint32_t count = 0;
  for (std::uint32_t s = 0; s < kDirtyWords / 64; ++s) {
    std::uint64_t words = records.dirty_words[s].load(std::memory_order_relaxed);
    for (; words != 0 && count <= most; words &= words - 1) {
      const std::uint32_t w = s * 64 + static_cast<std::uint32_t>(__builtin_ctzll(words));
      count += static_cast<std::uint32_t>(__builtin_popcountll(records.dirty[w].load(std::memory_order_relaxed)));
    }
  }
  return count;
}

}  // namespace rxnic::channel
