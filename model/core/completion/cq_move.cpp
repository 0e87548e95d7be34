// SPDX-License-Identifier: Apache-2.0
#include "model/core/completion/cq_move.h"

#include <algorithm>
#include <vector>

namespace rxnic {

CqMove plan_move(const CqContext& from, const CqContext& to, std::uint32_t consumer, std::uint32_t producer) {
  const std::uint32_t count = std::min({producer - consumer, from.slots, to.slots});
  return {from.base, from.slots, producer - count, count, to.base};
}

void move_cqes(HostMemory& memory, const CqMove& move, std::uint32_t stride) {
  if (move.count == 0) return;
  std::vector<std::uint8_t> cqes(std::size_t{move.count} * stride);
  const std::span<std::uint8_t> all(cqes);
  const std::uint32_t slot = move.first & (move.from_slots - 1);
  const std::uint32_t run = std::min(move.count, move.from_slots - slot);
  memory.read(move.from + std::uint64_t{slot} * stride, all.first(std::size_t{run} * stride));
  if (run < move.count) memory.read(move.from, all.subspan(std::size_t{run} * stride));
  // The new ring has a slot for each: they are all in its first lap, and the owner bit is in the last byte of a slot.
  for (std::size_t end = stride; end <= cqes.size(); end += stride) cqes[end - 1] = 0;
  memory.write(move.to, cqes);
}

}  // namespace rxnic
