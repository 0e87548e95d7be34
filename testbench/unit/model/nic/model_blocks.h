// SPDX-License-Identifier: Apache-2.0
// The blocks of model/blocks in a NIC that has them, for what only tests ask.
#pragma once

#include "model/blocks/cqe_generator.h"
#include "model/blocks/qp_context_cache.h"
#include "model/blocks/srq_wqe_fetcher.h"
#include "model/nic/nic.h"

namespace rxnic {

inline SrqWqeFetcher& fetcher_of(Nic& nic) { return dynamic_cast<SrqWqeFetcher&>(nic.srq_wqe_fetcher); }
inline QpContextCache& context_cache_of(Nic& nic) { return dynamic_cast<QpContextCache&>(nic.qp_context_cache); }
inline CqeGenerator& cqe_generator_of(Nic& nic) { return dynamic_cast<CqeGenerator&>(nic.cqe_generator); }

}  // namespace rxnic
