// SPDX-License-Identifier: Apache-2.0
// Where a packet goes and came from: address handles, paths of connected QPs, and the GRH area of a UD receive.
//
//   R1  RoCE: a path is global (has a GRH), starts at an entry of the GID table and leaves by port 1.
//   R2  The simulator is asked for the destination's MAC, as a kernel looks it up in its neighbour tables.
//   R3  GRH area: an IPv6 header or a GRH in all 40 bytes, or an IPv4 header in the last 20. It is an IPv4 header when
//       its checksum is right; otherwise the version in the first nibble decides.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "bridge/channel/protocol.h"
#include "model/types/send_work_queue.h"

namespace rxnic::verbs {

struct Context;

// R1, R2. 0 or a positive errno.
int resolve(Context& context, const ibv_ah_attr& attributes, AddressVector& path);
// A path as ibv_query_qp returns it.
ibv_ah_attr attributes_of(const AddressVector& path, std::uint32_t port);

// R3. Source and destination, as GIDs (::ffff:a.b.c.d for IPv4).
struct Route {
  std::uint8_t source[16];
  std::uint8_t destination[16];
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0;
  channel::GidType type = channel::GidType::kNone;  // kNone: neither of the headers is there
};
Route parse_grh(const ibv_grh& grh);

}  // namespace rxnic::verbs
