// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of the page on verdicts that writes to a captured variable: a race, in two orders.
#include "scenes.h"
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <cstdint>

namespace pictures {
namespace {

struct Outcome {
  std::uint64_t seed = 0;
  double loss = 0;
  std::vector<double> written;  // By each replica.
  std::vector<int> order;       // The replicas, in the order of their steps.
};

Outcome run(std::uint64_t seed) {
  belfry::sim::Backend backend{{.devices = 2, .seed = seed}};
  belfry::MirroredStrategy strategy{backend};
  double loss = 0;
  const auto written = strategy.run(
      [&](belfry::ReplicaContext& replica) { return loss = 0.5 + replica.replica_id(); });
  Outcome outcome{seed, loss, {written.begin(), written.end()}, {}};
  for (const belfry::sim::LogRecord& record : backend.log().records()) {
    if (record.kind == belfry::OperationKind::kStart) outcome.order.push_back(record.agent_index);
  }
  return outcome;
}

void draw(Drawing& drawing, int y, std::string_view name, const Outcome& outcome) {
  const auto place = [&](int turn, int id) { return Area{176 + 176 * turn, y + 56 * id, 150, 44}; };
  drawing.label({24, y - 20}, strong("seed ", value(fmt::format("{}-seed", name), outcome.seed)));
  for (int id = 0; id < 2; ++id) {
    drawing.label({24, place(0, id).centre().y}, text(numbered("replica", id)));
  }
  for (int turn = 0; turn < 2; ++turn) {
    const int id = outcome.order[static_cast<std::size_t>(turn)];
    drawing.box(place(turn, id), colour_of(id),
                {text("writes ", value(fmt::format("{}-write", name), turn,
                                       outcome.written[static_cast<std::size_t>(id)]))});
  }
  const Area last = place(1, outcome.order[1]);
  const Area loss{548, y, 148, 100};
  drawing.arrow(place(0, outcome.order[0]).right(), last.left());
  drawing.arrow(last.right(), {loss.x, last.centre().y});
  drawing.box(loss, Colour::kWrong,
              {text("loss is"), strong(value(fmt::format("{}-loss", name), outcome.loss))});
}

}  // namespace

Drawing race() {
  const Outcome first = run(1);
  Outcome second = first;
  while (second.order == first.order) second = run(second.seed + 1);
  Drawing drawing(
      354, "A race: the last write decides",
      fmt::format("Two replicas write to one variable of the program. With seed {} replica {} "
                  "writes first and the loss is {}. With seed {} replica {} writes first and the "
                  "loss is {}.",
                  first.seed, first.order[0], first.loss, second.seed, second.order[0],
                  second.loss));
  drawing.label({176, 70}, small("first"));
  drawing.label({352, 70}, small("then"));
  drawing.lines({622, 70}, {small("one variable")});
  draw(drawing, 90, "first", first);
  draw(drawing, 230, "second", second);
  return drawing;
}

}  // namespace pictures
