// SPDX-License-Identifier: Apache-2.0
// Counters of flows (ibv_create_counters(3)). The device adds up what all flows of a counters object have taken. The
// points say where in the program's array each of the two sums goes.
//
//   R1  Points are attached before a flow is made with the counters (static), not to a flow: ENOTSUP. EBUSY while a
//       flow has them. Several points of one index are added up.
//   R2  A read needs as many values as the highest index of a point asks for. Values without a point are 0. Nothing is
//       cached: IBV_READ_COUNTERS_ATTR_PREFER_CACHED is allowed and changes nothing.
#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

ibv_counters* create_counters(ibv_context* context, ibv_counters_init_attr* attributes) {
  auto* const counters = new (std::nothrow) Counters;
  channel::Message message = request(channel::Request::kCreateCounters);
  int status = counters == nullptr ? ENOMEM : attributes->comp_mask != 0 ? EINVAL : 0;
  if (status == 0) status = call(context_of(context), message);
  if (status != 0) {
    delete counters;
    errno = status;
    return nullptr;
  }
  counters->counters.context = context;
  counters->number = message.body.handle.number;
  return &counters->counters;
}

int destroy_counters(ibv_counters* counters) {
  Counters& c = counters_of(counters);
  const int status = free_object(context_of(counters->context), channel::Request::kFreeCounters, c.number);
  if (status == 0) delete &c;
  return status;
}

int attach_counters_point_flow(ibv_counters* counters, ibv_counter_attach_attr* attributes, ibv_flow* flow) {
  constexpr std::uint32_t kMostIndex = 0xffff'fffe;
  Counters& c = counters_of(counters);
  const ibv_counter_description what = attributes->counter_desc;
  if (attributes->comp_mask != 0 || attributes->index > kMostIndex) return EINVAL;
  if (flow != nullptr || (what != IBV_COUNTER_PACKETS && what != IBV_COUNTER_BYTES)) return ENOTSUP;  // R1
  const std::lock_guard guard(c.lock);
  if (c.flows != 0) return EBUSY;
  if (c.count == c.points.size()) return ENOMEM;
  c.points[c.count++] = {what, attributes->index};
  c.places = std::max(c.places, attributes->index + 1);
  return 0;
}

int read_counters(ibv_counters* counters, std::uint64_t* values, std::uint32_t count, std::uint32_t flags) {
  Counters& c = counters_of(counters);
  if ((flags & ~std::uint32_t{IBV_READ_COUNTERS_ATTR_PREFER_CACHED}) != 0) return EINVAL;
  const std::lock_guard guard(c.lock);
  if (count < c.places) return EINVAL;  // R2
  channel::Message message = request(channel::Request::kReadCounters);
  message.body.counters = {};
  message.body.counters.number = c.number;
  if (const int status = call(context_of(counters->context), message)) return status;
  const channel::Counters& found = message.body.counters;
  std::fill_n(values, count, std::uint64_t{0});
  for (std::size_t n = 0; n < c.count; ++n) {
    values[c.points[n].index] += c.points[n].what == IBV_COUNTER_PACKETS ? found.packets : found.bytes;
  }
  return 0;
}

}  // namespace rxnic::verbs
