// SPDX-License-Identifier: Apache-2.0
#include "bridge/driver/doorbell_line.h"

#include <algorithm>
#include <iterator>

namespace rxnic {

namespace {

constexpr DoorbellKind kKinds[] = {DoorbellKind::kReceive, DoorbellKind::kSrqLimit, DoorbellKind::kCqConsumer,
                                   DoorbellKind::kCqArm, DoorbellKind::kSend};

constexpr std::uint64_t place_of(std::uint32_t number, DoorbellKind kind) {
  return std::uint64_t{number} << 8 | static_cast<std::uint64_t>(kind);
}

}  // namespace

void DoorbellLine::push(const Doorbell& doorbell, Cycle arrival) {
  if (coming_.size() >= kMostOnTheWay) {
    if (!dropped(coming_.front())) arrive(coming_.front().doorbell);
    coming_.pop_front();
  }
  coming_.push_back({doorbell, arrival, ++last_serial_});
}

bool DoorbellLine::dropped(const Coming& coming) const {
  if (drops_.empty()) return false;
  const auto drop = drops_.find(coming.doorbell.number);
  return drop != drops_.end() && coming.serial <= drop->second;
}

// R3.
void DoorbellLine::arrive(const Doorbell& doorbell) {
  const auto [place, first] = places_.try_emplace(place_of(doorbell.number, doorbell.kind));
  if (first) {
    place->second = waiting_.insert(waiting_.end(), doorbell);
    return;
  }
  Doorbell& older = *place->second;
  older.value = doorbell.value;
  older.wqe_bytes = 0;  // it posts several
  older.solicited_only = older.solicited_only && doorbell.solicited_only;
}

void DoorbellLine::leave() {
  places_.erase(place_of(waiting_.front().number, waiting_.front().kind));
  waiting_.pop_front();
}

Cycle DoorbellLine::next(Cycle now) const {
  if (!waiting_.empty() || coming_.empty()) return kNever;
  return coming_.front().arrival <= now ? kNever : coming_.front().arrival;
}

void DoorbellLine::drop(std::uint32_t number) {
  for (const DoorbellKind kind : kKinds) {
    const auto place = places_.find(place_of(number, kind));
    if (place == places_.end()) continue;
    waiting_.erase(place->second);
    places_.erase(place);
  }
  if (!coming_.empty()) drops_[number] = last_serial_;
}

bool DoorbellLine::waits(std::uint32_t number) const {
  return std::any_of(std::begin(kKinds), std::end(kKinds),
                     [&](DoorbellKind kind) { return places_.contains(place_of(number, kind)); }) ||
         std::any_of(coming_.begin(), coming_.end(),
                     [&](const Coming& c) { return c.doorbell.number == number && !dropped(c); });
}

}  // namespace rxnic
