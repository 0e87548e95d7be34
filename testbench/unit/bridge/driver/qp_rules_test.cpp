// SPDX-License-Identifier: Apache-2.0
// The rules are those of bridge/driver/qp_rules.h.
#include "bridge/driver/qp_rules.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

namespace rxnic::qp_rules_test {
namespace {

constexpr std::uint32_t kMaxRdAtomic = 16;

// The table of ibv_modify_qp(3), written a second time. States are single letters.
struct Row {
  QpType type;
  QpState from, to;
  std::uint32_t required, optional;
};
constexpr auto R = QpState::kReset, I = QpState::kInit, T = QpState::kRtr, S = QpState::kRts, D = QpState::kSqd,
               Q = QpState::kSqe, E = QpState::kError;
constexpr std::uint32_t kCur = kAttrCurrentState, kAcc = kAttrAccess, kPkey = kAttrPkeyIndex, kPort = kAttrPort,
                        kKey = kAttrQkey, kAv = kAttrPath, kMtu = kAttrPathMtu, kTime = kAttrTimeout,
                        kRetry = kAttrRetryCount, kRnr = kAttrRnrRetry, kRq = kAttrRqPsn, kRd = kAttrMaxRdAtomic,
                        kMin = kAttrMinRnrTimer, kSq = kAttrSqPsn, kDest = kAttrMaxDestRdAtomic,
                        kRemote = kAttrRemoteQpn;

const std::vector<Row>& table() {
  static const std::vector<Row> rows = [] {
    constexpr auto kRc = QpType::kRc, kUc = QpType::kUc, kUd = QpType::kUd, kIni = QpType::kXrcSend,
                   kTgt = QpType::kXrcReceive;
    std::vector<Row> t = {
        {kRc, R, I, kPkey | kPort | kAcc, 0},
        {kUc, R, I, kPkey | kPort | kAcc, 0},
        {kUd, R, I, kPkey | kPort | kKey, 0},
        {kRc, I, I, 0, kPkey | kPort | kAcc},
        {kUc, I, I, 0, kPkey | kPort | kAcc},
        {kUd, I, I, 0, kPkey | kPort | kKey},
        {kRc, I, T, kAv | kMtu | kRemote | kRq | kDest | kMin, kAcc | kPkey},
        {kUc, I, T, kAv | kMtu | kRemote | kRq, kAcc | kPkey},
        {kUd, I, T, 0, kPkey | kKey},
        {kRc, T, S, kTime | kRetry | kRnr | kSq | kRd, kCur | kAcc | kMin},
        {kUc, T, S, kSq, kCur | kAcc},
        {kUd, T, S, kSq, kCur | kKey},
        {kRc, S, S, 0, kCur | kAcc | kMin},
        {kUc, S, S, 0, kCur | kAcc},
        {kUd, S, S, 0, kCur | kKey},
        {kRc, D, S, 0, kCur | kAcc | kMin},
        {kUc, D, S, 0, kCur | kAcc},
        {kUd, D, S, 0, kCur | kKey},
        {kRc, D, D, 0, kAv | kAcc | kPkey | kPort | kTime | kRetry | kRnr | kRd | kDest | kMin},
        {kUc, D, D, 0, kAv | kAcc | kPkey},
        {kUd, D, D, 0, kPkey | kKey},
        {kIni, R, I, kPkey | kPort | kAcc, 0},
        {kTgt, R, I, kPkey | kPort | kAcc, 0},
        {kIni, I, I, 0, kPkey | kPort | kAcc},
        {kTgt, I, I, 0, kPkey | kPort | kAcc},
        {kIni, I, T, kAv | kMtu | kRemote | kRq, kAcc | kPkey},
        {kTgt, I, T, kAv | kMtu | kRemote | kRq | kDest | kMin, kAcc | kPkey},
        {kIni, T, S, kTime | kRetry | kRnr | kSq | kRd, kCur | kAcc},
        {kTgt, T, S, kTime | kSq, kCur | kAcc | kMin},
        {kIni, S, S, 0, kCur | kAcc},
        {kTgt, S, S, 0, kCur | kAcc | kMin},
        {kIni, D, S, 0, kCur | kAcc},
        {kTgt, D, S, 0, kCur | kAcc | kMin},
        {kIni, D, D, 0, kAv | kAcc | kPkey | kPort | kTime | kRetry | kRnr | kRd},
        {kTgt, D, D, 0, kAv | kAcc | kPkey | kPort | kTime | kDest | kMin},
        {kUc, Q, S, 0, kCur | kAcc},
        {kUd, Q, S, 0, kCur | kKey},
    };
    for (const QpType type : {kRc, kUc, kUd, kIni, kTgt}) {
      t.push_back({type, S, D, 0, kAttrDrainedNotify});
      for (const QpState from : {R, I, T, S, D, Q, E}) {
        t.push_back({type, from, R, 0, 0});
        if (from != R) t.push_back({type, from, E, 0, 0});
      }
    }
    return t;
  }();
  return rows;
}

channel::QpAttributes good(std::uint32_t mask, QpState from, QpState to) {
  channel::QpAttributes a;
  a.mask = mask | kAttrState;
  a.state = static_cast<std::uint32_t>(to);
  a.current_state = static_cast<std::uint32_t>(from);
  a.port = 1;
  a.path_mtu = 5;
  a.is_global = 1;
  a.path.source_gid_index = 2;
  a.timeout = 31;
  a.retry_count = a.rnr_retry = 7;
  a.min_rnr_timer = 31;
  a.max_rd_atomic = a.max_dest_rd_atomic = kMaxRdAtomic;
  a.rq_psn = a.sq_psn = a.remote_qpn = 0xff'ffff;
  a.access = 0xff;  // on-demand paging and the like: of regions
  return a;
}

int check(QpType type, QpState from, const channel::QpAttributes& a) {
  QpState next{};
  return check_modify(type, from, a, kMaxRdAtomic, next);
}

const Row* find(QpType type, QpState from, QpState to) {
  for (const Row& row : table()) {
    if (row.type == type && row.from == from && row.to == to) return &row;
  }
  return nullptr;
}

std::string name(QpType type, QpState from, QpState to) {
  return "type " + std::to_string(static_cast<int>(type)) + " " + std::to_string(static_cast<int>(from)) + " -> " +
         std::to_string(static_cast<int>(to));
}

TEST(QpRules, TheTableRowByRow) {  // R1, R2
  std::size_t rows = 0;
  for (const QpType type : {QpType::kRc, QpType::kUc, QpType::kUd, QpType::kXrcSend, QpType::kXrcReceive}) {
    for (const QpState from : {R, I, T, S, D, Q, E}) {
      for (const QpState to : {R, I, T, S, D, Q, E}) {
        SCOPED_TRACE(name(type, from, to));
        const Row* row = find(type, from, to);
        const std::uint32_t required = row == nullptr ? 0 : row->required,
                            optional = row == nullptr ? 0 : row->optional;
        EXPECT_EQ(check(type, from, good(required, from, to)), row == nullptr ? EINVAL : 0);
        if (row == nullptr) continue;
        ++rows;
        EXPECT_EQ(check(type, from, good(required | optional, from, to)), 0);
        for (std::uint32_t bit = 1; bit != 0; bit <<= 1) {
          if (bit == kAttrState) continue;
          SCOPED_TRACE(bit);
          if ((required & bit) != 0) {
            EXPECT_EQ(check(type, from, good(required & ~bit, from, to)), EINVAL);
          } else {
            EXPECT_EQ(check(type, from, good(required | bit, from, to)), (optional & bit) != 0 ? 0 : EINVAL);
          }
        }
      }
    }
  }
  EXPECT_EQ(rows, table().size());
}

TEST(QpRules, AnXrcQpIgnoresTheSideThatItDoesNotHave) {  // R6
  constexpr std::uint32_t kAll = ~std::uint32_t{0};
  EXPECT_EQ(without_ignored(QpType::kRc, kAll), kAll);
  EXPECT_EQ(without_ignored(QpType::kXrcSend, kAll), kAll & ~(kDest | kMin));
  EXPECT_EQ(without_ignored(QpType::kXrcReceive, kAll), kAll & ~(kRd | kRetry | kRnr));
}

TEST(QpRules, WithoutAStateTheQpStaysWhereItIs) {  // R1
  channel::QpAttributes a = good(kAttrAccess, S, S);
  a.mask = kAttrAccess;
  QpState next = R;
  EXPECT_EQ(check_modify(QpType::kRc, S, a, kMaxRdAtomic, next), 0);
  EXPECT_EQ(next, S);
  EXPECT_EQ(check(QpType::kRc, T, a), EINVAL);
  a.mask = kAttrState;
  a.state = 7;
  EXPECT_EQ(check(QpType::kRc, S, a), EINVAL);
}

TEST(QpRules, TheCurrentStateMustBeTheCurrentState) {  // R3
  channel::QpAttributes a = good(kCur, S, S);
  EXPECT_EQ(check(QpType::kRc, S, a), 0);
  a.current_state = static_cast<std::uint32_t>(T);
  EXPECT_EQ(check(QpType::kRc, S, a), EINVAL);
  EXPECT_EQ(check(QpType::kRc, I, good(kCur, I, I)), EINVAL);
}

TEST(QpRules, EachAttributeHasItsRange) {  // R4
  const std::uint32_t rtr = find(QpType::kRc, I, T)->required, rts = find(QpType::kRc, T, S)->required,
                      init = find(QpType::kRc, R, I)->required;
  const auto refused = [](QpState from, QpState to, std::uint32_t mask, auto change) {
    channel::QpAttributes a = good(mask, from, to);
    EXPECT_EQ(check(QpType::kRc, from, a), 0);
    change(a);
    return check(QpType::kRc, from, a) == EINVAL;
  };
  EXPECT_TRUE(refused(R, I, init, [](auto& a) { a.port = 0; }));
  EXPECT_TRUE(refused(R, I, init, [](auto& a) { a.port = 2; }));
  EXPECT_TRUE(refused(R, I, init, [](auto& a) { a.pkey_index = 1; }));
  EXPECT_TRUE(refused(R, I, init, [](auto& a) { a.access = 1u << 19; }));
  EXPECT_TRUE(refused(I, T, rtr, [](auto& a) { a.path_mtu = 0; }));
  EXPECT_TRUE(refused(I, T, rtr, [](auto& a) { a.path_mtu = 6; }));
  EXPECT_TRUE(refused(I, T, rtr, [](auto& a) { a.is_global = 0; }));
  EXPECT_TRUE(refused(I, T, rtr, [](auto& a) { a.path.source_gid_index = 3; }));  // the empty slot
  EXPECT_TRUE(refused(I, T, rtr, [](auto& a) { a.remote_qpn = 1u << 24; }));
  EXPECT_TRUE(refused(I, T, rtr, [](auto& a) { a.rq_psn = 1u << 24; }));
  EXPECT_TRUE(refused(I, T, rtr, [](auto& a) { a.max_dest_rd_atomic = kMaxRdAtomic + 1; }));
  EXPECT_TRUE(refused(I, T, rtr, [](auto& a) { a.min_rnr_timer = 32; }));
  EXPECT_TRUE(refused(T, S, rts, [](auto& a) { a.sq_psn = 1u << 24; }));
  EXPECT_TRUE(refused(T, S, rts, [](auto& a) { a.timeout = 32; }));
  EXPECT_TRUE(refused(T, S, rts, [](auto& a) { a.retry_count = 8; }));
  EXPECT_TRUE(refused(T, S, rts, [](auto& a) { a.rnr_retry = 8; }));
  EXPECT_TRUE(refused(T, S, rts, [](auto& a) { a.max_rd_atomic = kMaxRdAtomic + 1; }));
}

}  // namespace
}  // namespace rxnic::qp_rules_test
