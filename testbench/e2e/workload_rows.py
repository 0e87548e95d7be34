# SPDX-License-Identifier: Apache-2.0
"""For workload_check.py: a row for each key of a workload's page. It has the page in which the key acts, another value,
and the figure of report.json that moves."""

UP, DOWN, OTHER = 1, -1, 0

BASE = {"": {"packets": 1500}, "senders": {"peers": 2, "qps": 2}, "senders.mix": {}, "mpi": {}, "network": {},
        "receiver": {}, "receiver.tags": {}}


def page(**tables):
    """BASE with the keys of `tables`, by table; `mix` is senders.mix, `tags` receiver.tags."""
    made = {name: dict(keys) for name, keys in BASE.items()}
    for name, keys in tables.items():
        made[{"head": "", "mix": "senders.mix", "tags": "receiver.tags"}.get(name, name)].update(keys)
    return made


CLOSED = page()
POISSON = page(senders={"arrivals": "poisson", "interval": 200000})
LOADED = page(senders={"arrivals": "poisson", "load": 30.0, "bytes": 512})
CONSTANT = page(senders={"arrivals": "constant", "interval": 200000})
BURSTS = page(senders={"arrivals": "on_off", "interval": 100000})
UNIFORM = page(senders={"size": "uniform", "max_bytes": 512})
LOGNORMAL = page(senders={"size": "lognormal", "max_bytes": 4096})
BIMODAL = page(senders={"size": "bimodal", "large_bytes": 2048})
CDF = page(senders={"size": "cdf", "max_bytes": 8192})
LARGE = page(senders={"bytes": 4096})
READS = page(senders={"bytes": 256, "window": 8}, mix={"read": 1})
ZIPF = page(senders={"arrivals": "poisson", "interval": 200000, "choice": "zipf", "qps": 16})
TAGGED = page(mix={"eager": 1}, receiver={"receive": "tm_srq"})
RING = page(senders={"arrivals": "ring", "bytes": 8192, "peers": 3})
LOSSY = page(senders={"bytes": 4096, "window": 4, "timeout": 50000000}, network={"loss_ppm": 20000})
NO_ANSWERS = page(head={"packets": 400}, senders={"bytes": 256, "timeout": 20000000, "window": 1},
                  network={"answer_loss_ppm": 300000})
REORDERED = page(senders={"bytes": 4096}, network={"reorder_ppm": 20000})
PAUSED = page(network={"pause_ppm": 10000})
SRQ = page(senders={"qps": 8}, receiver={"receive": "srq"})
WRITES = page(senders={"bytes": 1024}, mix={"write": 1}, receiver={"regions": 64})
STRIDE = page(senders={"bytes": 1024}, mix={"write": 1}, receiver={"regions": 64, "locality": "stride"})
REGION_ZIPF = page(senders={"bytes": 1024}, mix={"write": 1}, receiver={"regions": 64, "locality": "zipf"})
EVENTS = page(senders={"arrivals": "poisson", "interval": 1000000},
              receiver={"completions": "events", "moderation_period": 100})
MANY_AN_EVENT = page(receiver={"completions": "events", "moderation_count": 1000})
SERVED = page(receiver={"service_time": "fixed"})
MPI = {name: {} for name in BASE} | {"": {"packets": 100000}, "mpi": {"trace": "job", "rank": 0},
                                     "receiver": {"receive": "tm_srq"}}

# A CAM that compares wildcards one after another.
HASHED = ("--set", "tag_match_cam.organisation=hashed")

# Figures.
TIME, SEEN, BYTES = "time_ps", "packets.seen", "bytes"
P50, P99 = "latency_ns.p50", "latency_ns.p99"
MESSAGES, REPEATED, TIMEOUTS = "workload.messages", "workload.repeated", "workload.timeouts"
HASH = "state_hash"
SEGMENTS, EVENT_COUNT = "blocks.grh_scatter.counters.segments", "blocks.cqe_generator.counters.completion_events"
UNEXPECTED, FAILED = "blocks.tag_match_cam.counters.unexpected", "blocks.tag_match_cam.counters.failed_operations"
OPERATIONS, POSTED, FAILED_QPS = "blocks.tag_match_cam.counters.operations", "tag_depths.posted", "workload.failed_qps"


def network(count):
    return f"workload.network.{count}"


# (table, key): (page, another value, figure, direction), and options of the command line
ROWS = {
    ("", "about"): (CLOSED, "Another page.", "workload.about", OTHER),
    ("", "packets"): (CLOSED, 1600, SEEN, UP),
    ("", "seed"): (POISSON, 7, TIME, OTHER),
    ("senders", "peers"): (CLOSED, 4, MESSAGES, OTHER),
    ("senders", "qps"): (READS, 8, TIME, DOWN),
    ("senders", "transport"): (CLOSED, "uc", "answers.sent", DOWN),
    ("senders", "mtu"): (LARGE, 4096, MESSAGES, UP),
    ("senders", "start"): (CLOSED, 5000000, TIME, UP),
    ("senders", "tags"): (TAGGED, 1, HASH, OTHER),
    ("senders", "size"): (page(senders={"size": "uniform"}), "fixed", BYTES, DOWN),
    ("senders", "bytes"): (CLOSED, 256, BYTES, UP),
    ("senders", "min_bytes"): (UNIFORM, 256, BYTES, UP),
    ("senders", "max_bytes"): (UNIFORM, 1024, BYTES, UP),
    ("senders", "median_bytes"): (LOGNORMAL, 256, BYTES, DOWN),
    ("senders", "sigma"): (LOGNORMAL, 0.1, BYTES, OTHER),
    ("senders", "small_bytes"): (BIMODAL, 256, BYTES, UP),
    ("senders", "large_bytes"): (BIMODAL, 1024, BYTES, DOWN),
    ("senders", "large_percent"): (BIMODAL, 40.0, BYTES, UP),
    ("senders", "cdf"): (CDF, "data_mining", BYTES, OTHER),
    ("senders", "arrivals"): (POISSON, "constant", P99, OTHER),
    ("senders", "window"): (page(senders={"window": 1}), 4, TIME, DOWN),
    ("senders", "think"): (CLOSED, 5000000, TIME, UP),
    ("senders", "interval"): (POISSON, 400000, TIME, UP),
    ("senders", "load"): (LOADED, 60.0, TIME, DOWN),
    ("senders", "on"): (BURSTS, 40000000, TIME, DOWN),
    ("senders", "off"): (BURSTS, 40000000, TIME, UP),
    ("senders", "choice"): (ZIPF, "in_order", HASH, OTHER),
    ("senders", "zipf_s"): (ZIPF, 2.0, HASH, OTHER),
    ("senders", "burst"): (POISSON, 8, HASH, OTHER),
    ("senders", "reads"): (READS, 1, TIME, UP),
    ("senders", "timeout"): (NO_ANSWERS, 200000000, TIME, UP),
    ("senders", "retries"): (NO_ANSWERS, 0, "workload.failed_qps", UP),
    ("senders.mix", "send"): (page(mix={"write": 1}), 1, "cqes", UP),
    ("senders.mix", "send_imm"): (page(mix={"send": 1}), 1, HASH, OTHER),
    ("senders.mix", "send_inv"): (page(mix={"send": 1}), 1, HASH, OTHER),
    ("senders.mix", "write"): (page(mix={"send": 1}), 1, "cqes", DOWN),
    ("senders.mix", "write_imm"): (page(mix={"write": 1}), 1, "cqes", UP),
    ("senders.mix", "read"): (page(mix={"send": 1}), 1, "read_latency_ns.count", UP),
    ("senders.mix", "compare_swap"): (page(mix={"send": 1}), 1, "read_latency_ns.count", UP),
    ("senders.mix", "fetch_add"): (page(mix={"send": 1}), 1, "read_latency_ns.count", UP),
    ("senders.mix", "atomic_write"): (page(mix={"send": 1}), 1, "cqes", DOWN),
    ("senders.mix", "eager"): (page(mix={"send": 1}, receiver={"receive": "tm_srq"}), 1,
                               "blocks.tag_match_cam.counters.searches", UP),
    ("senders.mix", "rendezvous"): (page(mix={"send": 1}, receiver={"receive": "tm_srq"}), 1,
                                    "blocks.tag_match_cam.counters.searches", UP),
    ("receiver", "receive"): (CLOSED, "srq", HASH, OTHER),
    ("receiver", "depth"): (page(senders={"window": 64}), 8, "transport.rnr_naks", UP),
    ("receiver", "qps_per_srq"): (SRQ, 1, HASH, OTHER),
    ("receiver", "buffer"): (CLOSED, 32, FAILED_QPS, UP),
    ("receiver", "sges"): (LARGE, 3, SEGMENTS, UP),
    ("receiver", "sge_bytes"): (LARGE, "64+4032", SEGMENTS, UP),
    ("receiver", "refill"): (CLOSED, 16, HASH, OTHER),
    ("receiver", "layout"): (SRQ, "cyclic", HASH, OTHER),
    ("receiver", "wqe_order"): (SRQ, "shuffled", HASH, OTHER),
    ("receiver", "page"): (LARGE, "2M", HASH, OTHER),
    ("receiver", "regions"): (WRITES, 1, HASH, OTHER),
    ("receiver", "region_bytes"): (WRITES, 1 << 26, HASH, OTHER),
    ("receiver", "locality"): (WRITES, "sequential", HASH, OTHER),
    ("receiver", "stride"): (STRIDE, 65536, HASH, OTHER),
    ("receiver", "region_zipf_s"): (REGION_ZIPF, 4.0, HASH, OTHER),
    ("receiver", "qps_per_cq"): (page(senders={"qps": 8}), 1, HASH, OTHER),
    ("receiver", "cqes"): (CLOSED, 16, FAILED_QPS, UP),
    ("receiver", "compression"): (CLOSED, "on", "config.values.cqe_generator.compression", OTHER),
    ("receiver", "completions"): (CLOSED, "events", EVENT_COUNT, UP),
    ("receiver", "moderation_count"): (EVENTS, 16, EVENT_COUNT, DOWN),
    ("receiver", "moderation_period"): (MANY_AN_EVENT, 1, EVENT_COUNT, UP),
    ("receiver", "service_time"): (CLOSED, "fixed", TIME, UP),
    ("receiver", "service"): (SERVED, 5000000, TIME, UP),
    ("receiver", "workers"): (SERVED, 8, TIME, DOWN),
    ("receiver.tags", "ahead"): (TAGGED, 1, UNEXPECTED, UP),
    ("receiver.tags", "order"): (TAGGED, "reversed", f"{POSTED}.p50", OTHER),
    ("receiver.tags", "window"): (page(mix={"eager": 1}, receiver={"receive": "tm_srq"}, tags={"order": "reversed"}),
                                  64, f"{POSTED}.p50", OTHER),
    ("receiver.tags", "unexpected_ppm"): (TAGGED, 200000, UNEXPECTED, UP),
    ("receiver.tags", "unexpected_lag"): (page(mix={"eager": 1}, receiver={"receive": "tm_srq"},
                                               tags={"unexpected_ppm": 200000}), 20, "tag_depths.unexpected.max", UP),
    ("receiver.tags", "any_source_ppm"): (TAGGED, 500000, HASH, OTHER, *HASHED),
    ("receiver.tags", "any_tag_ppm"): (TAGGED, 500000, HASH, OTHER, *HASHED),
    ("receiver.tags", "delete_ppm"): (TAGGED, 200000, OPERATIONS, UP),
    ("receiver.tags", "sync_lag"): (page(mix={"eager": 1}, receiver={"receive": "tm_srq"},
                                         tags={"unexpected_ppm": 50000}), 31, UNEXPECTED, UP),
    ("receiver.tags", "failing_ppm"): (TAGGED, 200000, FAILED, UP),
    ("mpi", "trace"): (MPI, "job2", HASH, OTHER),
    ("mpi", "rank"): (MPI, 1, HASH, OTHER),
    ("mpi", "order_gap"): (MPI, 100000000, TIME, UP),
    ("mpi", "speedup"): (MPI, 100, TIME, DOWN),
    ("mpi", "mtu"): (MPI, 256, SEEN, UP),
    ("network", "encapsulation"): (CLOSED, "roce_v2_ipv6", "receiver.address", OTHER),
    ("network", "link_gbps"): (page(senders={"bytes": 1024}), 10, TIME, UP),
    ("network", "delay"): (CLOSED, 5000000, TIME, UP),
    ("network", "loss_ppm"): (LARGE, 20000, network("lost"), UP),
    ("network", "corrupt_ppm"): (LARGE, 20000, "packets.dropped.icrc", UP),
    ("network", "duplicate_ppm"): (LARGE, 20000, "transport.duplicates", UP),
    ("network", "reorder_ppm"): (LARGE, 20000, REPEATED, UP),
    ("network", "reorder_depth"): (REORDERED, 20, HASH, OTHER),
    ("network", "mark_ppm"): (CLOSED, 100000, network("marked"), UP),
    ("network", "pause_ppm"): (CLOSED, 10000, TIME, UP),
    ("network", "pause_time"): (PAUSED, 50000000, TIME, UP),
    ("network", "answer_loss_ppm"): (page(senders={"timeout": 20000000}), 100000, network("answers_lost"), UP),
    ("network", "lose"): (CLOSED, "100,200-201", network("lost"), UP),
    ("network", "corrupt"): (CLOSED, "100", network("corrupted"), UP),
    ("network", "duplicate"): (CLOSED, "100", network("duplicated"), UP),
    ("network", "reorder"): (CLOSED, "100", network("reordered"), UP),
    ("network", "mark"): (CLOSED, "100", network("marked"), UP),
    ("network", "pause"): (CLOSED, "100", network("pauses"), UP),
    ("network", "lose_answers"): (CLOSED, "100", network("answers_lost"), UP),
}
