// SPDX-License-Identifier: Apache-2.0
// The WQEs of one work queue that are on the chip or being read: one prefetch context of the fetcher. Without time.
//
// WQEs are numbered as the doorbell counts them; `first` is the one that is taken next.
//
//   R1  At most min(depth, posted, asked for + window) WQEs are held or on their way. A policy decides the window
//       (prefetch_window.h).
//   R2  One read brings up to wqes_per_read WQEs that are contiguous in memory, never across the end of the ring. A
//       read for what is asked for goes out at once. A read for the window alone waits until there is room for all of
//       it, or for half of the window. So reads do not become small.
//   R3  Cyclic: WQE k is in slot k mod slots, so that everything posted can be read at once.
//   R4  Linked list: where WQE k + 1 is, is known when WQE k has come. Each read is one WQE and depends on the one
//       before.
//   R5  Linked list, `sequential`: WQE k + 1 is guessed in the slot after that of WQE k and read ahead under R2. When
//       WQE k names another slot, all WQEs that were read after it, or are being read, are discarded and read again
//       from there.
//   R6  A WQE is handed out only when every WQE before it has confirmed its place.
//   R7  A WQE that could not be read is handed out as unreadable. The next of a list is then taken to be the slot after
//       it.
//   R8  A held WQE has only the bytes that the device looks at (wqe_format.h, R4).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/core/receive_queue/prefetch_window.h"
#include "model/types/work_queue.h"

namespace rxnic {

class WqePrefetch {
 public:
  // `policy` lives longer; nullptr: DoublingWindow.
  explicit WqePrefetch(std::uint32_t depth, PrefetchWindow* policy = nullptr);

  // Consecutive WQEs in consecutive slots, to be read at once.
  struct Run {
    std::uint32_t number = 0;  // of the first
    std::uint32_t slot = 0;
    std::uint32_t count = 0;
    std::uint32_t epoch = 0;  // runs of earlier epochs are discarded
  };
  struct Wqe {
    std::span<const std::uint8_t> bytes;
    std::uint32_t slot = 0;
    bool readable = false;
  };

  // Forgets everything and serves `queue` from WQE `first` on, which is in `slot`. `ahead`: PrefetchQueue::begin.
  void bind(const WqContext& queue, std::uint32_t first, std::uint32_t slot, std::uint32_t ahead);
  // Returns the number of WQEs that were here in vain.
  std::uint32_t unbind();

  // The next read when WQEs below `producer` are posted and `asked` are asked for. False when there is nothing to read
  // or no room.
  bool next_run(std::uint32_t producer, std::uint32_t asked, std::uint32_t wqes_per_read, bool sequential,
                Run& run) const;
  void started(const Run& run);
  // The run's bytes have come. Returns the number of WQEs that are discarded: these, or those behind a wrong guess.
  std::uint32_t arrived(const Run& run, bool ok, const std::uint8_t* bytes);

  void waited();  // a packet waits for the front

  bool ready() const { return first_ != confirmed_; }  // (R6)
  Wqe front() const;
  // Gives up the front. Returns the slot of the next WQE.
  std::uint32_t pop();

 private:
  enum class State : std::uint8_t { kReading, kHeld, kUnreadable };
  struct Entry {
    std::uint32_t slot = 0;
    std::uint32_t next = 0;  // slot of the next WQE, by what this one says
    State state = State::kReading;
  };
  Entry& entry(std::uint32_t number) { return entries_[number & mask_]; }
  const Entry& entry(std::uint32_t number) const { return entries_[number & mask_]; }
  std::uint32_t after(std::uint32_t slot) const { return (slot + 1) & (slots_ - 1); }
  PrefetchQueue seen() const;  // by the policy
  void set_window(std::uint32_t wqes) { window_ = wqes < depth_ ? wqes : depth_; }
  std::uint32_t confirm();
  std::uint32_t held_from(std::uint32_t number) const;  // WQEs that have come, from that one on

  PrefetchWindow* policy_;
  bool follows_takes_;
  std::uint32_t depth_;
  std::uint32_t mask_;
  std::vector<Entry> entries_;
  std::vector<std::uint8_t> bytes_;  // of each entry held_bytes_
  WqLayout layout_ = WqLayout::kCyclic;
  std::uint32_t slots_ = 1;
  std::uint32_t stride_ = 0;
  std::uint32_t held_bytes_ = 0;  // (R8)
  std::uint32_t epoch_ = 0;
  WqKind kind_{};
  std::uint32_t number_ = 0;  // QPN or SRQN
  std::uint32_t begin_ = 0;
  std::uint32_t window_ = 0;
  bool taken_ = false;            // a WQE, since bind()
  std::uint32_t first_ = 0;       // the next to be taken
  std::uint32_t confirmed_ = 0;   // the WQEs before it have come, from the slots that were guessed
  std::uint32_t fetch_ = 0;       // the next to be read
  std::uint32_t fetch_slot_ = 0;  // where it is: known when fetch_ == confirmed_, else guessed
};

}  // namespace rxnic
