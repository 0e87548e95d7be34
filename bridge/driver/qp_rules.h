// SPDX-License-Identifier: Apache-2.0
// What ibv_modify_qp may ask for (InfiniBand Architecture Specification, volume 1, 11.2.5.2 and table 91;
// ibv_modify_qp(3)).
//
//   R1  A change of state is one of the table; so is staying in Reset, Init, RTS, SQD or Error.
//   R2  All required attributes of the change are given, and none besides these and the optional ones (EINVAL).
//   R3  kAttrCurrentState must name the state that the QP is in, and is only for changes from RTR, RTS, SQD and SQE.
//   R4  Each attribute is within its range: port 1, P_Key index 0, MTU 256..4096, timeout and min_rnr_timer 0..31,
//       retry counts 0..7. READs and atomics go up to the device's limit, and PSNs and QPNs have 24 bits. A path with a
//       GRH has a GID that exists. Access flags are those of a region; of these the rights of a peer count.
//   R5  There is no path migration: an alternate path is refused.
//   R6  Attributes of the side that an XRC QP does not have are ignored, as by the kernel's uverbs. The reason:
//       programs give the two types the same attributes.
#pragma once

#include <cstdint>

#include "bridge/channel/protocol.h"
#include "bridge/driver/verbs_numbers.h"

namespace rxnic {

struct QpRule {
  bool allowed = false;
  std::uint32_t required = 0, optional = 0;  // QpAttribute, without kAttrState
};
QpRule qp_rule(QpType type, QpState from, QpState to);  // (R1)

// UC, UD, RAW_PACKET: after a send error the QP is in SQE and receives on; RC and XRC are in Error.
bool has_send_error_state(QpType type);

std::uint32_t without_ignored(QpType type, std::uint32_t mask);  // of QpAttribute (R6)

// Checks R1..R5 for a QP that is in `state`. 0, and the state it is to be in afterwards; or EINVAL.
int check_modify(QpType type, QpState state, const channel::QpAttributes& asked, std::uint32_t max_rd_atomic,
                 QpState& next);

}  // namespace rxnic
