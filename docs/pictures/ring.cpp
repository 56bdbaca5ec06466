// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The sum of three tensors around a ring, and the plan of the ring, step by step.
#include "scenes.h"
#include <belfry/belfry.h>
#include <belfry/planned_all_reduce.h>
#include <belfry/sim/backend.h>

#include <bit>
#include <memory>
#include <stdexcept>

namespace pictures {
namespace {

constexpr int kReplicas = 3;

// A chunk of a replica: its sum, and a bit for each replica whose input is in the sum.
struct Chunk {
  float sum = 0;
  unsigned inputs = 0;
};
using Table = std::vector<std::vector<Chunk>>;  // By replica and chunk.

// What the replicas have after a step, and the sums of the step. A copy is a sum of one term.
struct Step {
  Table table;
  std::vector<belfry::ReductionPlan::Sum> sums{};
};

Table inputs() {
  return {{{1, 0b001}, {2, 0b001}, {3, 0b001}},
          {{10, 0b010}, {20, 0b010}, {30, 0b010}},
          {{100, 0b100}, {200, 0b100}, {300, 0b100}}};
}

template <class T>
auto& at(T& table, int replica, int chunk) {
  return table[static_cast<std::size_t>(replica)][static_cast<std::size_t>(chunk)];
}

// A step reads what the step before has left.
std::vector<Step> follow(const belfry::ReductionPlan& plan) {
  auto all = plan.sums;
  for (const auto& copies : plan.copies) {
    all.emplace_back();
    for (const auto& copy : copies) all.back().push_back({copy.to, copy.chunks, {copy.from}});
  }
  std::vector<Step> steps{{.table = inputs()}};
  for (const auto& sums : all) {
    Step next{steps.back().table, sums};
    for (const auto& sum : sums) {
      Chunk& result = at(next.table, sum.member, sum.chunks.first);
      result = {};
      for (const int term : sum.terms) {
        const Chunk& part = at(steps.back().table, term, sum.chunks.first);
        result = {result.sum + part.sum, result.inputs | part.inputs};
      }
    }
    steps.push_back(std::move(next));
  }
  return steps;
}

belfry::PerReplica<std::vector<float>> run(const std::shared_ptr<belfry::RingAllReduce>& ring) {
  belfry::sim::Backend backend{{.devices = kReplicas}};
  belfry::MirroredStrategy strategy{backend, {.cross_device_ops = ring}};
  return strategy.run([](belfry::ReplicaContext& replica) {
    const Table table = inputs();
    std::vector<float> own;
    for (const Chunk& chunk : table[static_cast<std::size_t>(replica.replica_id())]) {
      own.push_back(chunk.sum);
    }
    const auto tensor = belfry::Tensor<float>::from({3}, own);
    return replica.all_reduce(belfry::ReduceOp::kSum, tensor).to_host();
  });
}

// The steps of the plan, whose last values are those that the replicas got.
std::vector<Step> steps_of_run() {
  const auto ring = std::make_shared<belfry::RingAllReduce>();
  std::vector<Step> steps = follow(ring->plan(kReplicas).value());
  const auto results = run(ring);
  for (int replica = 0; replica < kReplicas; ++replica) {
    for (int chunk = 0; chunk < kReplicas; ++chunk) {
      if (at(steps.back().table, replica, chunk).sum !=
          results[replica][static_cast<std::size_t>(chunk)]) {
        throw std::logic_error("the ring does not end with the results of the run");
      }
    }
  }
  return steps;
}

Area place(std::size_t step, int replica, int chunk) {
  return {148 + 194 * replica + 54 * chunk, 98 + 74 * static_cast<int>(step), 50, 34};
}

Colour colour_of_sum(const Chunk& chunk) {
  const int inputs = std::popcount(chunk.inputs);
  return inputs == 1 ? Colour::kPlain : inputs == kReplicas ? Colour::kReplica2 : Colour::kReplica1;
}

void draw(Drawing& drawing, std::size_t number, const Step& step) {
  const Point left{24, place(number, 0, 0).centre().y};
  const bool adds = !step.sums.empty() && step.sums[0].terms.size() > 1;
  drawing.label(left, number == 0 ? strong("start")
                                  : strong(numbered("step", static_cast<int>(number)),
                                           adds ? ": add" : ": copy"));
  for (const auto& sum : step.sums) {
    for (const int term : sum.terms) {
      if (term == sum.member) continue;
      drawing.arrow(place(number - 1, term, sum.chunks.first).bottom(),
                    place(number, sum.member, sum.chunks.first).top());
    }
  }
  for (int replica = 0; replica < kReplicas; ++replica) {
    for (int chunk = 0; chunk < kReplicas; ++chunk) {
      const Chunk& held = at(step.table, replica, chunk);
      drawing.box(
          place(number, replica, chunk), colour_of_sum(held),
          {text(value(fmt::format("step-{}-replica-{}-chunk", number, replica), chunk, held.sum))});
    }
  }
}

}  // namespace

Drawing ring() {
  const std::vector<Step> steps = steps_of_run();
  const std::vector<Chunk>& sums = steps.back().table[0];
  Drawing drawing(
      478, "A ring: one chunk goes to the next replica in each step",
      fmt::format("Three replicas have tensors of three chunks. In steps 1 and 2 each replica adds "
                  "a chunk of the replica before to its own, and then one chunk of each replica is "
                  "the sum of all. In steps 3 and 4 the replicas copy these sums. In the end each "
                  "replica has {}, {} and {}.",
                  sums[0].sum, sums[1].sum, sums[2].sum));
  for (int replica = 0; replica < kReplicas; ++replica) {
    drawing.lines({place(0, replica, 1).centre().x, 78}, {strong(numbered("replica", replica))});
  }
  for (std::size_t number = 0; number < steps.size(); ++number) {
    draw(drawing, number, steps[number]);
  }
  drawing.box({148, 444, 20, 16}, Colour::kReplica1);
  drawing.label({176, 452}, small("sum of some replicas"));
  drawing.box({370, 444, 20, 16}, Colour::kReplica2);
  drawing.label({398, 452}, small("sum of all replicas"));
  return drawing;
}

}  // namespace pictures
