// SPDX-License-Identifier: Apache-2.0
// A bounded FIFO between two blocks, with ready/valid meaning and registered visibility.
//
//   R1  What is pushed in cycle n can be popped from cycle n + 1 on.
//   R2  Room that a pop makes in cycle n can be used from cycle n + 1 on. A push without room ends the program, in
//       every build (overflow.h).
//   R3  Therefore the order in which the two blocks are stepped within a cycle cannot change a result.
//   R4  A push wakes the consumer for the cycle in which the value can be popped. A pop from a full link wakes the
//       producer for the next cycle.
//   R5  A consumer that cannot take anything may ask not to be woken (listen). When it listens again, it is woken if
//       the link is not empty.
//   R6  A consumer of many links may have each link show in a bit whether it holds a value, visible yet or not
//       (show_in). The consumer then looks only at links that hold values.
//   R7  A pushed value fits the widths of its descriptor; checked where assertions are on.
//   R8  send() performs the push of a later cycle early, once the value is final and room is certain. The result is the
//       same, and one step is saved. Only in kFast.
//
// One transfer a cycle needs a capacity of at least 2.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <new>
#include <systemc>
#include <utility>
#include <vector>

#include "model/engine/behind_rtl.h"
#include "model/engine/block.h"
#include "model/engine/overflow.h"
#include "model/types/descriptor_operations.h"

namespace rxnic {

class LinkBase : public sc_core::sc_object, public virtual sc_core::sc_interface {
 public:
  std::uint32_t size() const { return size_; }
  std::uint32_t capacity() const { return capacity_; }
  std::uint64_t transfers() const { return transfers_; }
  std::uint32_t high_water() const { return high_water_; }  // most entries in use in a cycle, or sent ahead
  void hash(StateHash& h) const {
    h.mix(transfers_);
    h.mix(history_);
  }
  // Operations on the link's values; nullptr: they have no description.
  const DescriptorOperations* operations() const { return operations_; }
  std::uint32_t value_bits() const { return operations_ == nullptr ? 0 : operations_->bits; }  // on the port
  std::size_t value_bytes() const { return operations_ == nullptr ? 0 : operations_->bytes; }
  // `value`: a copy of a value; nullptr: a default one.
  template <class F>
  void for_each_number_of(const void* value, F&& f) const {
    if (operations_ != nullptr) operations_->for_each_number(value, std::forward<F>(f));
  }

  // For observers between two cycles (waves.h). Values are numbered as they were pushed, from 0: those that were popped
  // since the cycle before are still there. Nothing is copied of values without a description.
  std::uint64_t popped() const { return transfers_ - size_; }
  virtual void copy_value(std::uint64_t number, void* to) const = 0;
  Cycle head_visible_from() const { return first_visible_; }  // kNever: empty

  // For a block that knows the links of its ports only when it is built (bridge/rtl/rtl_block.h).
  std::uint32_t room(Cycle now) const {  // values that can be pushed in this cycle
    return capacity_ - size_ - (freed_in_ == now ? freed_ : 0);
  }
  // A value that is pushed has the observers' fields of the value that it comes from.
  // `of`: the block behind the RTL: it completes the value (behind_rtl.h).
  virtual void push_bits(Cycle now, const std::uint32_t* bits, const DescriptorOperations::Observers& from,
                         BehindRtl& of) = 0;
  virtual void take_head(Cycle now, BehindRtl& of) = 0;  // by RTL in the place of a block
  // The ports that it joins, nullptr where it ends outside the blocks. Known when the simulation starts.
  const sc_core::sc_object* producer_port() const { return producer_port_; }
  const sc_core::sc_object* consumer_port() const { return consumer_port_; }

  void set_consumer(Block& b, const sc_core::sc_object& port) {
    consumer_ = &b;
    consumer_port_ = &port;
  }
  void set_producer(Block& b, const sc_core::sc_object& port) {
    producer_ = &b;
    producer_port_ = &port;
  }
  // Keeps `bit` set in `word` while the link is not empty. (R6)
  void show_in(std::uint64_t& word, std::uint64_t bit) {
    shown_in_ = &word;
    shown_bit_ = bit;
  }
  // Whether a push wakes the consumer. It should not when the consumer cannot take anything (R5).
  void set_listening(bool listens) {
    if (listens == listening_) return;
    listening_ = listens;
    if (listens && size_ > 0) consumer_->wake();  // for values pushed meanwhile
  }

 protected:
  LinkBase(const char* name, std::uint32_t capacity, const DescriptorOperations* operations)
      : sc_object(name), capacity_(capacity), operations_(operations) {}
  bool fits_port(const void* value) const { return operations_ == nullptr || operations_->check_widths(name(), value); }
  Block* consumer_ = nullptr;
  Block* producer_ = nullptr;
  bool listening_ = true;
  const std::uint32_t capacity_;
  const DescriptorOperations* const operations_;
  Cycle first_visible_ = kNever;  // of the first value: read far more often than it changes
  std::uint32_t size_ = 0;
  std::uint32_t high_water_ = 0;
  std::uint32_t freed_ = 0;  // pops in cycle freed_in_
  Cycle freed_in_ = kNever;
  std::uint64_t transfers_ = 0;
  std::uint64_t history_ = 0;  // digest of the cycles of all pushes
  std::uint64_t unshown_ = 0;  // the word of a link without show_in
  std::uint64_t* shown_in_ = &unshown_;
  std::uint64_t shown_bit_ = 0;
  const sc_core::sc_object* producer_port_ = nullptr;
  const sc_core::sc_object* consumer_port_ = nullptr;
};

template <class T>
class Link final : public LinkBase {
 public:
  Link(const char* name, std::uint32_t capacity)
      : LinkBase(name, capacity, described()), slots_(std::bit_ceil(capacity)) {
    assert(capacity > 0);
  }

  bool can_push(Cycle now) const {
    if (size_ >= capacity_) return false;
    if (freed_in_ != now || size_ + freed_ < capacity_) return true;
    if (producer_ != nullptr) producer_->wake();  // this cycle's pops give room in the next one (R2): ask again then
    return false;
  }
  void push(Cycle now, const T& value) {
    if (!can_push(now)) [[unlikely]]
      link_overflows(name(), capacity_, now);  // (R2)
    assert(fits_port(&value));                 // (R7)
    add(now, now).value = value;
    if (listening_ && consumer_ != nullptr) consumer_->wake();
  }
  // Whether what is known in cycle `now` may be sent to leave in cycle `leaves`. (R8)
  bool can_send(Cycle now, Cycle leaves) const {
    return size_ + (freed_in_ == now ? freed_ : 0) < capacity_ && consumer_ != nullptr &&
           consumer_->can_wake_in(now, leaves + 1);
  }
  // A value made of `from`, a descriptor that it extends (or is), and of what `fill` writes. (R8)
  template <class From, class Fill>
  void send(Cycle now, Cycle leaves, const From& from, Fill fill) {
    if (!can_send(now, leaves)) [[unlikely]]
      link_overflows(name(), capacity_, now);
    T* const value = ::new (static_cast<void*>(&add(now, leaves).value)) T{from};
    fill(*value);
    assert(fits_port(value));
    consumer_->wake_in(leaves + 1);
  }
  // Nothing is in it, and nothing was popped in this cycle: the consumer has taken everything. (R3)
  bool idle(Cycle now) const { return size_ == 0 && freed_in_ != now; }
  bool can_pop(Cycle now) const { return first_visible_ <= now; }
  // The first cycle in which something can be popped; kNever when nothing is in the link.
  const Cycle& visible_from() const { return first_visible_; }
  // The first, and the n-th value that can be popped, nullptr when there are fewer.
  T* peek(Cycle now) { return first_visible_ <= now ? &head_->value : nullptr; }
  T* peek(Cycle now, std::uint32_t n) {
    if (n >= size_) return nullptr;
    Slot& slot = slots_[place(n)];
    return slot.visible_from <= now ? &slot.value : nullptr;
  }
  T& front() { return head_->value; }
  void copy_value(std::uint64_t number, void* to) const override {
    if constexpr (Described<T>) {
      const auto n = static_cast<std::uint32_t>(number - popped());  // before the head: wraps around
      std::memcpy(to, &slots_[place(n)].value, sizeof(T));
    }
  }
  void push_bits(Cycle now, const std::uint32_t* bits, const DescriptorOperations::Observers& from,
                 BehindRtl& of) override {
    T value{};
    operations_->unpack(bits, from, &value);
    of.complete(*producer_port_, &value);
    push(now, value);
  }
  void take_head(Cycle now, BehindRtl& of) override {
    of.taken(*consumer_port_, &head_->value);
    drop(now);
  }
  T pop(Cycle now) {
    const T value = head_->value;
    drop(now);
    return value;
  }
  // pop() without a result, for a caller that has peeked.
  void drop(Cycle now) {
    assert(can_pop(now));
    if (freed_in_ != now) {
      freed_in_ = now;
      freed_ = 0;
    }
    if (size_ + freed_ == capacity_ && producer_ != nullptr) producer_->wake();
    ++freed_;
    head_ = after(head_);
    if (--size_ == 0) {
      first_visible_ = kNever;
      *shown_in_ &= ~shown_bit_;
    } else {
      first_visible_ = head_->visible_from;
    }
  }

 private:
  struct Slot {
    Cycle visible_from{};
    T value{};
  };
  static const DescriptorOperations* described() {
    if constexpr (Described<T>) {
      return &operations_of<T>();
    } else {
      return nullptr;
    }
  }
  // A place for a value that leaves the producer in cycle `leaves`.
  Slot& add(Cycle now, Cycle leaves) {
    const Cycle visible = leaves + 1;
    if (size_ == 0) {
      first_visible_ = visible;
      *shown_in_ |= shown_bit_;
    }
    Slot& slot = *tail_;
    tail_ = after(tail_);
    slot.visible_from = visible;
    ++size_;
    if (high_water_ < capacity_) {  // whichever block is stepped first (R3)
      high_water_ = std::max(high_water_, size_ + (freed_in_ == now ? freed_ : 0));
    }
    ++transfers_;
    history_ = (history_ ^ leaves.count) * 0x9e3779b97f4a7c15u;
    return slot;
  }

  Slot* after(Slot* slot) { return ++slot == end_ ? slots_.data() : slot; }
  // The place of the n-th value, counted from the head; behind the last one are those that were popped.
  std::size_t place(std::uint32_t n) const {
    return (static_cast<std::uint32_t>(head_ - slots_.data()) + n) & (slots_.size() - 1);
  }

  std::vector<Slot> slots_;
  Slot* head_ = slots_.data();
  Slot* tail_ = slots_.data();  // the place of the next value
  Slot* const end_ = head_ + slots_.size();
};

// Ports: sc_ports that find the link once, at the end of elaboration, so that a transfer is not a virtual call. All
// have one interface, which keeps SystemC's part of a port in one instance; bind() has the types of the values.
class LinkPort : public sc_core::sc_port<LinkBase, 1, sc_core::SC_ZERO_OR_MORE_BOUND> {
 protected:
  using Base = sc_core::sc_port<LinkBase, 1, sc_core::SC_ZERO_OR_MORE_BOUND>;
  using Base::Base;
  LinkBase* bound_link();  // nullptr: none
  Block& owner() const;    // the block of which this is a port
};

template <class T, class Port>
class TypedPort : public LinkPort {
 public:
  using LinkPort::LinkPort;
  void bind(Link<T>& link) { LinkPort::bind(link); }
  void bind(Port& outer) { LinkPort::bind(outer); }
  void operator()(Link<T>& link) { bind(link); }
  void operator()(Port& outer) { bind(outer); }
  bool bound() const { return link_ != nullptr; }

 protected:
  void find_link() { link_ = static_cast<Link<T>*>(bound_link()); }
  Link<T>* link_ = nullptr;
};

template <class T>
class In final : public TypedPort<T, In<T>> {
 public:
  using TypedPort<T, In>::TypedPort;
  bool can_pop(Cycle now) const { return *visible_from_ <= now; }
  T* peek(Cycle now) { return can_pop(now) ? &link_->front() : nullptr; }
  T* peek(Cycle now, std::uint32_t n) { return link_ == nullptr ? nullptr : link_->peek(now, n); }
  T pop(Cycle now) { return link_->pop(now); }
  void drop(Cycle now) { link_->drop(now); }
  bool empty() const { return *visible_from_ == kNever; }
  // The first cycle after `now` in which something is to be popped, kNever when the link is empty.
  Cycle next(Cycle now) const { return latest(*visible_from_, now + 1); }
  void listen(bool on) {  // (R5)
    if (link_ != nullptr) link_->set_listening(on);
  }
  // Before the simulation starts; `word` lives as long as the port. (R6)
  void show_in(std::uint64_t& word, std::uint64_t bit) {
    word_ = &word;
    bit_ = bit;
  }

 protected:
  void end_of_elaboration() override {
    this->find_link();
    if (link_ == nullptr) return;
    visible_from_ = &link_->visible_from();
    link_->set_consumer(this->owner(), *this);
    if (word_ != nullptr) link_->show_in(*word_, bit_);
  }

 private:
  using TypedPort<T, In>::link_;
  const Cycle* visible_from_ = &kNever;  // of the link, which has nothing as long as there is none
  std::uint64_t* word_ = nullptr;
  std::uint64_t bit_ = 0;
};

template <class T>
class Out final : public TypedPort<T, Out<T>> {
 public:
  using TypedPort<T, Out>::TypedPort;
  bool can_push(Cycle now) const { return link_->can_push(now); }
  // At the end of a step: there is no room, and will be none before a pop that wakes this block (R4).
  bool full() const { return link_->size() == link_->capacity(); }
  void push(Cycle now, const T& value) { link_->push(now, value); }
  bool idle(Cycle now) const { return link_->idle(now); }
  bool can_send(Cycle now, Cycle leaves) const { return link_->can_send(now, leaves); }  // (R8)
  template <class From, class Fill>
  void send(Cycle now, Cycle leaves, const From& from, Fill fill) {
    link_->send(now, leaves, from, fill);
  }

 protected:
  void end_of_elaboration() override {
    this->find_link();
    if (link_ != nullptr) link_->set_producer(this->owner(), *this);
  }

 private:
  using TypedPort<T, Out>::link_;
};

}  // namespace rxnic
