// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The text of every public value, printed by `<<` and by GoogleTest.
#include "belfry/addition_order.h"
#include "belfry/backend/host_backend.h"
#include "belfry/backend/operation.h"
#include "belfry/checkpoint.h"
#include "belfry/cross_device_ops.h"
#include "belfry/distributed_dataset.h"
#include "belfry/fused_update.h"
#include "belfry/gradient_buckets.h"
#include "belfry/indexed_slices.h"
#include "belfry/nest.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/strategies.h"
#include "belfry/tensor_file.h"
#include "belfry/tensor_ops.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace elsewhere {

struct Money {
  int cents;
  friend std::ostream& operator<<(std::ostream& out, const Money& money) {
    return out << money.cents << "ct";
  }
};
struct Opaque {};
struct Step {
  int number;
  std::vector<float> sizes;
  static auto members(auto& self) { return std::tie(self.number, self.sizes); }
};

}  // namespace elsewhere

namespace belfry::printing_test {
namespace {

// GoogleTest prints the same text.
template <class T>
std::string text_of(const T& value) {
  std::ostringstream out;
  out << value;
  EXPECT_EQ(::testing::PrintToString(value), out.str());
  return out.str();
}

template <class T>
PerReplica<T> one(T value) {
  detail::ReplicaArray<T> values(1);
  values.emplace_back(std::move(value));
  return PerReplica<T>(std::move(values));
}

const std::string kCpu = "/job:localhost/replica:0/task:0/device:CPU:";

class Printing : public ::testing::Test {
 protected:
  HostBackend backend_{2};
  MirroredStrategy strategy_{backend_};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
};

TEST_F(Printing, OfWords) {
  EXPECT_EQ(text_of(CallSite{"src/train.cc", 88}), "train.cc:88");
  EXPECT_EQ(text_of(DeviceSpec::parse("gpu:3")), "/job:localhost/replica:0/task:0/device:GPU:3");
  EXPECT_EQ(text_of(Shape{2, 3}), "[2,3]");
  EXPECT_EQ(text_of(Axis(-1)), "axis -1");
  EXPECT_EQ(text_of(DType::kBFloat16), "bfloat16");
  EXPECT_EQ(text_of(Float16(1.5F)), "1.5");
  EXPECT_EQ(text_of(BFloat16(-2.0F)), "-2");
  EXPECT_EQ(text_of(ReduceOp::kMean), "mean");
  EXPECT_EQ(text_of(ReductionOrder::kTree), "tree");
  EXPECT_EQ(text_of(ErrorCode::kMergeKinds), "BF-012");
  EXPECT_EQ(text_of(MergeTag{"weight"}), "\"weight\"");
  EXPECT_EQ(text_of(AgentId{AgentId::Kind::kReplica, 2}), "R2");
}

TEST_F(Printing, OfReports) {
  ErrorReport report;
  report.code = ErrorCode::kShape;
  report.summary = "two shapes";
  EXPECT_EQ(text_of(report), to_string(report));
  EXPECT_NE(text_of(report).find("BF-021 two shapes"), std::string::npos);
  EXPECT_EQ(text_of(ReplicaReport{.replica_id = 2, .site = {"src/a.cc", 8}, .what = "waits"}),
            "replica 2  a.cc:8  waits");
  EXPECT_EQ(text_of(ReplicaReport{.what = "left", .process = 1}), "process 1  left");
  EXPECT_EQ(text_of(ScheduleReport{.seed = 7}), "seed 7");
  EXPECT_EQ(text_of(ScheduleReport{.seed = 7, .token = "b0"}), "seed 7, replay b0");
}

TEST_F(Printing, OfArgumentsOfUsersFunctions) {
  EXPECT_EQ(text_of(InputContext{
                .num_input_pipelines = 2, .input_pipeline_id = 1, .num_replicas_in_sync = 4}),
            "input pipeline 1 of 2, 4 replicas in sync");
  EXPECT_EQ(text_of(ValueContext{.replica_id = 1, .num_replicas_in_sync = 4}), "replica 1 of 4");
}

TEST_F(Printing, OfOrders) {
  EXPECT_EQ(text_of(OrderKind::kHalvingDoubling), "halving and doubling");
  EXPECT_EQ(text_of(OrderKind::kGroupsOfEight), "groups of eight");
  EXPECT_EQ(text_of(RingChunks::kCacheLines), "cache lines");
  EXPECT_EQ(text_of(RingOrder{.start = 1, .reversed = true}), "ring, start 1, reversed");
  EXPECT_EQ(text_of(SumRounding::kEachAddition), "each addition");
  EXPECT_EQ(text_of(OrderOp::kProd), "prod");
  EXPECT_EQ(text_of(static_cast<OrderOp>(9)), "?");
  EXPECT_EQ(text_of(ReducedTensor{2, 5, DType::kBFloat16}), "2 members, 5 elements, bfloat16");
  EXPECT_EQ(text_of(OrderArithmetic{}), "sum of float32");
  EXPECT_EQ(text_of(OrderArithmetic{DType::kFloat16, OrderOp::kMean, SumRounding::kEachAddition}),
            "mean of float16, rounded at each addition");
  EXPECT_EQ(text_of(NamedOrder{.kind = OrderKind::kTree, .root = 1}), "tree, root 1");
}

TEST_F(Printing, OfRules) {
  EXPECT_EQ(text_of(FusedUpdate::plain(0.5)), "plain descent of rate 0.5");
  EXPECT_EQ(text_of(FusedUpdate::momentum(0.5, 0.25)), "momentum of rate 0.5, decay 0.25");
  EXPECT_EQ(text_of(FusedUpdate::adam(1, {.rate = 0.5, .decay = 0, .second_decay = 0})),
            "Adam of rate 0.5, decays 0 and 0, epsilon 1e-07");
}

TEST_F(Printing, OfPlans) {
  EXPECT_EQ(text_of(ChunkRange{2, 1}), "chunk 2");
  EXPECT_EQ(text_of(ChunkRange{0, 3}), "chunks 0 to 2");
  EXPECT_EQ(text_of(ChunkRule::kRemainderLast), "remainder last");
  EXPECT_EQ(text_of(AlgorithmChoice{.reason = "one replica"}), "one replica");
  EXPECT_EQ(text_of(AlgorithmChoice{.reason = "a", .warning = "b"}), "a; warning: b");
}

TEST_F(Printing, OfChoices) {
  EXPECT_EQ(text_of(Aggregation::kOnlyFirst), "only-first");
  EXPECT_EQ(text_of(Synchronization::kOnRead), "on read");
  EXPECT_EQ(text_of(SumSplit::kDivide), "divide");
  EXPECT_EQ(text_of(EndOfData::kDropPartialStep), "drop partial step");
  EXPECT_EQ(text_of(EndOfData::kPadWithEmpties), "pad with empties");
  EXPECT_EQ(text_of(EndOfData::kMaskReplicas), "mask replicas");
  EXPECT_EQ(text_of(BatchSplit::kEvenSizes), "even sizes");
  EXPECT_EQ(text_of(BatchSplit::kEachBatch), "each batch");
  EXPECT_EQ(text_of(ElementUse::kGlobalBatch), "global batch");
  EXPECT_EQ(text_of(ElementUse::kPerReplica), "per replica");
  EXPECT_EQ(text_of(Remainder::kDrop), "drop");
  EXPECT_EQ(text_of(VariablePlaces{{0, 2}, {0, -1, 1}}), "devices 0 2; replicas see 0 - 1");
}

// The text of an initializer is compiled, and compared with the text of the options that the
// initializer makes.
#define EXPECT_PRINTS_ITSELF(Options, ...) EXPECT_EQ(text_of(Options __VA_ARGS__), #__VA_ARGS__)

TEST_F(Printing, OfOptionsIsCodeThatCompiles) {
  EXPECT_PRINTS_ITSELF(VariableOptions, {});
  EXPECT_PRINTS_ITSELF(VariableOptions, {.name = "w \"1\"\\\012"});
  EXPECT_PRINTS_ITSELF(VariableOptions, {.name = "w",
                                         .aggregation = belfry::Aggregation::kOnlyFirst,
                                         .trainable = false,
                                         .synchronization = belfry::Synchronization::kOnRead});
  EXPECT_PRINTS_ITSELF(
      VariableOptions,
      {.devices = {belfry::DeviceSpec::parse("/job:localhost/replica:0/task:0/device:GPU:1")}});
  EXPECT_PRINTS_ITSELF(VariableOptions, {.aggregation = static_cast<belfry::Aggregation>(9)});
  EXPECT_PRINTS_ITSELF(DistributeOptions, {.end_of_data = belfry::EndOfData::kDropPartialStep});
  EXPECT_PRINTS_ITSELF(DistributeOptions, {.end_of_data = static_cast<belfry::EndOfData>(0)});
  EXPECT_PRINTS_ITSELF(DistributeOptions, {.end_of_data = belfry::EndOfData::kMaskReplicas,
                                           .elements = belfry::ElementUse::kPerReplica,
                                           .prefetch = 2,
                                           .num_workers = 3,
                                           .worker = 1,
                                           .split = belfry::BatchSplit::kEachBatch});
  EXPECT_PRINTS_ITSELF(RunOptions, {});
  EXPECT_PRINTS_ITSELF(RunOptions, {.concurrent = false});
  EXPECT_PRINTS_ITSELF(RestoreOptions, {});
  EXPECT_PRINTS_ITSELF(RestoreOptions, {.sums = belfry::SumSplit::kDivide});
  EXPECT_PRINTS_ITSELF(MatmulOptions, {.transpose_a = true, .transpose_b = true});
  EXPECT_PRINTS_ITSELF(RingOptions, {});
  EXPECT_PRINTS_ITSELF(RingOptions,
                       {.hosts = 2, .permutation = {1, 0}, .subchunks = 2, .start = 1});
  EXPECT_PRINTS_ITSELF(AdamOptions, {.rate = 0.5, .epsilon = 0.25});
  EXPECT_PRINTS_ITSELF(BucketOptions, {.op = belfry::ReduceOp::kSum, .bytes = 8, .rounds = 2});
  EXPECT_PRINTS_ITSELF(PackOptions, {.bytes_per_tensor = 8, .bytes_per_pack = 0});
}

TEST_F(Printing, OfOptionsOfStrategies) {
  EXPECT_EQ(text_of(StrategyOptions{}), "{}");
  EXPECT_EQ(text_of(CentralStorageOptions{}), "{}");
  const std::vector<DeviceSpec> devices = backend_.devices();
  const std::string devices_text = "{.devices = {belfry::DeviceSpec::parse(\"" + kCpu +
                                   "0\"), belfry::DeviceSpec::parse(\"" + kCpu + "1\")}";
  EXPECT_EQ(text_of(StrategyOptions{.devices = devices,
                                    .order = ReductionOrder::kTree,
                                    .cross_device_ops = std::make_shared<ReductionToOneDevice>(),
                                    .links = {{1}, {0, 1}},
                                    .log = [](const std::string&) {},
                                    .require_names = true,
                                    .report_overflow = true}),
            devices_text +
                ", .order = belfry::ReductionOrder::kTree, .cross_device_ops = "
                "\"to one device\", .links = {{1}, {0, 1}}, .log = \"a function\", "
                ".require_names = true, .report_overflow = true}");
  EXPECT_EQ(
      text_of(CentralStorageOptions{.devices = devices,
                                    .links = {{1}, {0}},
                                    .log = [](const std::string&) {},
                                    .storage = devices[1]}),
      devices_text +
          ", .links = {{1}, {0}}, .log = \"a function\", .storage = belfry::DeviceSpec::parse(\"" +
          kCpu + "1\")}");
}

TEST_F(Printing, OfDistributedValues) {
  EXPECT_EQ(text_of(PerReplica<double>{0.1, 2}), "PerReplica[0.1, 2]");
  EXPECT_EQ(text_of(PerReplica<int>::from({1, std::nullopt, 3})), "PerReplica[1, -, 3]");
  EXPECT_EQ(text_of(cross_.broadcast(7)), "Mirrored[7, 7]");
  EXPECT_EQ(text_of(cross_.broadcast(7, backend_.device_spec(1))),
            "MirroredOn[7] on " + kCpu + "1");
}

TEST_F(Printing, OfComponents) {
  using Text = std::string;
  EXPECT_EQ(text_of(one(Text("word"))), "PerReplica[word]");
  EXPECT_EQ(text_of(one(true)), "PerReplica[true]");
  EXPECT_EQ(text_of(one(std::uint8_t{65})), "PerReplica[65]");
  EXPECT_EQ(text_of(one(0.1F)), "PerReplica[0.1]");
  EXPECT_EQ(text_of(one(Float16(0.5F))), "PerReplica[0.5]");
  EXPECT_EQ(text_of(one(1e300)), "PerReplica[1e+300]");
  EXPECT_EQ(text_of(one(-std::numeric_limits<float>::infinity())), "PerReplica[-inf]");
  EXPECT_EQ(text_of(one(std::vector<float>{1, 0.25F})), "PerReplica[[1, 0.25]]");
  EXPECT_EQ(text_of(one(std::vector<bool>{true, false})), "PerReplica[[true, false]]");
  EXPECT_EQ(text_of(one(std::array<int, 2>{1, 2})), "PerReplica[[1, 2]]");
  EXPECT_EQ(text_of(one(std::tuple(1, Text("a"), 2.5))), "PerReplica[(1, a, 2.5)]");
  EXPECT_EQ(text_of(one(std::map<Text, int>{{"a", 1}, {"b", 2}})), "PerReplica[{a: 1, b: 2}]");
  EXPECT_EQ(text_of(one(std::optional<int>())), "PerReplica[none]");
  EXPECT_EQ(text_of(one(std::optional<int>(4))), "PerReplica[4]");
  EXPECT_EQ(text_of(one(elsewhere::Step{3, {1, 2}})), "PerReplica[{3, [1, 2]}]");
  EXPECT_EQ(text_of(one(elsewhere::Money{5})), "PerReplica[5ct]");
  EXPECT_EQ(text_of(one(elsewhere::Opaque())), "PerReplica[?]");
  EXPECT_EQ(text_of(one(PerReplica<int>{1})), "PerReplica[PerReplica[1]]");
}

// The flags of the stream change no number.
TEST_F(Printing, OfNumbersIgnoresTheFlagsOfAStream) {
  std::ostringstream out;
  out << std::hex << std::setprecision(2) << std::fixed << PerReplica<double>{1.0 / 3, 255}
      << PerReplica<int>{255};
  EXPECT_EQ(out.str(), "PerReplica[0.3333333333333333, 255]PerReplica[255]");
}

TEST_F(Printing, OfTensorsSaysShapeAndDeviceAlone) {
  const Placement place{&backend_, 1};
  EXPECT_EQ(text_of(place), kCpu + "1");
  EXPECT_EQ(text_of(Placement()), "no device");
  const auto tensor = Tensor<float>::full({2, 3}, 1, place);
  EXPECT_EQ(text_of(tensor), "float32[2,3] on " + kCpu + "1");
  EXPECT_EQ(text_of(tensor.any()), "float32[2,3] on " + kCpu + "1");
  EXPECT_EQ(text_of(Tensor<float>()), "a tensor without elements");
  EXPECT_EQ(text_of(one(tensor)), "PerReplica[float32[2,3] on " + kCpu + "1]");
  const auto slices =
      indexed_slices(tensor, Tensor<std::int64_t>::full({2}, 4, place), Shape{10, 3});
  EXPECT_EQ(text_of(slices), "rows int64[2] of [10,3], values float32[2,3] on " + kCpu + "1");
  EXPECT_EQ(text_of(LeafDescription{"[1]{w}", "float32[10]"}), "[1]{w} float32[10]");
}

TEST_F(Printing, OfVariablesSaysNameAndDevices) {
  const auto mirrored = strategy_.mirrored_variable(1.0, {.name = "w"});
  EXPECT_EQ(text_of(mirrored), "mirrored variable \"w\" on " + kCpu + "0 " + kCpu + "1");
  EXPECT_EQ(text_of(Variable<double>(mirrored)), text_of(mirrored));
  const auto local = strategy_.replica_local_variable(ReduceOp::kSum, 1, {.name = "n"});
  EXPECT_EQ(text_of(local), "replica-local variable \"n\" on " + kCpu + "0 " + kCpu + "1");
  EXPECT_EQ(text_of(MirroredVariable<int>()), "no variable");
}

TEST_F(Printing, OfFiles) {
  TensorFile file;
  EXPECT_EQ(text_of(file), "nothing");
  file.tensors["b"] = {DType::kFloat32, Shape{2}, {}};
  file.unsupported["a"] = {"F8_E4M3", Shape{4}, {}};
  file.notes["step"] = "7";
  EXPECT_EQ(text_of(file.tensors["b"]), "float32[2]");
  EXPECT_EQ(text_of(file.unsupported["a"]), "F8_E4M3[4]");
  EXPECT_EQ(text_of(file), "b float32[2], a F8_E4M3[4], step \"7\"");
}

TEST_F(Printing, OfStatistics) {
  StrategyStatistics statistics;
  statistics.runs = 2;
  statistics.merges = 6;
  statistics.updates = 4;
  statistics.reduction = {.reductions = 5, .host_leaves = 3, .tensor_leaves = 1, .bytes = 64};
  EXPECT_EQ(text_of(statistics),
            "runs 2, merges 6, updates 4, reductions 5, host leaves 3, tensor leaves 1, bytes 64");
  EXPECT_EQ(text_of(statistics.reduction),
            "reductions 5, host leaves 3, tensor leaves 1, bytes 64");
  EXPECT_EQ(text_of(MemoryUse{.live_bytes = 96, .peak_bytes = 128, .live_buffers = 2}),
            "96 bytes live in 2 buffers, 128 at the peak");
  EXPECT_EQ(text_of(MemoryUse{.limit_bytes = 4096}),
            "0 bytes live in 0 buffers, 0 at the peak, limit 4096");
}

}  // namespace
}  // namespace belfry::printing_test
