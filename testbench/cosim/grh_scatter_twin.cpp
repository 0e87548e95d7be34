// SPDX-License-Identifier: Apache-2.0
// rtl/grh_scatter.sv as a Twin, compiled once for each configuration: CMake gives the header that Verilator made, the
// names, and the parameters as RXNIC_<parameter>.
#include RXNIC_TWIN_HEADER
#include "testbench/cosim/verilated_twin.h"

namespace rxnic {

namespace {

bool fits(const Params& p) {
  return p.grh_scatter.latency_cycles == RXNIC_LatencyCycles && p.grh_scatter.sges_per_cycle == RXNIC_SgesPerCycle &&
         p.grh_scatter.bytes_per_cycle == RXNIC_BytesPerCycle &&
         p.srq_wqe_fetcher.wqe_store_entries <= RXNIC_WqeSlots &&
         std::uint64_t{p.qp_context_cache.sets} * p.qp_context_cache.ways <= RXNIC_ContextLines;
}

std::unique_ptr<Twin> make() {
  auto twin = std::make_unique<VerilatedTwin<RXNIC_TWIN_TOP>>();
  RXNIC_TWIN_TOP& top = twin->top();
  twin->in("in", top.in_valid_i, top.in_ready_o, top.in_i);
  twin->read("lists", top.lists_valid_o, top.lists_o, top.lists_i);
  twin->out("out", top.out_valid_o, top.out_ready_i, top.out_o);
  twin->out("refusals", top.refusals_valid_o, top.refusals_o);
  return twin;
}

}  // namespace

extern const TwinBuild RXNIC_TWIN_NAME;
const TwinBuild RXNIC_TWIN_NAME{"grh_scatter", RXNIC_TWIN_PARAMETERS, &fits, &make};

}  // namespace rxnic
