// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of the page on towers that adds to a tower-local variable.
#include "scenes.h"
#include <belfry/sim/backend.h>
#include <belfry/tower.h>

namespace pictures {
namespace {

namespace tower = belfry::tower;

struct Reads {
  std::vector<double> before;
  std::vector<double> added;
  std::vector<double> after;
  double fetched = 0;
};

Reads run() {
  belfry::sim::Backend backend{{.devices = 2, .seed = 7}};
  tower::MirroredStrategy distribution{backend};
  const auto local = tower::tower_local_var_scope(distribution, "mean");
  const auto seen = distribution.variable(0.0).as_replica_local();
  const auto towers = tower::call_for_each_tower(distribution, [&](tower::TowerContext& tower_ctx) {
    const double before = seen.on(tower_ctx);
    const double added = 4.0 * tower::tower_id(tower_ctx);
    tower_ctx.assign_add(seen, added);
    return std::vector<double>{before, added, seen.on(tower_ctx)};
  });
  Reads reads;
  reads.fetched = tower::fetch(distribution, seen);
  for (const std::vector<double>& of_tower : tower::unwrap(distribution, towers)) {
    reads.before.push_back(of_tower[0]);
    reads.added.push_back(of_tower[1]);
    reads.after.push_back(of_tower[2]);
  }
  return reads;
}

}  // namespace

Drawing tower_local() {
  const Reads reads = run();
  Drawing drawing(
      268, "Tower-local: each tower reads its own, fetch the mean",
      fmt::format("A tower-local variable starts with {} on two towers. Tower 0 adds {} and reads "
                  "{}, tower 1 adds {} and reads {}: each tower reads its own component. Outside "
                  "of the towers, fetch gives the mean of both, {}.",
                  reads.before[0], reads.added[0], reads.after[0], reads.added[1], reads.after[1],
                  reads.fetched));
  const Area fetch{548, 98, 148, 146};
  drawing.lines({97, 78}, {small("equal start")});
  drawing.lines({336, 78}, {small("each tower alone")});
  drawing.lines({fetch.top().x, 78}, {small("outside of towers")});
  for (int id = 0; id < 2; ++id) {
    const auto at = static_cast<std::size_t>(id);
    const Area start{24, 98 + 78 * id, 146, 68};
    const Area change{232, start.y, 208, start.height};
    drawing.box(
        start, colour_of(id),
        {strong(numbered("tower", id)), text("has ", value("before", id, reads.before[at]))});
    drawing.arrow(start.right(), change.left());
    drawing.box(change, colour_of(id),
                {strong("adds ", value("added", id, reads.added[at])),
                 text("then reads its own ", value("after", id, reads.after[at]))});
    drawing.arrow(change.right(), {fetch.x, change.centre().y});
    drawing.lines({494, change.centre().y - 12}, {text(value("component", id, reads.after[at]))});
  }
  drawing.box(fetch, Colour::kTogether,
              {strong("fetch"), text("mean of both"), strong(value("fetched", reads.fetched))});
  return drawing;
}

}  // namespace pictures
