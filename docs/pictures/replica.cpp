// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of the tutorial's section on run: a function on three devices.
#include "scenes.h"
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

namespace pictures {
namespace {

struct Call {
  int base = 0;
  int id = 0;
  std::string device;
  int square = 0;
};

belfry::PerReplica<Call> run() {
  belfry::sim::Backend backend{{.devices = 3}};
  belfry::MirroredStrategy strategy{backend};
  return strategy.run(
      [](belfry::ReplicaContext& replica, int base) {
        const int id = replica.replica_id();
        const belfry::DeviceSpec device = replica.device();
        return Call{base, id, fmt::format("{}:{}", device.type, device.index),
                    (base + id) * (base + id)};
      },
      10);
}

}  // namespace

Drawing replica() {
  const belfry::PerReplica<Call> calls = run();
  Drawing drawing(
      302, "One function runs on every device. Each copy is a replica.",
      fmt::format("A program calls run with a function and the number {}. The function runs on "
                  "three devices, as replicas 0, 1 and 2. Each adds its own number to {}, and "
                  "returns the square: {}, {} and {}. The three results together are a PerReplica.",
                  calls[0].base, calls[0].base, calls[0].square, calls[1].square, calls[2].square));
  const Area program{24, 130, 130, 74};
  const Area result{556, 62, 140, 216};
  drawing.box(program, Colour::kPlain,
              {strong("strategy.run"), text("function, ", value("base", calls[0].base))});
  drawing.box(result, Colour::kTogether);
  drawing.lines({result.centre().x, 82}, {strong("PerReplica")});
  for (const Call& call : calls) {
    const Area box{214, 62 + 76 * call.id, 270, 64};
    const Area returned{586, 102 + 58 * call.id, 80, 40};
    drawing.arrow(program.right(), box.left());
    drawing.box(
        box, colour_of(call.id),
        {strong(numbered("replica", call.id), ", device ", value("device", call.id, call.device)),
         text("the square of ", value("argument", call.id, call.base), " + ",
              value("id", call.id, call.id))});
    drawing.arrow(box.right(), returned.left());
    drawing.box(returned, colour_of(call.id), {text(value("square", call.id, call.square))});
  }
  return drawing;
}

}  // namespace pictures
