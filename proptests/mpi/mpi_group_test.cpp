// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Properties of groups of MPI's processes beside the contract of groups.

#include "belfry/backend/host_backend.h"
#include "belfry/cluster_environment.h"
#include "belfry/error.h"
#include "belfry/mpi/group.h"
#include "belfry/replica_context.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

using Bytes = std::vector<std::byte>;

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

Bytes filled(std::size_t length, int value) { return Bytes(length, static_cast<std::byte>(value)); }

// The text of the ProcessLostError that `call` throws.
std::string loss_of(const auto& call) {
  try {
    call();
  } catch (const ProcessLostError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(MpiGroup, HasTheRanksOfMpi) {
  testing::asserts("SEM-208");
  const mpi::Group group(MPI_COMM_WORLD);
  EXPECT_EQ(group.rank(), world_rank());
  EXPECT_EQ(group.size(), world_size());
}

TEST(MpiGroup, IsOneOfSeveralAtOnce) {
  testing::asserts("SEM-208");
  mpi::Group first(MPI_COMM_WORLD);
  {
    mpi::Group second(MPI_COMM_WORLD);
    for (int round = 0; round < 5; ++round) {
      EXPECT_EQ(first.gather(filled(2, round)).back(), filled(2, round));
      EXPECT_EQ(second.gather(filled(3, round)).back(), filled(3, round));
    }
  }
  EXPECT_EQ(first.gather(filled(4, 1)).front(), filled(4, 1));
  mpi::Group third(MPI_COMM_WORLD);
  EXPECT_EQ(third.gather(filled(4, 2)).front(), filled(4, 2));
}

// The even and the odd ranks.
TEST(MpiGroup, WorksOnACommunicatorOfTheProgram) {
  testing::asserts("SEM-208");
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() % 2, 0, &half);
  {
    mpi::Group group(half);
    EXPECT_EQ(group.rank(), world_rank() / 2);
    EXPECT_EQ(group.size(), (world_size() + 1 - world_rank() % 2) / 2);
    const auto all = group.gather(filled(1, world_rank()));
    for (int rank = 0; rank < group.size(); ++rank) {
      EXPECT_EQ(all[static_cast<std::size_t>(rank)], filled(1, 2 * rank + world_rank() % 2));
    }
  }
  MPI_Comm_free(&half);
}

TEST(MpiGroup, LeavesMessagesAndHandlersOfTheProgramAlone) {
  testing::asserts("SEM-208");
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Request any = MPI_REQUEST_NULL;
  char letter = 0;
  MPI_Irecv(&letter, 1, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any);
  {
    mpi::Group group(MPI_COMM_WORLD);
    group.gather(filled(5000, 1));
    int done = 0;
    MPI_Test(&any, &done, MPI_STATUS_IGNORE);
    EXPECT_EQ(done, 0);
  }
  MPI_Cancel(&any);
  MPI_Wait(&any, MPI_STATUS_IGNORE);
  MPI_Errhandler after = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &after);
  EXPECT_EQ(before, after);
}

TEST(MpiGroup, RefusesCallsOfOtherThreads) {
  testing::asserts("SEM-208");
  mpi::Group group(MPI_COMM_WORLD);
  std::vector<ErrorCode> codes;
  std::string text;
  std::jthread([&] {
    codes.push_back(code_of([&] { group.gather({}); }));
    codes.push_back(code_of([&] { group.broadcast({}, 0); }));
    codes.push_back(code_of([&] { group.barrier(); }));
    codes.push_back(code_of([&] { group.health(); }));
    codes.push_back(code_of([&] { const mpi::Group other(MPI_COMM_WORLD); }));
    try {
      group.barrier();
    } catch (const ContextError& error) {
      text = error.what();
    }
  }).join();
  EXPECT_EQ(codes, std::vector<ErrorCode>(5, ErrorCode::kGroupContext));
  EXPECT_THAT(text, AllOf(HasSubstr("BF-072"), HasSubstr("MPI's main thread")));
  EXPECT_EQ(group.gather(filled(2, 3)).back(), filled(2, 3));
}

TEST(MpiGroup, RefusesWrongOptionsAndCommunicators) {
  testing::asserts("SEM-207", "SEM-208");
  const auto code_with = [](const mpi::GroupOptions& options) {
    return code_of([&] { const mpi::Group group(MPI_COMM_WORLD, options); });
  };
  EXPECT_EQ(code_with({.piece_bytes = 0}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_with({.piece_bytes = (std::int64_t{1} << 30) + 1}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_with({.parts_from_bytes = -1}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([] { const mpi::Group group(MPI_COMM_NULL); }), ErrorCode::kInvalidArgument);
  if (world_size() == 1) return;
  std::string text;
  try {
    const mpi::Group group(MPI_COMM_WORLD, {.deadline = Deadline::seconds(50 + world_rank())});
  } catch (const InvalidArgumentError& error) {
    text = error.what();
  }
  EXPECT_THAT(text, HasSubstr("deadline is 50000 ms in process 0, and 51000 ms in process 1"));
  try {
    const mpi::Group group(MPI_COMM_WORLD, {.file_deadline = Deadline::seconds(50 + world_rank())});
  } catch (const InvalidArgumentError& error) {
    text = error.what();
  }
  EXPECT_THAT(text,
              HasSubstr("::file_deadline is 50000 ms in process 0, and 51000 ms in process 1"));
}

Environment of_torchrun(int rank, int size) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(size)},
          {"LOCAL_RANK", std::to_string(rank)}};
}

TEST(MpiGroup, ComparesTheEnvironmentWithTheNumbersOfMpi) {
  testing::asserts("SEM-204");
  const auto text_with = [](int rank, int size) {
    try {
      const mpi::Group group(MPI_COMM_WORLD, {.environment = of_torchrun(rank, size)});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(text_with(world_rank(), world_size()), "nothing was thrown");
  EXPECT_NO_THROW(mpi::Group(
      MPI_COMM_WORLD, {.check_launcher = false, .environment = of_torchrun(0, world_size() + 3)}));
  EXPECT_THAT(text_with(world_rank(), world_size() + 3),
              AllOf(HasSubstr("BF-030"), HasSubstr("WORLD_SIZE holds"), HasSubstr("mpirun")));
  if (world_size() == 1) return;
  // The size of process 1 alone is wrong.
  EXPECT_THAT(text_with(world_rank(), world_size() + (world_rank() == 1 ? 3 : 0)),
              HasSubstr(world_rank() == 1 ? "BF-030 process 1 of" : "BF-071 process 1 failed: "));
}

// A wrong variable in the environment of each process in turn. Afterwards it is not set.
TEST(MpiGroup, LooksAtTheEnvironmentOfItsProcess) {
  testing::asserts("SEM-204");
  for (int odd = 0; odd < world_size(); ++odd) {
    if (world_rank() == odd) setenv("OMPI_COMM_WORLD_SIZE", "9", 1);
    std::string text = "nothing was thrown";
    try {
      const mpi::Group group(MPI_COMM_WORLD);
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_THAT(text, AllOf(HasSubstr(world_rank() == odd ? "BF-030" : "BF-071"),
                            HasSubstr(R"(OMPI_COMM_WORLD_SIZE holds "9")")));
    EXPECT_NO_THROW(mpi::Group(MPI_COMM_WORLD, {.check_launcher = false}));
    EXPECT_NO_THROW(mpi::Group(MPI_COMM_WORLD, {.environment = Environment{}}));
    setenv("OMPI_COMM_WORLD_SIZE", std::to_string(world_size()).c_str(), 1);
  }
}

TEST(MpiGroup, PrintsItsOptionsAsCode) {
  std::ostringstream out;
  out << mpi::GroupOptions{.deadline = Deadline::seconds(5)} << mpi::GroupOptions{}
      << mpi::GroupOptions{.parts_from_bytes = 9}
      << mpi::GroupOptions{.file_deadline = Deadline::seconds(7)}
      << mpi::GroupOptions{.farewell_deadline = Deadline::never(), .check_launcher = false};
  EXPECT_EQ(out.str(),
            "{.deadline = belfry::Deadline::seconds(5)}{}{.parts_from_bytes = 9}"
            "{.file_deadline = belfry::Deadline::seconds(7)}"
            "{.farewell_deadline = belfry::Deadline::never(), .check_launcher = false}");
}

TEST(MpiGroup, MovesValuesLongerThanAPiece) {
  mpi::Group group(MPI_COMM_WORLD);
  constexpr std::size_t kLong = (std::size_t{5} << 20) + 3;
  const auto all = group.gather(filled(kLong, group.rank()));
  for (int rank = 0; rank < group.size(); ++rank) {
    EXPECT_TRUE(all[static_cast<std::size_t>(rank)] == filled(kLong, rank));
  }
}

// Process 1 makes no call until all processes have lost process 1. A busy machine may delay
// processes 2 and 3, too: the message may name more processes.
TEST(MpiGroup, GivesUpASilentProcessInTime) {
  testing::asserts("SEM-155", "SEM-207", "SEM-208");
  if (world_size() == 1) return;
  constexpr int kTag = 9;
  constexpr double kSlack = 30;
  mpi::Group group(MPI_COMM_WORLD, {.deadline = Deadline::seconds(20)});
  group.barrier();
  group.set_deadline(Deadline::seconds(2));
  int signal = 0;
  if (group.rank() == 1) {
    for (int others = 1; others < group.size(); ++others) {
      MPI_Recv(&signal, 1, MPI_INT, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    EXPECT_THAT(loss_of([&] { group.gather({}); }),
                HasSubstr("has given up this process, process 1: no answer for 2 s"));
  } else {
    const double begin = MPI_Wtime();
    const std::string text = loss_of([&] { group.gather(filled(5000, 1)); });
    const double seconds = MPI_Wtime() - begin;
    EXPECT_LT(seconds, 2 + kSlack);
    EXPECT_THAT(text, AllOf(HasSubstr("BF-070 process"), HasSubstr("no answer for 2 s"),
                            HasSubstr("process 0  on host "),
                            HasSubstr("last seen in call 5, set_deadline at ")));
    EXPECT_EQ(loss_of([&] { group.gather({}); }), text);
    EXPECT_THAT(group.health().lost, Contains(1));
    EXPECT_FALSE(group.health().is_whole());
    MPI_Send(&signal, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
  }
}

// Process `silent` returns from the first merge, and never comes to the second.
TEST(MpiGroup, NamesTheLastMergeOfASilentProcess) {
  testing::asserts("SEM-155");
  constexpr int kTag = 10;
  for (int silent = 0; world_size() > 1 && silent < world_size(); ++silent) {
    mpi::Group group(MPI_COMM_WORLD, {.deadline = Deadline::seconds(20)});
    HostBackend backend(1);
    MultiWorkerMirroredStrategy strategy{backend, group};
    group.set_deadline(Deadline::seconds(2));
    const std::string text = loss_of([&] {
      strategy.run([&](ReplicaContext& replica) {
        replica.merge_call([](CrossReplicaContext&) {}, CallSite{"train.cpp", 31});
        // Until all others have read their reports.
        for (int other = 0; group.rank() == silent && other < group.size(); ++other) {
          int signal = 0;
          if (other == silent) continue;
          MPI_Recv(&signal, 1, MPI_INT, other, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        replica.merge_call([](CrossReplicaContext&) {}, CallSite{"train.cpp", 32});
      });
    });
    if (group.rank() == silent) continue;
    const int signal = 0;
    MPI_Send(&signal, 1, MPI_INT, silent, kTag, MPI_COMM_WORLD);
    const std::string line = "process " + std::to_string(silent) + "  on host ";
    ASSERT_THAT(text, HasSubstr(line));
    const std::string rest = text.substr(text.find(line));
    EXPECT_THAT(rest.substr(0, rest.find('\n')),
                AllOf(HasSubstr("last seen in call "), HasSubstr(", merge_call at train.cpp:31")));
    EXPECT_THAT(text, HasSubstr(", merge_call at train.cpp:32"));
  }
}

// A process is silent for ten times the deadline, as if it wrote a file.
TEST(MpiGroup, WaitsLongerWhileAFileIsSaved) {
  testing::asserts("SEM-207");
  mpi::Group group(MPI_COMM_WORLD, {.deadline = Deadline::seconds(100)});
  for (int writer = 0; writer < group.size(); ++writer) {
    group.set_deadline(Deadline::milliseconds(50));
    const ProcessGroup::FileWait wait(group);
    const double begin = MPI_Wtime();
    while (group.rank() == writer && MPI_Wtime() - begin < 0.5) {
    }
    EXPECT_EQ(group.gather(filled(1, writer)).size(), static_cast<std::size_t>(group.size()));
    group.set_deadline(Deadline::seconds(100));
  }
}

}  // namespace
}  // namespace belfry::testing
