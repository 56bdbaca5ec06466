// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Makes a call of docs/ARCHITECTURE.md: `two_calls number` or `two_calls tensor`. Valgrind watches
// the second of two equal calls; the first call makes objects for later calls.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"

#include <valgrind/callgrind.h>

#include <cstdio>
#include <string_view>

namespace {

using namespace belfry;

void call_with_number(MirroredStrategy& strategy) {
  const auto total = [](CrossReplicaContext& cross, const PerReplica<double>& values) {
    return cross.reduce(ReduceOp::kSum, values);
  };
  const auto function = [&](ReplicaContext& replica, double value) {
    return replica.merge_call(total, value + replica.replica_id());
  };
  strategy.run(function, 3.0);
}

void call_with_tensor(MirroredStrategy& strategy) {
  const auto total = [](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& values) {
    return cross.reduce(ReduceOp::kSum, values);
  };
  const auto function = [&](ReplicaContext& replica, float value) {
    return replica.merge_call(total, Tensor<float>::full({2}, value)).to_host();
  };
  strategy.run(function, 3.0F);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc == 2 ? argv[1] : "";
  if (kind != "number" && kind != "tensor") {
    std::fputs("usage: two_calls number|tensor\n", stderr);
    return 2;
  }
  const auto call = kind == "number" ? call_with_number : call_with_tensor;
  sim::Backend backend{{.devices = 2, .record = false}};
  MirroredStrategy strategy{backend};
  call(strategy);
  CALLGRIND_START_INSTRUMENTATION;
  call(strategy);
  CALLGRIND_STOP_INSTRUMENTATION;
}
