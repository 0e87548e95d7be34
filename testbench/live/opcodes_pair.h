// SPDX-License-Identifier: Apache-2.0
// Fixture of opcodes_test: a pair of QPs of each transport, and a WR of each opcode, by ibv_post_send and by ibv_wr_*.
//
// What it posts is logged, one JSON object a line in the file $RXNIC_LIVE_OPCODES, when that is set. opcodes_table.py
// compares that with wire.pcap.
//
//   {"opcode": "SEND", "transport": "RC", "interface": "ibv_post_send", "nics": N, "result": errno or 0,
//    "signaled": true, "to": [nic, qpn], "from": [nic, qpn], "frames": ["hex", ...]}    frames: of RAW_PACKET
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live {

inline constexpr std::size_t kGrh = 40, kBytes = 64, kFrom = 256, kTo = 8 * kPage, kSink = 16 * kPage;
inline constexpr std::uint32_t kImmediate = 0x11223344;
inline constexpr unsigned kNoTransport = 0, kUd = 1, kUc = 2, kRc = 4, kXrc = 8, kRaw = 16;

struct Opcode {
  std::string_view name;
  ibv_wr_opcode wr;
  std::uint64_t ex;  // ibv_qp_create_send_ops_flags
  ibv_wc_opcode completion;
  unsigned transports;
};
inline constexpr Opcode kOpcodes[] = {
    {"SEND", IBV_WR_SEND, IBV_QP_EX_WITH_SEND, IBV_WC_SEND, kUd | kUc | kRc | kXrc | kRaw},
    {"SEND_WITH_IMM", IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WC_SEND, kUd | kUc | kRc | kXrc},
    {"RDMA_WRITE", IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE, IBV_WC_RDMA_WRITE, kUc | kRc | kXrc},
    {"RDMA_WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE,
     kUc | kRc | kXrc},
    {"RDMA_READ", IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ, IBV_WC_RDMA_READ, kRc | kXrc},
    {"ATOMIC_CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, kRc | kXrc},
    {"ATOMIC_FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD,
     kRc | kXrc},
    {"BIND_MW", IBV_WR_BIND_MW, IBV_QP_EX_WITH_BIND_MW, IBV_WC_BIND_MW, kUc | kRc | kXrc},
    {"LOCAL_INV", IBV_WR_LOCAL_INV, IBV_QP_EX_WITH_LOCAL_INV, IBV_WC_LOCAL_INV, kUc | kRc | kXrc},
    {"TSO", IBV_WR_TSO, IBV_QP_EX_WITH_TSO, IBV_WC_TSO, kUd | kRaw},
    {"ATOMIC_WRITE", IBV_WR_ATOMIC_WRITE, IBV_QP_EX_WITH_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE, kRc},
    // The last one: where nothing may be invalidated it ends the QP.
    {"SEND_WITH_INV", IBV_WR_SEND_WITH_INV, IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WC_SEND, kRc | kXrc},
};

class OpcodesPair : public PairTest {
 protected:
  struct Freer {
    void operator()(ibv_flow* p) const { ibv_destroy_flow(p); }
    void operator()(ibv_xrcd* p) const { ibv_close_xrcd(p); }
    void operator()(ibv_mw* p) const { ibv_dealloc_mw(p); }
  };

  void TearDown() override { end(); }
  // New QPs of that transport, A's with all ibv_wr_* that it has.
  void begin(unsigned of);
  void end();
  // A posts one WR with the data, or with none; its result. bad_wr is checked.
  int post_one(bool extended, ibv_wr_opcode opcode, ibv_sge data, unsigned flags = IBV_SEND_SIGNALED);
  // Adds a WR that `from` has posted, and what the call returned, to the log.
  void log(std::string_view interface, ibv_wr_opcode opcode, unsigned flags, int result, const Side& from,
           const Side& to);
  // B posts a receive: to its QP, or to its SRQ.
  void receive();

  static constexpr int kBindable = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
  unsigned transport = kNoTransport;
  Arena memory{a.world, kPage, kBindable}, peers_memory{b.world, kPage, kBindable};
  Owned<ibv_srq> srq;  // XRC, as the next two
  std::uint32_t srqn = 0;
  std::unique_ptr<ibv_xrcd, Freer> xrcd;
  std::unique_ptr<ibv_flow, Freer> flow;  // RAW_PACKET: B gets every frame
  Owned<ibv_ah> ah;
  std::unique_ptr<ibv_mw, Freer> window, peers_window;  // A's, B's
  std::uint32_t key = 0, peers_key = 0;                 // of BIND_MW and LOCAL_INV, of SEND_WITH_INV
  std::uint64_t compare_add = 0;
  std::vector<std::uint8_t> header = std::vector<std::uint8_t>(40, 0x21);  // TSO

 private:
  void make_xrc_receiver();
  static void make_ready(ibv_qp* qp);
  ibv_send_wr wr_of(ibv_wr_opcode opcode, std::span<ibv_sge> list);
  int post_extended(const ibv_send_wr& wr, std::span<const ibv_sge> list, unsigned flags);
  std::string frames_of(ibv_wr_opcode opcode);

  std::ofstream log_;
  const Patience patience_{std::chrono::seconds{20}};
};

}  // namespace rxnic::live
