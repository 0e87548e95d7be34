// SPDX-License-Identifier: Apache-2.0
// The program's side of a TM SRQ: operations on its tag list, and what completions say of them (rules 5).
//
//   R1  Refused with EINVAL: an SRQ without tag matching, an unknown opcode or flag, more than one SGE, a handle that
//       is not below max_num_tags. With ENOMEM: as many operations outstanding as the SRQ has room for, or no handle
//       left. The operations before the one that is refused are carried out.
//   R2  An operation is outstanding until a completion shows that the device has carried it out. This is the completion
//       of the operation itself, of a later operation, or of a message that matched an entry added by such an
//       operation.
//   R3  A handle is free again when its message is complete, when its removal has succeeded or its addition failed. A
//       removal that was not signaled has succeeded when R2 holds for it and no completion said otherwise.
//   R4  Which entry a message matches, and whether a removal comes in time, is the device's decision.
#pragma once

#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

// Completes what a receive completion of the TM SRQ names: an operation, an entry of the tag list or a WQE. Returns its
// wr_id.
std::uint64_t complete_tagged(Srq& srq, const Cqe& cqe);
// An entry that is posted, for a program whose simulator is gone. False: there is none.
bool flush_tag(Srq& srq, std::uint64_t& wr_id);

}  // namespace rxnic::verbs
