// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The kinds of groups within one process of the machine.

#include "belfry/sim/cluster.h"
#include "belfry/testing/thread_group.h"
#include "processes/group_kind.h"

namespace belfry::testing {

void on_each_process(const std::function<void(ProcessGroup&)>& body) {
  SingleProcess alone;
  body(alone);
  for (int processes = 1; processes <= 4; ++processes) {
    run_processes(processes, body);
    sim::Cluster cluster{{.hosts = processes, .seed = 7}};
    cluster.run([&](sim::Host& host) { body(host.group()); });
  }
}

}  // namespace belfry::testing
