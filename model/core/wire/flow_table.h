// SPDX-License-Identifier: Apache-2.0
// Flow steering: the QP that gets a frame that is not RDMA.
//
//   R1  A frame goes to the normal flow with the lowest priority number of those that it agrees with. When several
//       flows have this number, the frame goes to the one made first. When there is none: a multicast default for a
//       frame to a multicast address, then an all default; by the same order.
//   R2  A flow names a QP. When that spreads its frames (RSS), the frame goes to the QP in entry (hash mod entries) of
//       its indirection table. The hash is Toeplitz's (Microsoft, "Verifying the RSS Hash Calculation") of the chosen
//       fields that the frame has. Their order is source address, destination address, source port, destination port;
//       without any field the hash is 0.
//   R3  At most `flows` flows and `contexts` QPs that spread.
//   R4  Each flow counts the frames that it takes, and their bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "model/types/flow.h"
#include "model/types/wire.h"

namespace rxnic {

// The fields of a frame; false: it is shorter than an Ethernet header.
bool read_flow_key(Bytes frame, FlowKey& key);

std::uint32_t toeplitz(const std::array<std::uint8_t, kHashKeyBytes>& key, Bytes input);

struct RssContext {
  std::array<std::uint8_t, kHashKeyBytes> key{};
  std::uint8_t fields = 0;
  std::vector<Qpn> qpns;  // a power of two
};
std::uint32_t rss_hash(const RssContext& context, const FlowKey& key);

class FlowTable {
 public:
  FlowTable(std::uint32_t flows, std::uint32_t contexts) : most_flows_(flows), most_contexts_(contexts) {}

  struct Flow {
    FlowKey value, mask;
    Qpn qpn{};
    std::uint16_t priority = 0;
    FlowKind kind = FlowKind::kNormal;
    FlowCounts counts{};  // (R4)
  };
  bool add(std::uint32_t number, const Flow& flow);  // false: no room (R3)
  void remove(std::uint32_t number) { flows_.erase(number); }
  FlowCounts counts(std::uint32_t number) const;
  bool set_rss(Qpn qpn, const RssContext& context);  // false: no room (R3)
  void clear_rss(Qpn qpn) { contexts_.erase(qpn); }

  bool empty() const { return flows_.empty(); }
  std::optional<Qpn> find(const FlowKey& key, std::size_t frame_bytes = 0);  // whose flow takes the frame

 private:
  std::uint32_t most_flows_, most_contexts_;
  std::map<std::uint32_t, Flow> flows_;  // by number: in the order in which they were made
  std::map<Qpn, RssContext> contexts_;
};

}  // namespace rxnic
