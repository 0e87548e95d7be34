// SPDX-License-Identifier: Apache-2.0
#include "testbench/live/opcodes_pair.h"

#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <string>

#include "testbench/live/payload_log.h"

namespace rxnic::live {
namespace {

template <class T, class D>
void made(std::unique_ptr<T, D>& to, T* object, const char* call) {
  must(object == nullptr ? errno : 0, call);
  to.reset(object);
}

std::string_view name_of(unsigned transport) {
  switch (transport) {
    case kUd:
      return "UD";
    case kUc:
      return "UC";
    case kRc:
      return "RC";
    case kXrc:
      return "XRC_SEND";
    default:
      return "RAW_PACKET";
  }
}

std::string name_of(ibv_wr_opcode opcode) {
  const auto* const row = std::ranges::find(kOpcodes, opcode, &Opcode::wr);
  return row == std::end(kOpcodes) ? std::to_string(opcode) : std::string(row->name);
}

}  // namespace

void OpcodesPair::end() {
  flow.reset();
  for (Side* side : {&a, &b}) side->qp.reset();
  srq.reset();
  xrcd.reset();
}

void OpcodesPair::begin(unsigned of) {
  end();
  transport = of;
  const ibv_qp_type type = of == kUd    ? IBV_QPT_UD
                           : of == kUc  ? IBV_QPT_UC
                           : of == kRc  ? IBV_QPT_RC
                           : of == kXrc ? IBV_QPT_XRC_SEND
                                        : IBV_QPT_RAW_PACKET;
  ibv_qp_init_attr_ex init{};
  init.send_cq = a.send_cq.get();
  init.recv_cq = type == IBV_QPT_XRC_SEND ? nullptr : a.receive_cq.get();
  init.qp_type = type;
  init.cap = {16, type == IBV_QPT_XRC_SEND ? 0u : 16u, 4, type == IBV_QPT_XRC_SEND ? 0u : 4u, 64};
  init.pd = a.world.pd.get();
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  for (const Opcode& o : kOpcodes) {
    if ((o.transports & of) != 0) init.send_ops_flags |= o.ex;
  }
  if ((of & (kUd | kRaw)) != 0) {
    init.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
    init.max_tso_header = 64;
  }
  a.qp = own(ibv_create_qp_ex(a.world.context.get(), &init), "ibv_create_qp_ex");
  if (of == kXrc) {
    make_xrc_receiver();
  } else {
    b.qp = make_qp(b.world, b.send_cq.get(), b.receive_cq.get(), {.type = type});
  }
  if (of == kRaw) {
    for (ibv_qp* qp : {a.qp.get(), b.qp.get()}) make_ready(qp);
    ibv_flow_attr every{};
    every.type = IBV_FLOW_ATTR_ALL_DEFAULT;
    every.size = sizeof every;
    every.port = 1;
    made(flow, ibv_create_flow(b.qp.get(), &every), "ibv_create_flow");
  } else {
    connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
  }
  ibv_ah_attr to = address_of(b.world, {});
  ah = own(ibv_create_ah(a.world.pd.get(), &to), "ibv_create_ah");
  made(window, ibv_alloc_mw(a.world.pd.get(), IBV_MW_TYPE_2), "ibv_alloc_mw");
  made(peers_window, ibv_alloc_mw(b.world.pd.get(), IBV_MW_TYPE_2), "ibv_alloc_mw");
}

void OpcodesPair::make_xrc_receiver() {
  ibv_xrcd_init_attr domain{};
  domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  domain.fd = -1;
  domain.oflags = O_CREAT;
  made(xrcd, ibv_open_xrcd(b.world.context.get(), &domain), "ibv_open_xrcd");
  ibv_srq_init_attr_ex queue{};
  queue.attr = {16, 4, 0};
  queue.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_XRCD;
  queue.srq_type = IBV_SRQT_XRC;
  queue.pd = b.world.pd.get();
  queue.xrcd = xrcd.get();
  queue.cq = b.receive_cq.get();
  srq = own(ibv_create_srq_ex(b.world.context.get(), &queue), "ibv_create_srq_ex");
  must(ibv_get_srq_num(srq.get(), &srqn), "ibv_get_srq_num");
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_RECV;
  init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  init.xrcd = xrcd.get();
  b.qp = own(ibv_create_qp_ex(b.world.context.get(), &init), "ibv_create_qp_ex");
}

void OpcodesPair::make_ready(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.port_num = 1;
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    attr.qp_state = state;
    must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0)), "ibv_modify_qp");
  }
}

// What a WR of each opcode says; its data is `list`.
ibv_send_wr OpcodesPair::wr_of(ibv_wr_opcode opcode, std::span<ibv_sge> list) {
  ibv_send_wr wr = send_wr(opcode, list, 5);
  if (transport == kUd) wr.wr.ud = {ah.get(), b.qp->qp_num, Path{}.qkey};
  if (transport == kXrc) wr.qp_type.xrc.remote_srqn = srqn;
  switch (opcode) {
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      wr.imm_data = htobe32(kImmediate);
      [[fallthrough]];
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_WRITE:
      if (transport != kUd) wr.wr.rdma = {b.arena.address(kTo), b.arena.region->rkey};
      break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      if (transport != kUd)
        wr.wr.atomic = {b.arena.address(kTo), compare_add, 0x0123456789abcdef, b.arena.region->rkey};
      break;
    case IBV_WR_BIND_MW:
      wr.num_sge = 0;
      wr.bind_mw = {window.get(), key, {memory.region.get(), memory.address(0), kPage, IBV_ACCESS_REMOTE_READ}};
      break;
    case IBV_WR_LOCAL_INV:
      wr.num_sge = 0;
      wr.invalidate_rkey = key;
      break;
    case IBV_WR_SEND_WITH_INV:
      wr.invalidate_rkey = peers_key;
      break;
    case IBV_WR_TSO:
      wr.tso.hdr = header.data();
      wr.tso.hdr_sz = static_cast<std::uint16_t>(header.size());
      wr.tso.mss = kBytes;
      break;
    default:
      break;
  }
  return wr;
}

int OpcodesPair::post_extended(const ibv_send_wr& wr, std::span<const ibv_sge> list, unsigned flags) {
  ibv_qp_ex* const ex = ibv_qp_to_qp_ex(a.qp.get());
  const std::uint64_t va = b.arena.address(kTo);
  const std::uint32_t rkey = b.arena.region->rkey;
  ibv_wr_start(ex);
  ex->wr_id = 5;
  ex->wr_flags = flags;
  bool has_data = true;
  switch (wr.opcode) {
    case IBV_WR_SEND:
      ibv_wr_send(ex);
      break;
    case IBV_WR_SEND_WITH_IMM:
      ibv_wr_send_imm(ex, htobe32(kImmediate));
      break;
    case IBV_WR_SEND_WITH_INV:
      ibv_wr_send_inv(ex, peers_key);
      break;
    case IBV_WR_RDMA_WRITE:
      ibv_wr_rdma_write(ex, rkey, va);
      break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      ibv_wr_rdma_write_imm(ex, rkey, va, htobe32(kImmediate));
      break;
    case IBV_WR_RDMA_READ:
      ibv_wr_rdma_read(ex, rkey, va);
      break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      ibv_wr_atomic_cmp_swp(ex, rkey, va, compare_add, 0x0123456789abcdef);
      break;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      ibv_wr_atomic_fetch_add(ex, rkey, va, compare_add);
      break;
    case IBV_WR_ATOMIC_WRITE:
      ibv_wr_atomic_write(ex, rkey, va, a.arena.at(kFrom));
      has_data = false;
      break;
    case IBV_WR_BIND_MW:
      ibv_wr_bind_mw(ex, window.get(), key, &wr.bind_mw.bind_info);
      has_data = false;
      break;
    case IBV_WR_LOCAL_INV:
      ibv_wr_local_inv(ex, key);
      has_data = false;
      break;
    case IBV_WR_TSO:
      ibv_wr_send_tso(ex, header.data(), static_cast<std::uint16_t>(header.size()), kBytes);
      break;
    default:
      break;
  }
  if (transport == kUd) ibv_wr_set_ud_addr(ex, ah.get(), b.qp->qp_num, Path{}.qkey);
  if (transport == kXrc) ibv_wr_set_xrc_srqn(ex, srqn);
  if (has_data) ibv_wr_set_sge_list(ex, list.size(), list.data());
  return ibv_wr_complete(ex);
}

int OpcodesPair::post_one(bool extended, ibv_wr_opcode opcode, ibv_sge data, unsigned flags) {
  std::array<ibv_sge, 1> list{data};
  ibv_send_wr wr = wr_of(opcode, list), *bad = nullptr;
  int result = 0;
  if (extended) {
    result = post_extended(wr, list, flags);
  } else {
    wr.send_flags = flags;
    result = ibv_post_send(a.qp.get(), &wr, &bad);
    EXPECT_EQ(bad, result == 0 ? nullptr : &wr);
  }
  log(extended ? "ibv_wr_*" : "ibv_post_send", opcode, flags, result, a, b);
  return result;
}

void OpcodesPair::log(std::string_view interface, ibv_wr_opcode opcode, unsigned flags, int result, const Side& from,
                      const Side& to) {
  if (const char* name = std::getenv("RXNIC_LIVE_OPCODES"); name != nullptr && !log_.is_open()) {
    log_.open(name, std::ios::app);  // several tests of one program add to the same file
  }
  if (!log_.is_open()) return;
  log_ << fmt::format(
              R"({{"opcode": "{}", "transport": "{}", "interface": "{}", "nics": {}, "result": {}, "signaled": {}, )",
              name_of(opcode), name_of(transport), interface, GetParam(), result, (flags & IBV_SEND_SIGNALED) != 0)
       << fmt::format(R"("to": [{}, {}], "from": [{}, {}], "frames": [{}]}})", to.world.nic, to.qp->qp_num,
                      from.world.nic, from.qp->qp_num, result == 0 ? frames_of(opcode) : "")
       << '\n';
}

// Frames for a RAW_PACKET QP: the data, or two frames of TSO with its header.
std::string OpcodesPair::frames_of(ibv_wr_opcode opcode) {
  if (transport != kRaw) return "";
  if (opcode != IBV_WR_TSO) return fmt::format(R"("{}")", hex(a.arena.bytes(kFrom, kBytes)));
  return fmt::format(R"("{0}{1}", "{0}{2}")", hex(header), hex(a.arena.bytes(kFrom, kBytes)),
                     hex(a.arena.bytes(kFrom + kBytes, kBytes)));
}

void OpcodesPair::receive() {
  std::array<ibv_sge, 1> sink{b.arena.sge(kSink, kPage)};
  if (transport == kXrc) {
    post_receive(srq.get(), sink, 9);
  } else {
    post_receive(b.qp.get(), sink, 9);
  }
}

}  // namespace rxnic::live
