// SPDX-License-Identifier: Apache-2.0
// The ports of the ACK generator.
#pragma once

#include "model/engine/link.h"
#include "model/types/ack_generator_counters.h"
#include "model/types/command.h"
#include "model/types/dma.h"
#include "model/types/qp_event.h"
#include "model/types/receive_path.h"
#include "model/types/refusal.h"
#include "model/types/segment.h"
#include "model/types/wire_frame.h"

namespace rxnic {

// Is notified of each response to a READ or an atomic. Nothing in the model depends on it.
class ResponseObserver {
 public:
  virtual ~ResponseObserver() = default;
  // `begun`: the request arrived; `leaves`: the response leaves the block; `last`: of its request.
  virtual void on_response(Cycle begun, Cycle leaves, std::uint32_t payload_bytes, bool last) = 0;
};

class AckGeneratorPorts : public Block, public QpNotifier {
 public:
  virtual const AckGeneratorCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override { visit_each(visit, counters()); }
  virtual void set_observer(ResponseObserver* observer) = 0;

  In<AckRequest> in{"in"};
  Out<GatherSegment> gather{"gather"};
  In<GatheredData> gathered{"gathered"};
  Out<DmaRequest> dma{"dma"};
  In<DmaCompletion> dma_done{"dma_done"};
  Out<WireFrame> tx{"tx"};
  Out<QpFailure> failures{"failures"};
  Out<Refusal> refusals{"refusals"};
  In<RetireCommand> commands{"commands"};
  Out<StepDone> command_done{"command_done"};

 protected:
  using Block::Block;
};

}  // namespace rxnic
