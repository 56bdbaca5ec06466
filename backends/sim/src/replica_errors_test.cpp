// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Errors of belfry in replicas, one for each code that a replica can meet: every error that leaves
// `run` names the replica, the line of the mistake and, if there is one, the variable or leaf.
#include "belfry/belfry.h"
#include "belfry/scatter.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_file.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "belfry/vjp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::sim::replica_errors_test {
namespace {

using ::testing::HasSubstr;

constexpr CallSite kHere{"train.cc", 11};
constexpr CallSite kThere{"train.cc", 22};

// Two replicas, and a replica makes the mistake.
struct World {
  Backend backend{{.devices = 2, .memory_limit_bytes = 1 << 20}};
  Backend other{{.devices = 2}};
  MirroredStrategy strategy{backend};
  MirroredStrategy another{other};
  MirroredVariable<double> weight = strategy.mirrored_variable(1.0, {.name = "weight"});
  MirroredVariable<double> foreign = another.mirrored_variable(1.0, {.name = "foreign"});
  ReplicaLocalVariable<std::pair<double, bool>> flags = strategy.replica_local_variable(
      Aggregation::kOnlyFirst, std::pair(1.0, true), {.name = "flags"});
  ReplicaLocalVariable<Tensor<float>> rows = strategy.replica_local_variable(
      ReduceOp::kSum, [] { return Tensor<float>::zeros({2, 1}); }, {.name = "rows"});
};

// In place of a text with the number of the replica's device.
const std::string kOwnDevice = "device ";

struct Mistake {
  ErrorCode code;
  std::function<void(World&, ReplicaContext&)> make;
  std::string subject{};  // The variable, leaf or device in the text.
};

void read_bad_row(ReplicaContext&) {
  const auto table = Tensor<float>::from({2, 1}, {1, 2}, kThere);
  const auto index = Tensor<std::int32_t>::from({1}, {7}, kThere);
  gather_rows(table, index, kHere).to_host(kThere);
}

void use_indices_of_nothing(ReplicaContext& replica) {
  float bytes = 0;
  AnyTensor::allocate(DType::kFloat32, {1}, replica.placement()).read(&bytes, kHere);
}

// Mistakes of a single replica. The error names this replica and train.cc:11.
std::vector<Mistake> mistakes_of_one() {
  using enum ErrorCode;
  return {
      {kWrongContext, [](World& w, auto&) { w.strategy.cross_replica().broadcast(1, kHere); }},
      {kOtherStrategy, [](World& w, auto& r) { w.foreign.on(r, kHere); }, "foreign"},
      {kShape, [](World&, auto&) { Tensor<float>::from({3}, {1.0F}, kHere); }, "[3]"},
      {kShape, [](World&, auto&) { Tensor<float>::zeros({2}).reshaped({3}, kHere); }, "[3]"},
      {kShape,
       [](World&, auto&) { add(Tensor<float>::zeros({2}), Tensor<float>::zeros({3}), kHere); },
       "[3]"},
      {kDType, [](World& w, auto& r) { r.assign_add(w.flags, std::pair(1.0, true), kHere); },
       "bool values of flags cannot be added or subtracted at leaf 1"},
      {kInvalidArgument, [](World&, auto& r) { Tensor<float>().copy_to(r.placement(), kHere); }},
      {kInvalidArgument, [](World&, auto&) { add(Tensor<float>(), Tensor<float>(), kHere); }},
      {kInvalidArgument, [](World& w, auto&) { w.strategy.placement(9, kHere); }, "replica 9"},
      {kUnknownDevice,
       [](World& w, auto&) { Tensor<float>::full({1}, 1.0F, {&w.backend, 7}, kHere); }, "device 7"},
      {kUnknownDevice, [](World&, auto&) { Tensor<float>::full({1}, 1.0F, Placement{}, kHere); }},
      {kUnknownDevice,
       [](World& w, auto&) { w.backend.index_of(DeviceSpec::parse("/gpu:0"), kHere); }, "GPU:0"},
      {kDeviceString, [](World&, auto&) { DeviceSpec::parse("/job:", kHere); }},
      {kNoAggregation, [](World& w, auto& r) { r.assign(w.weight, 2.0, kHere); }, "weight"},
      {kFileFormat, [](World&, auto&) { TensorFile::parse("no file", "model", kHere); }, "model"},
      {kFile, [](World&, auto&) { TensorFile().write("no/such/folder/model", kHere); }, "model"},
      {kVariableEmpty, [](World&, auto& r) { MirroredVariable<int>().on(r, kHere); }},
      {kOutOfMemory, [](World&, auto&) { Tensor<float>::zeros({1 << 20}, kHere); }, kOwnDevice},
      {kOutOfMemory, [](World&, auto&) { Tensor<float>::zeros({1 << 30, 1 << 30}, kHere); }},
      {kOutOfBounds, [](World&, auto& r) { read_bad_row(r); }, "indices[0] is 7"},
      {kUninitialised, [](World&, auto& r) { use_indices_of_nothing(r); }, kOwnDevice},
      {kForeignObject,
       [](World& w, auto&) { Tensor<float>::zeros({1}).copy_to({&w.other, 0}, kHere); }},
      {kUnsupported,
       [](World& w, auto& r) {
         const IndexedSlices<float> slices{Tensor<float>::zeros({1, 1}),
                                           Tensor<std::int64_t>::zeros({1}), Shape{2, 1}};
         scatter(r, ScatterOp::kAdd, w.rows, slices, kHere);
       },
       "rows"},
      {kReplay, [](World&, auto&) { Schedule::replay("bf2.", kHere); }},
      {kWrongContext, [](World& w, auto&) { w.strategy.configure({}, kHere); }, "configure"},
      {kOutOfMemory,
       [](World&, auto&) {
         const std::vector<float> many(1 << 20);
         Tensor<float>::from({1 << 20}, many, kHere);
       },
       kOwnDevice},
  };
}

// The error of a run in which each replica calls `body`.
std::optional<ErrorReport> failure_of(World& world,
                                      const std::function<void(ReplicaContext&)>& body) {
  try {
    world.strategy.run(body);
    ADD_FAILURE() << "nothing was thrown";
    return std::nullopt;
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.report()), error.what());
    return error.report();
  }
}

TEST(ReplicaErrors, OfOneReplicaNameTheReplicaTheLineAndTheSubject) {
  belfry::testing::asserts("SEM-6");
  belfry::testing::at_each_place(2, [](int odd) {
    for (const Mistake& mistake : mistakes_of_one()) {
      World world;
      const auto report = failure_of(world, [&](ReplicaContext& replica) {
        if (replica.replica_id() == odd) mistake.make(world, replica);
      });
      if (!report) continue;
      const std::string number = std::to_string(odd);
      const std::string text = to_string(*report);
      SCOPED_TRACE(text);
      EXPECT_EQ(report->code, mistake.code);
      ASSERT_EQ(report->replicas.size(), 1U);
      EXPECT_EQ(report->replicas[0].replica_id, odd);
      EXPECT_TRUE(same_place(report->replicas[0].site, kHere));
      EXPECT_THAT(text, HasSubstr("\n  replica " + number + "  train.cc:11  "));
      const bool is_own_device = mistake.subject == kOwnDevice;
      EXPECT_THAT(text, HasSubstr(mistake.subject + (is_own_device ? number : "")));
    }
  });
}

// Merges that do not belong together: each replica has a place.
std::vector<Mistake> mistakes_of_all() {
  using enum ErrorCode;
  const auto any = [](CrossReplicaContext&, const auto&) {};
  const auto nothing = [](CrossReplicaContext&) {};
  return {
      {kMergeMissing,
       [=](World&, auto& r) {
         if (r.replica_id() == 0) r.all_reduce(ReduceOp::kSum, 1, kHere);
       }},
      {kMergePlaces,
       [=](World&, auto& r) {
         r.all_reduce(ReduceOp::kSum, 1, r.replica_id() == 0 ? kHere : kThere);
       }},
      {kMergeKinds,
       [=](World&, auto& r) {
         if (r.replica_id() == 0) return static_cast<void>(r.all_reduce(ReduceOp::kSum, 1, kHere));
         r.merge_call(nothing, kHere);
       }},
      {kMergeTypes,
       [=](World&, auto& r) {
         if (r.replica_id() == 0) return r.merge_call(any, 1, kHere);
         r.merge_call(any, 1.0, kHere);
       }},
      {kMergeNested,
       [=](World&, auto& r) {
         r.merge_call([&r](CrossReplicaContext&) { r.all_reduce(ReduceOp::kSum, 1, kHere); },
                      kHere);
       }},
  };
}

using Pair = std::pair<double, int>;

// A mistake in a merge of a value that has leaves of both kinds.
template <class T>
T example() {
  if constexpr (std::is_same_v<T, Pair>) {
    return {1.0, 2};
  } else if constexpr (std::is_same_v<T, std::vector<Pair>>) {
    return {{1.0, 2}, {3.0, 4}};
  } else {
    return {{"w", {1.0, 2}}};
  }
}
template <class T>
Mistake in_a_merge(ErrorCode code, auto make, std::string subject) {
  const auto body = [make](World&, ReplicaContext& replica) {
    const auto merged = [make](CrossReplicaContext& cross, const PerReplica<T>& values) {
      make(cross, values);
    };
    replica.merge_call(merged, example<T>(), kHere);
  };
  return {code, body, std::move(subject)};
}

// Mistakes in values that meet, and in merge functions.
std::vector<Mistake> mistakes_in_merges() {
  using enum ErrorCode;
  return {
      {kStructure,
       [=](World&, auto& r) {
         r.all_reduce(ReduceOp::kSum, std::pair(1, std::vector<int>(r.replica_id() + 1U)), kHere);
       },
       "at [1]"},
      {kIntegerMean,
       [=](World&, auto& r) { r.all_reduce(ReduceOp::kMean, std::pair(1.0, 3), kHere); },
       "MEAN over int32 would lose the remainder at leaf 1[1]"},
      {kDType,
       [=](World&, auto& r) {
         r.all_reduce(ReduceOp::kSum, std::pair(std::pair(1.0, 2.0F), true), kHere);
       },
       "bool values cannot be reduced at leaf 2[1]"},
      {kIntegerMean,
       [=](World&, auto& r) {
         r.merge_call(
             [](CrossReplicaContext& cross, const PerReplica<std::pair<double, int>>& pairs) {
               cross.reduce(ReduceOp::kMean, pairs, kHere);
             },
             std::pair(1.0, 2), kHere);
       },
       "at leaf 1[1]"},
      {kMirroredDiverged,
       [=](World& w, auto& r) {
         r.merge_call(
             [&w](CrossReplicaContext& cross) {
               double next = 0;
               cross.update(w.weight, [&](double& x) { x = ++next; }, kHere);
             },
             kHere);
       },
       "weight"},
      {kNoDevices,
       [=](World&, auto& r) {
         r.merge_call([](CrossReplicaContext& cross) { cross.update_non_slot({}, [] {}, kHere); },
                      kHere);
       }},
      {kOutOfBounds,
       [=](World&, auto& r) {
         const auto rows = gather_rows(Tensor<float>::zeros({2, 1}),
                                       Tensor<std::int32_t>::full({1}, 6 + r.replica_id()), kHere);
         r.merge_call(
             [](CrossReplicaContext&, const PerReplica<Tensor<float>>& all) { all[1].to_host(); },
             rows, kThere);
       },
       "indices[0] is 7"},
  };
}

// Refused values among others: in batches, and in reductions of lists.
std::vector<Mistake> mistakes_in_batches() {
  using enum ErrorCode;
  return {
      in_a_merge<Pair>(
          kIntegerMean,
          [](auto& cross, const auto& pairs) {
            cross.batch_reduce(ReduceOp::kMean, PerReplica<double>{1.0, 2.0}, pairs, kHere);
          },
          "MEAN over int32 would lose the remainder at leaf 1[1] in value 1 of the batch"),
      in_a_merge<std::map<std::string, Pair>>(
          kIntegerMean,
          [](auto& cross, const auto& maps) {
            const std::pair placed(maps, std::string("/device:SIM:0"));
            cross.batch_reduce(ReduceOp::kMean, std::vector{placed, placed}, kHere);
          },
          "at leaf 1{w}[1] in value 0 of the batch"),
      in_a_merge<Pair>(
          kDType,
          [](auto& cross, const auto& pairs) {
            cross.batch_reduce(ReduceOp::kSum, pairs, PerReplica<bool>{true, true}, kHere);
          },
          "bool values cannot be reduced in value 1 of the batch"),
      in_a_merge<Pair>(
          kStructure,
          [](auto& cross, const auto& pairs) {
            const PerReplica<std::vector<int>> lists{{1}, {1, 2}};
            cross.batch_reduce(ReduceOp::kSum, pairs, lists, kHere);
          },
          "cannot be combined in value 1 of the batch"),
      in_a_merge<std::vector<Pair>>(
          kIntegerMean,
          [](auto& cross, const auto& lists) {
            cross.reduce_mapped(ReduceOp::kMean, lists, kHere);
          },
          "MEAN over int32 would lose the remainder at leaf 1[1] of every element"),
      in_a_merge<Pair>(
          kIntegerMean,
          [](auto& cross, const auto&) { reduce_vjp(cross, ReduceOp::kMean, Pair(), kHere); },
          "at leaf 1[1]"),
  };
}

TEST(ReplicaErrors, OfAMergeNameReplicasAndLines) {
  belfry::testing::asserts("SEM-6");
  std::vector<Mistake> mistakes = mistakes_of_all();
  for (Mistake& mistake : mistakes_in_merges()) mistakes.push_back(std::move(mistake));
  for (Mistake& mistake : mistakes_in_batches()) mistakes.push_back(std::move(mistake));
  for (const Mistake& mistake : mistakes) {
    World world;
    const auto report =
        failure_of(world, [&](ReplicaContext& replica) { mistake.make(world, replica); });
    if (!report) continue;
    const std::string text = to_string(*report);
    SCOPED_TRACE(text);
    EXPECT_EQ(report->code, mistake.code);
    EXPECT_FALSE(report->replicas.empty());
    EXPECT_TRUE(std::ranges::any_of(report->replicas, [](const ReplicaReport& replica) {
      return same_place(replica.site, kHere);
    }));
    EXPECT_THAT(text, HasSubstr("  replica"));
    EXPECT_THAT(text, HasSubstr("train.cc:11"));
    EXPECT_THAT(text, HasSubstr(mistake.subject));
  }
}

// The replica that gave the work to a device is at fault, whoever waits for the result.
TEST(ReplicaErrors, OfADeviceNameTheReplicaThatLaunchedTheWork) {
  belfry::testing::asserts("SEM-74");
  belfry::testing::at_each_place(2, [](int odd) {
    World world;
    std::vector<Tensor<float>> rows(2);
    world.strategy.run([&](ReplicaContext& replica) {
      const int index = replica.replica_id() == odd ? 7 : 0;
      rows[static_cast<std::size_t>(replica.replica_id())] =
          gather_rows(Tensor<float>::zeros({2, 1}), Tensor<std::int32_t>::full({1}, index), kHere);
    });
    try {
      rows[static_cast<std::size_t>(odd)].to_host(kThere);
      FAIL() << "nothing was thrown";
    } catch (const DeviceError& error) {
      EXPECT_EQ(std::string(error.what()),
                "BF-061 gather_rows: indices[0] is 7, and the table has 2 rows\n"
                "  at train.cc:11\n"
                "  replica " +
                    std::to_string(odd) +
                    "  train.cc:11  launched this work\n"
                    "  hint: check the indices, labels perhaps, against the number of rows");
    }
  });
}

// Calls of the backend interface have no site.
TEST(ReplicaErrors, WithoutAPlaceOfTheirOwnHaveTheLastMerge) {
  belfry::testing::at_each_place(2, [](int odd) {
    World world;
    const auto report = failure_of(world, [&](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, 1, kHere);
      if (replica.replica_id() == odd) world.backend.device(5);
    });
    ASSERT_TRUE(report);
    EXPECT_THAT(to_string(*report), HasSubstr("\n  replica " + std::to_string(odd) +
                                              "  train.cc:11  threw this after merge #1"));
  });
}

TEST(ReplicaErrors, WithoutAnyPlaceHaveTheCallOfRun) {
  World world;
  try {
    world.strategy.run_at(kThere, [&](ReplicaContext&) { world.backend.device(5); });
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "BF-033 device 5 of a backend with 2 devices\n"
                 "  at train.cc:22\n"
                 "  replica 0  threw this before its first merge\n"
                 "  hint: devices are numbered from 0");
  }
}

// The parts of a whole are 80 bytes; and device 1, which gets the copy, is full.
TEST(ReplicaErrors, OfFirstValuesNameTheLineOfTheVariable) {
  Backend backend{{.devices = 2, .memory_limit_bytes = 64}};
  MirroredStrategy strategy{backend};
  const auto text_of = [](const auto& make) -> std::string {
    try {
      make();
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(text_of([&] {
                const auto zeros = [] { return Tensor<float>::zeros({40}, kThere); };
                strategy.sharded_variable(zeros, Axis(0), {}, kHere);
              }),
              HasSubstr("80 bytes asked for, 0 in use by 0 buffers, limit 64\n  at train.cc:11"));
  const auto full = Tensor<float>::full({16}, 1.0F, strategy.placement(1));
  EXPECT_THAT(text_of([&] {
                const auto zero = [] { return Tensor<float>::zeros({1}, kThere); };
                strategy.mirrored_variable(zero, {}, kHere);
              }),
              HasSubstr("on device 1: 4 bytes asked for, 64 in use by 1 buffers, limit 64\n  at "
                        "train.cc:11"));
}

}  // namespace
}  // namespace belfry::sim::replica_errors_test
