// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/page_keys.h"

namespace rxnic {

namespace {

constexpr double kMostPpm = 1e6;
constexpr std::string_view kEncapsulationNames[] = {"roce_v2_ipv4", "roce_v2_ipv6", "roce_v1"};

using N = NetworkPage;

constexpr WorkloadKey kNetworkKeys[] = {
    choice_key<&N::encapsulation>("network", "encapsulation", kEncapsulationNames, "Headers below the BTH."),
    integer_key<&N::link_gbps>("network", "link_gbps", "Gb/s", 0, 1600,
                               "Rate of each peer's link; 0: that of the NIC, nic.link_gbps."),
    integer_key<&N::delay>("network", "delay", "ps", 1000, 1e12, "Time on the way from a peer to the NIC, and back."),
    integer_key<&N::loss_ppm>("network", "loss_ppm", "ppm", 0, kMostPpm, "Packets that are lost on their way."),
    integer_key<&N::corrupt_ppm>("network", "corrupt_ppm", "ppm", 0, kMostPpm,
                                 "Packets of which a bit flips: their ICRC is wrong."),
    integer_key<&N::duplicate_ppm>("network", "duplicate_ppm", "ppm", 0, kMostPpm, "Packets that arrive twice."),
    integer_key<&N::reorder_ppm>("network", "reorder_ppm", "ppm", 0, kMostPpm, "Packets that later ones overtake."),
    integer_key<&N::reorder_depth>("network", "reorder_depth", "packets", 1, 1024,
                                   "How many packets overtake a reordered one."),
    integer_key<&N::mark_ppm>("network", "mark_ppm", "ppm", 0, kMostPpm,
                              "Packets that a switch marks Congestion Experienced (ECN)."),
    integer_key<&N::pause_ppm>("network", "pause_ppm", "ppm", 0, kMostPpm,
                               "Packets in front of which the link to the NIC pauses."),
    integer_key<&N::pause_time>("network", "pause_time", "ps", 1000, 1e12, "Length of a pause."),
    integer_key<&N::answer_loss_ppm>("network", "answer_loss_ppm", "ppm", 0, kMostPpm,
                                     "Packets of the NIC that are lost on their way to a peer."),
    text_key<&N::lose>(KeyType::kPackets, "network", "lose", "Packets that are lost, by number: 17,40-42."),
    text_key<&N::corrupt>(KeyType::kPackets, "network", "corrupt", "Packets of which a bit flips, by number."),
    text_key<&N::duplicate>(KeyType::kPackets, "network", "duplicate", "Packets that arrive twice, by number."),
    text_key<&N::reorder>(KeyType::kPackets, "network", "reorder", "Packets that later ones overtake, by number."),
    text_key<&N::mark>(KeyType::kPackets, "network", "mark", "Packets that are marked, by number."),
    text_key<&N::pause>(KeyType::kPackets, "network", "pause", "Packets in front of which the link pauses, by number."),
    text_key<&N::lose_answers>(KeyType::kPackets, "network", "lose_answers",
                               "Packets of the NIC that are lost, by number."),
};

}  // namespace

std::span<const WorkloadKey> network_keys() { return kNetworkKeys; }

}  // namespace rxnic
