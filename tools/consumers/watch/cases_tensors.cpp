// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "replicas.h"
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/tensor_ops.h>

#include <vector>

using belfry::CallSite;
using belfry::MirroredStrategy;
using belfry::Tensor;

namespace {

Row assigned_handle() {
  belfry::sim::Backend backend({.devices = 1});
  MirroredStrategy strategy(backend);
  const auto scope = strategy.scope();
  const auto mine = Tensor<float>::full({2}, 1.0F);
  Tensor<float> last;
  const Body body = [&](std::size_t, int) { last = mine; };
  return {lines(watched(1, body)), at_line(__FILE__, __LINE__ - 1)};
}

// The library writes and reads the handle.
Row handle_in_verbs() {
  belfry::sim::Backend backend({.devices = 1});
  MirroredStrategy strategy(backend);
  const auto scope = strategy.scope();
  auto shared = Tensor<float>::full({2}, 1.0F);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) scale(shared, 3.0F);
    if (id == 1) static_cast<void>(add(shared, shared));
  };
  return {text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 4) + ", " + did_read(__FILE__, __LINE__ - 3)};
}

Row elements_of_shared() {
  belfry::sim::Backend backend({.devices = 1});
  MirroredStrategy strategy(backend);
  const auto scope = strategy.scope();
  const auto tensor = Tensor<float>::full({2}, 1.0F);
  std::vector<float> to(2);
  const Body body = [&](std::size_t, int) { tensor.any().read(to.data(), CallSite::here()); };
  return {text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 2) + ", " + wrote(__FILE__, __LINE__ - 2)};
}

Row own_tensors() {
  belfry::sim::Backend backend({.devices = 2});
  MirroredStrategy strategy(backend);
  const auto scope = strategy.scope();
  std::vector<std::vector<float>> got(2);
  const auto shared = Tensor<float>::full({2}, 2.0F);
  const Body body = [&](std::size_t id, int) {
    auto mine = multiply(shared, shared);
    scale(mine, 2.0F);
    got[id] = mine.to_host();
  };
  return {text(watched(2, body)), ""};
}

}  // namespace

std::vector<Case> tensor_cases() {
  return {{"a handle that replicas assign", assigned_handle},
          {"a handle in verbs", handle_in_verbs},
          {"elements that replicas read to one place", elements_of_shared},
          {"tensors of each replica", own_tensors}};
}
