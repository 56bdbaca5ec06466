// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Makes tensors of memory that the program has already, without copies: docs/memory.md.
#include <belfry/belfry.h>
#include <belfry/dlpack.h>
#include <belfry/launch.h>
#include <belfry/sim/backend.h>
#include <belfry/tensor_ops.h>

#include <iostream>
#include <memory>
#include <span>
#include <utility>
#include <vector>

using namespace belfry;

int main() {
  std::cout << "== over\n";
  // [over]
  sim::Backend backend{{.devices = 2, .seed = 7}};
  MirroredStrategy strategy{backend};
  std::vector<float> batch{1, 2, 3, 4};  // two elements for each replica

  const auto sums = strategy.run([&](ReplicaContext& replica) {
    const auto id = static_cast<std::size_t>(replica.replica_id());
    auto x = Tensor<float>::over({2}, std::span(batch).subspan(2 * id, 2));
    scale(x, 10);
    return replica.all_reduce(ReduceOp::kSum, x).to_host();  // waits for the work
  });
  std::cout << batch[0] << ' ' << batch[3] << ", " << sums[0][0] << '\n';
  // [over]

  std::cout << "== in_place\n";
  // [in_place]
  sim::Backend small{{.devices = 2, .memory_limit_bytes = 4096}};
  MirroredStrategy trained{small};
  const auto weight = trained.mirrored_variable([] { return Tensor<float>::full({1024}, 1.0F); });
  const auto halve = [](Tensor<float>& own) { scale(own, 0.5F); };
  try {
    trained.cross_replica().update(weight, halve);
  } catch (const DeviceError&) {
    std::cout << "no room for a second copy\n";
  }
  trained.cross_replica().update({.in_place = true}, weight, halve);
  std::cout << trained.read(weight).to_host()[0] << '\n';
  // [in_place]

  std::cout << "== shared\n";
  // [shared]
  const auto scope = strategy.scope();
  auto x = Tensor<float>::over({4}, std::span(batch));
  {
    const auto second = x;
    try {
      scale(x, 2);
    } catch (const InvalidArgumentError& error) {
      std::cout << error.report().summary << '\n';
    }
  }
  scale(x, 2);  // the only handle again
  std::cout << x.to_host()[3] << '\n';
  // [shared]

  std::cout << "== dlpack\n";
  // [dlpack]
  DlpackPtr out = to_dlpack(Tensor<float>::full({2, 3}, 5.0F));
  std::cout << out->dl_tensor.ndim << " axes, row stride " << out->dl_tensor.strides[0] << '\n';
  const auto back = from_dlpack<float>(out.release());  // takes the tensor over
  std::cout << back.to_host()[5] << '\n';
  // [dlpack]
}
