# SPDX-License-Identifier: Apache-2.0
"""For params_check.py: a row for each parameter of model/params/params.toml, with the run in which it acts, two values,
and the figure of report.json that moves."""
import dataclasses

UP, DOWN, OTHER = 1, -1, 0


@dataclasses.dataclass(frozen=True)
class Replay:
    """Generated traffic (arguments of make_traffic), replayed with these options."""
    traffic: str
    options: str = "--pace line-rate"


@dataclasses.dataclass(frozen=True)
class Run:
    """params_program doing this, on so many NICs."""
    what: str
    nics: int = 1


SENDS = "ud_qps=0 send_imm=0 write=0 write_imm=0 read=0 add=0"
WRITES = "ud_qps=0 send=0 send_imm=0 write_imm=0 read=0 add=0"
READS = "ud_qps=0 send=0 send_imm=0 write=0 write_imm=0 add=0"

MIXED = Replay("2000")
SLOW = Replay("500", "--pace 1")  # no packet waits for another
ONE_QP = Replay(f"1000 rc_qps=1 {SENDS} min_bytes=64 max_bytes=64")
LARGE = Replay(f"1000 rc_qps=4 {SENDS} min_bytes=2048 max_bytes=4096")
LARGE_WRITES = Replay(f"1000 rc_qps=4 {WRITES} min_bytes=2048 max_bytes=4096")
LONG_READS = Replay(f"200 rc_qps=8 {READS} min_bytes=4096 max_bytes=8192")
SHORT_READS = Replay(f"500 rc_qps=8 {READS} min_bytes=8 max_bytes=64")
ATOMICS = Replay(f"500 rc_qps=64 {READS} read=0 add=1")
READ_OF_EACH = Replay(f"8 rc_qps=8 {READS} min_bytes=16384 max_bytes=16384")
MANY_SGES = Replay(LARGE.traffic, "--pace 1 --host sges=16")
SRQ = Replay(f"2000 {SENDS}", "--pace line-rate --host receive=srq")
SMALL_CQ = Replay(f"3000 {SENDS}", "--pace 8 --host cqes=32")
LONG_DATAGRAMS = Replay(f"200 rc_qps=0 ud_qps=4 {SENDS} ud_qps=4 min_bytes=64 max_bytes=512", "--host buffer=256")
TAGGED = f"2000 rc_qps=4 {SENDS} tags=64 min_bytes=64 max_bytes=64"
UNEXPECTED = Replay(TAGGED, "--pace line-rate --host receive=tm_srq")
TAGS = Replay(TAGGED, "--pace 20 --host receive=tm_srq,tags=64")  # each message finds its tag
WILDCARDS = Replay(TAGGED, "--pace 20 --host receive=tm_srq,tags=8,mask=ff")  # most messages pass all of them

PINGPONG = Run("pingpong", 2)
BATCHES = Run("batches", 2)
STREAM = Run("stream", 2)
STREAMS = Run("streams", 2)
OBJECTS = Run("objects")
DEVICE_MEMORY = Run("device_memory", 2)
PAGING = Run("paging", 2)
STEERING = Run("steering")
TSO = Run("tso", 2)

# A receiver at a quarter of the line's rate: its packets wait at the switch, which marks them.
SLOW_RECEIVER = ("rx_parser.beat_bytes=8", "wire.rx_buffer_bytes=16384")
MARKED = (*SLOW_RECEIVER, "fabric.ecn_threshold_bytes=20000")
LOSSY = ("fabric.loss_ppm=10000",)

# Figures.
TIME = "time_ps"
LATENCY = "latency_ns.p50"
ONE_WAY = "one_way_latency_ns.p50"
RATE_INCREASES = "nics.0.blocks.requester.counters.rate_increases"
PAGE_WAIT = "nics.1.blocks.address_translator.counters.page_wait_cycles"
PAGE_REQUESTS = "nics.1.blocks.address_translator.counters.page_requests"
COMMANDS = "nics.0.blocks.command_processor.counters.commands"


def stage(block, which="p50"):
    return f"stages_ns.{block}.{which}"


def counter(block, name):
    return f"blocks.{block}.counters.{name}"


def waiting(block, resource):
    return f"blocks.{block}.waiting.{resource}"


@dataclasses.dataclass(frozen=True)
class Row:
    """`figure` of the scenario with the parameter at `to` is above (UP) or below (DOWN) that with it at `value`, or
    another one (OTHER). The figure is a path in report.json, or, where only what a run hands out shows it, a number of
    lines or of frames. Those are opcodes.NAME of the log of completions, and printed.TEXT of what the program prints.
    Also sent.unlimited: ACKs of responses.pcap whose credit is unlimited. Also refused.TEXT: of what rxnic says when it
    refuses the run."""
    name: str
    scenario: object
    value: object
    to: object
    figure: str
    direction: int
    also: tuple = ()  # other parameters of both runs


# In the order of params.toml.
ROWS = [
    Row("nic.clock_period_ps", SLOW, 2325, 9300, LATENCY, UP),
    Row("nic.link_gbps", MIXED, 100, 10, TIME, UP),
    Row("nic.doorbell_depth", SMALL_CQ, 64, 2, "events.cq_error", UP, ("srq_wqe_fetcher.queue_contexts=1",)),
    Row("nic.notice_depth", Run("datagrams", 2), 64, 2, "nics.0.blocks.requester.blocked", UP,
        ("transport_checker.cycles_per_packet=64",)),
    Row("nic.register_read_ps", Run("clock"), 1000000, 10000000, TIME, UP),
    Row("device.max_qp_wrs", OBJECTS, 32768, 64, COMMANDS, DOWN),
    Row("device.max_rd_atomic", OBJECTS, 16, 1, COMMANDS, DOWN),
    Row("device.max_cqs", OBJECTS, 8192, 2, COMMANDS, DOWN),
    Row("device.max_cqes", OBJECTS, 1048575, 64, COMMANDS, DOWN),
    Row("device.max_srqs", OBJECTS, 4096, 2, COMMANDS, DOWN),
    Row("device.max_srq_wrs", OBJECTS, 32767, 64, COMMANDS, DOWN),
    Row("device.max_mrs", OBJECTS, 65536, 2, COMMANDS, DOWN),
    Row("device.max_pds", OBJECTS, 8192, 2, COMMANDS, DOWN),
    Row("wire.preamble_gap_bytes", Replay(f"500 {WRITES}"), 20, 64, TIME, UP),
    Row("wire.cut_through_bytes", PINGPONG, 256, 64, ONE_WAY, DOWN),
    Row("wire.rx_buffer_bytes", MIXED, 262144, 16384, "packets.dropped.rx_buffer_full", UP, ("wire.rx_full=drop",)),
    Row("wire.rx_full", MIXED, "pause", "drop", "packets.dropped.rx_buffer_full", UP, ("wire.rx_buffer_bytes=16384",)),
    Row("rx_parser.beat_bytes", SLOW, 64, 8, counter("rx_parser", "beats"), UP),
    Row("rx_parser.header_cycles", SLOW, 4, 64, stage("rx_parser"), UP),
    Row("rx_parser.out_depth", MIXED, 16, 2, stage("qp_context_cache"), DOWN),
    Row("rx_parser.own_addresses", OBJECTS, 128, 4, "nics.0.blocks.command_processor.counters.no_room", UP),
    Row("rx_parser.flows", STEERING, 64, 4, "nics.0.blocks.command_processor.counters.no_room", UP),
    Row("rx_parser.rss_contexts", STEERING, 16, 4, "nics.0.blocks.command_processor.counters.no_room", UP),
    Row("qp_context_cache.sets", MIXED, 64, 1, counter("qp_context_cache", "misses"), UP),
    Row("qp_context_cache.ways", MIXED, 4, 1, counter("qp_context_cache", "misses"), UP, ("qp_context_cache.sets=16",)),
    Row("qp_context_cache.hit_cycles", SLOW, 2, 64, stage("qp_context_cache"), UP),
    Row("qp_context_cache.misses_in_flight", MIXED, 8, 1, waiting("qp_context_cache", "context"), UP),
    Row("qp_context_cache.queue_depth", MIXED, 8, 2, stage("transport_checker"), DOWN),
    Row("transport_checker.cycles_per_packet", ONE_QP, 1, 64, TIME, UP),
    Row("transport_checker.latency_cycles", SLOW, 6, 64, stage("transport_checker"), UP),
    Row("transport_checker.hazard", ONE_QP, "forward", "stall", counter("transport_checker", "hazard_stalls"), UP),
    Row("transport_checker.queue_depth", MIXED, 8, 2, stage("srq_wqe_fetcher"), DOWN),
    Row("transport_checker.responder_resources", OBJECTS, 131072, 16,
        "nics.0.blocks.command_processor.counters.no_room", UP),
    Row("transport_checker.own_requests", BATCHES, 65536, 1, "nics.0.blocks.requester.counters.table_waits", UP),
    Row("transport_checker.rd_atomic_over_limit", Run("overloaded", 2), "nak", "recycle", "error_cqes", DOWN),
    Row("transport_checker.ud_too_long", LONG_DATAGRAMS, "drop", "error_cqe", "error_cqes", UP),
    Row("transport_checker.wqe_error_status", Run("bad_lkey", 2), "loc_prot", "loc_qp_op",
        "printed.local QP operation error", UP),
    Row("srq_wqe_fetcher.srq_layout", SRQ, "linked_list", "cyclic", counter("srq_wqe_fetcher", "waits"), DOWN,
        ("srq_wqe_fetcher.sequential_prefetch=false",)),
    Row("srq_wqe_fetcher.prefetch", MIXED, "demand", "greedy", counter("srq_wqe_fetcher", "wqes_read"), UP),
    Row("srq_wqe_fetcher.prefetch_depth", MIXED, 64, 1, counter("srq_wqe_fetcher", "waits"), UP),
    Row("srq_wqe_fetcher.queues", MIXED, 256, 1, counter("srq_wqe_fetcher", "queue_evictions"), UP),
    Row("srq_wqe_fetcher.wqes_per_read", MIXED, 8, 1, counter("srq_wqe_fetcher", "wqe_reads"), UP),
    Row("srq_wqe_fetcher.reads_in_flight", MIXED, 16, 1, waiting("srq_wqe_fetcher", "wqe"), UP),
    Row("srq_wqe_fetcher.hit_cycles", SLOW, 2, 64, stage("srq_wqe_fetcher"), UP),
    Row("srq_wqe_fetcher.queue_depth", MIXED, 16, 2, stage("grh_scatter"), DOWN),
    Row("srq_wqe_fetcher.sequential_prefetch", SRQ, "true", "false", TIME, UP),
    Row("srq_wqe_fetcher.pipeline_depth", MIXED, 16, 1, stage("srq_wqe_fetcher"), DOWN),
    Row("srq_wqe_fetcher.wqe_store_entries", MIXED, 1024, 1, waiting("srq_wqe_fetcher", "wqe_store"), UP),
    Row("srq_wqe_fetcher.wqe_store_share", MIXED, 0, 2, waiting("srq_wqe_fetcher", "wqe_store"), UP,
        ("srq_wqe_fetcher.wqe_store_entries=64", "srq_wqe_fetcher.queues=32")),
    Row("srq_wqe_fetcher.late_flushes", Run("flushed", 2), 256, 1,
        "nics.1.blocks.srq_wqe_fetcher.counters.doorbell_waits", UP),
    Row("srq_wqe_fetcher.queue_contexts", MIXED, 8192, 1, counter("srq_wqe_fetcher", "context_misses"), UP),
    Row("srq_wqe_fetcher.queue_context_ways", Run("spread", 2), 4, 1,
        "nics.1.blocks.srq_wqe_fetcher.counters.context_misses", UP, ("srq_wqe_fetcher.queue_contexts=8",)),
    Row("srq_wqe_fetcher.queue_misses_in_flight", MIXED, 8, 1, counter("srq_wqe_fetcher", "context_reads_ahead"), DOWN,
        ("srq_wqe_fetcher.queue_contexts=16",)),
    Row("tag_match_cam.entries", TAGS, 256, 16, counter("tag_match_cam", "overflow_appends"), UP),
    Row("tag_match_cam.max_tags", TAGS, 1024, 16, "refused.parameter tag_match_cam.max_tags", UP),
    Row("tag_match_cam.organisation", TAGS, "parallel", "banked", TIME, UP,
        ("tag_match_cam.bank_entries=1",)),
    Row("tag_match_cam.search_cycles", UNEXPECTED, 4, 1024, TIME, UP),
    Row("tag_match_cam.hazard", TAGS, "forward", "stall", counter("tag_match_cam", "hazard_stalls"), UP),
    Row("tag_match_cam.bank_entries", TAGS, 64, 1, TIME, UP, ("tag_match_cam.organisation=banked",)),
    Row("tag_match_cam.banks_per_cycle", TAGS, 1, 1024, TIME, DOWN,
        ("tag_match_cam.organisation=banked", "tag_match_cam.bank_entries=1")),
    Row("tag_match_cam.wildcards_per_cycle", WILDCARDS, 1, 64, stage("tag_match_cam"), DOWN,
        ("tag_match_cam.organisation=hashed",)),
    Row("tag_match_cam.append_cycles", TAGS, 1, 1024, TIME, UP),
    Row("tag_match_cam.overflow_entries_per_read", TAGS, 4, 1, counter("tag_match_cam", "refill_reads"), UP,
        ("tag_match_cam.entries=16",)),
    Row("tag_match_cam.refill_reads", TAGS, 8, 1, counter("tag_match_cam", "refill_waits"), UP,
        ("tag_match_cam.entries=16",)),
    Row("tag_match_cam.unexpected_status", UNEXPECTED, "tm_recv", "recv", "opcodes.RECV", UP),
    Row("tag_match_cam.queue_depth", UNEXPECTED, 16, 2, stage("srq_wqe_fetcher"), DOWN),
    Row("tag_match_cam.pipeline_depth", TAGS, 34, 1, stage("tag_match_cam", "max"), UP),
    Row("grh_scatter.bytes_per_cycle", LARGE, 64, 8, TIME, UP),
    Row("grh_scatter.sges_per_cycle", MANY_SGES, 1, 16, stage("grh_scatter"), DOWN),
    Row("grh_scatter.latency_cycles", SLOW, 4, 64, stage("grh_scatter"), UP),
    Row("grh_scatter.queue_depth", MIXED, 8, 2, stage("address_translator"), DOWN),
    Row("address_translator.mpt_sets", MIXED, 512, 1, counter("address_translator", "mpt_misses"), UP),
    Row("address_translator.mpt_ways", MIXED, 4, 1, counter("address_translator", "mpt_misses"), UP,
        ("address_translator.mpt_sets=16",)),
    Row("address_translator.mtt_sets", MIXED, 2048, 1, counter("address_translator", "mtt_misses"), UP),
    Row("address_translator.mtt_ways", MIXED, 4, 1, counter("address_translator", "mtt_misses"), UP,
        ("address_translator.mtt_sets=16",)),
    Row("address_translator.hit_cycles", SLOW, 2, 64, stage("address_translator"), UP),
    Row("address_translator.walks_in_flight", MIXED, 8, 1, counter("address_translator", "walks_ahead"), DOWN),
    Row("address_translator.queue_depth", MIXED, 16, 2, stage("dma_engine"), DOWN),
    Row("dma_engine.tlp_rate_mbps", LARGE, 113700, 10000, TIME, UP),
    Row("dma_engine.mps_bytes", LARGE, 256, 128, counter("dma_engine", "tlps_up"), UP),
    Row("dma_engine.mrrs_bytes", LONG_READS, 512, 128, counter("dma_engine", "tlps_up"), UP),
    Row("dma_engine.rcb_bytes", MIXED, 64, 128, counter("dma_engine", "tlps_down"), DOWN),
    Row("dma_engine.write_header_bytes", LARGE, 24, 64, counter("dma_engine", "link_bytes_up"), UP),
    Row("dma_engine.read_header_bytes", LONG_READS, 24, 64, counter("dma_engine", "link_bytes_up"), UP),
    Row("dma_engine.completion_header_bytes", LONG_READS, 20, 64, counter("dma_engine", "link_bytes_down"), UP),
    Row("dma_engine.doorbell_bytes", MIXED, 8, 64, counter("dma_engine", "link_bytes_down"), UP),
    Row("dma_engine.tag_operation_bytes", TAGS, 64, 128, counter("dma_engine", "link_bytes_down"), UP),
    Row("dma_engine.host_write_bytes", PINGPONG, 64, 16, "nics.0.blocks.dma_engine.counters.tlps_down", UP),
    Row("dma_engine.event_bytes", Run("armed", 2), 64, 128, "nics.1.blocks.dma_engine.counters.link_bytes_up",
        UP),
    Row("dma_engine.interrupt_bytes", Run("armed", 2), 4, 8, "nics.1.blocks.dma_engine.counters.link_bytes_up",
        UP),
    Row("dma_engine.device_memory_bytes", DEVICE_MEMORY, 131072, 4096,
        "nics.1.blocks.command_processor.counters.commands", DOWN),
    Row("dma_engine.device_memory_beat_bytes", DEVICE_MEMORY, 64, 8, "write_latency_ns.p50", UP),
    Row("dma_engine.device_memory_cycles", DEVICE_MEMORY, 8, 256, "write_latency_ns.p50", UP),
    Row("dma_engine.tags", LONG_READS, 64, 1, waiting("dma_engine", "dma_tag"), UP),
    Row("dma_engine.posted_header_credits", MIXED, 128, 1, waiting("dma_engine", "dma_credit"), UP),
    Row("dma_engine.posted_credit_bytes", LARGE, 16384, 4096, waiting("dma_engine", "dma_credit"), UP,
        ("dma_engine.write_latency_ps=2500000",)),
    Row("dma_engine.non_posted_header_credits", LONG_READS, 64, 1, waiting("dma_engine", "dma_credit"), UP),
    Row("dma_engine.atomic_operations", ATOMICS, "pcie", "read_write", counter("dma_engine", "write_bytes"), UP),
    Row("dma_engine.non_posted_data_credits", ATOMICS, 64, 1, waiting("dma_engine", "dma_credit"), UP,
        ("dma_engine.atomic_operations=pcie",)),
    Row("dma_engine.completion_credits", LONG_READS, 256, 8, waiting("dma_engine", "dma_credit"), UP),
    Row("dma_engine.read_buffer_bytes", LONG_READS, 32768, 1024, waiting("dma_engine", "dma_credit"), UP),
    Row("dma_engine.read_latency", LONG_READS, "constant", "range", "read_latency_ns.p50", UP,
        ("dma_engine.read_latency_max_ps=4000000",)),
    Row("dma_engine.read_latency_ps", SHORT_READS, 403000, 4030000, "read_latency_ns.p50", UP),
    Row("dma_engine.read_latency_min_ps", SHORT_READS, 1000, 372000, "read_latency_ns.p50", UP,
        ("dma_engine.read_latency=range",)),
    *(Row(f"dma_engine.read_latency_{p}_ps", SHORT_READS, low, 4000000, "read_latency_ns.max", UP,
          ("dma_engine.read_latency=table", "dma_engine.read_latency_max_ps=4000000"))
      for p, low in (("p50", 400000), ("p90", 420000), ("p99", 450000), ("p999", 480000))),
    Row("dma_engine.read_latency_max_ps", SHORT_READS, 488000, 4880000, "read_latency_ns.max", UP,
        ("dma_engine.read_latency=range",)),
    Row("dma_engine.write_latency_ps", SLOW, 250000, 2500000, stage("host_memory"), UP),
    Row("dma_engine.write_latency_spread_ps", SLOW, 0, 2500000, stage("host_memory", "max"), UP),
    Row("dma_engine.latency_seed", SLOW, 1, 2, "latency_ns.max", OTHER,
        ("dma_engine.write_latency_spread_ps=2500000",)),
    Row("dma_engine.relaxed_ordering", LARGE_WRITES, "false", "true", stage("host_memory"), DOWN,
        ("dma_engine.write_latency_spread_ps=2500000",)),
    Row("dma_engine.queue_depth", MIXED, 16, 2, "blocks.cqe_generator.blocked", UP),
    Row("dma_engine.leaving_depth", MIXED, 8, 1, stage("dma_engine", "max"), UP),
    Row("cqe_generator.cqe_bytes", SLOW, 64, 128, counter("dma_engine", "write_bytes"), UP),
    Row("cqe_generator.cycles_per_cqe", ONE_QP, 1, 64, TIME, UP),
    Row("cqe_generator.latency_cycles", SLOW, 4, 64, stage("cqe_generator"), UP),
    Row("cqe_generator.compression", ONE_QP, "false", "true", counter("cqe_generator", "compressed"), UP),
    Row("cqe_generator.compression_max", ONE_QP, 8, 2, counter("cqe_generator", "sessions"), UP,
        ("cqe_generator.compression=true",)),
    Row("cqe_generator.compression_timeout_cycles", ONE_QP, 64, 1, counter("cqe_generator", "compressed"), DOWN,
        ("cqe_generator.compression=true",)),
    Row("cqe_generator.moderation_unit_ps", Run("moderated", 2), 1000000, 1000000000, TIME, UP),
    Row("cqe_generator.event_latency_cycles", Run("armed", 2), 320, 4096, TIME, UP,
        ("command_processor.command_ps=0",)),
    Row("cqe_generator.queue_depth", ONE_QP, 16, 2, "blocks.cqe_generator.blocked", UP,
        ("ack_generator.response_cycles=64",)),
    Row("cqe_generator.write_depth", MIXED, 10, 3, stage("cqe_generator", "max"), UP),
    Row("cqe_generator.event_depth", Run("armed", 2), 64, 5, stage("cqe_generator", "max"), UP),
    Row("cqe_generator.cq_contexts", Run("many", 2), 4096, 1,
        "nics.1.blocks.cqe_generator.counters.context_misses", UP),
    Row("cqe_generator.cq_context_ways", Run("spread", 2), 4, 1,
        "nics.1.blocks.cqe_generator.counters.context_misses", UP, ("cqe_generator.cq_contexts=16",)),
    Row("cqe_generator.cq_misses_in_flight", Run("many", 2), 8, 1,
        "nics.1.blocks.cqe_generator.counters.context_reads_ahead", DOWN, ("cqe_generator.cq_contexts=8",)),
    Row("cqe_generator.moderation_timers", Run("moderated", 2), 4096, 1,
        "nics.1.blocks.cqe_generator.counters.unmoderated_events", UP),
    Row("ack_generator.response_cycles", ONE_QP, 2, 64, TIME, UP),
    Row("ack_generator.latency_cycles", SLOW, 4, 64, "read_latency_ns.p50", UP),
    Row("ack_generator.coalesce_packets", ONE_QP, 1, 8, counter("ack_generator", "acks"), DOWN),
    Row("ack_generator.coalesce_timer_ps", MIXED, 1000000, 10000000, counter("ack_generator", "coalesced"), UP,
        ("ack_generator.coalesce_packets=8",)),
    Row("ack_generator.read_responses_in_flight", LONG_READS, 64, 1, "read_latency_ns.p50", UP),
    Row("ack_generator.read_responses_per_qp", LONG_READS, 16, 1, counter("ack_generator", "read_limits"), UP),
    Row("ack_generator.atomics_in_flight", ATOMICS, 23, 1, waiting("ack_generator", "atomic"), UP),
    Row("ack_generator.atomic_buckets", ATOMICS, 4096, 1, counter("ack_generator", "atomic_waits"), UP),
    Row("ack_generator.reads_in_progress", READ_OF_EACH, 64, 1, "read_latency_ns.p50", DOWN),
    Row("ack_generator.responses_per_turn", READ_OF_EACH, 1, 64, "read_latency_ns.p50", DOWN),
    Row("ack_generator.answers_waiting", LONG_READS, 2048, 4, waiting("ack_generator", "response"), UP),
    Row("ack_generator.answers_per_qp", LONG_READS, 256, 1, counter("ack_generator", "too_many"), UP),
    Row("ack_generator.tx_depth", MIXED, 2, 1024, "blocks.ack_generator.blocked", DOWN, ("nic.link_gbps=10",)),
    Row("ack_generator.packet_buffers", LONG_READS, 128, 1, waiting("ack_generator", "response"), UP),
    Row("ack_generator.credits", ONE_QP, "unlimited", "counted", "sent.unlimited", DOWN),
    Row("ack_generator.queue_depth", ONE_QP, 16, 2, waiting("ack_generator", "response"), UP,
        ("ack_generator.response_cycles=8",)),
    Row("ack_generator.cnp_interval_ps", STREAM, 4000000, 0, "nics.1.blocks.ack_generator.counters.cnps", UP, MARKED),
    Row("ack_generator.cnp_scope", STREAMS, "qp", "port", "nics.1.blocks.ack_generator.counters.cnps_paced", UP,
        MARKED),
    Row("ack_generator.cnp_timers", STREAMS, 256, 1, "nics.1.blocks.ack_generator.counters.cnps_refused", UP, MARKED),
    Row("ack_generator.cnp_depth", STREAM, 16, 1, "nics.1.blocks.ack_generator.counters.cnps_refused", UP,
        ("fabric.ecn_threshold_bytes=1", "wire.rx_buffer_bytes=16384", "transport_checker.cycles_per_packet=64",
         "ack_generator.cnp_interval_ps=0", "ack_generator.response_cycles=64")),
    Row("command_processor.command_ps", OBJECTS, 20000000, 200000000, TIME, UP),
    Row("command_processor.buffer_bytes", Run("resized", 2), 512, 65536,
        "nics.1.blocks.dma_engine.counters.client_requests_command", DOWN),
    Row("fabric.switch_latency_ps", PINGPONG, 300000, 5000000, ONE_WAY, UP),
    Row("fabric.cable_delay_ps", PINGPONG, 10000, 5000000, ONE_WAY, UP),
    Row("fabric.loopback_latency_ps", Run("pingpong"), 100000, 5000000, ONE_WAY, UP),
    Row("fabric.switch_buffer_bytes", STREAM, 131072, 16384, "fabric.paused", UP,
        (*SLOW_RECEIVER, "requester.window_packets=1024")),
    Row("fabric.switch_full", STREAM, "pause", "drop", "fabric.dropped", UP,
        (*SLOW_RECEIVER, "fabric.switch_buffer_bytes=16384")),
    Row("fabric.ecn_threshold_bytes", STREAM, 0, 20000, "fabric.ecn_marked", UP, SLOW_RECEIVER),
    Row("fabric.loss_ppm", STREAM, 0, 10000, "fabric.lost", UP),
    Row("fabric.corrupt_ppm", STREAM, 0, 10000, "fabric.corrupted", UP),
    Row("fabric.duplicate_ppm", STREAM, 0, 10000, "fabric.duplicated", UP),
    Row("fabric.reorder_ppm", STREAM, 0, 10000, "fabric.reordered", UP),
    Row("fabric.reorder_delay_ps", PINGPONG, 2000000, 20000000, ONE_WAY, UP, ("fabric.reorder_ppm=1000000",)),
    Row("fabric.mark_ppm", STREAM, 0, 10000, "fabric.ecn_marked", UP),
    Row("fabric.pause_ppm", STREAM, 0, 10000, "fabric.pauses", UP),
    Row("fabric.pause_ps", STREAM, 10000000, 100000000, TIME, UP, ("fabric.pause_ppm=10000",)),
    Row("fabric.impaired_sender", STREAM, 64, 1, "fabric.lost", DOWN, LOSSY),
    Row("fabric.impaired_first", STREAM, 1, 1000, "fabric.lost", DOWN, LOSSY),
    Row("fabric.impaired_last", STREAM, 2**63 - 1, 10, "fabric.lost", DOWN, LOSSY),
    Row("fabric.impaired_every", STREAM, 1, 10, "fabric.lost", DOWN, LOSSY),
    Row("fabric.impairment_seed", STREAM, 1, 2, "fabric.lost", OTHER, LOSSY),
    Row("requester.latency_cycles", PINGPONG, 24, 1024, ONE_WAY, UP),
    Row("requester.cycles_per_wqe", BATCHES, 3, 256, ONE_WAY, UP),
    Row("requester.cycles_per_packet", STREAM, 2, 256, TIME, UP),
    Row("requester.doorbell_wqe_bytes", PINGPONG, 256, 0, ONE_WAY, UP),
    Row("requester.wqes_per_read", BATCHES, 8, 1, "nics.0.blocks.requester.counters.memory_reads", UP),
    Row("requester.gather_bytes", STREAM, 4096, 1, TIME, OTHER),
    Row("requester.payload_buffer_bytes", STREAM, 32768, 4096, TIME, UP),
    Row("requester.window_packets", STREAM, 128, 1, TIME, UP),
    Row("requester.ack_every_packets", STREAM, 16, 1, "nics.1.blocks.ack_generator.counters.acks", UP),
    Row("requester.max_tso_bytes", TSO, 262144, 1024, "nics.0.blocks.requester.counters.segments", DOWN),
    Row("requester.packet_buffers", Run("datagrams", 2), 64, 4, "nics.1.blocks.rx_buffer.counters.high_water_bytes",
        DOWN, ("transport_checker.cycles_per_packet=64",)),
    Row("requester.send_queues", OBJECTS, 8192, 2, COMMANDS, DOWN),
    Row("requester.rendezvous", Run("rendezvous", 2), 128, 1,
        "nics.1.blocks.srq_wqe_fetcher.counters.no_rendezvous", UP),
    Row("requester.dcqcn", STREAM, "true", "false", "nics.0.blocks.requester.counters.paced", DOWN, MARKED),
    Row("requester.dcqcn_alpha_shift", STREAM, 8, 1, TIME, DOWN, MARKED),
    Row("requester.dcqcn_alpha_timer_ps", STREAM, 1000000, 55000000, TIME, UP, MARKED),
    Row("requester.dcqcn_increase_timer_ps", STREAM, 300000000, 10000000, RATE_INCREASES, UP, MARKED),
    Row("requester.dcqcn_increase_bytes", STREAM, 32767, 1024, RATE_INCREASES, UP, MARKED),
    Row("requester.dcqcn_fast_stages", STREAM, 1, 5, TIME, UP, MARKED),
    Row("requester.dcqcn_additive_mbps", STREAM, 5, 1000, TIME, DOWN, (*MARKED, "requester.dcqcn_target=always")),
    Row("requester.dcqcn_hyper_mbps", STREAM, 50, 1000, TIME, DOWN, (*MARKED, "requester.dcqcn_target=always")),
    Row("requester.dcqcn_min_mbps", STREAM, 1, 10000, TIME, DOWN, MARKED),
    Row("requester.dcqcn_target", STREAM, "increased", "always", TIME, UP, MARKED),
    Row("requester.dcqcn_least_percent", STREAM, 50, 90, TIME, DOWN, MARKED),
    Row("requester.dcqcn_reduce_period_ps", STREAM, 4000000, 100000000, TIME, DOWN, MARKED),
    Row("host.poll_latency_ps", MIXED, 100000, 10000000, TIME, UP),
    Row("host.repost_latency_ps", MIXED, 200000, 10000000, TIME, UP),
    Row("host.doorbell_latency_ps", MIXED, 100000, 10000000, TIME, UP),
    Row("host.page_fault_ps", PAGING, 20000000, 100000000, PAGE_WAIT, UP),
    Row("host.page_fault_pages", PAGING, 16, 1, PAGE_REQUESTS, UP),
    # Between two looks at the programs lie 64 cycles: long ones, so that model time can be far faster than wall time.
    Row("live.timer_gap_ps", Run("late", 2), 4000000, 1000000000000, "transport.rnr_naks", UP,
        ("nic.clock_period_ps=100000",)),
]
