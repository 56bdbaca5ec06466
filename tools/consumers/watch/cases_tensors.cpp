// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "replicas.h"
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/tensor_ops.h>

#include <cstdint>
#include <string>
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

// A text has the shape, which the handle owns.
Row text_of_a_handle() {
  belfry::sim::Backend backend({.devices = 1});
  MirroredStrategy strategy(backend);
  const auto scope = strategy.scope();
  const auto other = Tensor<float>::full({3}, 1.0F);
  auto shared = Tensor<float>::full({2}, 1.0F);
  std::string got;
  const Body body = [&](std::size_t id, int) {
    if (id == 0) got = to_string(shared);
    if (id == 1) shared = other;
  };
  return {whether(watched(1, body)), "a conflict"};
}

Row shared_shape() {
  belfry::Shape shared{2, 3};
  std::string got;
  std::int64_t columns = 0;
  const Body body = [&](std::size_t id, int) {
    if (id == 0) got = to_string(shared);
    if (id == 0) columns = shared.extent(1);
    if (id == 1) shared = {4};
  };
  const std::string seen = text(watched(1, body));
  return {seen.find(did_read(__FILE__, __LINE__ - 5)) != seen.npos ? "the text" : seen, "the text"};
}

Row text_of_a_device() {
  std::string shared = "/gpu:0";
  std::vector<int> got(2);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) got[id] = belfry::DeviceSpec::parse(shared).index;
    if (id == 1) shared[5] = '1';
  };
  return {text(watched(1, body)),
          did_read(__FILE__, __LINE__ - 4) + ", " + wrote(__FILE__, __LINE__ - 3)};
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
          {"the text of a handle", text_of_a_handle},
          {"a shared shape", shared_shape},
          {"the text of a device", text_of_a_device},
          {"tensors of each replica", own_tensors}};
}
