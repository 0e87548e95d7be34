// SPDX-License-Identifier: Apache-2.0
// Random messages over every transport and opcode with random scatter/gather lists. What was sent arrives, in the right
// bytes and in no others, and equals the payload on the wire (PayloadLog).
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>

#include "testbench/live/payload_log.h"
#include "testbench/live/verbs_pair.h"

namespace rxnic::live::payload_test {
namespace {

constexpr std::size_t kGrh = 40;
constexpr std::size_t kMtu = 1024;
constexpr int kBatches = 60;
constexpr std::size_t kBatch = 8;

constexpr const char* kNames[] = {"write", "write_imm", "send", "send_imm", "read", "compare_swap", "fetch_add"};
const char* name_of(ibv_wr_opcode opcode) { return opcode == IBV_WR_ATOMIC_WRITE ? "atomic_write" : kNames[opcode]; }

bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
bool takes_receive(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}
bool takes_inline(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND || opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_ATOMIC_WRITE;
}
bool has_immediate(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

struct Message {
  ibv_send_wr wr{};
  std::vector<ibv_sge> local, receive;
  std::size_t length = 0;
};

class Payload : public PairTest {
 protected:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  std::size_t length_for(ibv_qp_type type, ibv_wr_opcode opcode) {
    if (is_atomic(opcode) || opcode == IBV_WR_ATOMIC_WRITE) return 8;
    const std::size_t favourites[] = {0, 1, 3, 4, 60, 64, kMtu - 1, kMtu, kMtu + 1, 2 * kMtu, kMtu * 4 + 1};
    const std::size_t length = below(2) == 0 ? favourites[below(std::size(favourites))] : below(16000);
    return type == IBV_QPT_UD ? std::min(length, kMtu) : length;
  }

  // `length` bytes of an arena in up to `most` pieces with gaps between them, behind everything carved before.
  std::vector<ibv_sge> carve(Arena& arena, std::size_t& cursor, std::size_t length, std::size_t most = 8) {
    std::vector<ibv_sge> list;
    std::size_t left = length;
    while (left > 0) {
      cursor += below(100) + 1;
      const std::size_t piece = list.size() + 1 == most ? left : below(left) + 1;
      list.push_back(arena.sge(cursor, piece));
      cursor += piece;
      left -= piece;
    }
    return list;
  }

  static std::vector<std::uint8_t> gather(const std::vector<ibv_sge>& list) {
    std::vector<std::uint8_t> bytes;
    for (const ibv_sge& sge : list) {
      const auto* at = reinterpret_cast<const std::uint8_t*>(sge.addr);
      bytes.insert(bytes.end(), at, at + sge.length);
    }
    return bytes;
  }
  static void expect_in(Arena& arena, const std::vector<ibv_sge>& list, std::span<const std::uint8_t> bytes) {
    for (const ibv_sge& sge : list) {
      const std::size_t part = std::min<std::size_t>(sge.length, bytes.size());
      arena.expect(sge.addr - arena.address(0), bytes.first(part));
      bytes = bytes.subspan(part);
    }
  }

  Message message(Side& from, Side& to, ibv_wr_opcode opcode) {
    Message m;
    m.length = length_for(from.qp->qp_type, opcode);
    const bool answered = opcode == IBV_WR_RDMA_READ || is_atomic(opcode);
    m.local = carve(from.arena, from_cursor_, m.length, answered ? read_sges_ : 8);
    m.wr = send_wr(opcode, m.local, random_());
    m.wr.imm_data = static_cast<std::uint32_t>(random_());
    if (below(3) == 0 && m.length <= 64 && takes_inline(opcode)) {
      m.wr.send_flags |= IBV_SEND_INLINE;
    }
    if (is_atomic(opcode)) {
      to_cursor_ = (to_cursor_ + 64) / 8 * 8;
      // Every other compare-and-swap finds the value that it compares with.
      std::uint64_t there;
      std::memcpy(&there, to.arena.at(to_cursor_), 8);
      m.wr.wr.atomic = {to.arena.address(to_cursor_), below(2) == 0 ? there : random_(), random_(),
                        to.arena.region->rkey};
      to_cursor_ += 8;
    } else if (opcode != IBV_WR_SEND && opcode != IBV_WR_SEND_WITH_IMM) {
      to_cursor_ += below(100) + 1;
      if (opcode == IBV_WR_ATOMIC_WRITE) to_cursor_ = (to_cursor_ + 7) / 8 * 8;
      m.wr.wr.rdma = {to.arena.address(to_cursor_), to.arena.region->rkey};
      to_cursor_ += m.length;
    }
    const bool datagram = from.qp->qp_type == IBV_QPT_UD;
    if (opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM) {
      m.receive = carve(to.arena, to_cursor_, m.length + below(50) + (datagram ? kGrh : 0));
    }
    if (datagram) m.wr.wr.ud = {&from == &a ? to_b_.get() : to_a_.get(), to.qp->qp_num, path_.qkey};
    return m;
  }

  // Notes what the message changes in both arenas, and the payload that must be on the wire.
  void expect_effect(Side& from, Side& to, const Message& m) {
    const ibv_wr_opcode opcode = m.wr.opcode;
    if (is_atomic(opcode)) {
      const auto& op = m.wr.wr.atomic;
      std::array<std::uint8_t, 8> before;
      std::memcpy(before.data(), reinterpret_cast<const void*>(op.remote_addr), 8);
      const auto old = std::bit_cast<std::uint64_t>(before);
      const bool add = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
      const std::uint64_t now = add ? old + op.compare_add : old == op.compare_add ? op.swap : old;
      to.arena.expect(op.remote_addr - to.arena.address(0), std::bit_cast<std::array<std::uint8_t, 8>>(now));
      expect_in(from.arena, m.local, before);
      log_.atomic(to.world.nic, to.qp->qp_num, add ? 0 : op.compare_add, add ? op.compare_add : op.swap);
    } else if (opcode == IBV_WR_RDMA_READ) {
      const auto remote = to.arena.bytes(m.wr.wr.rdma.remote_addr - to.arena.address(0), m.length);
      expect_in(from.arena, m.local, remote);
      log_.response(from.world.nic, from.qp->qp_num, remote);
    } else {
      const std::vector<std::uint8_t> bytes = gather(m.local);
      log_.request(to.world.nic, to.qp->qp_num, name_of(opcode), bytes);
      if (opcode == IBV_WR_ATOMIC_WRITE) log_.response(from.world.nic, from.qp->qp_num, {});
      if (opcode != IBV_WR_SEND && opcode != IBV_WR_SEND_WITH_IMM) {
        to.arena.expect(m.wr.wr.rdma.remote_addr - to.arena.address(0), bytes);
      } else if (to.qp->qp_type == IBV_QPT_UD) {
        std::vector<std::uint8_t> with_grh(kGrh);
        with_grh.insert(with_grh.end(), bytes.begin(), bytes.end());
        expect_in(to.arena, m.receive, with_grh);
      } else {
        expect_in(to.arena, m.receive, bytes);
      }
    }
  }

  // grh_test checks the 40 bytes in front of a datagram.
  static void accept_grh(Side& to, const Message& m) {
    std::size_t left = kGrh;
    for (const ibv_sge& sge : m.receive) {
      const std::size_t part = std::min<std::size_t>(left, sge.length);
      to.arena.accept(sge.addr - to.arena.address(0), part);
      left -= part;
    }
  }

  void check_receive(Side& to, const Message& m) {
    const ibv_wc wc = take(to.receive_cq.get());
    const std::size_t grh = to.qp->qp_type == IBV_QPT_UD ? kGrh : 0;
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.wr_id, m.wr.wr_id);
    EXPECT_EQ(wc.byte_len, m.length + grh);
    EXPECT_EQ(wc.qp_num, to.qp->qp_num);
    EXPECT_EQ(wc.opcode, m.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
    EXPECT_EQ((wc.wc_flags & IBV_WC_WITH_IMM) != 0, has_immediate(m.wr.opcode));
    if (has_immediate(m.wr.opcode)) {
      EXPECT_EQ(wc.imm_data, m.wr.imm_data);
    }
  }

  void batch(Side& from, Side& to, std::span<const ibv_wr_opcode> opcodes) {
    from_cursor_ = to_cursor_ = 0;
    std::deque<Message> messages;
    for (std::size_t i = 0; i < kBatch; ++i) {
      // The last one is a SEND, so that the receiver knows when all of it is there.
      messages.push_back(message(from, to, i + 1 == kBatch ? IBV_WR_SEND : opcodes[below(opcodes.size())]));
    }
    ASSERT_LE(from_cursor_, from.arena.size());
    ASSERT_LE(to_cursor_, to.arena.size());
    for (std::size_t i = 0; i < kBatch; ++i) {
      Message& m = messages[i];
      expect_effect(from, to, m);
      if (takes_receive(m.wr.opcode)) post_receive(to.qp.get(), m.receive, m.wr.wr_id);
      m.wr.sg_list = m.local.data();
      m.wr.next = i + 1 < kBatch ? &messages[i + 1].wr : nullptr;
    }
    post(from.qp.get(), messages.front().wr);
    for (const Message& m : messages) {
      const ibv_wc wc = take(from.send_cq.get());
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status) << ", " << name_of(m.wr.opcode);
      EXPECT_EQ(wc.opcode == IBV_WC_ATOMIC_WRITE, m.wr.opcode == IBV_WR_ATOMIC_WRITE);
      EXPECT_EQ(wc.wr_id, m.wr.wr_id);
    }
    for (const Message& m : messages) {
      if (takes_receive(m.wr.opcode)) check_receive(to, m);
    }
    if (HasFatalFailure()) return;
    for (const Message& m : messages) {
      if (to.qp->qp_type == IBV_QPT_UD) accept_grh(to, m);
    }
    expect_nothing_else_written();
  }

  void run(ibv_qp_type type, std::span<const ibv_wr_opcode> opcodes) {
    random_.seed(seed() * 16 + GetParam() * 4 + static_cast<unsigned>(type));
    QpShape shape;
    shape.type = type;
    path_.psn = static_cast<std::uint32_t>(random_()) & 0xffffff;
    reconnect(shape, path_);
    ibv_device_attr attr{};
    must(ibv_query_device(a.world.context.get(), &attr), "ibv_query_device");
    read_sges_ = std::min<std::size_t>(8, static_cast<std::size_t>(attr.max_sge_rd));
    if (type == IBV_QPT_UD) {
      ibv_ah_attr a_at = address_of(a.world, path_), b_at = address_of(b.world, path_);
      to_a_ = own(ibv_create_ah(b.world.pd.get(), &a_at), "ibv_create_ah");
      to_b_ = own(ibv_create_ah(a.world.pd.get(), &b_at), "ibv_create_ah");
    }
    for (int i = 0; i < kBatches && !HasFailure(); ++i) {
      SCOPED_TRACE(i);
      below(2) == 0 ? batch(a, b, opcodes) : batch(b, a, opcodes);
    }
  }

  PayloadLog log_;
  std::mt19937_64 random_;
  Path path_;
  std::size_t from_cursor_ = 0, to_cursor_ = 0;
  std::size_t read_sges_ = 1;  // of a READ or atomic
  Owned<ibv_ah> to_a_, to_b_;
};

TEST_P(Payload, ReliableConnection) {
  run(IBV_QPT_RC,
      std::array{IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
                 IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_WRITE});
}

TEST_P(Payload, UnreliableConnection) {
  run(IBV_QPT_UC, std::array{IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM});
}

TEST_P(Payload, Datagrams) { run(IBV_QPT_UD, std::array{IBV_WR_SEND, IBV_WR_SEND_WITH_IMM}); }

RXNIC_ON_ONE_AND_TWO_NICS(Payload);

}  // namespace
}  // namespace rxnic::live::payload_test
