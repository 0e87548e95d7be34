// SPDX-License-Identifier: Apache-2.0
// ibv_qp_attr and the channel's QpAttributes: the same fields under two names. The source has
// ibv_query_qp_data_in_order(), too: what it says follows from the QP's type.
#pragma once

#include <infiniband/verbs.h>

#include "bridge/channel/protocol.h"

namespace rxnic::verbs {

// Everything that `mask` selects except the path, which has to be resolved (address.h).
channel::QpAttributes to_channel(const ibv_qp_attr& attributes, int mask);
ibv_qp_attr from_channel(const channel::QpAttributes& attributes);

}  // namespace rxnic::verbs
