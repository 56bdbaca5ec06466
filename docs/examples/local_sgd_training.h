// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local_sgd_strategy.h"
#include <belfry/tensor_ops.h>

#include <iostream>

// [train]
/// Fits y = 3 x, from x = 1 on even replicas and x = 2 on odd ones. Prints, before the last step's
/// end, what each replica has learned.
inline float train(LocalSgdStrategy& strategy, int steps) {
  using namespace belfry;
  const auto w = strategy.parameter([] { return Tensor<float>::full({1}, 0.0F); });
  for (int step = 0; step < steps; ++step) {
    const auto learned = strategy.run([&](ReplicaContext& replica) {
      const float x = replica.replica_id() % 2 == 0 ? 1.0F : 2.0F;
      const auto error = subtract(multiply(w.on(replica), x), 3.0F * x);
      w.on(replica) = subtract(w.on(replica), multiply(error, 0.125F * x));
      return w.on(replica).item();
    });
    std::cout << "step " << step + 1 << ':';
    for (float one : learned) std::cout << ' ' << one;
    std::cout << '\n';
  }
  return strategy.read(w).item();
}
// [train]
