// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/checkpoint.h"

#include "belfry/backend/host_backend.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace belfry::checkpoint_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Layer {
  std::vector<float> weights;
  double bias = 0;
  static auto members(auto& self) { return std::tie(self.weights, self.bias); }
};

// A variable of each kind, on `replicas` replicas.
struct Model {
  explicit Model(int replicas) : backend(replicas), strategy(backend) {
    w = strategy.mirrored_variable([] { return Tensor<float>::from({2}, std::vector{1.0F, 2.0F}); },
                                   {.name = "w"});
    layer = strategy.mirrored_variable(Layer{{3, 4}, 5}, {.name = "layer"});
    sum = strategy.replica_local_variable(ReduceOp::kSum, std::int64_t{0}, {.name = "sum"});
    mean = strategy.replica_local_variable(ReduceOp::kMean, 0.0, {.name = "mean"});
    first = strategy.replica_local_variable(Aggregation::kOnlyFirst, 0, {.name = "first"});
  }
  Checkpoint checkpoint() {
    Checkpoint all(strategy);
    all.add(w).add(layer).add(sum).add(mean).add(first);
    return all;
  }
  // Replica i adds i + 1 to each.
  void count() {
    strategy.run([&](ReplicaContext& replica) {
      const int more = replica.replica_id() + 1;
      sum.on(replica) += more;
      mean.on(replica) += more;
      first.on(replica) += more;
    });
  }

  HostBackend backend;
  MirroredStrategy strategy;
  MirroredVariable<Tensor<float>> w;
  MirroredVariable<Layer> layer;
  ReplicaLocalVariable<std::int64_t> sum;
  ReplicaLocalVariable<double> mean;
  ReplicaLocalVariable<int> first;
};

TEST(Checkpoint, ContainsTheValuesOfReads) {
  testing::asserts("SEM-54", "SEM-55");
  Model model(3);
  model.count();
  const TensorFile file = model.checkpoint().contents();
  std::map<std::string, std::string> arrays;
  for (const auto& [name, tensor] : file.tensors) {
    arrays[name] = to_string(tensor.dtype) + to_string(tensor.shape);
  }
  EXPECT_THAT(arrays,
              ElementsAre(std::pair("first", "int32[]"), std::pair("layer[0]", "float32[2]"),
                          std::pair("layer[1]", "float64[]"), std::pair("mean", "float64[]"),
                          std::pair("sum", "int64[]"), std::pair("w", "float32[2]")));
  std::int64_t sum = 0;
  std::memcpy(&sum, file.tensors.at("sum").bytes.data(), sizeof sum);
  EXPECT_EQ(sum, 6);
}

// The integers of 64 bits farthest from 0. The division among three components has a remainder of
// two.
TEST(Checkpoint, DividesTheLargestIntegersWithoutLosingAny) {
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  const auto up = strategy.replica_local_variable(ReduceOp::kSum, std::uint64_t{0}, {.name = "up"});
  const auto down =
      strategy.replica_local_variable(ReduceOp::kSum, std::int64_t{0}, {.name = "down"});
  strategy.cross_replica().assign_total(up, std::uint64_t{18446744073709551614U});
  strategy.cross_replica().assign_total(down, std::numeric_limits<std::int64_t>::min());
  Checkpoint all(strategy);
  all.add(up).add(down);
  const TensorFile file = all.contents();
  all.restore(file, {.sums = SumSplit::kDivide, .site = CallSite::here()});
  EXPECT_THAT(strategy.local_values(up),
              ElementsAre(6148914691236517205U, 6148914691236517205U, 6148914691236517204U));
  EXPECT_THAT(strategy.local_values(down),
              ElementsAre(-3074457345618258603, -3074457345618258603, -3074457345618258602));
  EXPECT_EQ(strategy.read(up), 18446744073709551614U);
  EXPECT_EQ(strategy.read(down), std::numeric_limits<std::int64_t>::min());
}

TEST(Checkpoint, GoesThroughAFile) {
  testing::asserts("SEM-54");
  const auto path = std::filesystem::path(::testing::TempDir()) / "belfry_checkpoint_test";
  Model before(2);
  before.count();
  before.checkpoint().save(path);
  Model after(3);
  after.checkpoint().restore(path);
  EXPECT_EQ(after.strategy.read(after.sum), 3);
  std::filesystem::remove(path);
}

std::string refusal_of(const auto& restore) {
  const ErrorReport report = report_of(restore);
  EXPECT_EQ(report.code, ErrorCode::kVariableMismatch);
  return to_string(report);
}

std::string refusal_of(Model& model, const TensorFile& file) {
  return refusal_of([&] { model.checkpoint().restore(file); });
}

TEST(Checkpoint, ThatDoesNotFitChangesNothing) {
  testing::asserts("SEM-56");
  Model model(2);
  TensorFile file = model.checkpoint().contents();
  TensorFile changed = file;
  changed.tensors.at("first").bytes[0] = std::byte{7};
  // Variables are restored in the order of `add`: `first` comes last.
  const TensorFile whole = changed;
  changed.tensors.erase("w");
  EXPECT_THAT(refusal_of(model, changed), HasSubstr("the file has no \"w\""));
  changed = whole;
  changed.tensors.at("mean").dtype = DType::kInt64;
  EXPECT_THAT(refusal_of(model, changed), HasSubstr("\"mean\" is int64[] in the file"));
  changed = whole;
  changed.tensors.at("layer[0]").shape = Shape({2, 1});
  EXPECT_THAT(refusal_of(model, changed), HasSubstr("expected: float32[2]"));
  EXPECT_EQ(model.checkpoint().contents(), file);
  model.checkpoint().restore(whole);
  EXPECT_THAT(model.strategy.local_values(model.first), Each(7));
}

TEST(Checkpoint, ListsAllArraysThatDoNotFit) {
  testing::asserts("SEM-56");
  Model model(2);
  const TensorFile file = model.checkpoint().contents();
  TensorFile changed = file;
  changed.tensors.erase("w");
  changed.tensors.at("layer[0]").shape = Shape({2, 1});
  changed.tensors.at("first").bytes[0] = std::byte{7};
  changed.tensors.at("mean").dtype = DType::kInt64;
  const std::string refusal = refusal_of(model, changed);
  EXPECT_THAT(refusal, StartsWith("BF-050 3 arrays of the file do not fit:\n"
                                  "  the file has no \"w\"; expected float32[2], of the variable "
                                  "made at checkpoint_test.cpp:"));
  EXPECT_THAT(refusal, HasSubstr("\n  \"layer[0]\" is float32[2,1] in the file; expected "
                                 "float32[2], of the variable made at checkpoint_test.cpp:"));
  EXPECT_THAT(refusal, HasSubstr("\n  \"mean\" is int64[] in the file; expected float64[], of "));
  EXPECT_EQ(model.checkpoint().contents(), file);
}

TEST(Checkpoint, IgnoresUnrequestedArrays) {
  Model model(2);
  TensorFile file = model.checkpoint().contents();
  file.tensors.at("first").bytes[0] = std::byte{7};
  file.unsupported["other"] = {"F8_E4M3", Shape({3}), std::vector<std::byte>(3)};
  model.checkpoint().restore(TensorFile::parse(file.contents(), "memory"));
  EXPECT_THAT(model.strategy.local_values(model.first), Each(7));
  file.unsupported["w"] = {"F8_E4M3", Shape({2}), std::vector<std::byte>(2)};
  file.tensors.erase("w");
  EXPECT_THAT(refusal_of(model, TensorFile::parse(file.contents(), "memory")),
              HasSubstr("\"w\" is F8_E4M3[2] in the file, an element type that is not supported"));
}

TEST(Checkpoint, RefusesBytesThatAreNoBoolean) {
  testing::asserts("SEM-139");
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  const auto flag = strategy.mirrored_variable(true, {.name = "flag"});
  Checkpoint all(strategy);
  TensorFile file = all.add(flag).contents();
  file.tensors.at("flag").bytes[0] = std::byte{2};
  EXPECT_THAT(refusal_of([&] { all.restore(file); }),
              HasSubstr("a boolean that is neither 0 nor 1"));
  EXPECT_TRUE(strategy.read(flag));
}

TEST(Checkpoint, ChangesNothingIfItsFileCannotBeSaved) {
  Model model(2);
  const TensorFile before = model.checkpoint().contents();
  const ErrorReport report = report_of([&] {
    model.checkpoint().save(std::filesystem::path(::testing::TempDir()) / "no such folder" / "a");
  });
  EXPECT_EQ(report.code, ErrorCode::kFile);
  EXPECT_THAT(to_string(report.site), HasSubstr("checkpoint_test.cpp"));
  EXPECT_EQ(model.checkpoint().contents(), before);
}

TEST(Checkpoint, RefusesWhatCannotBelongToIt) {
  Model model(2);
  Model other(2);
  Checkpoint all = model.checkpoint();
  EXPECT_THROW(all.add(model.w), InvalidArgumentError);
  EXPECT_THROW(all.add(other.w), ContextError);
  EXPECT_THROW(model.strategy.run([&](ReplicaContext&) { all.contents(); }), ContextError);
  // Two names that a file could not distinguish.
  const auto same = model.strategy.mirrored_variable(1, {.name = "layer[0]"});
  all.add(same);
  EXPECT_THROW(all.contents(), InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::checkpoint_test
