// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Tests in the processes of mpirun: all processes run the same tests in the same order, each in a
// new group. If a test fails in any process, the program fails in all processes.

#include "belfry/mpi/group.h"
#include "processes/before_tests.h"
#include "processes/group_kind.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

namespace belfry::testing {

void on_each_process(const std::function<void(ProcessGroup&)>& body) {
  mpi::Group group(
      MPI_COMM_WORLD,
      {.deadline = Deadline::seconds(60), .piece_bytes = 1000, .parts_from_bytes = 256});
  body(group);
}

}  // namespace belfry::testing

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (belfry::testing::before_tests != nullptr) belfry::testing::before_tests();
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // Process 0 alone reports.
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) delete listeners.Release(listeners.default_xml_generator());
  int failed = RUN_ALL_TESTS();
  int failed_anywhere = 1;
  MPI_Allreduce(&failed, &failed_anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (failed == 0 && failed_anywhere != 0)
    std::printf("process %d: a test of another process failed\n", rank);
  MPI_Finalize();
  return failed_anywhere;
}
