// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/page_keys.h"

namespace rxnic {

namespace {

constexpr std::string_view kReceiveNames[] = {"rq", "srq", "tm_srq"};

constexpr WorkloadKey kReceiverKeys[] = {
    choice_key<&ReceiverPage::receive>("receiver", "receive", kReceiveNames,
                                       "A receive queue for each QP, one SRQ for all, or one with tag matching."),
    integer_key<&ReceiverPage::depth>("receiver", "depth", "WQEs", 1, 32767,
                                      "Receive WQEs that the host keeps posted to each queue."),
};

}  // namespace

std::span<const WorkloadKey> receiver_keys() { return kReceiverKeys; }

HostOptions host_options(const ReceiverPage& page) {
  HostOptions o;
  o.receive = static_cast<ReceiveKind>(page.receive);
  o.depth = static_cast<std::uint32_t>(page.depth);
  return o;
}

}  // namespace rxnic
