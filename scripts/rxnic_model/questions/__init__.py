# SPDX-License-Identifier: Apache-2.0
"""Questions about a capture, a workload or a record: sensitivity, why, find, pareto."""
