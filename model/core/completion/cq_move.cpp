// SPDX-License-Identifier: Apache-2.0
#include "model/core/completion/cq_move.h"

#include <algorithm>

namespace rxnic {

CqMove plan_move(const CqContext& from, const CqContext& to, std::uint32_t consumer, std::uint32_t producer) {
  const std::uint32_t count = std::min({producer - consumer, from.slots, to.slots});
  return {from.base, from.slots, producer - count, count, to.base};
}

}  // namespace rxnic
