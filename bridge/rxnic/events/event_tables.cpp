// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/events/event_tables.h"

namespace rxnic {

namespace {

constexpr EventColumn kPacketColumns[] = {
    {"left", "The packet has left the NIC: it has retired, or was dropped.", ""},
    {"nic", "", ""},
    {"number", "Of the packet in the capture, or of its frame on the wire; 0: not known.", ""},
    {"arrived", "Its last byte has come.", ""},
    {"flags",
     "Bits: ends_message 0, completes 1, acknowledges 2, congested 3, not_rdma 4, checked 5, srq 6, fails_qp 7.", ""},
    {"outcome", "What was done with it.", "outcome"},
    {"reason", "Why it was dropped.", "drop_reason"},
    {"status", "Of its completion.", "wc_status"},
    {"syndrome", "Of its response.", ""},
    {"qp", "Its QP; of a packet that was dropped before: of its BTH.", ""},
    {"peer_qp", "Destination of its response.", ""},
    {"opcode", "BTH.", ""},
    {"psn", "BTH.", ""},
    {"answer_psn", "Of its response.", ""},
    {"payload_bytes", "", ""},
    {"posted", "Its sender's doorbell was rung; 0: not known.", ""},
    {"message", "Number of its message within its QP; of a response: of the WQE of the request.", ""},
    {"message_start", "The first packet of its message arrived; 0: not known.", ""},
    {"message_bytes", "Of its message, up to and including this packet.", ""},
    {"rx_parser_taken", "The block took the packet from its input; 0: it never did. Likewise below.", ""},
    {"rx_parser_left", "The packet left the block; 0: it never did. Likewise below.", ""},
    {"qp_context_cache_taken", "", ""},
    {"qp_context_cache_left", "", ""},
    {"transport_checker_taken", "", ""},
    {"transport_checker_left", "", ""},
    {"tag_match_cam_taken", "", ""},
    {"tag_match_cam_left", "", ""},
    {"srq_wqe_fetcher_taken", "", ""},
    {"srq_wqe_fetcher_left", "", ""},
    {"grh_scatter_taken", "", ""},
    {"grh_scatter_left", "", ""},
    {"address_translator_taken", "", ""},
    {"address_translator_left", "", ""},
    {"dma_engine_taken", "", ""},
    {"dma_engine_left", "", ""},
    {"cqe_generator_taken", "", ""},
    {"cqe_generator_left", "", ""},
    {"ack_generator_taken", "", ""},
    {"ack_generator_left", "", ""},
    {"host_memory_taken", "", ""},
    {"host_memory_left", "Its last byte can be seen in host memory.", ""},
};
static_assert(std::size(kPacketColumns) * sizeof(std::uint64_t) == sizeof(PacketRow));

constexpr EventColumn kCompletionColumns[] = {
    {"visible", "The CQE can be seen in host memory.", ""},
    {"nic", "", ""},
    {"cq", "", ""},
    {"packet", "Number of the last packet of its message; 0: none, or not known.", ""},
    {"handed_over", "It left the CQE generator for the DMA engine.", ""},
    {"started", "The last TLP of its write was started.", ""},
    {"qp", "", ""},
    {"srq", "Of a WQE of an SRQ (flag 7).", ""},
    {"wqe", "Slot of the WQE in its queue. Of a compressed CQE: of the first one of its block.", ""},
    {"opcode", "", "cqe_opcode"},
    {"status", "", "wc_status"},
    {"bytes", "Byte count. Of a compressed CQE: of the first one of its block.", ""},
    {"flags", "model/types/completion.h.", ""},
    {"begun", "The first packet of its message arrived; 0: it is of no message.", ""},
    {"posted", "The sender's doorbell was rung; 0: not known.", ""},
};
static_assert(std::size(kCompletionColumns) * sizeof(std::uint64_t) == sizeof(CompletionRow));

constexpr EventColumn kFrameColumns[] = {
    {"left_ps", "Its last byte has left the NIC, in ps.", ""},
    {"nic", "", ""},
    {"number", "Of the frame, from 1, in the order in which the frames of all NICs left.", ""},
    {"answered", "Number of the packet that it answers; 0: it is a request, or not known.", ""},
    {"opcode", "BTH.", ""},
    {"peer_qp", "BTH: destination QP.", ""},
    {"psn", "BTH.", ""},
    {"syndrome", "AETH.", ""},
    {"msn", "AETH.", ""},
    {"payload_bytes", "", ""},
};
static_assert(std::size(kFrameColumns) * sizeof(std::uint64_t) == sizeof(FrameRow));

constexpr EventColumn kActivityColumns[] = {
    {"from", "The block does this from that cycle on.", ""},
    {"block", "", "block"},
    {"activity", "", "activity"},
};
static_assert(std::size(kActivityColumns) * sizeof(std::uint64_t) == sizeof(ActivityRow));

constexpr EventColumn kCounterColumns[] = {
    {"at", "The counter had the value when this cycle began, and not 4096 cycles before.", ""},
    {"counter", "", "counter"},
    {"value", "", ""},
};
static_assert(std::size(kCounterColumns) * sizeof(std::uint64_t) == sizeof(CounterRow));

constexpr EventColumn kIncidentColumns[] = {
    {"at", "", ""},
    {"nic", "", ""},
    {"kind", "", "incident"},
    {"number", "Of the QP; of an event: of the QP, the CQ or the SRQ that it names.", ""},
    {"packet", "Number of the packet; 0: none, or not known.", ""},
    {"detail",
     "Of a drop its reason, a NAK its syndrome, a gap its PSNs, a CQE its status, an event its type. Of a frame: lost "
     "0, corrupted 1, duplicated 2, reordered 3, switch_full 4.",
     ""},
};
static_assert(std::size(kIncidentColumns) * sizeof(std::uint64_t) == sizeof(IncidentEventRow));

constexpr EventTableInfo kTables[] = {
    {"packets", "Packets that came over the wire, when they have left the NIC.", kPacketColumns},
    {"completions", "Completions, when their CQE can be seen.", kCompletionColumns},
    {"frames", "Frames that the NICs sent.", kFrameColumns},
    {"activities", "What each block does, when that changes. In cycle 0 all are starved.", kActivityColumns},
    {"counters", "Counters of the report over time.", kCounterColumns},
    {"incidents", "What went wrong, and events of the device.", kIncidentColumns},
};
static_assert(std::size(kTables) == kEventTables);

}  // namespace

const EventTableInfo& info_of(EventTable table) { return kTables[static_cast<std::size_t>(table)]; }

}  // namespace rxnic
