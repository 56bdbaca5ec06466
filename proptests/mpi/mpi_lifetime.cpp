// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Groups that start and end MPI. A process can start MPI once: each case is a run of the program.
//
//     mpirun -n 2 mpi_lifetime CASE

#include "belfry/error.h"
#include "belfry/mpi/group.h"

#include <mpi.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>

namespace {

using namespace belfry;

void expect(bool condition, const std::string& what) {
  if (condition) return;
  std::cerr << "error: " << what << std::endl;
  std::_Exit(1);
}

bool has_ended() {
  int ended = 0;
  MPI_Finalized(&ended);
  return ended != 0;
}

// The call throws a ContextError whose text has `part`.
void expect_refused(const std::function<void()>& call, const std::string& part) {
  std::string text = "nothing";
  try {
    call();
  } catch (const ContextError& error) {
    text = error.what();
  }
  expect(text.find("BF-072") != text.npos && text.find(part) != text.npos, "thrown: " + text);
}

void start_and_end(int argc, char** argv) {
  {
    mpi::Group group{argc, argv};
    group.barrier();
    expect(!has_ended(), "MPI has ended within the group");
  }
  expect(has_ended(), "the group has not ended MPI");
  expect_refused([&] { const mpi::Group again(argc, argv); }, "after the end of MPI");
  expect_refused([] { const mpi::Group again(MPI_COMM_WORLD); }, "after the end of MPI");
}

void last_group_ends(int argc, char** argv) {
  std::optional<mpi::Group> first(std::in_place, argc, argv);
  std::optional<mpi::Group> second(std::in_place, argc, argv);
  first.reset();
  expect(!has_ended(), "the first group has ended MPI");
  second->barrier();
  second.reset();
  expect(has_ended(), "the last group has not ended MPI");
}

void program_ends(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  mpi::Group(argc, argv).barrier();
  expect(!has_ended(), "a group has ended the MPI of the program");
  mpi::Group late(MPI_COMM_WORLD);
  MPI_Finalize();
  expect_refused([&] { late.barrier(); }, "after the end of MPI");
}

void level_is_low(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &level);
  if (level < MPI_THREAD_FUNNELED) {
    expect_refused([&] { const mpi::Group group(argc, argv); }, "MPI_Init_thread(&argc, &argv");
  }
  MPI_Finalize();
}

void not_started(int argc, char** argv) {
  expect_refused([] { const mpi::Group group(MPI_COMM_WORLD); }, "mpi::Group group{argc, argv}");
  mpi::Group(argc, argv).barrier();
}

// Process 1 catches its exception outside of the group. MPI must not end, since process 0 has not
// taken leave.
void caught_in_main(int argc, char** argv) {
  bool is_lost = false;
  int rank = -1;
  try {
    mpi::Group group{argc, argv};
    rank = group.rank();
    if (rank == 1) throw std::string("row 9");
    group.gather({});
  } catch (const std::string&) {
  } catch (const ProcessLostError&) {
    is_lost = true;
  }
  expect(!has_ended(), "MPI has ended though a process was lost");
  expect(is_lost == (rank == 0), "process 0 alone loses a process");
  MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(int, char**)> cases{
      {"start_and_end", start_and_end}, {"last_group_ends", last_group_ends},
      {"program_ends", program_ends},   {"level_is_low", level_is_low},
      {"not_started", not_started},     {"caught_in_main", caught_in_main},
  };
  const auto found = argc == 2 ? cases.find(argv[1]) : cases.end();
  if (found == cases.end()) return 2;
  found->second(argc, argv);
  std::cout << "1 passed, 0 failed" << std::endl;
  return 0;
}
