// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of the page on processes for mpirun.
#include <belfry/belfry.h>
#include <belfry/mpi/group.h>
#include <belfry/sim/backend.h>

#include <iostream>
#include <string>

using namespace belfry;

// [mpi]
int main(int argc, char** argv) {
  mpi::Group group{argc, argv};  // Starts MPI unless the program has.
  sim::Backend backend{{.devices = 2}};
  MultiWorkerMirroredStrategy strategy{backend, group};
  const PerReplica<double> sums = strategy.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, 1.0 + replica.replica_id());
  });
  const std::string text = group.description() + ": sum " + std::to_string(*sums.begin()) + '\n';
  std::cout << text << std::flush;
}
// [mpi]
