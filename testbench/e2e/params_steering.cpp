// SPDX-License-Identifier: Apache-2.0
// Flows and RSS QPs, as many as there are to have.
#include <array>
#include <stdexcept>
#include <vector>

#include "testbench/e2e/params_program.h"
#include "testbench/live/verbs_world.h"

namespace rxnic::live {

void steering() {
  constexpr int kMost = 12;
  const World world(0);
  const Owned<ibv_cq> cq = world.cq();
  ibv_wq_init_attr init{};
  init.wq_type = IBV_WQT_RQ;
  init.max_wr = init.max_sge = 1;
  init.pd = world.pd.get();
  init.cq = cq.get();
  std::array<ibv_wq*, 1> wqs{ibv_create_wq(world.context.get(), &init)};
  if (wqs[0] == nullptr) throw std::runtime_error("ibv_create_wq");
  ibv_rwq_ind_table_init_attr of_table{0, wqs.data(), 0};
  ibv_rwq_ind_table* const table = ibv_create_rwq_ind_table(world.context.get(), &of_table);
  if (table == nullptr) throw std::runtime_error("ibv_create_rwq_ind_table");
  std::array<std::uint8_t, 40> key{};
  std::vector<Owned<ibv_qp>> qps;
  for (int n = 0; n < kMost; ++n) {
    ibv_qp_init_attr_ex of_qp{};
    of_qp.qp_type = IBV_QPT_RAW_PACKET;
    of_qp.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
    of_qp.pd = world.pd.get();
    of_qp.rwq_ind_tbl = table;
    of_qp.rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, static_cast<std::uint8_t>(key.size()), key.data(), 0};
    if (ibv_qp* const qp = ibv_create_qp_ex(world.context.get(), &of_qp)) qps.emplace_back(qp);
  }
  std::vector<ibv_flow*> flows;
  for (int n = 0; n < kMost; ++n) {
    ibv_flow_attr every{};
    every.type = IBV_FLOW_ATTR_ALL_DEFAULT;
    every.size = sizeof every;
    every.port = 1;
    if (ibv_flow* const flow = ibv_create_flow(qps.at(0).get(), &every)) flows.push_back(flow);
  }
  for (ibv_flow* flow : flows) must(ibv_destroy_flow(flow), "ibv_destroy_flow");
  qps.clear();
  must(ibv_destroy_rwq_ind_table(table), "ibv_destroy_rwq_ind_table");
  must(ibv_destroy_wq(wqs[0]), "ibv_destroy_wq");
}

}  // namespace rxnic::live
