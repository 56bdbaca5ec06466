// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The contract of algorithms finds a missing wait between streams, on devices that begin work in
// any order that the waits allow.
#include "belfry/testing/algorithm_contract.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace belfry::testing::algorithm_waits_test {
namespace {

// Copies the inputs of other members without a wait for their streams.
class Impatient final : public CrossDeviceOps {
 public:
  std::string_view name() const override { return "impatient"; }
  ReductionOrder order(belfry::ReplicaDevices&) const override {
    return ReductionOrder::kReplicaOrder;
  }
  void all_reduce(const TensorReduction& reduction) override {
    for (std::size_t tensor = 0; tensor < reduction.tensors(); ++tensor) {
      reduce(reduction, reduction.tensor(tensor));
    }
  }

 private:
  static void reduce(const TensorReduction& reduction, std::span<const CollectivePart> parts) {
    Stream& first = *parts[0].stream;
    Kernel kernel{.kind = KernelKind::kReduceReplicas, .outputs = {}, .inputs = {}};
    kernel.parameters.reduce = reduction.op;
    const BufferView& like = parts[0].input;
    for (const CollectivePart& part : parts) {
      const BufferPtr memory = first.device().allocate(like.bytes(), first);
      const BufferView local = view_of(memory, like.dtype);
      first.copy(local, part.input);
      kernel.inputs.push_back(local);
    }
    kernel.outputs = {parts[0].output};
    first.launch(std::move(kernel));
    const auto done = first.device().create_event();
    first.record(*done);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      parts[i].stream->wait(*done);
      parts[i].stream->copy(parts[i].output, parts[0].output);
    }
  }
};

// The copies read inputs that are not written yet: wrong sums, or an error of the simulator. On
// concurrent threads 60 cases missed the fault in 6 of 40 runs, so that 600 cases miss the fault in
// one of 10^8 runs.
TEST(AlgorithmWaits, AreMissed) {
  asserts("SEM-146");
  const ContractResult result = check_algorithm([](int) { return std::make_shared<Impatient>(); },
                                                backend_factory(), {.cases = 600, .seed = 1});
  EXPECT_FALSE(result.kept);
  EXPECT_THAT(result.message, ::testing::HasSubstr("broken by the algorithm 'impatient' on sim: "));
}

}  // namespace
}  // namespace belfry::testing::algorithm_waits_test
