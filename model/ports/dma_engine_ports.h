// SPDX-License-Identifier: Apache-2.0
// The ports of the DMA engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/engine/link.h"
#include "model/types/command.h"
#include "model/types/dma.h"
#include "model/types/dma_engine_counters.h"
#include "model/types/doorbell.h"
#include "model/types/event.h"
#include "model/types/qp_event.h"
#include "model/types/receive_path.h"
#include "model/types/refusal.h"
#include "model/types/segment.h"
#include "model/types/tag_operation.h"

namespace rxnic {

inline constexpr std::size_t kDmaClients = static_cast<std::size_t>(DmaClient::kCount);

class DmaEnginePorts : public Block, public QpNotifier {
 public:
  virtual const DmaEngineCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override { visit_each(visit, counters()); }
  // Requests of a client all of whose TLPs have been started.
  std::uint64_t started(DmaClient c) const { return counters().client_requests[static_cast<std::size_t>(c)]; }

  In<SegmentWrite> payload{"payload"};
  Out<CompletionRequest> payload_done{"payload_done"};
  In<GatherRead> gather{"gather"};
  Out<GatheredData> gathered{"gathered"};
  std::array<In<DmaRequest>, kDmaClients> requests;
  std::array<Out<DmaCompletion>, kDmaClients> completions;
  Out<HostNotice> landed{"landed"};
  Out<Refusal> refusals{"refusals"};
  // From the host, and on to the blocks. (R10)
  In<Doorbell> send_doorbells{"send_doorbells"}, receive_doorbells{"receive_doorbells"},
      completion_doorbells{"completion_doorbells"}, page_replies{"page_replies"};
  In<TagOperation> tag_operations{"tag_operations"};
  In<DriverCommand> commands{"commands"};
  Out<Doorbell> send_rung{"send_rung"}, receive_rung{"receive_rung"}, completion_rung{"completion_rung"},
      page_replied{"page_replied"};
  Out<TagOperation> tags_given{"tags_given"};
  Out<DriverCommand> commands_given{"commands_given"};
  // From the blocks, and on to the host. (R11)
  In<Event> receive_events{"receive_events"}, completion_events{"completion_events"}, send_events{"send_events"},
      page_requests{"page_requests"};
  Out<Event> receive_raised{"receive_raised"}, completion_raised{"completion_raised"}, send_raised{"send_raised"},
      page_raised{"page_raised"};
  In<CommandReply> replies{"replies"};
  Out<CommandReply> replied{"replied"};
  In<DmaFence> fences{"fences"};
  Out<StepDone> fenced{"fenced"};

 protected:
  using Block::Block;
};

}  // namespace rxnic
