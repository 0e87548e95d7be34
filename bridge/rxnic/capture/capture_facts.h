// SPDX-License-Identifier: Apache-2.0
// What a report says of a capture besides the run: its QPs and pairs, and what the sniffer did.
#pragma once

#include <string>

#include "model/system/run_result.h"
#include "model/system/wire_source.h"
#include "traces/sniffer.h"
#include "traces/survey.h"

namespace rxnic {

// "0x11=0x21,18=34": QPs of the receiver and of their peers. Throws std::invalid_argument, as check_pairs.
ChosenPairs parse_pairs(const std::string& text);
void check_pairs(const ChosenPairs& pairs, const ReceiverSurvey& seen);

CapturedQp captured_qp(const SurveyedQp& q);

// Says once each what the sniffer did, and takes it out of the counts of the network.
void report_sniffer(const SnifferEffects& effects, const WireSource& source, RunResult& r);

}  // namespace rxnic
