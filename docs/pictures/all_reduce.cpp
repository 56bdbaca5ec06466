// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A sum and a mean of tensors on three devices.
#include "scenes.h"
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

namespace pictures {
namespace {

struct Reduced {
  std::vector<float> own;
  std::vector<float> sum;
  std::vector<float> mean;
};

belfry::PerReplica<Reduced> run() {
  belfry::sim::Backend backend{{.devices = 3}};
  belfry::MirroredStrategy strategy{backend};
  const belfry::PerReplica<std::vector<float>> inputs{{1, 2}, {10, 20}, {100, 200}};
  return strategy.run(
      [](belfry::ReplicaContext& replica, const std::vector<float>& values) {
        const auto own = belfry::Tensor<float>::from({2}, values);
        return Reduced{own.to_host(), replica.all_reduce(belfry::ReduceOp::kSum, own).to_host(),
                       replica.all_reduce(belfry::ReduceOp::kMean, own).to_host()};
      },
      inputs);
}

}  // namespace

Drawing all_reduce() {
  const belfry::PerReplica<Reduced> all = run();
  const auto row = [](const std::vector<float>& values) {
    return fmt::format("{} and {}", values[0], values[1]);
  };
  Drawing drawing(
      344, "all_reduce: element by element, the same for all",
      fmt::format(
          "Three replicas bring tensors of two elements to all_reduce: {}, {}, {}. With SUM "
          "each replica gets {}, and with MEAN each gets {}.",
          row(all[0].own), row(all[1].own), row(all[2].own), row(all[0].sum), row(all[0].mean)));
  const Area verb{24, 168, 672, 40};
  drawing.box(verb, Colour::kTogether, {strong("all_reduce")});
  for (int id = 0; id < 3; ++id) {
    const Area above{24 + 231 * id, 62, 210, 70};
    const Area below{above.x, 244, above.width, 76};
    const auto pair = [&](std::string_view what, const std::vector<float>& values) {
      const std::string name = fmt::format("{}-{}", what, id);
      return std::pair{value(name, 0, values[0]), value(name, 1, values[1])};
    };
    const auto own = pair("own", all[id].own);
    const auto sum = pair("sum", all[id].sum);
    const auto mean = pair("mean", all[id].mean);
    drawing.box(
        above, colour_of(id),
        {strong(numbered("replica", id)), text("brings [", own.first, ", ", own.second, "]")});
    drawing.arrow(above.bottom(), {above.bottom().x, verb.y});
    drawing.arrow({below.top().x, verb.bottom().y}, below.top());
    drawing.box(below, colour_of(id),
                {text("SUM gives [", sum.first, ", ", sum.second, "]"),
                 text("MEAN gives [", mean.first, ", ", mean.second, "]")});
  }
  return drawing;
}

}  // namespace pictures
