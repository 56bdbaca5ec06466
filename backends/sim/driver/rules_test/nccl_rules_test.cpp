// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "calls_test.h"
#include "rig.h"

#include <nccl.h>

#include <string>

// The same for NCCL, as far as a single GPU can show.
namespace belfry::driver::test::nccl_rules_test {
namespace {

/// The codes that a call without blocking may return if no error happened.
bool accepted(ncclResult_t code) { return code == ncclSuccess || code == ncclInProgress; }

ncclResult_t end_of(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    const ncclResult_t asked = ncclCommGetAsyncError(comm, &state);
    EXPECT_EQ(asked, ncclSuccess);
    if (asked != ncclSuccess) return asked;
  }
  return state;
}

ncclConfig_t unblocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

/// A rank without others, with the integers 7, 8.
struct Rank {
  Rank() {
    EXPECT_EQ(write(data, {7, 8}, stream), cudaSuccess);
    ncclUniqueId id{};
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ncclConfig_t config = unblocking();
    EXPECT_TRUE(accepted(ncclCommInitRankConfig(&comm, 1, id, 0, &config)));
    EXPECT_EQ(end_of(comm), ncclSuccess);
  }

  ncclResult_t all_reduce() {
    return ncclAllReduce(data, data, 2, ncclInt32, ncclSum, comm, stream);
  }
  ncclResult_t broadcast_from(int root) {
    return ncclBroadcast(data, data, 2, ncclInt32, root, comm, stream);
  }
  std::vector<int> found() {
    std::vector<int> values(2);
    EXPECT_EQ(read(values, data, stream), cudaSuccess);
    return values;
  }

  cudaStream_t stream = make_stream();
  int* data = allocate(make_pool(), stream, 2);
  ncclComm_t comm = nullptr;
};

TEST(NcclRules, SingleRanksKeepTheirInput) {
  const Rig rig;
  Rank rank;
  const std::vector<int> given{7, 8};
  EXPECT_TRUE(accepted(rank.all_reduce()));
  EXPECT_EQ(end_of(rank.comm), ncclSuccess);
  EXPECT_EQ(rank.found(), given);
  int* other = allocate(make_pool(), rank.stream, 2);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclReduce(rank.data, other, 2, ncclInt32, ncclSum, 0, rank.comm, rank.stream),
            ncclSuccess)
      << "waits for the end of the group";
  EXPECT_EQ(ncclBroadcast(other, rank.data, 2, ncclInt32, 0, rank.comm, rank.stream), ncclSuccess);
  EXPECT_EQ(ncclAllGather(rank.data, other, 2, ncclInt32, rank.comm, rank.stream), ncclSuccess);
  EXPECT_EQ(ncclReduceScatter(other, rank.data, 2, ncclInt32, ncclSum, rank.comm, rank.stream),
            ncclSuccess);
  EXPECT_TRUE(accepted(ncclGroupEnd()));
  EXPECT_EQ(end_of(rank.comm), ncclSuccess);
  EXPECT_EQ(rank.found(), given);
  std::vector<int> gathered(2);
  ASSERT_EQ(read(gathered, other, rank.stream), cudaSuccess);
  EXPECT_EQ(gathered, given);
  EXPECT_EQ(ncclCommAbort(rank.comm), ncclSuccess);
}

TEST(NcclRules, NothingIsReduced) {
  const Rig rig;
  Rank rank;
  EXPECT_TRUE(
      accepted(ncclAllReduce(nullptr, nullptr, 0, ncclInt32, ncclSum, rank.comm, rank.stream)));
  EXPECT_EQ(end_of(rank.comm), ncclSuccess);
  EXPECT_EQ(rank.found(), (std::vector<int>{7, 8}));
  EXPECT_EQ(ncclCommAbort(rank.comm), ncclSuccess);
}

TEST(NcclRules, ACommunicatorKeepsItsError) {
  const Rig rig;
  Rank rank;
  EXPECT_EQ(rank.broadcast_from(1), ncclInvalidArgument) << "there is rank 0 alone";
  EXPECT_EQ(end_of(rank.comm), ncclInvalidArgument);
  EXPECT_EQ(rank.all_reduce(), ncclInvalidArgument) << "and takes nothing more";
  EXPECT_EQ(ncclCommAbort(rank.comm), ncclSuccess);
}

TEST(NcclRules, AGroupFailsWithOneOfItsCalls) {
  const Rig rig;
  Rank rank;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(rank.broadcast_from(1), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_EQ(end_of(rank.comm), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupStart(), ncclSuccess) << "the next group begins afresh";
  EXPECT_TRUE(accepted(ncclGroupEnd()));
  EXPECT_EQ(ncclCommAbort(rank.comm), ncclSuccess);
}

TEST(NcclRules, OneGpuHasOneRank) {
  const Rig rig;
  static_cast<void>(make_stream());
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = unblocking();
  ncclComm_t comms[2] = {};
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(accepted(ncclCommInitRankConfig(&comms[rank], 2, id, rank, &config)));
  }
  EXPECT_TRUE(accepted(ncclGroupEnd()));
  for (ncclComm_t comm : comms) EXPECT_EQ(end_of(comm), ncclInvalidUsage);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  EXPECT_TRUE(accepted(ncclGroupEnd()));
}

TEST(NcclRules, CommunicatorsEndInTwoSteps) {
  const Rig rig;
  Rank rank;
  EXPECT_TRUE(accepted(rank.all_reduce()));
  EXPECT_EQ(end_of(rank.comm), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_TRUE(accepted(ncclCommFinalize(rank.comm)));
  EXPECT_TRUE(accepted(ncclGroupEnd()));
  EXPECT_EQ(end_of(rank.comm), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(rank.comm), ncclSuccess);
}

TEST(NcclRules, FailedCommunicatorsEndByAbort) {
  const Rig rig;
  Rank rank;
  EXPECT_TRUE(accepted(ncclCommFinalize(rank.comm)));
  EXPECT_EQ(end_of(rank.comm), ncclSuccess);
  EXPECT_EQ(ncclCommFinalize(rank.comm), ncclInvalidArgument) << "once";
  EXPECT_EQ(ncclCommAbort(rank.comm), ncclSuccess);
}

TEST(NcclRules, AGroupWithoutCallsSucceeds) {
  const Rig rig;
  Rank rank;
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(end_of(rank.comm), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(rank.comm), ncclSuccess);
}

TEST(NcclRules, AGroupThatWasNotBegunCannotEnd) {
  const Rig rig;
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

TEST(NcclRules, MissingObjectsAreRefused) {
  const Rig rig;
  cudaStream_t stream = make_stream();
  int* data = allocate(make_pool(), stream, 1);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, nullptr, stream), ncclInvalidArgument);
  EXPECT_EQ(ncclCommGetAsyncError(nullptr, &state), ncclInvalidArgument);
  EXPECT_EQ(ncclCommFinalize(nullptr), ncclSuccess) << "but ending nothing is no error";
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(nullptr), ncclSuccess);
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = unblocking();
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 1, &config), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 0, id, 0, &config), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
}

}  // namespace
}  // namespace belfry::driver::test::nccl_rules_test
