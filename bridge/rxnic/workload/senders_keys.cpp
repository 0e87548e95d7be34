// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/page_keys.h"

namespace rxnic {

namespace {

constexpr double kLongestPs = 1e15;
constexpr double kMostSizeBytes = 1u << 30;
constexpr double kMostWeight = 1e6;

constexpr std::string_view kTransportNames[] = {"rc", "uc", "ud", "xrc"};
constexpr std::string_view kSizeNames[] = {"fixed", "uniform", "lognormal", "bimodal", "cdf"};
constexpr std::string_view kArrivalNames[] = {"closed", "poisson", "constant",  "on_off",
                                              "incast", "ring",    "all_to_all"};
constexpr std::string_view kChoiceNames[] = {"in_order", "uniform", "zipf"};

constexpr std::string_view kOpenLoop = "arrivals=poisson|constant|on_off";
constexpr std::string_view kOfMessages = "arrivals=closed|poisson|constant|on_off";
constexpr std::string_view kAnswered = "arrivals=closed|incast|ring|all_to_all";
constexpr std::string_view kReliable = "transport=rc|xrc";

consteval WorkloadKey power_of_two(WorkloadKey key) {
  key.power_of_two = true;
  return key;
}

constexpr WorkloadKey kHeadKeys[] = {
    text_key<&WorkloadPage::about>(KeyType::kText, "", "about", "What the workload is for, in a sentence."),
    integer_key<&WorkloadPage::packets>("", "packets", "packets", 1, 1e12,
                                        "Packets that reach the NIC; the workload ends behind the last of them."),
    integer_key<&WorkloadPage::seed>("", "seed", "seeds", 0, 9007199254740991.0,
                                     "Seed of everything random; --seed of the command line wins."),
};

using S = SendersPage;
using M = SenderMix;

constexpr WorkloadKey kSendersKeys[] = {
    integer_key<&S::peers>("senders", "peers", "hosts", 1, 4096, "Hosts of this kind, each with a link of its own."),
    integer_key<&S::qps>("senders", "qps", "QPs", 1, 65536, "QPs of each peer, each connected to a QP of the NIC."),
    choice_key<&S::transport>("senders", "transport", kTransportNames, "Transport of the QPs."),
    power_of_two(integer_key<&S::mtu>("senders", "mtu", "bytes", 256, 4096, "Path MTU: payload of a packet at most.")),
    integer_key<&S::start>("senders", "start", "ps", 0, kLongestPs, "When these senders begin."),
    integer_key<&S::tags>("senders", "tags", "tags", 1, 1048576,
                          "Tags that eager and rendezvous messages bear: they count up from 0, modulo this number."),
    choice_key<&S::size>("senders", "size", kSizeNames, "Distribution of the sizes of messages."),
    integer_key<&S::bytes>("senders", "bytes", "bytes", 0, kMostSizeBytes, "Size of every message.", "size=fixed"),
    integer_key<&S::min_bytes>("senders", "min_bytes", "bytes", 0, kMostSizeBytes, "Smallest size.", "size=uniform"),
    integer_key<&S::max_bytes>("senders", "max_bytes", "bytes", 0, kMostSizeBytes,
                               "Largest size; what the distribution has above it becomes this size.",
                               "size=uniform|lognormal|cdf"),
    integer_key<&S::median_bytes>("senders", "median_bytes", "bytes", 1, kMostSizeBytes,
                                  "Size that half of the messages do not exceed.", "size=lognormal"),
    number_key<&S::sigma>("senders", "sigma", "nepers", 0.001, 10, "Standard deviation of the logarithm of the size.",
                          "size=lognormal"),
    integer_key<&S::small_bytes>("senders", "small_bytes", "bytes", 0, kMostSizeBytes, "Size of the small messages.",
                                 "size=bimodal"),
    integer_key<&S::large_bytes>("senders", "large_bytes", "bytes", 0, kMostSizeBytes, "Size of the large messages.",
                                 "size=bimodal"),
    number_key<&S::large_percent>("senders", "large_percent", "percent", 0, 100, "Share of the large messages.",
                                  "size=bimodal"),
    text_key<&S::cdf>(KeyType::kText, "senders", "cdf",
                      "Cumulative distribution of sizes: web_search, data_mining, or a file of lines: bytes, share.",
                      "size=cdf"),
    choice_key<&S::arrivals>("senders", "arrivals", kArrivalNames,
                             "When messages begin: after answers, at times, or in rounds of all QPs."),
    integer_key<&S::window>("senders", "window", "messages", 1, 65536,
                            "Messages that a QP has under way at most: posted, and not yet answered (UC, UD: sent).",
                            kOfMessages),
    integer_key<&S::think>("senders", "think", "ps", 0, kLongestPs,
                           "From an answer to the message, round or step that it allows.", kAnswered),
    integer_key<&S::interval>("senders", "interval", "ps", 1, kLongestPs,
                              "Mean time between two messages of this kind of senders, when load is 0.",
                              "arrivals=poisson|constant|on_off and load=0.0"),
    number_key<&S::load>(
        "senders", "load", "percent", 0, 1000,
        "Bytes of messages that these senders offer, in percent of the NIC's link rate; 0: by interval.", kOpenLoop),
    integer_key<&S::on>("senders", "on", "ps", 1, kLongestPs, "Length of a burst, with arrivals at constant distance.",
                        "arrivals=on_off"),
    integer_key<&S::off>("senders", "off", "ps", 0, kLongestPs, "Silence between two bursts.", "arrivals=on_off"),
    choice_key<&S::choice>("senders", "choice", kChoiceNames,
                           "Which QP gets the next message; in a closed loop it is the one that was answered.",
                           kOpenLoop),
    number_key<&S::zipf_s>("senders", "zipf_s", "exponent", 0, 10, "QP k of all gets messages in proportion to 1/k^s.",
                           "choice=zipf"),
    integer_key<&S::burst>("senders", "burst", "messages", 1, 65536, "Messages in succession to a QP that was chosen.",
                           kOpenLoop),
    integer_key<&S::reads>("senders", "reads", "requests", 1, 255,
                           "READs and atomics that a QP has under way at most (max_rd_atomic).", kReliable),
    integer_key<&S::timeout>("senders", "timeout", "ps", 1000, kLongestPs,
                             "How long a QP waits for an answer before it sends again.", kReliable),
    integer_key<&S::retries>("senders", "retries", "times", 0, 7,
                             "Times in succession that a QP sends again without an answer before it gives up.",
                             kReliable),
    integer_key<&M::send>("senders.mix", "send", "weight", 0, kMostWeight, "SENDs."),
    integer_key<&M::send_imm>("senders.mix", "send_imm", "weight", 0, kMostWeight, "SENDs with immediate data."),
    integer_key<&M::send_inv>("senders.mix", "send_inv", "weight", 0, kMostWeight,
                              "SENDs that invalidate a key, at most 4096; then SENDs take their place."),
    integer_key<&M::write>("senders.mix", "write", "weight", 0, kMostWeight, "RDMA WRITEs."),
    integer_key<&M::write_imm>("senders.mix", "write_imm", "weight", 0, kMostWeight,
                               "RDMA WRITEs with immediate data."),
    integer_key<&M::read>("senders.mix", "read", "weight", 0, kMostWeight, "RDMA READs."),
    integer_key<&M::compare_swap>("senders.mix", "compare_swap", "weight", 0, kMostWeight, "Atomics: compare, swap."),
    integer_key<&M::fetch_add>("senders.mix", "fetch_add", "weight", 0, kMostWeight, "Atomics: fetch, add."),
    integer_key<&M::atomic_write>("senders.mix", "atomic_write", "weight", 0, kMostWeight, "ATOMIC WRITEs."),
    integer_key<&M::eager>("senders.mix", "eager", "weight", 0, kMostWeight,
                           "Tagged SENDs with all data: an eager TMH, then the message."),
    integer_key<&M::rendezvous>("senders.mix", "rendezvous", "weight", 0, kMostWeight,
                                "Tagged SENDs that announce a message of the size; its data is not read."),
};

}  // namespace

std::span<const WorkloadKey> head_keys() { return kHeadKeys; }
std::span<const WorkloadKey> senders_keys() { return kSendersKeys; }

}  // namespace rxnic
