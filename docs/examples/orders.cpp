// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Finds the order of additions that made the bits of a result.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <cmath>
#include <cstddef>
#include <iostream>
#include <memory>
#include <vector>

int main() {
  // [run]
  std::vector<std::vector<float>> inputs(4);
  for (int member = 0; member < 4; ++member) {
    for (int i = 0; i < 99; ++i) {
      inputs[static_cast<std::size_t>(member)].push_back(
          std::sqrt(static_cast<float>(99 * member + i + 1)));
    }
  }
  belfry::sim::Backend backend{{.devices = 4, .seed = 7}};
  belfry::MirroredStrategy strategy{backend,
                                    {.cross_device_ops = std::make_shared<belfry::RingAllReduce>(
                                         belfry::RingOptions{.start = 1})}};
  const auto sums = strategy.run([&](belfry::ReplicaContext& replica) {
    const auto& own = inputs[static_cast<std::size_t>(replica.replica_id())];
    return replica.all_reduce(belfry::ReduceOp::kSum, belfry::Tensor<float>::from({99}, own))
        .to_host();
  });
  // [run]
  std::cout << "== orders\n";
  // [orders]
  for (const belfry::NamedOrder& order : belfry::orders_that_explain(inputs, sums[0])) {
    std::cout << order << '\n';
  }
  // [orders]
  std::cout << "== tree\n";
  // [tree]
  const belfry::NamedOrder order{.kind = belfry::OrderKind::kRing, .ring = {.start = 1}};
  const belfry::AdditionTree tree = belfry::additions(order, {.members = 4, .elements = 99}, 0);
  std::cout << tree << '\n' << belfry::draw(tree);
  // [tree]
  std::cout << "== none\n";
  // [none]
  std::vector<float> wrong = sums[0];
  wrong[3] = std::nextafter(wrong[3], 100.0F);
  std::cout << belfry::orders_that_explain(inputs, wrong).size() << " orders; bound "
            << belfry::any_order_bound(inputs)[3] << '\n';
  // [none]
}
