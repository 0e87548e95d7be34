// SPDX-License-Identifier: Apache-2.0
// Names of the verbs' enums, and link rates as multiples of 2.5 Gb/s and in Mb/s. The words are those that programs
// print and people search their logs for.
#include <infiniband/verbs.h>

#include <cstddef>

#include "bridge/verbs/export.h"

namespace {

template <std::size_t kCount>
const char* name_of(const char* const (&names)[kCount], int value) {
  return value >= 0 && static_cast<std::size_t>(value) < kCount ? names[value] : "unknown";
}

struct Rate {
  ibv_rate code;
  int multiple;  // of 2.5 Gb/s; -1: none
  int mbps;      // signalling rate of the link
};
constexpr Rate kRates[] = {
    {IBV_RATE_2_5_GBPS, 1, 2'500},     {IBV_RATE_5_GBPS, 2, 5'000},          {IBV_RATE_10_GBPS, 4, 10'000},
    {IBV_RATE_20_GBPS, 8, 20'000},     {IBV_RATE_30_GBPS, 12, 30'000},       {IBV_RATE_40_GBPS, 16, 40'000},
    {IBV_RATE_60_GBPS, 24, 60'000},    {IBV_RATE_80_GBPS, 32, 80'000},       {IBV_RATE_120_GBPS, 48, 120'000},
    {IBV_RATE_14_GBPS, -1, 14'062},    {IBV_RATE_56_GBPS, -1, 56'250},       {IBV_RATE_112_GBPS, -1, 112'500},
    {IBV_RATE_168_GBPS, -1, 168'750},  {IBV_RATE_25_GBPS, -1, 25'781},       {IBV_RATE_100_GBPS, -1, 103'125},
    {IBV_RATE_200_GBPS, -1, 206'250},  {IBV_RATE_300_GBPS, -1, 309'375},     {IBV_RATE_28_GBPS, 11, 28'125},
    {IBV_RATE_50_GBPS, 20, 53'125},    {IBV_RATE_400_GBPS, 160, 425'000},    {IBV_RATE_600_GBPS, 240, 637'500},
    {IBV_RATE_800_GBPS, 320, 850'000}, {IBV_RATE_1200_GBPS, 480, 1'275'000},
};

}  // namespace

RXNIC_EXPORT const char* ibv_node_type_str(ibv_node_type type) {
  static const char* const kNames[] = {"unknown",           "InfiniBand channel adapter",
                                       "InfiniBand switch", "InfiniBand router",
                                       "iWARP NIC",         "usNIC",
                                       "usNIC UDP",         "unspecified"};
  return name_of(kNames, type);
}

RXNIC_EXPORT const char* ibv_port_state_str(ibv_port_state state) {
  static const char* const kNames[] = {"no state change (NOP)", "down", "init", "armed", "active", "active defer"};
  return name_of(kNames, state);
}

RXNIC_EXPORT const char* ibv_event_type_str(ibv_event_type event) {
  static const char* const kNames[] = {"CQ error",
                                       "local work queue catastrophic error",
                                       "invalid request local work queue error",
                                       "local access violation work queue error",
                                       "communication established",
                                       "send queue drained",
                                       "path migrated",
                                       "path migration request error",
                                       "local catastrophic error",
                                       "port active",
                                       "port error",
                                       "LID change",
                                       "P_Key change",
                                       "SM change",
                                       "SRQ catastrophic error",
                                       "SRQ limit reached",
                                       "last WQE reached",
                                       "client reregistration",
                                       "GID table change",
                                       "WQ fatal"};
  return name_of(kNames, event);
}

RXNIC_EXPORT const char* ibv_wc_status_str(ibv_wc_status status) {
  static const char* const kNames[] = {"success",
                                       "local length error",
                                       "local QP operation error",
                                       "local EE context operation error",
                                       "local protection error",
                                       "Work Request Flushed Error",
                                       "memory management operation error",
                                       "bad response error",
                                       "local access error",
                                       "remote invalid request error",
                                       "remote access error",
                                       "remote operation error",
                                       "transport retry counter exceeded",
                                       "RNR retry counter exceeded",
                                       "local RDD violation error",
                                       "remote invalid RD request",
                                       "aborted error",
                                       "invalid EE context number",
                                       "invalid EE context state",
                                       "fatal error",
                                       "response timeout error",
                                       "general error",
                                       "TM error",
                                       "TM software rendezvous"};
  return name_of(kNames, status);
}

RXNIC_EXPORT int ibv_rate_to_mult(ibv_rate rate) {
  for (const Rate& r : kRates) {
    if (r.code == rate) return r.multiple;
  }
  return -1;
}

RXNIC_EXPORT ibv_rate mult_to_ibv_rate(int multiple) {
  for (const Rate& r : kRates) {
    if (r.multiple == multiple && multiple > 0) return r.code;
  }
  return IBV_RATE_MAX;
}

RXNIC_EXPORT int ibv_rate_to_mbps(ibv_rate rate) {
  for (const Rate& r : kRates) {
    if (r.code == rate) return r.mbps;
  }
  return -1;
}

RXNIC_EXPORT ibv_rate mbps_to_ibv_rate(int mbps) {
  for (const Rate& r : kRates) {
    if (r.mbps == mbps) return r.code;
  }
  return IBV_RATE_MAX;
}
