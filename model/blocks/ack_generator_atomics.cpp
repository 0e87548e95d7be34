// SPDX-License-Identifier: Apache-2.0
// Atomics, ATOMIC WRITEs and FLUSHes: one after the other in their bucket, by the DMA engine (R5 of ack_generator.h).
#include "model/blocks/ack_generator.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

DmaKind kind_of(Operation operation) {
  switch (operation) {
    case Operation::kFlush:
      return DmaKind::kRead;
    case Operation::kAtomicWrite:
      return DmaKind::kSwap;
    case Operation::kFetchAdd:
      return DmaKind::kFetchAdd;
    default:
      return DmaKind::kCompareSwap;
  }
}

// The memory access of an atomic, or of a FLUSH. (R5)
DmaRequest atomic_request(const AckRequest& p) {
  DmaRequest r;
  r.kind = kind_of(p.op().operation);
  r.address = p.bus;
  r.bytes = p.has(kFlushes) ? 1 : kAtomicBytes;
  r.operand = p.operand;
  r.compare = p.compare;
  return r;
}

}  // namespace

// Keeps what the DMA engine is given when the atomic has its turn, and makes room for the result.
void AckGenerator::prepare_atomic(const AckRequest& p, Index at) {
  const OwedAnswer& a = answers_[at];
  if (!a.replay) {
    atomic_requests_[at] = atomic_request(p);
    atomic_regions_[at] = p.local_key;
  }
  if (a.resource >= results_.size()) results_.resize(std::size_t{a.resource} + 1);
}

AckGenerator::Bucket& AckGenerator::bucket_of(Index atomic) {
  return buckets_[raw(atomic_requests_[atomic].address) / kAtomicBytes % params_.atomic_buckets];
}

// An atomic may be carried out when those before it in its bucket are done. (R5)
void AckGenerator::enter_bucket(Index atomic) {
  Bucket& bucket = bucket_of(atomic);
  if (!bucket.busy) {
    bucket.busy = true;
    atomics_.push(atomic, Cycle{});
    return;
  }
  ++counters_.atomic_waits;
  ++atomics_waiting_;
  (bucket.first == kNone ? bucket.first : next_in_bucket_[bucket.last]) = atomic;
  bucket.last = atomic;
  next_in_bucket_[atomic] = kNone;
}

void AckGenerator::leave_bucket(Index atomic) {
  Bucket& bucket = bucket_of(atomic);
  if (bucket.first == kNone) {
    bucket.busy = false;
    return;
  }
  --atomics_waiting_;
  atomics_.push(bucket.first, Cycle{});
  bucket.first = next_in_bucket_[bucket.first];
}

// The DMA engine gets the atomic that has had its bucket for longest.
void AckGenerator::issue_atomic(Cycle now) {
  const Index at = atomics_.pop();
  ++atomics_open_;
  DmaRequest& request = atomic_requests_[at];
  request.cookie = at;
  request.data = reinterpret_cast<std::uint8_t*>(&answers_[at].original);
  dma.push(now, request);
  ++counters_.atomics;
}

void AckGenerator::finish_atomic(Cycle now) {  // (R5)
  const DmaCompletion done = dma_done.pop(now);
  --atomics_open_;
  leave_bucket(done.cookie);
  OwedAnswer& a = answers_[done.cookie];
  a.done = !done.gone;
  a.issued = a.done;
  if (done.gone) {
    fail_silently(done.cookie);
  } else if (done.ok) {
    a.h.original = a.original;
    results_[a.resource] = {true, a.qpn, a.h.psn, a.original};
  } else {
    ++counters_.memory_errors;
    make_nak(a, kNakRemoteOperation);
    fail_behind(done.cookie);
  }
  advance(answers_.find(raw(a.qpn)), now);
}

}  // namespace rxnic
