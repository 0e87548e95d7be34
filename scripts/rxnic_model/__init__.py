# SPDX-License-Identifier: Apache-2.0
"""Runs of the model from Python: the figures of a run are attributes of what a call returns.

    import sys
    sys.path.insert(0, "scripts")
    import rxnic_model

    run = rxnic_model.replay("traces/sample.pcap", set={"dma_engine.read_latency_ps": "900ns"})
    print(run.rates.packets_per_s, run.latency_ns.p99, run.address_translator.mtt_misses)

A figure has the name that `rxnic counters` gives it (address_translator.mtt_misses), or its place in report.json
(rates.packets_per_s, blocks.address_translator.busy). Python 3.11 and its library are enough; frame() needs pandas.
"""
from .expression import Expression, ExpressionError
from .figures import UnknownFigure, figures_of
from .program import RunError, UsageError, find_program, start, text_of
from .runs import Result, Results, replay, run, several, workload


def __getattr__(name):
    """What a job of a sweep does not need is read when it is asked for."""
    if name == "sweep":
        from .sweeps.run import sweep  # pylint: disable=import-outside-toplevel
        return sweep
    if name in ("find", "pareto", "sensitivity", "why"):
        from .questions import calls  # pylint: disable=import-outside-toplevel
        return getattr(calls, name)
    raise AttributeError(name)


__all__ = ["Expression", "ExpressionError", "Result", "Results", "RunError", "UnknownFigure", "UsageError",
           "figures_of", "find", "find_program", "pareto", "replay", "run", "sensitivity", "several", "start", "sweep",
           "text_of", "why", "workload"]
