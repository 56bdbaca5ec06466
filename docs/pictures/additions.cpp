// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The sum of four numbers in three orders of additions.
#include "scenes.h"
#include <belfry/addition_order.h>
#include <belfry/belfry.h>
#include <belfry/planned_all_reduce.h>
#include <belfry/sim/backend.h>

#include <memory>
#include <stdexcept>

namespace pictures {
namespace {

// The input of each replica. Floats have 24 bits: 1 is lost beside the first number.
constexpr float kInputs[] = {16777216, 1, 1, -16777216};
// Element 1 of four is chunk 1 of the ring, which starts at replica 1.
constexpr std::size_t kElement = 1;

float run(const belfry::StrategyOptions& options) {
  belfry::sim::Backend backend{{.devices = 4}};
  belfry::MirroredStrategy strategy{backend, options};
  return strategy.run([](belfry::ReplicaContext& replica) {
    const auto own = belfry::Tensor<float>::full({4}, kInputs[replica.replica_id()]);
    return replica.all_reduce(belfry::ReduceOp::kSum, own).to_host()[kElement];
  })[0];
}

// Draws trees of one order; leaves from left to right.
class Tree {
 public:
  Tree(Drawing& drawing, Point corner, std::string name)
      : drawing_(drawing), corner_(corner), name_(std::move(name)) {}

  // Returns the box of the root.
  Area draw(const belfry::AdditionTree& tree, int depth = 0) {
    if (tree.terms.empty()) {
      const Area leaf{corner_.x + 54 * leaves_++, corner_.y + 198, 40, 34};
      drawing_.box(leaf, colour_of(tree.member), {text(fmt::format("x{}", tree.member))});
      return leaf;
    }
    const Area left = draw(tree.terms[0], depth + 1);
    const Area right = draw(tree.terms[1], depth + 1);
    const int x = (left.centre().x + right.centre().x) / 2;
    const Area sum{x - 50, corner_.y + 62 * depth, 100, 34};
    drawing_.edge(left.top(), sum.bottom());
    drawing_.edge(right.top(), sum.bottom());
    drawing_.box(
        sum, depth == 0 ? Colour::kTogether : Colour::kPlain,
        {text(depth == 0 ? "sum " : "", value(name_, sums_++, belfry::evaluate(tree, kInputs)))});
    return sum;
  }

 private:
  Drawing& drawing_;
  Point corner_;
  std::string name_;
  int leaves_ = 0;
  int sums_ = 0;
};

struct Order {
  std::string name;
  Line title;
  belfry::NamedOrder order;
  belfry::StrategyOptions options;
};

}  // namespace

Drawing additions() {
  using belfry::OrderKind;
  using belfry::ReductionOrder;
  const Order orders[] = {
      {"replica-order", strong("replica order"), {}, {.order = ReductionOrder::kReplicaOrder}},
      {"tree", strong("tree"), {.kind = OrderKind::kTree}, {.order = ReductionOrder::kTree}},
      {"ring",
       strong("ring, from replica 1"),
       {.kind = OrderKind::kRing},
       {.cross_device_ops = std::make_shared<belfry::RingAllReduce>()}}};
  float results[3] = {};
  for (int i = 0; i < 3; ++i) {
    results[i] = run(orders[i].options);
  }
  Drawing drawing(
      460, "The same four numbers, added in three orders",
      fmt::format("Four replicas bring the floats {}, {}, {} and {}. In replica order the sum is "
                  "{}, in the order of a tree {}, and in the order of a ring that begins with "
                  "replica 1 {}: a small number is lost if it is added to a large one first.",
                  kInputs[0], kInputs[1], kInputs[2], kInputs[3], results[0], results[1],
                  results[2]));
  for (int i = 0; i < 4; ++i) {
    drawing.box({24 + 171 * i, 58, 159, 56}, colour_of(i),
                {text(numbered("replica", i)),
                 text(fmt::format("x{} = ", i), value("input", i, kInputs[i]))});
  }
  for (int i = 0; i < 3; ++i) {
    const Point corner{36 + 226 * i, 168};
    drawing.lines({corner.x + 101, 144}, {orders[i].title});
    const auto tree = belfry::additions(orders[i].order, {.members = 4, .elements = 4}, kElement);
    if (belfry::evaluate(tree, kInputs) != results[i]) {
      throw std::logic_error("the tree has not the result of the run");
    }
    Tree(drawing, corner, orders[i].name).draw(tree);
  }
  drawing.label({24, 430}, small("Each sum is rounded to a float: ", value("large", kInputs[0]),
                                 " + ", value("small", kInputs[1]), " = ",
                                 value("rounded", kInputs[0] + kInputs[1])));
  return drawing;
}

}  // namespace pictures
