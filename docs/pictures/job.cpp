// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of the page on several hosts, on two simulated hosts with two devices each.
#include "scenes.h"
#include <belfry/belfry.h>
#include <belfry/sim/cluster.h>

namespace pictures {
namespace {

struct Replica {
  int id = 0;
  double brings = 0;
  double gets = 0;
};
using Hosts = std::vector<std::vector<Replica>>;  // The replicas of each process.

Hosts run() {
  Hosts hosts(2);
  belfry::sim::Cluster cluster{{.hosts = 2, .devices = 2, .seed = 7}};
  cluster.run([&](belfry::sim::Host& host) {
    belfry::MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    const auto results = strategy.run([](belfry::ReplicaContext& replica) {
      const double own = 1.0 + replica.replica_id();
      return Replica{replica.replica_id(), own, replica.all_reduce(belfry::ReduceOp::kSum, own)};
    });
    hosts[static_cast<std::size_t>(host.group().rank())] = {results.begin(), results.end()};
  });
  return hosts;
}

}  // namespace

Drawing job() {
  const Hosts hosts = run();
  Drawing drawing(
      390, "A job of two hosts: one program, replicas numbered through",
      fmt::format("Each of two hosts runs one process with two devices. Replicas {} and {} are on "
                  "host 0, replicas {} and {} on host 1. They bring {}, {}, {} and {} to one "
                  "all_reduce, and each replica on each host gets the sum {}.",
                  hosts[0][0].id, hosts[0][1].id, hosts[1][0].id, hosts[1][1].id,
                  hosts[0][0].brings, hosts[0][1].brings, hosts[1][0].brings, hosts[1][1].brings,
                  hosts[0][0].gets));
  for (int host = 0; host < 2; ++host) {
    const Area panel{24 + 346 * host, 58, 326, 308};
    drawing.box(panel, Colour::kPlain);
    drawing.lines({panel.centre().x, 78},
                  {strong(numbered("host", host), ", ", numbered("process", host))});
  }
  const Area verb{40, 202, 640, 44};
  drawing.box(verb, Colour::kTogether, {strong("all_reduce with SUM, over all processes")});
  for (const std::vector<Replica>& replicas : hosts) {
    for (const Replica& replica : replicas) {
      const int x = 40 + 152 * replica.id + 42 * (replica.id / 2);
      const Area above{x, 100, 142, 66};
      const Area below{x, 282, 142, 66};
      drawing.box(above, colour_of(replica.id),
                  {strong(numbered("replica", replica.id)),
                   text("brings ", value("brings", replica.id, replica.brings))});
      drawing.arrow(above.bottom(), {above.bottom().x, verb.y});
      drawing.arrow({below.top().x, verb.bottom().y}, below.top());
      drawing.box(below, colour_of(replica.id),
                  {strong(numbered("replica", replica.id)),
                   text("gets ", value("gets", replica.id, replica.gets))});
    }
  }
  return drawing;
}

}  // namespace pictures
