// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The start of a training of four processes, two on each of two hosts with four devices. Each
// process learns from its launcher which of the four it is, takes its two devices, and trains with
// the other processes. Run without arguments, the program shows in this order:
//
//   cluster    the four processes, simulated: each prints its number and its devices
//   launchers  how the variables of mpirun and of TensorFlow are understood
//   value      a job script with a mistake in a variable
//   group      a program for MPI that was started without mpirun
//
// With the argument `here` it prints which process of a job it is itself. Lines such as
// `// [cluster]` mark the parts that docs/several_hosts.md shows.
#include <belfry/belfry.h>
#include <belfry/cluster_environment.h>
#include <belfry/device_share.h>
#include <belfry/sim/cluster.h>

#include <unistd.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace belfry;

namespace {

// [process]
// The program of each process.
std::string train(const Environment& environment, Backend& backend, ProcessGroup& group) {
  const ProcessIdentity here = resolve(environment);
  std::vector<DeviceSpec> own;
  for (const int device : devices_of_process(
           {.local_rank = here.numbers.local_rank, .per_process = 2, .on_host = 4})) {
    own.push_back(backend.device_spec(device));
  }
  MultiWorkerMirroredStrategy strategy{backend, group, {.devices = own}};
  const PerReplica<double> sums =
      strategy.run([](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 1.0); });

  std::ostringstream text;
  text << here << ": " << own[0].type << ':' << own[0].index << " and " << own[1].type << ':'
       << own[1].index << ", " << *sums.begin() << " replicas";
  return text.str();
}
// [process]

void train_on_two_hosts() {
  // [cluster]
  std::vector<std::string> lines(4);
  // The simulator has one process on a host: four simulated hosts stand for the four processes.
  sim::Cluster cluster{{.hosts = 4, .devices = 4, .seed = 7}};
  cluster.run([&](sim::Host& host) {
    const int rank = host.group().rank();
    host.environment() = {{"RANK", std::to_string(rank)},
                          {"WORLD_SIZE", "4"},
                          {"LOCAL_RANK", std::to_string(rank % 2)}};
    lines[rank] = train(host.environment(), host.backend(), host.group());
  });
  for (const std::string& line : lines) std::cout << line << '\n';
  // [cluster]
}

// [environ]
ProcessIdentity identity_of_this_process() { return resolve(environment_from(environ)); }
// [environ]

void start_by_other_launchers() {
  // [launchers]
  const Environment of_mpirun{{"OMPI_COMM_WORLD_RANK", "2"},
                              {"OMPI_COMM_WORLD_SIZE", "4"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}};
  std::cout << resolve(of_mpirun) << '\n';

  const Environment of_tensorflow{{"TF_CONFIG", R"({
    "cluster": {"chief": ["n10:2222"], "worker": ["n2:2222", "n2:2223"]},
    "task": {"type": "worker", "index": 1}})"}};
  const ProcessIdentity worker = resolve(of_tensorflow);
  std::cout << worker << "; cluster: " << worker.cluster << '\n';

  std::cout << resolve(of_mpirun, ProcessNumbers{.rank = 0, .size = 2}) << '\n';
  std::cout << resolve(Environment{}) << '\n';
  // [launchers]
}

// The error if the variables of the launcher disagree with MPI, to which this process is process 0
// of 1. A group over MPI makes this comparison itself.
std::string error_of_start(const Environment& environment) {
  try {
    require_same_process(environment, 0, 1);
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "here") {
    std::cout << identity_of_this_process() << '\n';
    return 0;
  }
  std::cout << "== cluster\n";
  train_on_two_hosts();
  std::cout << "== launchers\n";
  start_by_other_launchers();
  std::cout << "== value\n";  // A mistake in the script of the job.
  std::cout << error_of_start({{"RANK", "1"}, {"WORLD_SIZE", "4x"}, {"LOCAL_RANK", "1"}}) << '\n';
  std::cout << "== group\n";  // A program for MPI, started by torchrun.
  std::cout << error_of_start({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}}) << '\n';
  return 0;
}
