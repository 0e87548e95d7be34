# SPDX-License-Identifier: Apache-2.0
"""The questions from Python: each call returns what the command prints, as an object.

    from rxnic_model import why
    answer = why("capture.pcap", pace="line-rate")
    print(answer.binding, answer.steps[0].effect.rate_gain)
    answer.frame()                                          # pandas: a row a resource

`how` has the settings of a subject: config, set, seeds, pace, host, options, jobs, program, quiet.
"""
from ..program import UsageError
from .axis import Axis
from .find import Knee, Search
from .pareto import Pareto
from .sensitivity import Sensitivity
from .subject import Subject
from .why import Why


def why(source, *, least=0.02, most=3, **how):
    """What binds: `binding`, `p99_binding`, `steps`, `effects`, `verdict`, `agrees()`."""
    return Why(Subject(source, **how), least, most)


def sensitivity(source, *, only=(), least=0.001, **how):
    """What every parameter moves, half and double: `moving`, `still`, `skipped`."""
    return Sensitivity(Subject(source, **how), only, least)


def find(source, vary, *, where=None, knee=None, largest=False, **how):
    """The smallest (largest) value of `vary` (--vary) for which `where` holds, or the knee of a figure: `value`."""
    if (where is None) == (knee is None):
        raise UsageError("find(): found both or none of where and knee; expected one of them")
    subject = Subject(source, **how)
    axis = Axis(vary, subject, "vary")
    return Search(subject, axis, where, largest) if where else Knee(subject, axis, knee)


def pareto(source, vary, out, *, figure="rate", want=None, trials=64, seed=1, **how):
    """The points that no other one beats in the figure and in bits: `front`, `trials`; write() makes files of them."""
    subject = Subject(source, **how)
    axes = [Axis(one, subject, "vary", choices=True) for one in vary]
    return Pareto(subject, axes, out, figure=figure, want=want, trials=trials, seed=seed)
