// SPDX-License-Identifier: Apache-2.0
// ibv_qp_attr and the channel's QpAttributes: the same fields under two names.
#pragma once

#include <infiniband/verbs.h>

#include "bridge/channel/protocol.h"

namespace rxnic::verbs {

// Everything that `mask` selects except the path, which has to be resolved (address.h).
channel::QpAttributes to_channel(const ibv_qp_attr& attributes, int mask);
ibv_qp_attr from_channel(const channel::QpAttributes& attributes);

// What the opcode moves into memory of a QP of that type (ibv_query_qp_data_in_order(3)): of a READ the local one.
bool writes_data_here(ibv_qp_type type, ibv_wr_opcode opcode);

}  // namespace rxnic::verbs
