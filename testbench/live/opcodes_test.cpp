// SPDX-License-Identifier: Apache-2.0
// Opcode by transport (rules 4): every cell of the table, by ibv_post_send and by ibv_wr_*. A legal one is carried out,
// with its completions and its effect in memory; another one is refused, with bad_wr, and the QP goes on.
#include <endian.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "testbench/live/opcodes_pair.h"

namespace rxnic::live::opcodes_test {
namespace {

class Opcodes : public OpcodesPair {
 protected:
  void expect_completed(ibv_wc_opcode opcode) {
    const ibv_wc wc = take(a.send_cq.get());
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.opcode, opcode);
    EXPECT_EQ(wc.wr_id, 5u);
  }
  // A receive has completed; its message is `bytes`.
  void expect_received(std::vector<std::uint8_t> bytes, ibv_wc_opcode opcode = IBV_WC_RECV, unsigned flags = 0) {
    const std::size_t grh = transport == kUd ? kGrh : 0;
    const ibv_wc wc = take(b.receive_cq.get());
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.opcode, opcode);
    EXPECT_EQ(wc.wr_id, 9u);
    EXPECT_EQ(wc.wc_flags, flags | (grh != 0 ? 0u + IBV_WC_GRH : 0u));
    if ((flags & IBV_WC_WITH_IMM) != 0) {
      EXPECT_EQ(wc.imm_data, htobe32(kImmediate));
    }
    EXPECT_EQ(wc.byte_len, bytes.size() + grh);
    if (opcode == IBV_WC_RECV_RDMA_WITH_IMM) return;
    b.arena.accept(kSink, grh);
    b.arena.expect(kSink + grh, bytes);
  }
  std::vector<std::uint8_t> sent() {
    const auto bytes = a.arena.bytes(kFrom, kBytes);
    return {bytes.begin(), bytes.end()};
  }

  void carry_out(const Opcode& o, bool extended) {
    const ibv_sge data = a.arena.sge(kFrom, kBytes), operand = a.arena.sge(kFrom, 8);
    std::uint64_t before = 0, after = 0;
    std::memcpy(&before, b.arena.at(kTo), sizeof before);
    switch (o.wr) {
      case IBV_WR_SEND:
        receive();
        ASSERT_EQ(post_one(extended, o.wr, data), 0);
        expect_received(sent());
        break;
      case IBV_WR_SEND_WITH_IMM:
        receive();
        ASSERT_EQ(post_one(extended, o.wr, data), 0);
        expect_received(sent(), IBV_WC_RECV, IBV_WC_WITH_IMM);
        break;
      case IBV_WR_TSO: {
        for (int n = 0; n < 2; ++n) receive();
        ASSERT_EQ(post_one(extended, o.wr, a.arena.sge(kFrom, 2 * kBytes)), 0);
        for (std::size_t n = 0; n < 2; ++n) {
          std::vector<std::uint8_t> packet = header;
          packet.insert(packet.end(), a.arena.at(kFrom + n * kBytes), a.arena.at(kFrom + (n + 1) * kBytes));
          if (n == 0) take(b.receive_cq.get());  // the next one has taken its place
          if (n == 1) expect_received(packet);
        }
        break;
      }
      case IBV_WR_RDMA_WRITE:
        ASSERT_EQ(post_one(extended, o.wr, data), 0);
        if (transport == kUc) {  // nothing says when it has arrived: what comes behind it does
          expect_completed(o.completion);
          receive();
          ASSERT_EQ(post_one(extended, IBV_WR_SEND, data), 0);
          expect_received(sent());
          b.arena.expect(kTo, sent());
          return expect_completed(IBV_WC_SEND);
        }
        break;
      case IBV_WR_RDMA_WRITE_WITH_IMM:
        receive();
        ASSERT_EQ(post_one(extended, o.wr, data), 0);
        expect_received(sent(), IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM);
        break;
      case IBV_WR_BIND_MW:
      case IBV_WR_LOCAL_INV:
        return bind_and_invalidate(extended);
      case IBV_WR_SEND_WITH_INV:
        return send_and_invalidate(extended);
      default:
        compare_add = o.wr == IBV_WR_ATOMIC_CMP_AND_SWP ? before : 77;
        ASSERT_EQ(post_one(extended, o.wr, o.wr == IBV_WR_RDMA_READ ? data : operand), 0);
        break;
    }
    expect_completed(o.completion);
    if (o.wr == IBV_WR_RDMA_WRITE || o.wr == IBV_WR_RDMA_WRITE_WITH_IMM) b.arena.expect(kTo, sent());
    if (o.wr == IBV_WR_ATOMIC_WRITE) b.arena.expect(kTo, a.arena.bytes(kFrom, 8));
    if (o.wr == IBV_WR_RDMA_READ) a.arena.expect(kFrom, b.arena.bytes(kTo, kBytes));
    if (o.wr == IBV_WR_ATOMIC_CMP_AND_SWP || o.wr == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      after = o.wr == IBV_WR_ATOMIC_CMP_AND_SWP ? 0x0123456789abcdef : before + 77;
      a.arena.expect(kFrom, {reinterpret_cast<const std::uint8_t*>(&before), sizeof before});
      b.arena.expect(kTo, {reinterpret_cast<const std::uint8_t*>(&after), sizeof after});
    }
  }
  // A region stays as long as a window is bound to it.
  void bind_and_invalidate(bool extended) {
    key = ibv_inc_rkey(key == 0 ? window->rkey : key);
    ASSERT_EQ(post_one(extended, IBV_WR_BIND_MW, {}), 0);
    expect_completed(IBV_WC_BIND_MW);
    EXPECT_EQ(ibv_dereg_mr(memory.region.get()), EBUSY);
    ASSERT_EQ(post_one(extended, IBV_WR_LOCAL_INV, {}), 0);
    expect_completed(IBV_WC_LOCAL_INV);
    EXPECT_EQ(ibv_dereg_mr(memory.region.release()), 0);
    memory.region = own(ibv_reg_mr(a.world.pd.get(), memory.at(0), memory.size(), kBindable), "ibv_reg_mr");
  }
  // XRC: a receiver binds no windows, so that there is nothing that it could invalidate. The message is placed, but its
  // receive completes in error, the receiver's QP fails, and the sender waits in vain for a response (rules 6.6).
  void send_and_invalidate(bool extended) {
    receive();
    if (transport == kRc) {
      peers_key = ibv_inc_rkey(peers_key == 0 ? peers_window->rkey : peers_key);
      ibv_send_wr bind{}, *bad = nullptr;
      bind.opcode = IBV_WR_BIND_MW;
      bind.send_flags = IBV_SEND_SIGNALED;
      bind.bind_mw = {peers_window.get(),
                      peers_key,
                      {peers_memory.region.get(), peers_memory.address(0), kPage, IBV_ACCESS_REMOTE_READ}};
      must(ibv_post_send(b.qp.get(), &bind, &bad), "ibv_post_send");
      log("ibv_post_send", IBV_WR_BIND_MW, IBV_SEND_SIGNALED, 0, b, a);
      EXPECT_EQ(take(b.send_cq.get()).status, IBV_WC_SUCCESS);
      ASSERT_EQ(post_one(extended, IBV_WR_SEND_WITH_INV, a.arena.sge(kFrom, kBytes)), 0);
      expect_received(sent(), IBV_WC_RECV, IBV_WC_WITH_INV);
      return expect_completed(IBV_WC_SEND);
    }
    peers_key = peers_window->rkey;
    ASSERT_EQ(post_one(extended, IBV_WR_SEND_WITH_INV, a.arena.sge(kFrom, kBytes)), 0);
    const ibv_wc received = take(b.receive_cq.get()), sent_one = take(a.send_cq.get());
    EXPECT_EQ(received.status, IBV_WC_REM_INV_REQ_ERR) << ibv_wc_status_str(received.status);
    EXPECT_EQ(received.wr_id, 9u);
    EXPECT_EQ(received.qp_num, b.qp->qp_num);
    EXPECT_EQ(sent_one.status, IBV_WC_RETRY_EXC_ERR) << ibv_wc_status_str(sent_one.status);
    EXPECT_EQ(sent_one.wr_id, 5u);
    b.arena.expect(kSink, sent());
  }

  void every_cell(unsigned of) {
    for (const bool extended : {false, true}) {
      begin(of);
      key = peers_key = 0;
      unsigned refused = 0;
      for (const Opcode& o : kOpcodes) {
        SCOPED_TRACE(std::string(extended ? "ibv_wr_*, opcode " : "ibv_post_send, opcode ") + std::to_string(o.wr));
        if ((o.transports & of) != 0) {
          carry_out(o, extended);
        } else {
          const bool unknown_to_the_wire = of == kUc && o.wr == IBV_WR_SEND_WITH_INV;
          EXPECT_EQ(post_one(extended, o.wr, a.arena.sge(kFrom, 8)), unknown_to_the_wire ? EOPNOTSUPP : EINVAL);
          ++refused;
        }
        expect_nothing_else_written();
        if (HasFatalFailure()) return;
      }
      for (const ibv_wr_opcode none : {static_cast<ibv_wr_opcode>(99), static_cast<ibv_wr_opcode>(-1)}) {
        if (!extended) {
          EXPECT_EQ(post_one(false, none, {}), EINVAL) << none;
        }
      }
      if (of != kXrc) {  // a refusal has left nothing behind
        carry_out(kOpcodes[0], extended);
        EXPECT_TRUE(is_empty(a.send_cq.get()));
        EXPECT_TRUE(is_empty(b.receive_cq.get()));
        expect_nothing_else_written();
      }
      EXPECT_GT(refused, 0u);
    }
  }
};

TEST_P(Opcodes, OfUd) { every_cell(kUd); }
TEST_P(Opcodes, OfUc) { every_cell(kUc); }
TEST_P(Opcodes, OfRc) { every_cell(kRc); }
TEST_P(Opcodes, OfXrc) { every_cell(kXrc); }
TEST_P(Opcodes, OfRawPacket) { every_cell(kRaw); }

// IP_CSUM and INLINE (rules 4.3): what a transport or an opcode does not have is refused.
TEST_P(Opcodes, FlagsWhereTheyAreLegal) {
  for (const unsigned of : {kUd, kUc, kRc, kXrc, kRaw}) {
    begin(of);
    for (const bool extended : {false, true}) {
      SCOPED_TRACE(std::to_string(of) + (extended ? " ibv_wr_*" : " ibv_post_send"));
      const ibv_sge data = a.arena.sge(kFrom, kBytes);
      const bool checksums = of == kUd || of == kRaw;
      receive();
      EXPECT_EQ(post_one(extended, IBV_WR_SEND, data, IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM), checksums ? 0 : EINVAL);
      if (!checksums) {
        ASSERT_EQ(post_one(extended, IBV_WR_SEND, data), 0);
      }
      expect_received(sent());
      expect_completed(IBV_WC_SEND);
      // FENCE means something on RC and XRC, SOLICITED where there is a receive: elsewhere nothing.
      receive();
      ASSERT_EQ(post_one(extended, IBV_WR_SEND, data, IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED), 0);
      expect_received(sent());
      expect_completed(IBV_WC_SEND);
      if (extended) continue;
      for (const Opcode& o : kOpcodes) {
        const bool inlined =
            o.completion == IBV_WC_SEND || o.completion == IBV_WC_RDMA_WRITE || o.wr == IBV_WR_ATOMIC_WRITE;
        if ((o.transports & of) == 0 || inlined) continue;
        EXPECT_EQ(post_one(false, o.wr, a.arena.sge(kFrom, 8), IBV_SEND_INLINE), EINVAL) << o.wr;
      }
      ibv_sge elsewhere = data;
      elsewhere.lkey = 0xdead;  // is not looked at
      receive();
      ASSERT_EQ(post_one(false, IBV_WR_SEND, elsewhere, IBV_SEND_SIGNALED | IBV_SEND_INLINE), 0);
      expect_received(sent());
      expect_completed(IBV_WC_SEND);
    }
    // Without SIGNALED there is no completion but the next one's.
    for (const unsigned flags : {0u, 0u + IBV_SEND_SIGNALED}) {
      receive();
      ASSERT_EQ(post_one(false, IBV_WR_SEND, a.arena.sge(kFrom, kBytes), flags), 0);
      expect_received(sent());
    }
    expect_completed(IBV_WC_SEND);
    EXPECT_TRUE(is_empty(a.send_cq.get()));
    expect_nothing_else_written();
  }
}

RXNIC_ON_ONE_AND_TWO_NICS(Opcodes);

}  // namespace
}  // namespace rxnic::live::opcodes_test
