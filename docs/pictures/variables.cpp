// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of the tutorial's section on variables: a weight and a count of examples.
#include "scenes.h"
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

namespace pictures {
namespace {

template <class T>
struct History {
  belfry::PerReplica<T> first;
  belfry::PerReplica<T> last;
  T read{};
};

struct Histories {
  History<double> weight;
  History<int> seen;
};

Histories run() {
  belfry::sim::Backend backend{{.devices = 2}};
  belfry::MirroredStrategy strategy{backend};
  auto weight = strategy.mirrored_variable(10.0, {.name = "weight"});
  auto seen = strategy.replica_local_variable(belfry::ReduceOp::kSum, 0);
  const belfry::PerReplica<double> weight_first = strategy.local_values(weight);
  const belfry::PerReplica<int> seen_first = strategy.local_values(seen);
  strategy.run([&](belfry::ReplicaContext& replica) {
    seen.on(replica) += 30 + 4 * replica.replica_id();
    const double gradient = weight.on(replica) * replica.replica_id();
    replica.merge_call(
        [&](belfry::CrossReplicaContext& cross, const belfry::PerReplica<double>& gradients) {
          const auto mean = cross.reduce(belfry::ReduceOp::kMean, gradients);
          cross.update(weight, [](double& w, double g) { w -= 0.5 * g; }, mean);
        },
        gradient);
  });
  return {{weight_first, strategy.local_values(weight), strategy.read(weight)},
          {seen_first, strategy.local_values(seen), strategy.read(seen)}};
}

// A variable from left to right: its components at the start, those at the end, and the read.
template <class T>
void draw(Drawing& drawing, int y, std::string_view name, const History<T>& history,
          bool is_mirrored) {
  const Area read{560, y + 28, 136, 100};
  drawing.lines({187, y + 8}, {small("start: equal")});
  drawing.lines({419, y + 8},
                {small(is_mirrored ? "update in a merge: equal" : "own changes: different")});
  drawing.lines({read.top().x, y + 8}, {small("read")});
  for (int id = 0; id < 2; ++id) {
    const Area first{140, y + 28 + 56 * id, 94, 44};
    const Area last{372, first.y, first.width, first.height};
    drawing.label({24, first.centre().y}, text(numbered("replica", id)));
    drawing.box(first, colour_of(id),
                {text(value(fmt::format("{}-first", name), id, history.first[id]))});
    drawing.arrow(first.right(), last.left());
    drawing.box(last, colour_of(id),
                {text(value(fmt::format("{}-last", name), id, history.last[id]))});
    if (id == 0 || !is_mirrored) drawing.arrow(last.right(), {read.x, last.centre().y});
  }
  drawing.box(read, Colour::kTogether,
              {text(is_mirrored ? "of replica 0" : "sum of all"),
               strong(value(fmt::format("{}-read", name), history.read))});
}

}  // namespace

Drawing variables() {
  const auto [weight, seen] = run();
  Drawing drawing(
      430, "Two kinds of variables, on two replicas",
      fmt::format("A mirrored variable has equal components on both replicas: {} at the start, {} "
                  "after the update of a merge, and a read gives {}. A replica-local variable "
                  "starts with {} on both. Replica 0 then has {} and replica 1 has {}, without a "
                  "merge, and a read gives the sum, {}.",
                  weight.first[0], weight.last[0], weight.read, seen.first[0], seen.last[0],
                  seen.last[1], seen.read));
  drawing.label({24, 74}, strong("mirrored: always equal, changed by merges alone"));
  draw(drawing, 92, "weight", weight, true);
  drawing.label({24, 256}, strong("replica-local: each replica changes its own, without a merge"));
  draw(drawing, 274, "seen", seen, false);
  return drawing;
}

}  // namespace pictures
