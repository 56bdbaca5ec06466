// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of late_writer_test.py: a job of two processes that saves steps to one checkpoint.
//
//     mpirun -n 2 late_writer FILE FOLDER DEADLINE_MS FIRST LAST STOPPED
//
// The job restores FILE if the file exists, and saves the steps FIRST to LAST. During the save of
// step STOPPED process 0 stops before the new file is on the disk; its id is in FOLDER/pid then.
// After a ProcessLostError, a process writes FOLDER/lost.RANK with the text of the error.

#include "belfry/backend/host_backend.h"
#include "belfry/checkpoint.h"
#include "belfry/error.h"
#include "belfry/mpi/group.h"
#include "belfry/strategies.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace {

using namespace belfry;

constexpr int kLostStatus = 5;

std::filesystem::path stop_at_sync;  // Where to write the id first; empty: no stop.

// A file appears as a whole.
void write(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path draft = path.string() + ".draft";
  std::ofstream(draft) << text;
  std::filesystem::rename(draft, path);
}

int run(mpi::Group& group, const std::filesystem::path& file, const std::filesystem::path& folder,
        const std::int64_t (&steps)[3]) {
  HostBackend backend(1);
  MultiWorkerMirroredStrategy strategy{backend, group};
  const auto step = strategy.mirrored_variable(std::int64_t{0}, {.name = "step"});
  Checkpoint checkpoint(strategy);
  checkpoint.add(step);
  group.barrier();
  if (std::filesystem::exists(file)) checkpoint.restore(file);
  for (std::int64_t next = steps[0]; next <= steps[1]; ++next) {
    strategy.cross_replica().update(step, [next](std::int64_t& value) { value = next; });
    if (next == steps[2] && group.rank() == 0) stop_at_sync = folder / "pid";
    checkpoint.save(file);
  }
  return 0;
}

}  // namespace

// In place of the system's, for the saves of the library.
extern "C" int fsync(int file) {
  if (!stop_at_sync.empty()) {
    write(std::exchange(stop_at_sync, {}), std::to_string(::getpid()));
    std::raise(SIGSTOP);
  }
  return static_cast<int>(::syscall(SYS_fsync, file));
}

int main(int argc, char** argv) {
  if (argc < 7) return 2;
  const std::filesystem::path file = argv[1];
  const std::filesystem::path folder = argv[2];
  const auto deadline = Deadline::milliseconds(std::atoi(argv[3]));
  mpi::Group group{argc, argv, {.file_deadline = deadline}};
  group.set_deadline(deadline);
  try {
    return run(group, file, folder, {std::atoi(argv[4]), std::atoi(argv[5]), std::atoi(argv[6])});
  } catch (const ProcessLostError& error) {
    write(folder / ("lost." + std::to_string(group.rank())), error.what());
    return kLostStatus;
  }
}
