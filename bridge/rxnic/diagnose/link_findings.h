// SPDX-License-Identifier: Apache-2.0
// Findings that are not of one direction alone: congestion, pauses, P_Keys and Q_Keys against those of others, what
// the sniffer did.
#pragma once

#include "bridge/rxnic/diagnose/connections.h"

namespace rxnic {

// CE and CNPs of each QP, with the pauses on one time line.
void find_congestion(const Connections& connections, const std::vector<PauseFrame>& pauses, Diagnosis& d);
// `quantum_ps`: 512 bit times.
void find_pauses(const Connections& connections, const std::vector<PauseFrame>& pauses, std::uint64_t quantum_ps,
                 Diagnosis& d);
// NAKs to QPs whose requests the capture does not hold.
void find_orphan_naks(const Connections& connections, Diagnosis& d);
void find_keys(const Connections& connections, Diagnosis& d);
void find_keep_alive(const Connections& connections, Diagnosis& d);
// What the sniffer did. When it sampled, PSN gaps are no findings.
void note_sniffer(const SnifferEffects& effects, Diagnosis& d);

}  // namespace rxnic
