// SPDX-License-Identifier: Apache-2.0
// A program that calls verbs as they are to be called, and lies in their arguments. It has rendezvous headers of memory
// that is not there or is another's, and windows beyond their region or of another device's. It has keys of others, SRQ
// numbers of others, and tag operations on entries that there are not. It makes frames and flows of random bytes, and
// datagrams to the connection manager.
//
//   R1  What comes of a lie is nobody's concern but the liar's: it looks at no completion.
//   R2  All queues are made anew after every kLies lies, since most of them end a QP: when all have completed, or
//       after a moment.
#pragma once

#include <memory>
#include <random>

#include "testbench/live/verbs_world.h"

namespace rxnic::live {

// A TM SRQ with few tags.
Owned<ibv_srq> make_tag_srq(const World& world, ibv_cq* cq);

class Liar {
 public:
  Liar();
  ~Liar();
  Liar(const Liar&) = delete;
  Liar& operator=(const Liar&) = delete;

  void lie(std::mt19937_64& random);

 private:
  struct Queues;
  static constexpr int kLies = 5;

  void ask_for_rendezvous(std::mt19937_64& random);
  void operate_on_tags(std::mt19937_64& random);
  void bind(std::mt19937_64& random);
  void access(std::mt19937_64& random);
  void send_to_srq(std::mt19937_64& random);
  void send_frame(std::mt19937_64& random);
  void steer(std::mt19937_64& random);
  void send_to_manager(std::mt19937_64& random);
  void wait_for_the_end();
  void fill(std::size_t bytes, std::mt19937_64& random);
  void try_to_post(ibv_qp* qp, ibv_send_wr wr, std::size_t bytes);
  std::uint32_t key(std::mt19937_64& random);

  const World here_{0}, there_{1};
  Arena memory_{here_, 1 << 16, Arena::kAllRights | IBV_ACCESS_MW_BIND}, others_{there_, 1 << 16};
  std::unique_ptr<Queues> queues_;
  int lies_ = 0;
};

}  // namespace rxnic::live
