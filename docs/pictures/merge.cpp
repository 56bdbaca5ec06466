// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The first program: two replicas average their gradients, and move one weight.
#include "scenes.h"
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

namespace pictures {
namespace {

struct Step {
  double before = 0;
  double gradient = 0;
  double mean = 0;
  double after = 0;
  double result = 0;
};

belfry::PerReplica<Step> run() {
  belfry::sim::Backend backend{{.devices = 2, .seed = 7}};
  belfry::MirroredStrategy strategy{backend};
  auto weight = strategy.mirrored_variable(10.0);
  return strategy.run([&](belfry::ReplicaContext& replica) {
    Step step{.before = weight.on(replica), .gradient = 1.0 + replica.replica_id()};
    step.mean = replica.merge_call(
        [&](belfry::CrossReplicaContext& cross, const belfry::PerReplica<double>& gradients) {
          const auto mean = cross.reduce(belfry::ReduceOp::kMean, gradients);
          cross.update(weight, [](double& w, double m) { w -= m; }, mean);
          return mean;
        },
        step.gradient);
    step.after = weight.on(replica);
    step.result = step.after * step.gradient;
    return step;
  });
}

}  // namespace

Drawing merge() {
  const belfry::PerReplica<Step> steps = run();
  const Step& first = steps[0];
  Drawing drawing(
      296, "Replicas meet in a merge: all wait for the last",
      fmt::format("Two replicas start with the weight {}. Replica 0 brings the gradient {} to the "
                  "merge, and replica 1 brings {}. The merge runs once: the mean is {}, and the "
                  "weight becomes {}. Both replicas go on with the weight {}. Replica 0 returns "
                  "{}, and replica 1 returns {}.",
                  first.before, first.gradient, steps[1].gradient, first.mean, first.after,
                  first.after, first.result, steps[1].result));
  const Area merge{286, 98, 206, 176};
  drawing.lines({102, 78}, {small("each replica alone")});
  drawing.lines({merge.top().x, 78}, {small("once, with the values of all")});
  drawing.lines({617, 78}, {small("each replica alone")});
  drawing.box(merge, Colour::kTogether,
              {strong("merge_call"),
               text("mean of ", value("brought", 0, first.gradient), " and ",
                    value("brought", 1, steps[1].gradient)),
               text("= ", value("mean", first.mean)),
               text("weight ", value("weight", first.before), " − ", value("step", first.mean)),
               text("= ", value("new-weight", first.after))});
  for (int id = 0; id < 2; ++id) {
    const Step& step = steps[id];
    const Area before{24, 98 + 96 * id, 156, 80};
    const Area after{540, before.y, 156, before.height};
    drawing.box(before, colour_of(id),
                {strong(numbered("replica", id)), text("weight ", value("before", id, step.before)),
                 text("gradient ", value("gradient", id, step.gradient))});
    drawing.lines({233, before.centre().y - 12},
                  {text("brings ", value("brings", id, step.gradient))});
    drawing.arrow(before.right(), {merge.x, before.centre().y});
    drawing.arrow({merge.right().x, after.centre().y}, after.left());
    drawing.box(after, colour_of(id),
                {strong(numbered("replica", id)), text("weight ", value("after", id, step.after)),
                 text("returns ", value("result", id, step.result))});
  }
  return drawing;
}

}  // namespace pictures
