// SPDX-License-Identifier: Apache-2.0
// The program's side of a CQ: from CQEs (model/types/completion.h) to completions.
//
//   R1  CQEs are taken in ring order, each when its owner bit shows that it is written. Each mini CQE of a compressed
//       block is a completion with the fields of the title, except byte_count and wqe_index.
//   R2  A completion frees the slot of its WQE: of an SQ and an RQ those up to it, of an SRQ just this one.
//   R3  A CQE of a QP that the library does not know is skipped, unless it is one of a TM SRQ: these are the SRQ's.
//   R4  A call that has moved the consumer index notifies the device of it once, at its end.
//   R5  On an error only wr_id, status, qp_num and vendor_err are valid (rules 3.1); the other fields are 0, but for
//       the opcode.
//   R6  The simulator is gone and every CQE was taken: posted WRs complete in the order SQ, RQ, SRQ of each QP. The
//       first of a QP has IBV_WC_FATAL_ERR, the others have IBV_WC_WR_FLUSH_ERR. An SRQ's WQEs complete for the first
//       of its QPs on a CQ that is polled. The WQEs and tags of a TM SRQ complete on its own CQ. After that a poll
//       fails (EIO).
#pragma once

#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

// The next completion. False: there is none now. cq.lock is held.
bool next_completion(Context& context, Cq& cq, Completion& out);
// (R4) cq.lock is held.
void report_consumer(Context& context, Cq& cq);
// (R6) False: nothing is posted any more. Context::objects and cq.lock are held.
bool next_flushed(Context& context, Cq& cq, Completion& out);

// enum ibv_wc_flags of a CQE; 0 on an error (R5).
unsigned int wc_flags_of(const Cqe& cqe);
// As ibv_wc::imm_data: network byte order, or the rkey.
__be32 immediate_of(const Cqe& cqe);

}  // namespace rxnic::verbs
