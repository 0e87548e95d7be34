// SPDX-License-Identifier: Apache-2.0
// Device ABI, commands: what a driver leaves in host memory for a command whose descriptor has no room for it
// (descriptors.toml, CommandKind). Little-endian, naturally aligned.
//
//   R1  The driver has written the mailbox before it gives the command, and leaves it alone until the reply.
//   R2  Bytes between members are zero: a context is the same bytes in every run.
#pragma once

#include <cstdint>
#include <type_traits>

#include "model/types/context.h"
#include "model/types/send_work_queue.h"

namespace rxnic {

// A queue pair as software describes it: its context, and the send side.
struct alignas(64) QpMailbox {
  StoredQpContext qp;  // first: it goes into the table as it is
  SendQueueContext queue;
  AddressVector path;              // RC, UC
  std::uint8_t max_rd_atomic = 1;  // READs and atomics in flight
  std::uint8_t timeout = 14;       // code: 4.096 us * 2^timeout, 0: never
  std::uint8_t retry_count = 7;    // 0..7
  std::uint8_t rnr_retry = 7;      // 0..7, 7: for ever
  std::uint32_t sq_psn = 0;
};

inline constexpr std::uint32_t kMailboxBytes = 512;  // of the longest mailbox, but for lists
static_assert(sizeof(QpMailbox) <= kMailboxBytes);

template <class T>
void clear_padding(T& value) {  // (R2)
  static_assert(std::is_trivially_copyable_v<T>);
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&value);
#endif
#endif
  (void)value;
}

}  // namespace rxnic
