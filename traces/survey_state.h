// SPDX-License-Identifier: Apache-2.0
// The state of CaptureSurvey: survey.cpp gathers it, survey_receiver.cpp reads it.
#pragma once

#include <array>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/cm_message.h"
#include "traces/flow.h"
#include "traces/survey.h"

namespace rxnic {

struct SurveyState {
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::size_t kRecentSlots = 8192;
  static constexpr std::size_t kFlowsPerPsn = 16;
  static constexpr std::size_t kPendingAtomics = 1024;
  static constexpr std::size_t kOpenNaks = 256;
  static constexpr std::int32_t kFarBefore = 1024;  // PSNs before the first request of a flow
  static constexpr std::uint64_t kMostLookedAt = std::uint64_t{1} << 26;

  struct AddressHash {
    std::size_t operator()(const Address& a) const {
      const std::uint64_t mixed =
          (load_be64(&a.bytes[0]) ^ load_be64(&a.bytes[8]) * 0x9e3779b97f4a7c15u) + static_cast<std::uint64_t>(a.kind);
      return static_cast<std::size_t>(mixed ^ mixed >> 29);
    }
  };
  struct Recent {  // flows that had a request with that PSN lately
    std::uint64_t key = ~std::uint64_t{0};
    std::uint32_t count = 0;
    bool too_many = false;  // of them
    std::array<std::uint32_t, kFlowsPerPsn> flows{};
  };
  static constexpr std::size_t kExtentsKept = 8;
  struct Extent {  // of a region before a packet
    std::uint64_t packet = 0;
    std::uint64_t lowest = 0, end = 0;
    std::uint8_t access = 0;
  };
  struct Region {
    std::uint32_t destination = 0;
    SurveyedRegion region;
    std::vector<Extent> extents;  // before the last packets that made it larger
  };
  struct Atomic {
    std::uint32_t destination = 0;
    bool answered = false;
    SurveyedAtomic atomic;
  };
  struct PendingAtomic {
    std::uint32_t flow = 0;
    std::uint32_t atomic = 0;
    Psn psn;
  };
  struct OpenNak {  // whose PSN has not come again
    std::uint32_t flow = 0;
    Psn psn;
  };
  struct CmEnd {  // what one REQ or REP says
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    CmMessage message;
  };

  CaptureSurvey::FrameCheck check = nullptr;
  SurveyLimits limits;
  SurveyCounts counts;
  CaptureCensus census;
  std::vector<EndpointCounts> endpoints;
  std::vector<std::uint64_t> first_as_destination;  // order of R2, by endpoint
  std::unordered_map<Address, std::uint32_t, AddressHash> endpoint_index;
  std::vector<Flow> flows;
  std::unordered_map<std::uint64_t, std::uint32_t> flow_index;
  std::vector<Flow> damaged_flows;  // R13
  std::unordered_map<std::uint64_t, std::uint32_t> damaged_index;
  std::vector<Recent> recent = std::vector<Recent>(kRecentSlots);
  std::vector<Region> regions;
  std::unordered_map<std::uint64_t, std::uint32_t> region_index;
  std::vector<Atomic> atomics;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint32_t> atomic_index;
  std::vector<PendingAtomic> pending_atomics;
  struct Tags {
    std::vector<std::uint64_t> kept;
    std::uint64_t beyond = 0;
  };
  std::unordered_map<std::uint32_t, Tags> tags;  // by destination
  std::size_t tags_kept = 0;
  std::vector<CmEnd> cm;
  std::vector<OpenNak> open_naks;
  std::uint64_t flows_looked_at = 0;    // by begins_before
  std::vector<std::uint64_t> restarts;  // numbers of frames

  std::array<std::uint32_t, 2> last_endpoints{};  // looked up: the two ends of the last packet, as a rule

  static bool is_management(Qpn qpn) { return raw(qpn) == 0 || qpn == kGsiQpn; }
  std::uint32_t endpoint(const Address& a);  // kNone beyond the limit
  std::uint32_t flow(std::uint32_t source, std::uint32_t destination, Qpn qpn);
  // Address indices fit into 20 bits (the limit sees to it), so keys are exact.
  static std::uint64_t flow_key(std::uint32_t source, std::uint32_t destination, Qpn qpn) {
    return std::uint64_t{source} << 44 | std::uint64_t{destination} << 24 | raw(qpn);
  }
  // A SEND WITH INVALIDATE: a later use of the key is of another region.
  void invalidate_region(std::uint32_t destination, Key key, std::uint64_t number);
  Recent& recent_slot(std::uint32_t source, std::uint32_t destination, Psn psn, std::uint64_t& key);
  void unreadable(const CapturedFrame& frame, const Headers& h, DropReason reason);
  void damaged(std::uint32_t source, std::uint32_t destination, const Headers& h, std::uint64_t number);
  void request(std::uint32_t index, const Headers& h, std::uint64_t number);
  void answer(std::uint32_t index, const Headers& h, std::uint64_t number);
  void sent_again(std::uint32_t index, Psn psn);
  void begins_before(const Flow& answers, const Headers& nak);
  void not_ready(Flow& answers, Psn psn, std::span<const std::uint32_t> among);
  void use_region(std::uint32_t destination, const Headers& h, std::uint64_t bytes, std::uint8_t access,
                  std::uint64_t number);
  void use_atomic(std::uint32_t flow_at, const Headers& h);
  void answer_atomic(const Flow& answers, const Headers& h);
  void use_tag(const Flow& f, const Headers& h, Bytes payload);
};

}  // namespace rxnic
