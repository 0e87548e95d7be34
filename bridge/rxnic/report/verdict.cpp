// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "bridge/rxnic/report/verdict_blocks.h"
#include "bridge/rxnic/report/verdict_parameters.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

constexpr double kIdle = 0.1;          // share of cycles with work of the busiest block (R1)
constexpr double kHeldUp = 0.25;       // share of a block's time with work (R2)
constexpr double kFull = 0.9;          // share of cycles in which the ACK generator is in the way (R2)
constexpr double kBacklog = 0.5;       // share of the mean latency (R4)
constexpr double kRefused = 0.05;      // share of packets (R3, R7)
constexpr double kSomeRefused = 0.01;  // of them, when those behind them make up the rest (R3)
constexpr std::uint64_t kFewMessages = 1000;
constexpr double kCold = 0.05;  // share of lookups that missed

std::string percent(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0); }

// The verdict is made step by step.
class Judge {
 public:
  explicit Judge(const RunResult& r) : r_(r), nic_(busiest(r)) {}

  Verdict judge() {
    if (nic_.packets.seen == 0) {
      v_.bound_by = "nothing";
      v_.words.emplace_back("No packet came to the NIC.");
      return v_;
    }
    dropped();
    bind();
    latency();
    network();
    distrust();
    next();
    return v_;
  }

 private:
  // (R5)
  static const NicResult& busiest(const RunResult& r) {
    if (r.nics.empty()) return r;
    return *std::ranges::max_element(r.nics, {}, [](const NicResult& n) { return n.packets.seen; });
  }

  // What is bound, as a subject and as an object.
  std::string the_nic() const { return r_.nics.size() < 2 ? "The NIC" : fmt::format("NIC {}", &nic_ - r_.nics.data()); }
  std::string it() const { return r_.nics.size() < 2 ? "it" : the_nic(); }

  // (R7)
  void dropped() {
    std::size_t most = 0;
    std::uint64_t all = 0;
    for (std::size_t n = 1; n < kDropReasons; ++n) {
      const auto reason = static_cast<DropReason>(n);
      const bool told_elsewhere = reason == DropReason::kNoReceiveWqe || reason == DropReason::kWqeStoreFull ||
                                  reason == DropReason::kRxBufferFull ||
                                  (reason == DropReason::kPsnAhead && host_binds());
      if (told_elsewhere) continue;
      all += dropped_as(reason);
      if (most == 0 || dropped_as(reason) > dropped_as(static_cast<DropReason>(most))) most = n;
    }
    if (share_of(all) < kRefused) return;
    v_.words.push_back(fmt::format("{} of {} packets ({}) were dropped, most of them as {}: {}.", count_text(all),
                                   count_text(nic_.packets.seen), percent(share_of(all)),
                                   name_of(static_cast<DropReason>(most)),
                                   clause(Enumeration<DropReason>::kValues[most].sentence)));
  }

  std::uint64_t dropped_as(DropReason reason) const { return nic_.packets.dropped[static_cast<std::size_t>(reason)]; }
  double share_of(std::uint64_t packets) const {
    return static_cast<double>(packets) / static_cast<double>(nic_.packets.seen);
  }
  // (R3)
  bool host_binds() const {
    const std::uint64_t refused = dropped_as(DropReason::kNoReceiveWqe), behind = dropped_as(DropReason::kPsnAhead);
    return share_of(refused) >= kRefused ||
           (share_of(refused) >= kSomeRefused && share_of(refused + behind) >= kRefused);
  }

  void bind() {
    const std::uint64_t refused = dropped_as(DropReason::kNoReceiveWqe), behind = dropped_as(DropReason::kPsnAhead);
    const std::uint64_t full = dropped_as(DropReason::kRxBufferFull);
    if (host_binds()) {
      v_.bound_by = "host";
      v_.resource = "receive WQE";
      v_.share = share_of(refused);
      v_.words.push_back(fmt::format(
          "The host bound {}: {} of {} packets ({}) found no receive WQE posted, and were refused (no_receive_wqe).",
          it(), count_text(refused), count_text(nic_.packets.seen), percent(v_.share)));
      if (behind > refused) {
        v_.words.push_back(fmt::format("Behind those {} came ahead of the expected PSN, and were dropped (psn_ahead).",
                                       count_text(behind)));
      }
      return;
    }
    const std::uint64_t without_entry = dropped_as(DropReason::kWqeStoreFull);
    if (share_of(without_entry) >= kRefused) {  // (R3)
      v_.bound_by = "srq_wqe_fetcher";
      v_.resource = "wqe_store";
      v_.share = share_of(without_entry);
      v_.words.push_back(fmt::format(
          "srq_wqe_fetcher bound {}: {} of {} packets ({}) found no free entry in its store of WQEs in use, and were "
          "refused (wqe_store_full).",
          it(), count_text(without_entry), count_text(nic_.packets.seen), percent(v_.share)));
      name_movers("srq_wqe_fetcher", Activity::kWaitWqeStore);
      return;
    }
    double busiest_share = 0;
    for (const BlockResult& b : nic_.blocks) {
      if (!on_path(b.stem) || all_cycles(b) == 0) continue;
      busiest_share = std::max(busiest_share, with_work(b) / all_cycles(b));
    }
    if (busiest_share < kIdle && full == 0) {  // (R1)
      v_.bound_by = "idle";
      v_.share = 1 - busiest_share;
      v_.words.push_back(
          fmt::format("Nothing bound it. {} was idle: its busiest block had no work in {} of the cycles.", the_nic(),
                      percent(v_.share)));
      return;
    }
    follow(full);
  }

  void follow(std::uint64_t full) {
    if (full != 0) {
      v_.words.push_back(
          fmt::format("{} packets were dropped since the packet buffer was full (rx_buffer_full).", count_text(full)));
    }
    std::string chain;
    const BlockResult* binds = end_of_chain(chain);
    const BlockResult* const fullest = fullest_block();
    const double share = fullest == nullptr ? 0 : own_share(*fullest);
    const bool answers =
        fullest != nullptr && fullest->stem == kVerdictPath[std::size(kVerdictPath) - 1] && share >= kFull;
    if (binds == nullptr ? answers : own_share(*binds) < share / 2) {
      binds = fullest;
      chain.clear();
    }
    if (binds == nullptr) binds = fetcher_without_room();
    if (binds == nullptr) return kept_up();
    const double blocked = cycles_of(*binds, Activity::kBlocked) / all_cycles(*binds);
    if (binds->stem == kVerdictPath[std::size(kVerdictPath) - 1] && blocked > own_share(*binds) / 2) {
      v_.bound_by = "out_line";
      v_.resource = "line";
      v_.share = blocked;
      add_parameter("nic.link_gbps");
      v_.words.push_back(fmt::format("The line out bound {}: the ACK generator could not send in {} of the cycles.",
                                     it(), percent(v_.share)));
      return;
    }
    const BlockResult* const dma = find_block(nic_.blocks, "dma_engine");
    Activity activity = longest_activity(*binds);
    if (dma != nullptr && binds != dma && waits_for_read(activity) &&
        cycles_of(*dma, Activity::kWaitDmaTag) >= kHeldUp * all_cycles(*dma)) {  // (R2)
      chain += (chain.empty() ? "" : ", ") + binds->stem;
      binds = dma;
      activity = Activity::kWaitDmaTag;
    }
    name_block(*binds, activity, chain);
  }

  // (R2) The block that holds up those before it; nullptr: none is held up.
  const BlockResult* end_of_chain(std::string& chain) const {
    const BlockResult* end = nullptr;
    for (const std::string_view stem : kVerdictPath) {
      const BlockResult* const b = find_block(nic_.blocks, stem);
      if (b == nullptr || with_work(*b) == 0) continue;
      const bool held_up = cycles_of(*b, Activity::kBlocked) / with_work(*b) >= kHeldUp;
      if (!held_up && end == nullptr) continue;  // those behind may be
      end = b;
      if (!held_up || stem == kVerdictPath[std::size(kVerdictPath) - 1]) break;
      chain += (chain.empty() ? "" : ", ") + b->stem;
    }
    return end;
  }

  const BlockResult* fullest_block() const {
    const BlockResult* fullest = nullptr;
    for (const BlockResult& b : nic_.blocks) {
      if (on_path(b.stem) && (fullest == nullptr || own_share(b) > own_share(*fullest))) fullest = &b;
    }
    return fullest;
  }

  // (R2)
  const BlockResult* fetcher_without_room() const {
    const BlockResult* const b = find_block(nic_.blocks, "srq_wqe_fetcher");
    if (b == nullptr || with_work(*b) == 0) return nullptr;
    return cycles_of(*b, Activity::kWaitWqeStore) / with_work(*b) >= kHeldUp ? b : nullptr;
  }

  void kept_up() {
    const bool line = !r_.of_programs() && r_.pace == "line-rate";
    v_.bound_by = line ? "line" : "sender";
    v_.resource = line ? "line" : "packets that come";
    if (line) add_parameter("nic.link_gbps");
    v_.words.push_back(
        line ? "The line bound it: packets came at its rate, and no block was held up."
             : fmt::format("What came bound {}: no block of the path was held up, the NIC kept up.", it()));
  }

  void name_block(const BlockResult& b, Activity activity, const std::string& chain) {
    v_.bound_by = b.stem;
    v_.resource = activity == Activity::kBusy ? "busy" : std::string(name_of(activity).substr(5));
    v_.share = cycles_of(b, activity) / all_cycles(b);
    if (activity == Activity::kBusy) {
      v_.words.push_back(fmt::format("{} bound {}: it was busy in {} of the cycles.", b.stem, it(), percent(v_.share)));
      if (b.stem == "dma_engine") pcie();
    } else {
      v_.words.push_back(fmt::format(
          "{} bound {}: in {} of the cycles it waited ({}: {}).", b.stem, it(), percent(v_.share), name_of(activity),
          clause(Enumeration<Activity>::kValues[static_cast<std::size_t>(activity)].sentence)));
      if (activity == Activity::kWaitWqe) dependent_reads();
    }
    if (!chain.empty()) v_.words.push_back(fmt::format("Held up by it, in the order of the path: {}.", chain));
    name_movers(b.stem, activity);
  }

  void name_movers(std::string_view block, Activity activity) {
    for (const std::string_view name : movers(block, activity)) {
      if (!is_on(name, r_.params)) add_parameter(name);
    }
    if (v_.parameters.empty()) return;
    std::string names;
    for (const VerdictParameter& p : v_.parameters) {
      names += fmt::format("{}{} = {} ({})", names.empty() ? "" : ", ", p.name, p.value, p.evidence);
    }
    v_.words.push_back(fmt::format("What moves it: {}.", names));
  }

  void pcie() {
    const std::uint64_t up = counter_of(nic_.blocks, "dma_engine", "tlps_up");
    if (nic_.packets.accepted == 0) return;
    v_.words.push_back(fmt::format(
        "It sent {:.1f} TLPs of {:.0f} bytes in the mean for each packet that was accepted.",
        static_cast<double>(up) / static_cast<double>(nic_.packets.accepted),
        up == 0
            ? 0.0
            : static_cast<double>(counter_of(nic_.blocks, "dma_engine", "link_bytes_up")) / static_cast<double>(up)));
  }

  // Whether a WQE in a linked list is read only when the one before it is there.
  void dependent_reads() {
    const std::uint64_t wqes = counter_of(nic_.blocks, "srq_wqe_fetcher", "wqes");
    const std::uint64_t waits = counter_of(nic_.blocks, "srq_wqe_fetcher", "waits");
    if (wqes == 0) return;
    v_.words.push_back(fmt::format(
        "{} of {} WQEs were waited for; in a linked list each is found only when the one before it has been read, one "
        "read of {} after the other.",
        count_text(waits), count_text(wqes), time_text(r_.params.dma_engine.read_latency_ps)));
  }

  void latency() {
    double all = 0, waits = 0, most = 0, arrival = 0;
    std::string where;
    for (const StageResult& s : stages()) {
      all += s.stay.mean;
      if (s.name == "wire") arrival = s.stay.mean;
      if (s.name == "wire" || s.name == "host_memory") continue;  // its other packets come, and its CQE is seen
      waits += s.wait.mean;
      if (s.wait.mean > most) {
        most = s.wait.mean;
        where = s.name;
      }
    }
    if (all == 0) return;
    v_.backlog = waits / all > kBacklog;
    const auto ns = [](double n) { return time_text(static_cast<std::uint64_t>(n * 1000)); };
    const std::string comes =
        arrival == 0 ? "" : fmt::format(", and {} the arrival of a message's packets", ns(arrival));
    if (v_.backlog) {
      v_.words.push_back(fmt::format(
          "The latency is backlog: of {} in the mean {} are waits in front of blocks, most of them in front of "
          "{}{}. Without waits it is {}.",
          ns(all), ns(waits), where, comes, ns(all - waits)));
    } else {
      v_.words.push_back(fmt::format("The latency is no backlog: of {} in the mean {} are waits in front of blocks{}.",
                                     ns(all), ns(waits), comes));
    }
  }

  // What came to harm between the NICs, and what that cost. (R6)
  void network() {
    const auto of_fabric = [&](std::string_view name) {
      const auto at = std::ranges::find(r_.fabric, name, &NamedCount::first);
      return at == r_.fabric.end() ? 0 : at->second;
    };
    std::string harms;
    for (const std::string_view name : {"lost", "corrupted", "duplicated", "reordered", "dropped"}) {
      if (const std::uint64_t n = of_fabric(name); n != 0) {
        harms += fmt::format("{}{} {}", harms.empty() ? "" : ", ", count_text(n), name);
      }
    }
    if (harms.empty()) return;
    std::uint64_t repeated = 0, timeouts = 0;
    for (const NicResult& nic : r_.nics) {
      repeated += counter_of(nic.blocks, "requester", "repeated");
      timeouts += counter_of(nic.blocks, "requester", "timeouts");
    }
    v_.words.push_back(
        fmt::format("Between the NICs {} of {} frames; requesters sent {} packet{} again, and waited for {} timeout{}.",
                    harms, count_text(of_fabric("frames")), count_text(repeated), repeated == 1 ? "" : "s",
                    count_text(timeouts), timeouts == 1 ? "" : "s"));
  }

  const std::vector<StageResult>& stages() const { return nic_.stages; }

  void distrust() {
    const std::uint64_t timed = this->timed();
    if (timed == 0) {
      v_.distrust.emplace_back("no message has a time");
    } else if (timed < kFewMessages) {
      v_.distrust.push_back(fmt::format(
          "a short run: {} messages have a time; its p99 is {}", count_text(timed),
          timed < 100 ? "the slowest of them" : fmt::format("one of the {} slowest", count_text(timed / 100 + 1))));
    }
    cold("QP contexts", counter_of(nic_.blocks, "qp_context_cache", "misses"),
         counter_of(nic_.blocks, "qp_context_cache", "hits"));
    cold("pages (MTT)", counter_of(nic_.blocks, "address_translator", "mtt_misses"),
         counter_of(nic_.blocks, "address_translator", "mtt_hits"));
    if (r_.of_programs()) return;
    const auto ambiguous = static_cast<std::uint64_t>(std::ranges::count_if(r_.qps, &CapturedQp::ambiguous));
    if (ambiguous != 0) v_.distrust.push_back(fmt::format("which QPs are pairs is ambiguous for {}", ambiguous));
    std::uint64_t missing = 0;
    for (const CapturedQp& q : r_.qps) missing += q.psns_missing;
    if (missing != 0)
      v_.distrust.push_back(fmt::format("{} PSNs of requests are not in the capture", count_text(missing)));
    if (r_.sniffer.one_in > 1)
      v_.distrust.push_back(fmt::format("the capture is a sample: 1 packet in {}", r_.sniffer.one_in));
    if (v_.bound_by != "host") v_.distrust.push_back(fmt::format("assumed: a host that posts in time ({})", r_.host));
  }

  void cold(const char* what, std::uint64_t misses, std::uint64_t hits) {
    const std::uint64_t all = misses + hits;
    if (all == 0 || static_cast<double>(misses) <= kCold * static_cast<double>(all)) return;
    if (timed() >= kFewMessages) return;
    v_.distrust.push_back(fmt::format("cold caches: {} of {} lookups of {} missed, first uses among them",
                                      count_text(misses), count_text(all), what));
  }
  std::uint64_t timed() const { return nic_.latency_ns.count + nic_.write_ns.count + nic_.read_ns.count; }

  void next() {
    const char* const again = r_.of_programs() ? "replay its record" : "replay it again";
    for (const VerdictParameter& p : v_.parameters) {
      const std::string other = other_value(p.name, r_.params);
      if (other.empty()) continue;
      v_.next.push_back(fmt::format("{} with --set {}={}", again, p.name, other));
      break;
    }
    const bool capture = !r_.of_programs() && !r_.workload;
    if (capture && v_.bound_by == "host" && r_.psn != "strict")
      v_.next.push_back(fmt::format("{} with --psn strict", again));
    if (capture && (v_.bound_by == "idle" || v_.bound_by == "sender")) {
      v_.next.push_back(fmt::format("{} with --pace line-rate", again));
    }
    v_.next.push_back(fmt::format("{} with --events --out DIR, then rxnic explain --slowest 3 DIR", again));
  }

  void add_parameter(std::string_view name) { v_.parameters.push_back(verdict_parameter(name, r_.params)); }

  const RunResult& r_;
  const NicResult& nic_;
  Verdict v_;
};

}  // namespace

Verdict verdict_of(const RunResult& r) { return Judge(r).judge(); }

}  // namespace rxnic
