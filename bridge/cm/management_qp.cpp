// SPDX-License-Identifier: Apache-2.0
#include "bridge/cm/management_qp.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "bridge/verbs/control_path.h"
#include "bridge/verbs/data_path.h"

namespace rxnic::cm {

namespace {

constexpr std::uint8_t kPort = 1, kHopLimit = 64;
constexpr std::size_t kSourceOfIpv6 = 8, kIpv4At = 20, kSourceOfIpv4 = kIpv4At + 12;  // in the 40 bytes

template <class T>
T* made(T* object, const char* call) {
  if (object == nullptr) throw std::runtime_error(std::string(call) + ": " + std::strerror(errno));
  return object;
}
void must(int status, const char* call) {
  if (status != 0) throw std::runtime_error(std::string(call) + ": " + std::strerror(status));
}

// Who sent a datagram, by the 40 bytes in front of it.
GidBytes sender(const std::uint8_t* grh) {
  GidBytes from{};
  if (grh[0] >> 4 == 6) {
    std::copy_n(grh + kSourceOfIpv6, from.size(), from.begin());
    return from;
  }
  from[10] = from[11] = 0xff;
  std::copy_n(grh + kSourceOfIpv4, 4, from.begin() + 12);
  return from;
}

}  // namespace

ManagementQp::ManagementQp(ibv_device* device) : memory_(2 * kBuffers * kStride) {
  context_ = made(verbs::open_device(device), "ibv_open_device");
  pd_ = made(verbs::alloc_pd(context_), "ibv_alloc_pd");
  channel_ = made(verbs::create_comp_channel(context_), "ibv_create_comp_channel");
  cq_ = made(verbs::create_cq(context_, 4 * kBuffers, nullptr, channel_, 0), "ibv_create_cq");
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_UD;
  init.send_cq = init.recv_cq = cq_;
  init.cap = {kBuffers, kBuffers, 1, 1, 0};
  init.comp_mask = IBV_QP_INIT_ATTR_PD;
  init.pd = pd_;
  qp_ = made(verbs::create_management_qp(context_, init), "QP 1");
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  region_ = made(verbs::reg_mr(pd_, memory_.data(), memory_.size(), address, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
  for (std::uint32_t n = 0; n < kBuffers; ++n) free_.push_back(2 * kBuffers - 1 - n);
  to_ready();
}

void ManagementQp::DestroyAh::operator()(ibv_ah* ah) const { verbs::destroy_ah(ah); }

ManagementQp::~ManagementQp() {
  paths_.clear();
  if (qp_ != nullptr) verbs::destroy_qp(qp_);
  if (region_ != nullptr) verbs::dereg_mr(region_);
  if (cq_ != nullptr) verbs::destroy_cq(cq_);
  if (channel_ != nullptr) verbs::destroy_comp_channel(channel_);
  if (pd_ != nullptr) verbs::dealloc_pd(pd_);
  if (context_ != nullptr) verbs::close_device(context_);
}

void ManagementQp::to_ready() {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = kPort;
  a.qkey = kManagementQkey;
  must(verbs::modify_qp(qp_, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), "QP 1 to INIT");
  for (std::uint32_t n = 0; n < kBuffers; ++n) post_receive(n);
  a.qp_state = IBV_QPS_RTR;
  must(verbs::modify_qp(qp_, &a, IBV_QP_STATE), "QP 1 to RTR");
  a.qp_state = IBV_QPS_RTS;
  must(verbs::modify_qp(qp_, &a, IBV_QP_STATE | IBV_QP_SQ_PSN), "QP 1 to RTS");
  must(verbs::req_notify_cq(cq_, 0), "ibv_req_notify_cq");
}

NicAddress ManagementQp::address() const {
  NicAddress a;
  a.node_guid = verbs::get_device_guid(context_->device);
  ibv_port_attr port{};
  must(verbs::query_port(context_, kPort, &port, sizeof port), "ibv_query_port");
  a.mtu = static_cast<std::uint8_t>(port.active_mtu);
  for (int n = 0; n < port.gid_tbl_len; ++n) {
    ibv_gid_entry entry{};
    if (verbs::query_gid_ex(context_, kPort, static_cast<std::uint32_t>(n), &entry, 0, sizeof entry) != 0) continue;
    if (entry.gid_type != IBV_GID_TYPE_ROCE_V2) continue;
    NicAddress::Gid gid;
    std::copy_n(entry.gid.raw, gid.bytes.size(), gid.bytes.begin());
    gid.index = static_cast<std::uint8_t>(n);
    const bool mapped = std::all_of(gid.bytes.begin(), gid.bytes.begin() + 10, [](auto byte) { return byte == 0; });
    (mapped ? a.v4 : a.v6) = gid;
  }
  return a;
}

void ManagementQp::post_receive(std::uint32_t n) {
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(buffer(n)), kGrhBytes + kMadBytes, region_->lkey};
  ibv_recv_wr wr{};
  wr.wr_id = n;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  verbs::post_recv(qp_, &wr, &bad);  // fails when the NIC is gone
}

void ManagementQp::take_completions(const Receive& receive) {
  ibv_cq* cq = nullptr;
  void* of_cq = nullptr;
  if (verbs::get_cq_event(channel_, &cq, &of_cq) != 0) return;
  verbs::ack_cq_events(cq, 1);
  verbs::req_notify_cq(cq_, 0);
  ibv_wc wc;
  while (verbs::poll_cq(cq_, 1, &wc) == 1) {
    const auto n = static_cast<std::uint32_t>(wc.wr_id);
    if (n >= kBuffers) {
      free_.push_back(n);
      continue;
    }
    if (wc.status == IBV_WC_SUCCESS && wc.byte_len == kGrhBytes + kMadBytes) {  // (R1)
      receive(sender(buffer(n)), {buffer(n) + kGrhBytes, kMadBytes});
    }
    if (wc.status == IBV_WC_SUCCESS) post_receive(n);
  }
  while (!free_.empty() && !waiting_.empty()) {
    post_send(waiting_.front());
    waiting_.pop_front();
  }
}

bool ManagementQp::take_event() {
  ibv_async_event event{};
  if (verbs::get_async_event(context_, &event) != 0) return false;
  verbs::ack_async_event(&event);
  return event.event_type != IBV_EVENT_DEVICE_FATAL;
}

// A WQE that waits has the address itself: its handle may go.
ibv_ah* ManagementQp::path(std::uint8_t gid_index, const GidBytes& to) {
  if (const auto* const known = paths_.use({gid_index, to})) return known->get();
  ibv_ah_attr a{};
  std::copy(to.begin(), to.end(), a.grh.dgid.raw);
  a.grh.sgid_index = gid_index;
  a.grh.hop_limit = kHopLimit;
  a.is_global = 1;
  a.port_num = kPort;
  ibv_ah* const ah = verbs::create_ah(pd_, &a);
  if (ah != nullptr) paths_.keep({gid_index, to}, std::unique_ptr<ibv_ah, DestroyAh>(ah));
  return ah;
}

void ManagementQp::send(std::uint8_t gid_index, const GidBytes& to, const Mad& mad) {
  if (free_.empty()) {
    if (waiting_.size() < kMostWaiting) waiting_.push_back({gid_index, to, mad});  // (R2)
  } else {
    post_send({gid_index, to, mad});
  }
}

// A MAD for an address that nobody has is lost, as on the wire.
void ManagementQp::post_send(const Waiting& w) {
  ibv_ah* const ah = path(w.gid_index, w.to);
  if (ah == nullptr) return;
  const std::uint32_t n = free_.back();
  free_.pop_back();
  std::copy(w.mad.begin(), w.mad.end(), buffer(n));
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(buffer(n)), kMadBytes, region_->lkey};
  ibv_send_wr wr{};
  wr.wr_id = n;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.wr.ud.ah = ah;
  wr.wr.ud.remote_qpn = kManagementQpn;
  wr.wr.ud.remote_qkey = kManagementQkey;
  ibv_send_wr* bad = nullptr;
  if (verbs::post_send(qp_, &wr, &bad) != 0) free_.push_back(n);
}

}  // namespace rxnic::cm
