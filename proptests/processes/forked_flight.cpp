// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Two processes of two replicas, with a flight recorder each. Process 1 stays away from the second
// merge, and process 0 gives it up after the deadline of the group.
//
//   forked_flight PREFIX    the beginning of the paths of the files
#include "belfry/belfry.h"
#include "belfry/flight_recorder.h"
#include "processes/forked_processes.h"

#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace belfry::testing {
namespace {

constexpr std::chrono::milliseconds kDeadline{8000};

double total(CrossReplicaContext& cross, const PerReplica<double>& values) {
  return cross.reduce(ReduceOp::kSum, values)[0];
}

// In host code of its own, until process 0 is done.
void stay_away(int pipe) {
  char byte = 0;
  if (::read(pipe, &byte, 1) != 1) throw std::runtime_error("process 0 has said nothing");
}

int run(ProcessGroup& group, const std::string& prefix, const int (&pipe)[2]) {
  FlightRecorder recorder{prefix, {.at_failure = group.rank() == 0}};
  HostBackend backend{2, &recorder};
  MultiWorkerMirroredStrategy strategy{backend, group};
  try {
    strategy.run([&](ReplicaContext& replica) {
      replica.merge_call(total, 1.0);
      if (group.rank() == 1 && replica.replica_id() == 3) {
        recorder.write();
        stay_away(pipe[0]);
      }
      replica.all_reduce(ReduceOp::kSum, std::vector<float>{1, 2});
    });
  } catch (const ProcessLostError&) {
    if (group.rank() == 1) return 0;
    return ::write(pipe[1], "d", 1) == 1 ? 0 : 1;
  }
  throw std::runtime_error("a reduction without process 1");
}

}  // namespace
}  // namespace belfry::testing

int main(int argc, char** argv) {
  using namespace belfry::testing;
  int pipe[2] = {-1, -1};
  if (argc < 2 || ::pipe(pipe) != 0) return 2;
  const auto body = [&](belfry::ProcessGroup& group) { return run(group, argv[1], pipe); };
  const std::vector<int> statuses = run_forked(2, kDeadline, body);
  for (const int status : statuses) std::printf("ended with %d\n", status);
  return statuses == std::vector<int>{0, 0} ? 0 : 1;
}
