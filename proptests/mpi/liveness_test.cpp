// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Connections between the processes of mpirun, by names of Unix and over the network of the host.

#include "liveness.h"

#include "belfry/mpi/group.h"
#include "belfry/testing/asserts.h"
#include "mpi/no_more_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace belfry::testing {
namespace {

using mpi::Liveness;
using ::testing::IsEmpty;

constexpr std::int64_t kNetworkMs = 10'000;
constexpr double kLongest = 60;

// Whether the next process is seen to end, in time.
bool sees_end(const Liveness& liveness) {
  const double begin = MPI_Wtime();
  while (!liveness.next_has_ended() && MPI_Wtime() - begin < kLongest) {
  }
  return liveness.next_has_ended();
}

TEST(MpiLiveness, SeesTheEndOfEachProcess) {
  testing::asserts("SEM-208");
  mpi::Group group(MPI_COMM_WORLD);
  if (group.size() == 1) return;
  const auto gather = [&](std::span<const std::byte> bytes) { return group.gather(bytes); };
  for (const bool uses_names : {true, false}) {
    for (int odd = 0; odd < group.size(); ++odd) {
      std::optional<Liveness> own(std::in_place, group.rank(), gather, kNetworkMs, uses_names);
      EXPECT_THAT(own->unseen(), IsEmpty());
      EXPECT_EQ(own->next(), (group.rank() + 1) % group.size());
      EXPECT_FALSE(own->next_has_ended());
      group.barrier();
      if (group.rank() == odd) own.reset();
      group.barrier();
      if (own && own->next() == odd) EXPECT_TRUE(sees_end(*own));
      if (own && own->next() != odd) EXPECT_FALSE(own->next_has_ended());
      group.barrier();
    }
  }
}

TEST(MpiLiveness, NamesTheProcessesWhoseEndIsNotSeen) {
  testing::asserts("SEM-208");
  mpi::Group group(MPI_COMM_WORLD);
  if (group.size() == 1) return;
  const auto gather = [&](std::span<const std::byte> bytes) { return group.gather(bytes); };
  for (const bool uses_names : {true, false}) {
    for (int odd = 0; odd < group.size(); ++odd) {
      // The odd process does not see, and is not seen.
      std::optional<NoMoreFiles> limit;
      if (group.rank() == odd) limit.emplace();
      const Liveness own(group.rank(), gather, kNetworkMs, uses_names);
      std::vector<int> expected{odd, (odd + 1) % group.size()};
      std::ranges::sort(expected);
      EXPECT_EQ(own.unseen(), expected);
    }
  }
}

}  // namespace
}  // namespace belfry::testing
