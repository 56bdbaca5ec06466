// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of farewell_test.py. After the last call, the process RANK works, dies, or goes
// on after a stop; the rest leave.
//
//     mpirun -n 3 farewell CASE RANK FOLDER DEADLINE_MS
//
// Each process writes FOLDER/pid.RANK, with the process number PID, as soon as it has a group, and
// FOLDER/end.PID after the group: whether MPI has ended, and the text of an error. The process RANK
// works until FOLDER/go exists.

#include "belfry/error.h"
#include "belfry/mpi/group.h"
#include "no_more_files.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace {

using namespace belfry;
namespace fs = std::filesystem;

// A file appears as a whole.
void write(const fs::path& path, const std::string& text) {
  const fs::path draft = path.string() + ".draft";
  std::ofstream(draft) << text;
  fs::rename(draft, path);
}

void await(const fs::path& path) {
  while (!fs::exists(path)) usleep(1000);
}

int run(int argc, char** argv) {
  const std::string test = argv[1];
  const int odd = std::atoi(argv[2]);
  const fs::path folder = argv[3];
  // A first group starts MPI, before files are scarce.
  std::optional<mpi::Group> first(std::in_place, argc, argv);
  const std::string rank = std::to_string(first->rank());
  const bool is_odd = first->rank() == odd;
  std::optional<testing::NoMoreFiles> limit;
  if (test.starts_with("unseen") && is_odd) limit.emplace();
  mpi::Group group{argc,
                   argv,
                   {.deadline = Deadline::milliseconds(std::atoi(argv[4])),
                    .farewell_deadline = Deadline::milliseconds(std::atoi(argv[4]))}};
  limit.reset();
  first.reset();
  group.barrier();
  write(folder / ("pid." + rank), std::to_string(getpid()));
  if (is_odd) {
    if (test.ends_with("forks") && fork() == 0) {  // The child lives longer than its parent.
      while (fs::exists(folder)) usleep(1000);
      std::_Exit(0);
    }
    await(folder / "go");
    if (test.starts_with("dies")) std::raise(SIGKILL);
  }
  if (test == "suspended") group.barrier();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  std::string text;
  try {
    run(argc, argv);
  } catch (const Error& error) {
    text = error.what();
  }
  int ended = 0;
  MPI_Finalized(&ended);
  int rank = 0;
  if (ended == 0) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const fs::path folder = argv[3];
  write(folder / ("end." + std::to_string(getpid())),
        (ended != 0 ? "ended " : "not ended ") + text);
  return text.empty() ? 0 : 5;
}
