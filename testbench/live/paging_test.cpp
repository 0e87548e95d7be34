// SPDX-License-Identifier: Apache-2.0
// On-demand regions: their pages come when the device needs them, or when the program advises it.
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::paging_test {
namespace {

constexpr int kRights = Arena::kAllRights | IBV_ACCESS_ON_DEMAND;
constexpr std::size_t kBytes = 40 * kPage;

// A side's arena by an on-demand region of its own: of the arena, or of the whole address space.
struct Paged {
  Paged(Side& of, bool whole) : side(of) {
    region = own(whole ? ibv_reg_mr(of.world.pd.get(), nullptr, SIZE_MAX, kRights)
                       : ibv_reg_mr(of.world.pd.get(), of.arena.at(0), of.arena.size(), kRights),
                 "ibv_reg_mr");
  }
  ibv_sge sge(std::size_t offset, std::size_t length) const {
    return {side.arena.address(offset), static_cast<std::uint32_t>(length), region->lkey};
  }
  Side& side;
  Owned<ibv_mr> region;
};

class Paging : public PairTest {
 protected:
  void SetUp() override { reconnect({.all_signaled = true}); }
  // With regions whose pages are absent: of the arenas, then of the whole address space.
  void on_new_regions(const std::function<void(const Paged& here, const Paged& there)>& what) {
    for (const bool whole : {false, true}) {
      const Paged here(a, whole), there(b, whole);
      what(here, there);
      expect_nothing_else_written();
    }
  }
  // Nanoseconds of model time.
  std::uint64_t time_of(const std::function<void()>& what) {
    const auto now = [&] {
      ibv_values_ex values{};
      values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
      must(ibv_query_rt_values_ex(a.world.context.get(), &values), "ibv_query_rt_values_ex");
      return static_cast<std::uint64_t>(values.raw_clock.tv_sec) * 1'000'000'000 +
             static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
    };
    const std::uint64_t begin = now();
    what();
    return now() - begin;
  }
  int advise(const Paged& of, std::size_t offset, std::size_t length, ibv_advise_mr_advice advice,
             std::uint32_t flags = IBV_ADVISE_MR_FLAG_FLUSH) {
    ibv_sge sge = of.sge(offset, length);
    return ibv_advise_mr(of.side.world.pd.get(), advice, flags, &sge, 1);
  }
};

TEST_P(Paging, EveryOperationReachesPagesThatAreAbsent) {
  on_new_regions([&](const Paged& here, const Paged& there) {
    std::array<ibv_sge, 1> sink{there.sge(3, kBytes)};
    post_receive(b.qp.get(), sink);
    EXPECT_EQ(carry_out(IBV_WR_SEND, here.sge(77, kBytes), 0, 0), IBV_WC_SUCCESS);
    EXPECT_EQ(take(b.receive_cq.get()).byte_len, kBytes);
    b.arena.expect(3, a.arena.bytes(77, kBytes));
  });
  on_new_regions([&](const Paged& here, const Paged& there) {
    EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, here.sge(9, kBytes), b.arena.address(500), there.region->rkey),
              IBV_WC_SUCCESS);
    b.arena.expect(500, a.arena.bytes(9, kBytes));
  });
  on_new_regions([&](const Paged& here, const Paged& there) {
    EXPECT_EQ(carry_out(IBV_WR_RDMA_READ, here.sge(0, kBytes), b.arena.address(5000), there.region->rkey),
              IBV_WC_SUCCESS);
    a.arena.expect(0, b.arena.bytes(5000, kBytes));
  });
  on_new_regions([&](const Paged& here, const Paged& there) {
    std::uint64_t value = 0;
    std::memcpy(&value, b.arena.at(8 * kPage), sizeof value);
    std::array<ibv_sge, 1> list{here.sge(4 * kPage, 8)};
    ibv_send_wr wr = send_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, list);
    wr.wr.atomic = {b.arena.address(8 * kPage), 5, 0, there.region->rkey};
    post(a.qp.get(), wr);
    EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
    a.arena.expect(4 * kPage, {reinterpret_cast<const std::uint8_t*>(&value), 8});
    value += 5;
    b.arena.expect(8 * kPage, {reinterpret_cast<const std::uint8_t*>(&value), 8});
  });
}

TEST_P(Paging, ADatagramsHeaderComesIntoAbsentPages) {
  reconnect({.type = IBV_QPT_UD, .all_signaled = true});
  const Path path;
  ibv_ah_attr to = address_of(b.world, path);
  const Paged here(a, true), there(b, true);
  Owned<ibv_ah> ah = own(ibv_create_ah(a.world.pd.get(), &to), "ibv_create_ah");
  std::array<ibv_sge, 1> sink{there.sge(kPage - 20, 1000)}, source{here.sge(3 * kPage - 100, 500)};
  post_receive(b.qp.get(), sink);
  ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
  wr.wr.ud = {ah.get(), b.qp->qp_num, path.qkey};
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(take(b.receive_cq.get()).byte_len, 540u);
  b.arena.accept(kPage - 20, 40);
  b.arena.expect(kPage + 20, a.arena.bytes(3 * kPage - 100, 500));
  expect_nothing_else_written();
}

// The program has no memory there: an error, and no more than that.
TEST_P(Paging, APageThatTheProgramDoesNotHaveIsAnError) {
  const Paged here(a, true), there(b, true);
  // In the middle of free addresses: what is mapped meanwhile, by a sanitizer for example, takes those at their end.
  constexpr std::size_t kFar = std::size_t{1} << 30;
  void* const free = mmap(nullptr, 2 * kFar, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(free, MAP_FAILED);
  munmap(free, 2 * kFar);
  void* const hole = static_cast<std::uint8_t*>(free) + kFar;
  const auto nowhere = reinterpret_cast<std::uint64_t>(hole);
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, here.sge(0, 100), nowhere, there.region->rkey), IBV_WC_REM_ACCESS_ERR);
  reconnect({.all_signaled = true});
  EXPECT_EQ(carry_out(IBV_WR_RDMA_READ, here.sge(0, 100), nowhere, there.region->rkey), IBV_WC_REM_ACCESS_ERR);
  reconnect({.all_signaled = true});
  EXPECT_EQ(carry_out(IBV_WR_SEND, {nowhere, 100, here.region->lkey}, 0, 0), IBV_WC_LOC_PROT_ERR);
  reconnect({.all_signaled = true});
  std::array<ibv_sge, 1> sink{ibv_sge{nowhere, 100, there.region->lkey}};
  post_receive(b.qp.get(), sink);
  EXPECT_EQ(carry_out(IBV_WR_SEND, here.sge(0, 100), 0, 0), IBV_WC_REM_OP_ERR);
  EXPECT_NE(take(b.receive_cq.get()).status, IBV_WC_SUCCESS);
  // The program maps it: now it is there.
  ASSERT_EQ(mmap(hole, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), hole);
  reconnect({.all_signaled = true});
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, here.sge(0, 100), nowhere, there.region->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(hole, a.arena.at(0), 100), 0);
  munmap(hole, kBytes);
  expect_nothing_else_written();
}

// A region may be registered before the program maps its memory.
TEST_P(Paging, MemoryMayBeMappedAfterItsRegistration) {
  void* const place = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(place, MAP_FAILED);
  munmap(place, kBytes);
  EXPECT_EQ(ibv_reg_mr(a.world.pd.get(), place, kBytes, Arena::kAllRights), nullptr);
  EXPECT_EQ(errno, EFAULT);
  const Owned<ibv_mr> region = own(ibv_reg_mr(b.world.pd.get(), place, kBytes, kRights), "ibv_reg_mr");
  const Paged here(a, false);
  const auto address = reinterpret_cast<std::uint64_t>(place);
  ASSERT_EQ(mmap(place, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
            place);
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, here.sge(0, kBytes), address, region->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(place, a.arena.at(0), kBytes), 0);
  munmap(place, kBytes);
  expect_nothing_else_written();
}

TEST_P(Paging, AdvisedPagesNeedNoRequest) {
  constexpr std::uint64_t kFault = 20'000;  // ns, host.page_fault_ps
  on_new_regions([&](const Paged& here, const Paged& there) {
    const auto write = [&](std::size_t offset) {
      EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, here.sge(offset, 64), b.arena.address(offset), there.region->rkey),
                IBV_WC_SUCCESS);
      b.arena.expect(offset, a.arena.bytes(offset, 64));
    };
    EXPECT_GT(time_of([&] { write(0); }), 2 * kFault) << "both sides lack the page";
    EXPECT_EQ(advise(here, 32 * kPage, 64, IBV_ADVISE_MR_ADVICE_PREFETCH), 0);
    EXPECT_GT(time_of([&] { EXPECT_EQ(advise(there, 32 * kPage, 64, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE), 0); }),
              kFault)
        << "done when it returns";
    EXPECT_LT(time_of([&] { write(32 * kPage); }), kFault);
    EXPECT_EQ(advise(here, 48 * kPage, 64, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT), 0);
    EXPECT_EQ(advise(there, 48 * kPage, 64, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0), 0);
    EXPECT_LT(time_of([&] { write(48 * kPage); }), kFault);
  });
}

TEST_P(Paging, AdviceIsChecked) {
  const Paged here(a, false);
  EXPECT_EQ(advise(here, 0, 0, IBV_ADVISE_MR_ADVICE_PREFETCH), 0) << "about nothing";
  EXPECT_EQ(advise(here, 0, 100, static_cast<ibv_advise_mr_advice>(3)), EINVAL);
  EXPECT_EQ(advise(here, 0, 100, IBV_ADVISE_MR_ADVICE_PREFETCH, 2), EINVAL);
  EXPECT_EQ(advise(here, a.arena.size() - 10, 11, IBV_ADVISE_MR_ADVICE_PREFETCH), EFAULT);
  EXPECT_EQ(ibv_advise_mr(a.world.pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH, 0, nullptr, 0), EINVAL);
  ibv_sge sge = here.sge(0, 100);
  Owned<ibv_pd> other = own(ibv_alloc_pd(a.world.context.get()), "ibv_alloc_pd");
  EXPECT_EQ(ibv_advise_mr(other.get(), IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EPERM);
  sge.lkey += 1;
  EXPECT_EQ(ibv_advise_mr(a.world.pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), ENOENT);
  sge = a.arena.sge(0, 100);
  EXPECT_EQ(ibv_advise_mr(a.world.pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EINVAL) << "not on demand";
  const Owned<ibv_mr> read_only =
      own(ibv_reg_mr(a.world.pd.get(), a.arena.at(0), kPage, IBV_ACCESS_ON_DEMAND), "ibv_reg_mr");
  sge.lkey = read_only->lkey;
  EXPECT_EQ(ibv_advise_mr(a.world.pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1), EPERM);
  const int windows = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
  EXPECT_EQ(ibv_reg_mr(a.world.pd.get(), nullptr, SIZE_MAX, windows), nullptr) << "no window on the whole of it";
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(a.world.pd.get(), nullptr, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE), nullptr);
}

// A peer comes by a window to pages that are absent.
TEST_P(Paging, AWindowIsBoundToPagesThatAreAbsent) {
  const Owned<ibv_mr> region =
      own(ibv_reg_mr(b.world.pd.get(), b.arena.at(0), b.arena.size(), kRights | IBV_ACCESS_MW_BIND), "ibv_reg_mr");
  for (const int zero_based : {0, static_cast<int>(IBV_ACCESS_ZERO_BASED)}) {
    ibv_mw* const mw = ibv_alloc_mw(b.world.pd.get(), IBV_MW_TYPE_1);
    ASSERT_NE(mw, nullptr);
    const std::size_t begin = 20 * kPage + 8 + (zero_based != 0 ? 18 * kPage : 0);
    ibv_mw_bind bind{};
    bind.send_flags = IBV_SEND_SIGNALED;
    bind.bind_info = {region.get(), b.arena.address(begin), 2 * kPage,
                      static_cast<unsigned>(IBV_ACCESS_REMOTE_WRITE | zero_based)};
    must(ibv_bind_mw(b.qp.get(), mw, &bind), "ibv_bind_mw");
    EXPECT_EQ(take(b.send_cq.get()).status, IBV_WC_SUCCESS);
    const std::uint64_t remote = zero_based != 0 ? kPage : b.arena.address(begin + kPage);
    EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, a.arena.sge(0, 3000), remote, mw->rkey), IBV_WC_SUCCESS);
    b.arena.expect(begin + kPage, a.arena.bytes(0, 3000));
    expect_nothing_else_written();
    EXPECT_EQ(ibv_dealloc_mw(mw), 0);
  }
}

RXNIC_ON_ONE_AND_TWO_NICS(Paging);

}  // namespace
}  // namespace rxnic::live::paging_test
