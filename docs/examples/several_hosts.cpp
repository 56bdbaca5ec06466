// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of the page on several hosts: the place of a process, from environments of launchers.
#include <belfry/cluster_environment.h>
#include <belfry/device_share.h>
#include <belfry/error.h>
#include <belfry/sim/cluster.h>

#include <unistd.h>

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

using namespace belfry;

namespace {

// [environ]
ProcessIdentity place_of_this_process() { return resolve(environment_from(environ)); }
// [environ]

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "here") {
    std::cout << place_of_this_process() << '\n';
    return 0;
  }
  std::cout << "== launchers\n";
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

  std::cout << "== cluster\n";
  // [cluster]
  std::vector<std::string> lines(2);
  sim::Cluster cluster{{.hosts = 2, .seed = 7}};
  cluster.run([&](sim::Host& host) {
    const int rank = host.group().rank();
    host.environment() = {{"RANK", std::to_string(rank)}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}};
    lines[rank] = to_string(resolve(host.environment()));
  });
  for (const std::string& line : lines) std::cout << line << '\n';
  // [cluster]

  std::cout << "== devices\n";
  // [devices]
  for (const int device : devices_of_process(
           {.local_rank = worker.numbers.local_rank, .per_process = 2, .on_host = 4})) {
    std::cout << "device " << device << '\n';
  }
  // [devices]

  const Environment of_torchrun{{"RANK", "1"}, {"WORLD_SIZE", "4x"}, {"LOCAL_RANK", "1"}};
  for (const char* size : {"4x", "4"}) {
    Environment environment = of_torchrun;
    environment["WORLD_SIZE"] = size;
    std::cout << (size == std::string_view("4") ? "== group\n" : "== value\n");
    try {
      require_same_process(environment, 0, 1);
    } catch (const InvalidArgumentError& error) {
      std::cout << error.what() << '\n';
    }
  }
  return 0;
}
