// SPDX-License-Identifier: Apache-2.0
// A program of a test: its objects, rings and buffers (bridge_lab.h).
//
//   Lab lab(2);                              // NICs
//   Program a(lab, 0), b(lab, 1);            // each opens its NIC
//   const auto cq = a.create_cq();           // runs the simulation until the reply is there
//   ...
//   a.post_send(qa, {...}); a.ring_send(qa);
//   const Cqe cqe = b.wait_for(cq_b);
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "testbench/unit/bridge/driver/bridge_lab.h"

namespace rxnic {

class Program {
 public:
  struct Cq {
    std::uint32_t number = 0, slots = 0, record = 0, consumer = 0;
    std::uint64_t ring = 0;
  };
  struct Qp {
    std::uint32_t number = 0, send_record = 0, receive_record = 0;
    std::uint64_t send_ring = 0, receive_ring = 0;
    std::uint32_t slots = 0, posted_sends = 0, posted_receives = 0;
  };
  struct Srq {
    std::uint32_t number = 0, record = 0, slots = 0, posted = 0;
    std::uint64_t ring = 0;
  };
  static constexpr std::uint32_t kSendStride = 256, kReceiveStride = 64;

  Program(Lab& lab, std::uint32_t nic_number) : lab_(lab), port_(lab.own_port), nic(nic_number) {
    id = ClientId{++port_.clients};
    space_ = (lab.own_memory.spaces[id] = std::make_unique<TestPrograms::Space>()).get();
    ProgramEvent open;
    open.kind = ProgramEvent::Kind::kOpen;
    open.client = id;
    open.nic = nic;
    port_.events.push_back(open);
    EXPECT_TRUE(lab.run_until([&] { return port_.open_status.contains(id); }));
  }

  // Control requests. call() waits for the reply, which has `status`.
  channel::Message call(channel::Message m) {
    const std::size_t before = port_.replies[id].size();
    send(m);
    EXPECT_TRUE(lab_.run_until([&] { return port_.replies[id].size() > before; })) << "no reply";
    return port_.replies[id].back();
  }
  void send(const channel::Message& m) {
    ProgramEvent event;
    event.kind = ProgramEvent::Kind::kRequest;
    event.client = id;
    event.message = m;
    port_.events.push_back(event);
  }
  channel::Message call(channel::Request type, const std::function<void(channel::Message::Body&)>& fill = {}) {
    channel::Message m;
    m.type = type;
    if (fill) fill(m.body);
    return call(m);
  }
  std::int32_t free(channel::Request type, std::uint32_t number) {
    return call(type, [&](auto& b) { b.handle.number = number; }).status;
  }
  void close() {
    ProgramEvent event;
    event.kind = ProgramEvent::Kind::kClose;
    event.client = id;
    port_.events.push_back(event);
  }
  void die() {
    close();
    lose_memory();
  }
  void break_memory() { space_->throws = true; }
  void lose_memory() { space_->ended = true; }  // as long as its death is not noticed

  std::uint32_t create_pd() {
    const auto reply = call(channel::Request::kAllocatePd);
    EXPECT_EQ(reply.status, 0);
    return reply.body.handle.number;
  }
  channel::Message register_memory(std::uint32_t pd, std::uint64_t address, std::uint64_t length,
                                   std::uint32_t access) {
    return call(channel::Request::kRegisterMemory, [&](auto& b) {
      b.memory = {};
      b.memory.pd = pd;
      b.memory.access = access;
      b.memory.address = b.memory.iova = address;
      b.memory.length = length;
    });
  }
  std::uint32_t create_mr(std::uint32_t pd, std::uint64_t address, std::uint64_t length, std::uint32_t access = 0xf) {
    const auto reply = register_memory(pd, address, length, access);
    EXPECT_EQ(reply.status, 0);
    return reply.body.memory.lkey;
  }
  channel::CompletionQueue cq_request(std::uint32_t slots = 64, std::uint32_t channel = 0) {
    channel::CompletionQueue asked;
    asked.slots = slots;
    asked.ring = heap(std::uint64_t{slots} * 64, 0xff);
    asked.doorbell = records_[2]++;
    asked.channel = channel;
    return asked;
  }
  Cq create_cq(std::uint32_t slots = 64, std::uint32_t channel = 0) {
    const auto asked = cq_request(slots, channel);
    const auto reply = call(channel::Request::kCreateCq, [&](auto& b) { b.cq = asked; });
    EXPECT_EQ(reply.status, 0);
    return {reply.body.cq.cqn, slots, asked.doorbell, 0, asked.ring};
  }
  channel::SharedReceiveQueue srq_request(std::uint32_t pd, std::uint32_t slots = 64) {
    channel::SharedReceiveQueue asked;
    asked.pd = pd;
    asked.slots = slots;
    asked.stride = kReceiveStride;
    asked.ring = heap(std::uint64_t{slots} * kReceiveStride);
    asked.doorbell = records_[1]++;
    return asked;
  }
  Srq create_srq(std::uint32_t pd, std::uint32_t slots = 64) {
    const auto asked = srq_request(pd, slots);
    const auto reply = call(channel::Request::kCreateSrq, [&](auto& b) { b.srq = asked; });
    EXPECT_EQ(reply.status, 0);
    return {reply.body.srq.srqn, asked.doorbell, slots, 0, asked.ring};
  }
  // An XRC domain for the file of that number, 0: for this client alone.
  channel::Message open_xrcd(std::uint64_t file = 0, bool create = true, bool exclusive = false) {
    return call(channel::Request::kOpenXrcd, [&](auto& b) {
      b.xrcd = {};
      b.xrcd.create = create ? 1 : 0;
      b.xrcd.exclusive = exclusive ? 1 : 0;
      b.xrcd.has_file = file != 0 ? 1 : 0;
      b.xrcd.file_number = file;
    });
  }
  Srq create_xrc_srq(std::uint32_t pd, const Cq& cq, std::uint32_t xrcd, std::uint32_t slots = 64) {
    auto asked = srq_request(pd, slots);
    asked.type = kSrqXrc;
    asked.cqn = cq.number;
    asked.xrcd = xrcd;
    const auto reply = call(channel::Request::kCreateSrq, [&](auto& b) { b.srq = asked; });
    EXPECT_EQ(reply.status, 0);
    return {reply.body.srq.srqn, asked.doorbell, slots, 0, asked.ring};
  }
  static channel::QueuePair xrc_receive_request(std::uint32_t xrcd) {
    channel::QueuePair asked;
    asked.type = static_cast<std::uint32_t>(QpType::kXrcReceive);
    asked.xrcd = xrcd;
    return asked;
  }
  channel::QueuePair qp_request(QpType type, std::uint32_t pd, std::uint32_t send_cq, std::uint32_t receive_cq,
                                std::uint32_t slots = 64) {
    channel::QueuePair asked;
    asked.type = static_cast<std::uint32_t>(type);
    asked.pd = pd;
    asked.send_cq = send_cq;
    asked.receive_cq = receive_cq;
    asked.send_slots = asked.receive_slots = slots;
    asked.send_stride = kSendStride;
    asked.receive_stride = kReceiveStride;
    asked.send_ring = heap(std::uint64_t{slots} * kSendStride);
    asked.receive_ring = heap(std::uint64_t{slots} * kReceiveStride);
    asked.send_doorbell = records_[0]++;
    asked.receive_doorbell = records_[1]++;
    return asked;
  }
  Qp create_qp(const channel::QueuePair& asked) {
    const auto reply = call(channel::Request::kCreateQp, [&](auto& b) { b.qp = asked; });
    EXPECT_EQ(reply.status, 0);
    return {reply.body.qp.qpn,
            asked.send_doorbell,
            asked.receive_doorbell,
            asked.send_ring,
            asked.receive_ring,
            asked.send_slots,
            0,
            0};
  }
  Qp create_qp(QpType type, std::uint32_t pd, const Cq& cq) {
    return create_qp(qp_request(type, pd, cq.number, cq.number));
  }
  std::int32_t modify(const channel::QpAttributes& attributes) {
    return call(channel::Request::kModifyQp, [&](auto& b) { b.attributes = attributes; }).status;
  }
  channel::QpAttributes query(const Qp& qp) {
    return call(channel::Request::kQueryQp,
                [&](auto& b) {
                  b.attributes = {};
                  b.attributes.qpn = qp.number;
                })
        .body.attributes;
  }
  QpState state(const Qp& qp) { return static_cast<QpState>(query(qp).state); }
  std::int32_t to_state(const Qp& qp, QpState state) {
    channel::QpAttributes a;
    a.qpn = qp.number;
    a.mask = kAttrState;
    a.state = static_cast<std::uint32_t>(state);
    return modify(a);
  }
  // Reset -> Init -> RTR -> RTS, to that QP of that NIC.
  void connect(const Qp& qp, QpType type, std::uint32_t remote_nic, std::uint32_t remote_qpn, std::uint8_t gid = 2) {
    EXPECT_EQ(modify(to_init(qp, type)), 0);
    EXPECT_EQ(modify(to_rtr(qp, type, remote_nic, remote_qpn, gid)), 0);
    EXPECT_EQ(modify(to_rts(qp, type)), 0);
  }
  static channel::QpAttributes to_init(const Qp& qp, QpType type) {
    channel::QpAttributes a;
    a.qpn = qp.number;
    a.mask = kAttrState | kAttrPort;
    if (type != QpType::kRawPacket) a.mask |= kAttrPkeyIndex | (type == QpType::kUd ? kAttrQkey : kAttrAccess);
    a.state = static_cast<std::uint32_t>(QpState::kInit);
    a.port = 1;
    a.qkey = 0x1111'1111;
    a.access = 0xf;
    return a;
  }
  static channel::QpAttributes to_rtr(const Qp& qp, QpType type, std::uint32_t remote_nic, std::uint32_t remote_qpn,
                                      std::uint8_t gid = 2) {
    channel::QpAttributes a;
    a.qpn = qp.number;
    a.mask = kAttrState;
    a.state = static_cast<std::uint32_t>(QpState::kRtr);
    if (!connects(type)) return a;
    a.mask |= kAttrPath | kAttrPathMtu | kAttrRemoteQpn | kAttrRqPsn;
    if (type == QpType::kRc || type == QpType::kXrcReceive) a.mask |= kAttrMaxDestRdAtomic | kAttrMinRnrTimer;
    a.path = path_to(remote_nic, gid);
    a.is_global = 1;
    a.path_mtu = 3;
    a.remote_qpn = remote_qpn;
    a.rq_psn = kPsn;
    a.max_dest_rd_atomic = 4;
    a.min_rnr_timer = 1;
    return a;
  }
  static channel::QpAttributes to_rts(const Qp& qp, QpType type) {
    channel::QpAttributes a;
    a.qpn = qp.number;
    a.mask = kAttrState;
    if (type != QpType::kRawPacket) a.mask |= kAttrSqPsn;
    a.state = static_cast<std::uint32_t>(QpState::kRts);
    a.sq_psn = kPsn;
    a.timeout = 8;
    if (type == QpType::kXrcReceive) a.mask |= kAttrTimeout;
    if (type != QpType::kRc && type != QpType::kXrcSend) return a;
    a.mask |= kAttrTimeout | kAttrRetryCount | kAttrRnrRetry | kAttrMaxRdAtomic;
    a.retry_count = 3;
    a.rnr_retry = 7;
    a.max_rd_atomic = 4;
    return a;
  }
  static AddressVector path_to(std::uint32_t remote_nic, std::uint8_t gid = 2) {
    AddressVector path;
    path.destination_gid = nic_gids(remote_nic)[gid].bytes;
    path.destination_mac = nic_mac(remote_nic);
    path.source_gid_index = gid;
    return path;
  }

  // The data path.
  struct Wr {
    SendOpcode opcode = SendOpcode::kSend;
    DataSegment sge{};
    std::uint8_t flags = kSendSignaled;
    RemoteSegment remote{};
    AddressVector path{};  // UD, with:
    std::uint32_t remote_qpn = 0;
  };
  void post_send(Qp& qp, const Wr& wr, bool datagram = false) {
    const std::uint64_t slot = qp.send_ring + std::uint64_t{qp.posted_sends % qp.slots} * kSendStride;
    SendControl control;
    control.opcode = wr.opcode;
    control.flags = wr.flags;
    control.sge_count = wr.sge.lkey == 0 ? 0 : 1;
    control.immediate = 0x1234;
    control.remote_qpn = wr.remote_qpn;
    control.remote_qkey = 0x1111'1111;
    store(slot, control);
    if (datagram) {
      store(slot + 32, wr.path);
    } else {
      store(slot + 32, wr.remote);
    }
    store(slot + 64, wr.sge);
    ++qp.posted_sends;
  }
  void ring_send(const Qp& qp, std::uint64_t wqe_bytes = 0) {
    ring(channel::Board::kSend, qp.send_record, qp.posted_sends | wqe_bytes << channel::kWqeBytesShift);
  }
  void post_receive(Qp& qp, const DataSegment& sge) {
    const std::uint64_t slot = qp.receive_ring + std::uint64_t{qp.posted_receives % qp.slots} * kReceiveStride;
    store(slot, sge);
    store(slot + 16, DataSegment{0, raw(kInvalidKey), 0});
    ++qp.posted_receives;
  }
  void ring_receive(const Qp& qp) { ring(channel::Board::kReceive, qp.receive_record, qp.posted_receives); }
  void post_receive(Srq& srq, const DataSegment& sge) {  // linked list, slots in order
    const std::uint32_t index = srq.posted % srq.slots;
    const std::uint64_t slot = srq.ring + std::uint64_t{index} * kReceiveStride;
    NextSegment next;
    next.next_wqe_index = static_cast<std::uint16_t>((index + 1) % srq.slots);
    store(slot, next);
    store(slot + 16, sge);
    store(slot + 32, DataSegment{0, raw(kInvalidKey), 0});
    ++srq.posted;
  }
  void ring_receive(const Srq& srq) { ring(channel::Board::kReceive, srq.record, srq.posted); }
  void ring(channel::Board board, std::uint32_t record, std::uint64_t value) {
    ProgramEvent event;
    event.kind = ProgramEvent::Kind::kDoorbell;
    event.client = id;
    event.board = board;
    event.index = record;
    event.value = value;
    port_.events.push_back(event);
  }
  bool poll(Cq& cq, Cqe& out) {
    std::memcpy(&out, at(cq.ring + std::uint64_t{cq.consumer % cq.slots} * 64), sizeof out);
    if (out.owner != ((cq.consumer / cq.slots) & 1)) return false;
    ++cq.consumer;
    return true;
  }
  Cqe wait_for(Cq& cq) {
    Cqe cqe;
    EXPECT_TRUE(lab_.run_until([&] { return poll(cq, cqe); })) << "no completion";
    ring(channel::Board::kConsumer, cq.record, cq.consumer);
    return cqe;
  }

  // `bytes` of the heap of the mapping, as an offset; of the program's own memory, as an address.
  std::uint64_t heap(std::uint64_t bytes, std::uint8_t fill = 0) {
    const std::uint64_t offset = channel::kHeapOffset + heap_used_;
    heap_used_ += (bytes + 63) / 64 * 64;
    std::memset(at(offset), fill, bytes);
    return offset;
  }
  std::uint64_t local(std::uint64_t bytes) {
    const std::uint64_t address = TestPrograms::kLocalBase + local_used_;
    local_used_ += (bytes + 4095) / 4096 * 4096;
    return address;
  }
  std::uint8_t* at(std::uint64_t offset) { return space_->heap.data() + (offset - channel::kHeapOffset); }
  std::uint8_t* bytes(std::uint64_t address) { return space_->local.data() + (address - TestPrograms::kLocalBase); }
  template <class T>
  void store(std::uint64_t offset, const T& value) {
    std::memcpy(at(offset), &value, sizeof value);
  }
  const std::vector<TestPort::Notice>& notices() { return port_.notices[id]; }
  std::size_t notices(channel::EventKind kind) {
    std::size_t n = 0;
    for (const auto& notice : notices()) n += notice.event.kind == kind;
    return n;
  }

  static constexpr std::uint32_t kPsn = 0xfffffe;  // wraps early

 private:
  Lab& lab_;
  TestPort& port_;
  TestPrograms::Space* space_;
  std::uint64_t heap_used_ = 0, local_used_ = 0;
  std::array<std::uint32_t, 3> records_{};

 public:
  std::uint32_t nic;
  ClientId id{};
};

// Two programs, each with a PD, a CQ, a region and a QP; the QPs are connected.
struct ConnectedPair {
  ConnectedPair(Lab& l, QpType qp_type, std::uint32_t nic_a, std::uint32_t nic_b, std::uint8_t gid = 2)
      : lab(l), type(qp_type), a(l, nic_a), b(l, nic_b) {
    for (Side* s : {&left, &right}) {
      Program& p = s == &left ? a : b;
      s->pd = p.create_pd();
      s->cq = p.create_cq();
      s->buffer = p.local(kBytes);
      s->lkey = p.create_mr(s->pd, s->buffer, kBytes);
      s->qp = p.create_qp(type, s->pd, s->cq);
    }
    a.connect(left.qp, type, nic_b, right.qp.number, gid);
    b.connect(right.qp, type, nic_a, left.qp.number, gid);
  }
  static constexpr std::uint64_t kBytes = 64 << 10;
  struct Side {
    std::uint32_t pd = 0, lkey = 0;
    Program::Cq cq;
    Program::Qp qp;
    std::uint64_t buffer = 0;
    DataSegment sge(std::uint32_t bytes, std::uint64_t offset = 0) const { return {bytes, lkey, buffer + offset}; }
    RemoteSegment remote(std::uint64_t offset = 0) const { return {buffer + offset, lkey, 0, 0, 0}; }
  };
  Lab& lab;
  QpType type;
  Program a, b;
  Side left, right;
};

}  // namespace rxnic
