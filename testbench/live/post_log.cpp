// SPDX-License-Identifier: Apache-2.0
#include "testbench/live/post_log.h"

#include <endian.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "testbench/live/payload_log.h"
#include "testbench/live/verbs_world.h"

namespace rxnic::live {
namespace {

std::string_view spoken(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
      return "SEND";
    case IBV_WR_SEND_WITH_IMM:
      return "SEND_WITH_IMM";
    case IBV_WR_RDMA_WRITE:
      return "RDMA_WRITE";
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return "RDMA_WRITE_WITH_IMM";
    case IBV_WR_RDMA_READ:
      return "RDMA_READ";
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return "ATOMIC_CMP_AND_SWP";
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return "ATOMIC_FETCH_AND_ADD";
    default:
      return "unknown";
  }
}

std::string_view spoken(Answer answer) {
  return answer == Answer::kGood ? "good" : answer == Answer::kNone ? "none" : "acknowledge";
}

std::size_t bytes_of(const ibv_send_wr& wr) {
  std::size_t bytes = 0;
  for (int n = 0; n < wr.num_sge; ++n) bytes += wr.sg_list[n].length;
  return bytes;
}

std::vector<std::uint8_t> data_of(const ibv_send_wr& wr) {
  std::vector<std::uint8_t> data;
  for (int n = 0; n < wr.num_sge; ++n) {
    const auto* const at = reinterpret_cast<const std::uint8_t*>(wr.sg_list[n].addr);
    data.insert(data.end(), at, at + wr.sg_list[n].length);
  }
  return data;
}

// The fields that only some opcodes have.
std::string more_of(const ibv_send_wr& wr) {
  std::string more;
  if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    const bool swaps = wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    const auto& atomic = wr.wr.atomic;
    return fmt::format(R"(, "va": {}, "rkey": {}, "swap": {}, "compare": {})", atomic.remote_addr, atomic.rkey,
                       swaps ? atomic.swap : atomic.compare_add, swaps ? atomic.compare_add : 0);
  }
  if (wr.opcode != IBV_WR_SEND && wr.opcode != IBV_WR_SEND_WITH_IMM) {
    more += fmt::format(R"(, "va": {}, "rkey": {})", wr.wr.rdma.remote_addr, wr.wr.rdma.rkey);
  }
  if (wr.opcode == IBV_WR_SEND_WITH_IMM || wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    more += fmt::format(R"(, "imm": {})", be32toh(wr.imm_data));
  }
  if (wr.opcode != IBV_WR_RDMA_READ) more += fmt::format(R"(, "hex": "{}")", hex(data_of(wr)));
  return more;
}

// rxnic3 is 3.
unsigned long nic_of(const ibv_qp& qp) {
  const std::string_view name = ibv_get_device_name(qp.context->device);
  return std::strtoul(name.data() + std::string_view("rxnic").size(), nullptr, 10);
}

}  // namespace

PostLog::PostLog() {
  // Several tests of one program add to the same file.
  if (const char* name = std::getenv("RXNIC_LIVE_POSTS")) file_.open(name, std::ios::app);
}

void PostLog::add(ibv_qp* qp, const ibv_send_wr& list, Answer answer) {
  if (!file_.is_open()) return;
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  must(ibv_query_qp(qp, &attr, IBV_QP_DEST_QPN | IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_CAP, &init), "ibv_query_qp");
  std::array<std::uint8_t, 6> mac{};  // the last two bytes count the NICs from 1
  must(ibv_resolve_eth_l2_from_gid(qp->context, &attr.ah_attr, mac.data(), nullptr), "ibv_resolve_eth_l2_from_gid");
  const bool xrc = qp->qp_type == IBV_QPT_XRC_SEND;
  for (const ibv_send_wr* wr = &list; wr != nullptr; wr = wr->next) {
    file_ << fmt::format(R"({{"from": [{}, {}], "to": [{}, {}], "by_device": {}, "xrc": {}, "mtu": {}, )", nic_of(*qp),
                         qp->qp_num, (mac[4] << 8 | mac[5]) - 1, attr.dest_qp_num, init.cap.max_send_wr == 0, xrc,
                         128u << attr.path_mtu)
          << fmt::format(R"("answer": "{}", "opcode": "{}", "bytes": {}, "srqn": {}{}}})", spoken(answer),
                         spoken(wr->opcode), bytes_of(*wr), xrc ? wr->qp_type.xrc.remote_srqn : 0, more_of(*wr))
          << '\n';
  }
  file_.flush();
}

}  // namespace rxnic::live
