// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of process_loss_test.py. Process 1, or each of the processes ODD, leaves its group,
// ends, dies or stops; the others wait for it. `parts_` before a fault: in an exchange of parts.
//
//     mpirun -n 3 process_loss FAULT FOLDER [DEADLINE_MS [ODD...]]
//
// After a ProcessLostError, a process writes FOLDER/lost.RANK: the seconds in the failed call, and
// the text of the error. An odd process writes its id to FOLDER/pid before the fault.

#include "belfry/error.h"
#include "belfry/mpi/group.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace belfry;

constexpr int kLostStatus = 5;
constexpr std::size_t kValueBytes = std::size_t{4} << 20;

// A file appears as a whole.
void write(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path draft = path.string() + ".draft";
  std::ofstream(draft) << text;
  std::filesystem::rename(draft, path);
}

// Returns if the process goes on: after SIGCONT, or to leave.
void commit(const std::string& fault, const std::filesystem::path& folder) {
  write(folder / "pid", std::to_string(getpid()));
  if (fault == "exit") std::_Exit(0);
  if (fault == "kill") std::raise(SIGKILL);
  if (fault == "stop") std::raise(SIGSTOP);
}

// Sends a value to all other processes.
void send_parts(mpi::Group& group) {
  std::vector<SentPart> sent;
  std::vector<ReceivedPart> received;
  for (int other = 0; other < group.size(); ++other) {
    if (other == group.rank()) continue;
    const auto value = std::make_shared<std::vector<std::byte>>(kValueBytes);
    sent.push_back({other, {value, value->data()}, kValueBytes});
    const auto room = std::make_shared<std::vector<std::byte>>(kValueBytes);
    received.push_back({other, {room, room->data()}, kValueBytes});
  }
  group.exchange_parts(true, sent, received);
}

// In parts, the odd process agrees to the exchange, and sends no part.
int run(mpi::Group& group, const std::string& fault, bool in_parts, bool is_odd,
        const std::filesystem::path& folder) {
  const std::vector<std::byte> value(kValueBytes);
  for (int round = 0; round < 3; ++round) group.gather(value);
  group.barrier();  // No process waits for a former value of an odd process.
  if (is_odd) {
    if (in_parts) group.exchange_parts(true, {}, {});
    commit(fault, folder);
    if (fault == "leave") return 0;
  }
  const double begin = MPI_Wtime();
  try {
    while (true) in_parts ? send_parts(group) : static_cast<void>(group.gather(value));
  } catch (const ProcessLostError& error) {
    const double seconds = MPI_Wtime() - begin;
    write(folder / ("lost." + std::to_string(group.rank())),
          std::to_string(seconds) + "\n" + error.what() + "\n");
  }
  return kLostStatus;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::string fault = argv[1];
  const bool in_parts = fault.starts_with("parts_");
  if (in_parts) fault.erase(0, 6);
  const std::filesystem::path folder = argv[2];
  const int deadline_ms = argc > 3 ? std::atoi(argv[3]) : 60'000;
  mpi::Group group{argc, argv};
  group.set_deadline(Deadline::milliseconds(deadline_ms));
  bool is_odd = argc <= 4 && group.rank() == 1;
  for (int i = 4; i < argc; ++i) is_odd = is_odd || group.rank() == std::atoi(argv[i]);
  return run(group, fault, in_parts, is_odd, folder);
}
