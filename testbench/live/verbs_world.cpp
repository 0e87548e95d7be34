// SPDX-License-Identifier: Apache-2.0
#include "testbench/live/verbs_world.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace rxnic::live {

namespace {

[[noreturn]] void give_up(const char* call, int error) {
  throw std::runtime_error(fmt::format("{}: {}", call, std::strerror(error)));
}

Owned<ibv_context> open_nic(std::uint32_t nic) {
  const std::string name = fmt::format("rxnic{}", nic);
  int count = 0;
  std::unique_ptr<ibv_device*, void (*)(ibv_device**)> list(ibv_get_device_list(&count), ibv_free_device_list);
  for (int i = 0; i < count; ++i) {
    if (ibv_get_device_name(list.get()[i]) == name) return own(ibv_open_device(list.get()[i]), "ibv_open_device");
  }
  throw std::runtime_error(fmt::format("no device {} among {}; is RXNIC_SOCKET set?", name, count));
}

std::span<std::uint8_t> map_pages(std::size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) give_up("mmap", errno);
  return {static_cast<std::uint8_t*>(pages), bytes};
}

}  // namespace

template <class T>
Owned<T> own(T* made, const char* call) {
  if (made == nullptr) give_up(call, errno);
  return Owned<T>(made);
}
template Owned<ibv_context> own(ibv_context*, const char*);
template Owned<ibv_pd> own(ibv_pd*, const char*);
template Owned<ibv_mr> own(ibv_mr*, const char*);
template Owned<ibv_cq> own(ibv_cq*, const char*);
template Owned<ibv_qp> own(ibv_qp*, const char*);
template Owned<ibv_srq> own(ibv_srq*, const char*);
template Owned<ibv_ah> own(ibv_ah*, const char*);
template Owned<ibv_mw> own(ibv_mw*, const char*);
template Owned<ibv_dm> own(ibv_dm*, const char*);
template Owned<ibv_xrcd> own(ibv_xrcd*, const char*);
template Owned<ibv_comp_channel> own(ibv_comp_channel*, const char*);

void must(int result, const char* call) {
  if (result != 0) give_up(call, result > 0 ? result : errno);
}

std::uint64_t seed() {
  static const std::uint64_t chosen = [] {
    const char* text = std::getenv("RXNIC_SEED");
    const std::uint64_t number = text == nullptr ? 1 : std::strtoull(text, nullptr, 0);
    std::printf("RXNIC_SEED=%llu\n", static_cast<unsigned long long>(number));
    return number;
  }();
  return chosen;
}

World::World(std::uint32_t number)
    : nic(number), context(open_nic(number)), pd(own(ibv_alloc_pd(context.get()), "ibv_alloc_pd")) {}

Owned<ibv_cq> World::cq(int entries) const {
  return own(ibv_create_cq(context.get(), entries, nullptr, nullptr, 0), "ibv_create_cq");
}

ibv_gid World::gid(int index) const {
  ibv_gid gid;
  must(ibv_query_gid(context.get(), 1, index, &gid), "ibv_query_gid");
  return gid;
}

Arena::Arena(const World& world, std::size_t bytes, int access, std::size_t begin, std::size_t length)
    : memory_(map_pages(bytes)) {
  refill(seed());
  region =
      own(ibv_reg_mr(world.pd.get(), at(begin), length == 0 ? bytes - begin : length, static_cast<unsigned>(access)),
          "ibv_reg_mr");
}

Arena::~Arena() {
  region.reset();
  munmap(memory_.data(), memory_.size());
}

ibv_sge Arena::sge(std::size_t offset, std::size_t length) const {
  return {address(offset), static_cast<std::uint32_t>(length), region->lkey};
}

std::span<const std::uint8_t> Arena::bytes(std::size_t offset, std::size_t length) const {
  return memory_.subspan(offset, length);
}

void Arena::cut(std::size_t bytes) {
  must(munmap(at(bytes), size() - bytes), "munmap");
  memory_ = memory_.first(bytes);
  expected_.resize(bytes);
}

void Arena::refill(std::uint64_t from) {
  std::mt19937_64 random(from);
  for (std::size_t n = 0; n < memory_.size(); n += sizeof(std::uint64_t)) {  // whole pages
    const std::uint64_t bytes = random();
    std::memcpy(&memory_[n], &bytes, sizeof bytes);
  }
  expected_.assign(memory_.begin(), memory_.end());
}

void Arena::expect(std::size_t offset, std::span<const std::uint8_t> bytes) {
  std::copy(bytes.begin(), bytes.end(), expected_.begin() + static_cast<std::ptrdiff_t>(offset));
}

void Arena::accept(std::size_t offset, std::size_t length) { expect(offset, bytes(offset, length)); }

std::string Arena::differs() const {
  const auto [found, wanted] = std::mismatch(memory_.begin(), memory_.end(), expected_.begin());
  if (found == memory_.end()) return "";
  return fmt::format("byte {} of the arena is {:#04x}, expected {:#04x}", found - memory_.begin(), *found, *wanted);
}

Owned<ibv_qp> make_qp(const World& world, ibv_cq* send_cq, ibv_cq* receive_cq, const QpShape& shape) {
  ibv_qp_init_attr init{};
  init.send_cq = send_cq;
  init.recv_cq = receive_cq;
  init.srq = shape.srq;
  init.qp_type = shape.type;
  init.sq_sig_all = shape.all_signaled;
  init.cap = {shape.wrs, shape.wrs, shape.sges, shape.sges, shape.inline_bytes};
  if (shape.srq != nullptr) init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
  return own(ibv_create_qp(world.pd.get(), &init), "ibv_create_qp");
}

ibv_ah_attr address_of(const ibv_gid& gid, const Path& path) {
  ibv_ah_attr address{};
  address.is_global = 1;
  address.port_num = 1;
  address.grh.dgid = gid;
  address.grh.sgid_index = static_cast<std::uint8_t>(path.gid_index);
  address.grh.hop_limit = 64;
  return address;
}

ibv_ah_attr address_of(const World& world, const Path& path) { return address_of(world.gid(path.gid_index), path); }

void connect(ibv_qp* qp, const ibv_gid& to, std::uint32_t to_qpn, const Path& path) {
  const bool datagrams = qp->qp_type == IBV_QPT_UD;
  const bool requests = qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND;
  const bool responds = qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_RECV;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = static_cast<unsigned>(path.access);
  attr.qkey = path.qkey;
  must(ibv_modify_qp(qp, &attr,
                     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (datagrams ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
       "ibv_modify_qp(INIT)");

  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = path.mtu;
  attr.dest_qp_num = to_qpn;
  attr.rq_psn = attr.sq_psn = path.psn;
  attr.max_dest_rd_atomic = attr.max_rd_atomic = path.rd_atomic;
  attr.min_rnr_timer = path.min_rnr_timer;
  if (!datagrams) attr.ah_attr = address_of(to, path);
  const int connected = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  const int responder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | (datagrams ? 0 : connected) | (responds ? responder : 0)),
       "ibv_modify_qp(RTR)");
  if (!path.ready_to_send) return;

  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = path.timeout;
  attr.retry_cnt = path.retry_count;
  attr.rnr_retry = path.rnr_retry;
  const int requester = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  must(ibv_modify_qp(qp, &attr,
                     IBV_QP_STATE | IBV_QP_SQ_PSN |
                         (requests   ? requester
                          : responds ? IBV_QP_TIMEOUT
                                     : 0)),
       "ibv_modify_qp(RTS)");
}

void connect(ibv_qp* qp, const World& to, std::uint32_t to_qpn, const Path& path) {
  connect(qp, to.gid(path.gid_index), to_qpn, path);
}

void connect_both(ibv_qp* a, const World& of_a, ibv_qp* b, const World& of_b, const Path& path) {
  connect(b, of_a, a->qp_num, path);
  connect(a, of_b, b->qp_num, path);
}

ibv_wc take(ibv_cq* cq) {
  const auto end = std::chrono::steady_clock::now() + Patience::current();
  ibv_wc wc{};
  do {
    const int count = ibv_poll_cq(cq, 1, &wc);
    if (count > 0) return wc;
    if (count < 0) throw std::runtime_error("ibv_poll_cq failed");
  } while (std::chrono::steady_clock::now() < end);
  throw std::runtime_error("no completion came");
}

bool is_empty(ibv_cq* cq) {
  ibv_wc wc{};
  return ibv_poll_cq(cq, 1, &wc) == 0;
}

bool has_event(int fd) {
  pollfd ready{fd, POLLIN, 0};
  return poll(&ready, 1, 0) == 1;
}

ibv_async_event take_whole_event(ibv_context* context) {
  pollfd ready{context->async_fd, POLLIN, 0};
  if (poll(&ready, 1, std::chrono::milliseconds(Patience::current()).count()) != 1) {
    throw std::runtime_error("no asynchronous event came");
  }
  ibv_async_event event{};
  must(ibv_get_async_event(context, &event), "ibv_get_async_event");
  ibv_ack_async_event(&event);
  return event;
}

ibv_event_type take_event(ibv_context* context) { return take_whole_event(context).event_type; }

ibv_send_wr send_wr(ibv_wr_opcode opcode, std::span<ibv_sge> list, std::uint64_t id) {
  ibv_send_wr wr{};
  wr.wr_id = id;
  wr.opcode = opcode;
  wr.sg_list = list.data();
  wr.num_sge = static_cast<int>(list.size());
  wr.send_flags = IBV_SEND_SIGNALED;
  return wr;
}

void post(ibv_qp* qp, ibv_send_wr& wr) {
  ibv_send_wr* bad = nullptr;
  must(ibv_post_send(qp, &wr, &bad), "ibv_post_send");
}

namespace {

ibv_recv_wr receive_wr(std::span<ibv_sge> list, std::uint64_t id) {
  return {id, nullptr, list.data(), static_cast<int>(list.size())};
}

}  // namespace

void post_receive(ibv_qp* qp, std::span<ibv_sge> list, std::uint64_t id) {
  ibv_recv_wr wr = receive_wr(list, id), *bad = nullptr;
  must(ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
}

void post_receive(ibv_srq* srq, std::span<ibv_sge> list, std::uint64_t id) {
  ibv_recv_wr wr = receive_wr(list, id), *bad = nullptr;
  must(ibv_post_srq_recv(srq, &wr, &bad), "ibv_post_srq_recv");
}

}  // namespace rxnic::live
