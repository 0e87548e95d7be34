// SPDX-License-Identifier: Apache-2.0
// Thread domains, parent domains and their allocators: rules of bridge/verbs/parent_domain.cpp and records.h.
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "bridge/verbs/records.h"
#include "testbench/unit/bridge/verbs/verbs_control_fixture.h"

namespace rxnic::verbs::verbs_domains_test {
namespace {

// A program's allocator: what it was asked for, and what of it was not freed yet.
struct Allocator {
  enum class Gives { kMemory, kDefault, kNothingAfterTheFirst } gives = Gives::kMemory;
  std::map<void*, std::uint64_t> held;  // resource type by memory
  std::vector<std::uint64_t> types;
  ibv_pd* asked_for = nullptr;
  std::uint32_t frees = 0;

  static void* allocate(ibv_pd* pd, void* context, std::size_t bytes, std::size_t alignment, std::uint64_t type) {
    Allocator& self = *static_cast<Allocator*>(context);
    self.asked_for = pd;
    self.types.push_back(type);
    if (self.gives == Gives::kDefault) return IBV_ALLOCATOR_USE_DEFAULT;
    if (self.gives == Gives::kNothingAfterTheFirst && self.types.size() > 1) return nullptr;
    void* memory = nullptr;
    EXPECT_EQ(posix_memalign(&memory, alignment, bytes), 0);
    std::memset(memory, 0xa5, bytes);
    self.held[memory] = type;
    return memory;
  }
  static void release(ibv_pd* pd, void* context, void* memory, std::uint64_t type) {
    Allocator& self = *static_cast<Allocator*>(context);
    EXPECT_EQ(pd, self.asked_for);
    EXPECT_EQ(self.held.at(memory), type);
    self.held.erase(memory);
    ++self.frees;
    std::free(memory);
  }
};

class VerbsDomains : public VerbsControlTest {
 protected:
  VerbsDomains() { cq = create_cq(context, 16, nullptr, nullptr, 0); }
  ~VerbsDomains() override { destroy_cq(cq); }
  ibv_parent_domain_init_attr attributes(Allocator* allocator = nullptr, ibv_td* td = nullptr) {
    ibv_parent_domain_init_attr a{};
    a.pd = pd;
    a.td = td;
    if (allocator != nullptr) {
      a.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
      a.alloc = Allocator::allocate;
      a.free = Allocator::release;
      a.pd_context = allocator;
    }
    return a;
  }
  ibv_pd* domain_of(const ibv_parent_domain_init_attr& asked) {
    ibv_parent_domain_init_attr a = asked;
    return alloc_parent_domain(context, &a);
  }
  ibv_qp* qp_in(ibv_pd* domain) {
    ibv_qp_init_attr a = qp_attributes(cq);
    return create_qp(domain, &a);
  }
  ibv_srq* srq_in(ibv_pd* domain) {
    ibv_srq_init_attr a{};
    a.attr = {20, 2, 0};
    return create_srq(domain, &a);
  }
  ibv_cq* cq = nullptr;
};

TEST_F(VerbsDomains, AParentDomainStandsForItsProtectionDomain) {
  ibv_pd* const domain = domain_of(attributes());
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(domain->handle, pd->handle);
  ibv_qp* const qp = qp_in(domain);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(asked(Request::kCreateQp).qp.pd, pd->handle);
  EXPECT_EQ(qp->pd, domain);
  EXPECT_EQ(dealloc_pd(domain), EBUSY);
  EXPECT_EQ(destroy_qp(qp), 0);
  EXPECT_EQ(dealloc_pd(pd), EBUSY) << "of the parent domain";
  EXPECT_EQ(dealloc_pd(domain), 0);
  EXPECT_TRUE(simulator.asked(Request::kFreePd).empty()) << "the device knows nothing of it";
}

TEST_F(VerbsDomains, ItsAllocatorsGiveAndTakeTheRecordsOfAQp) {  // R1
  Allocator allocator;
  ibv_pd* const domain = domain_of(attributes(&allocator));
  ibv_qp* const qp = qp_in(domain);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(allocator.types, (std::vector<std::uint64_t>{1, 1}));
  EXPECT_EQ(allocator.asked_for, domain);
  EXPECT_EQ(qp_of(qp).send.sent[3].wr_id, 0u) << "cleared";
  EXPECT_TRUE(allocator.held.contains(qp_of(qp).send.sent.get()));
  EXPECT_EQ(destroy_qp(qp), 0);
  EXPECT_EQ(allocator.frees, 2u);
  EXPECT_TRUE(allocator.held.empty());
  EXPECT_EQ(dealloc_pd(domain), 0);
}

TEST_F(VerbsDomains, ItsAllocatorsGiveAndTakeTheRecordsOfAnSrq) {  // R1
  Allocator allocator;
  ibv_pd* const domain = domain_of(attributes(&allocator));
  ibv_srq* const srq = srq_in(domain);
  ASSERT_NE(srq, nullptr);
  const std::size_t arrays = allocator.types.size();
  EXPECT_GE(arrays, 3u);
  for (const std::uint64_t type : allocator.types) EXPECT_EQ(type, 2u);
  EXPECT_EQ(srq_of(srq).busy[0], 0u) << "cleared";
  EXPECT_EQ(destroy_srq(srq), 0);
  EXPECT_EQ(allocator.frees, arrays);
  EXPECT_TRUE(allocator.held.empty());
  EXPECT_EQ(dealloc_pd(domain), 0);
}

TEST_F(VerbsDomains, DefaultMemoryIsNotGivenBackToThem) {  // R1
  Allocator allocator;
  allocator.gives = Allocator::Gives::kDefault;
  ibv_pd* const domain = domain_of(attributes(&allocator));
  ibv_qp* const qp = qp_in(domain);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(allocator.types.size(), 2u);
  EXPECT_EQ(destroy_qp(qp), 0);
  EXPECT_EQ(allocator.frees, 0u);
  EXPECT_EQ(dealloc_pd(domain), 0);
}

TEST_F(VerbsDomains, WithoutMemoryThereIsNoQp) {  // R1
  Allocator allocator;
  allocator.gives = Allocator::Gives::kNothingAfterTheFirst;
  ibv_pd* const domain = domain_of(attributes(&allocator));
  errno = 0;
  EXPECT_EQ(qp_in(domain), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_TRUE(allocator.held.empty()) << "what was given is taken back";
  EXPECT_TRUE(simulator.asked(Request::kCreateQp).empty());
  EXPECT_EQ(dealloc_pd(domain), 0);
}

TEST_F(VerbsDomains, WhatIsWrongIsRefused) {  // R1
  ibv_pd* const domain = domain_of(attributes());
  Allocator allocator;
  const auto refused = [&](auto change) {
    ibv_parent_domain_init_attr a = attributes(&allocator);
    change(a);
    errno = 0;
    EXPECT_EQ(domain_of(a), nullptr);
    return errno;
  };
  EXPECT_EQ(refused([](auto& a) { a.pd = nullptr; }), EINVAL);
  EXPECT_EQ(refused([&](auto& a) { a.pd = domain; }), EINVAL) << "a parent domain of a parent domain";
  EXPECT_EQ(refused([](auto& a) { a.alloc = nullptr; }), EINVAL);
  EXPECT_EQ(refused([](auto& a) { a.free = nullptr; }), EINVAL);
  EXPECT_EQ(refused([](auto& a) { a.comp_mask |= 4; }), EINVAL);
  EXPECT_EQ(dealloc_pd(domain), 0);
  ibv_td_init_attr unknown{1};
  EXPECT_EQ(alloc_td(context, &unknown), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(VerbsDomains, AThreadDomainIsInUseByItsParentDomains) {  // R3
  ibv_td_init_attr none{};
  ibv_td* const td = alloc_td(context, &none);
  ASSERT_NE(td, nullptr);
  EXPECT_EQ(td->context, context);
  ibv_pd* const domain = domain_of(attributes(nullptr, td));
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(dealloc_td(td), EBUSY);
  EXPECT_EQ(dealloc_pd(domain), 0);
  EXPECT_EQ(dealloc_td(td), 0);
}

TEST_F(VerbsDomains, ACqIsMadeInAParentDomain) {
  ibv_pd* const domain = domain_of(attributes());
  ibv_cq_init_attr_ex a{};
  a.cqe = 10;
  a.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
  a.parent_domain = domain;
  ibv_cq_ex* const made = create_cq_ex(context, &a);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(dealloc_pd(domain), EBUSY);
  EXPECT_EQ(destroy_cq(ibv_cq_ex_to_cq(made)), 0);
  EXPECT_EQ(dealloc_pd(domain), 0);
  a.parent_domain = pd;
  EXPECT_EQ(create_cq_ex(context, &a), nullptr);
  EXPECT_EQ(errno, EINVAL) << "a protection domain alone";
}

// The functions of the header go through the context's table.
TEST_F(VerbsDomains, ProgramsReachThemThroughTheirContext) {
  ibv_td_init_attr none{};
  ibv_td* const td = ibv_alloc_td(context, &none);
  ASSERT_NE(td, nullptr);
  ibv_parent_domain_init_attr a = attributes(nullptr, td);
  ibv_pd* const domain = ibv_alloc_parent_domain(context, &a);
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(dealloc_pd(domain), 0);
  EXPECT_EQ(ibv_dealloc_td(td), 0);
}

}  // namespace
}  // namespace rxnic::verbs::verbs_domains_test
