// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Makes a mistake for each error code that a program can meet, and prints the messages.
// docs/errors.md shows them. Calls stay on one line: their line is part of the message.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/sim/repeat.h>
#include <belfry/testing/compare_functions.h>
#include <belfry/tower.h>

#include <cstdint>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace belfry;
namespace {

int count(CrossReplicaContext& cross) { return cross.num_replicas(); }
int other(CrossReplicaContext& cross) { return -cross.num_replicas(); }

// Contexts.

void wrong_context(Strategy& strategy) {
  strategy.run([&](ReplicaContext&) { strategy.cross_replica().broadcast(1); });
}

void strategy_busy(Strategy& strategy) {
  std::exception_ptr seen;
  strategy.run([&](ReplicaContext& replica) {
    if (replica.replica_id() != 0) return;
    std::thread second([&] {
      try {
        strategy.run([](ReplicaContext&) {});
      } catch (...) {
        seen = std::current_exception();
      }
    });
    second.join();
  });
  std::rethrow_exception(seen);
}

void other_strategy(Strategy& strategy) {
  MirroredStrategy another{strategy.backend()};
  auto weight = another.mirrored_variable(1.0, {.name = "weight"});
  strategy.run([&](ReplicaContext& replica) { return weight.on(replica); });
}

void replica_threw(Strategy& strategy) {
  try {
    strategy.run([](ReplicaContext& replica) {
      if (replica.replica_id() == 1) throw std::runtime_error("bad label");
      replica.merge_call(count);
    });
  } catch (const std::runtime_error&) {
    std::cout << to_string(*strategy.last_failure()) << '\n';
  }
}

void merge_threw(Strategy& strategy) {
  const auto full = [](CrossReplicaContext&) { throw std::runtime_error("no room"); };
  try {
    strategy.run([&](ReplicaContext& replica) { replica.merge_call(full); });
  } catch (const std::runtime_error&) {
    std::cout << to_string(*strategy.last_failure()) << '\n';
  }
}

// A strategy of somebody's own.
class Forgetful final : public Strategy {
 public:
  explicit Forgetful(Backend& backend) : Strategy(backend, StrategyOptions{}, CallSite::here()) {}

 private:
  void do_update(ComponentWork& update) override { update.compute(0); }
};

void strategy_contract(Strategy& strategy) {
  Forgetful own{strategy.backend()};
  auto weight = own.mirrored_variable(1.0, {.name = "weight"});
  own.cross_replica().update(weight, [](double& component) { component += 1; });
}

// Merges.

void merge_missing(Strategy& strategy) {
  strategy.run([](ReplicaContext& replica) {
    if (replica.replica_id() != 1) replica.merge_call(count);
  });
}

void merge_places(Strategy& strategy) {
  strategy.run([](ReplicaContext& replica) {
    if (replica.replica_id() == 0) {
      replica.merge_call(count);
    } else {
      replica.merge_call(other);
    }
  });
}

void merge_kinds(Strategy& strategy) {
  strategy.run([](ReplicaContext& replica) {
    if (replica.replica_id() == 0) {
      replica.merge_call(count);
    } else {
      replica.all_reduce(ReduceOp::kSum, 1);
    }
  });
}

void merge_nested(Strategy& strategy) {
  strategy.run([](ReplicaContext& replica) {
    replica.merge_call([&](CrossReplicaContext&) { replica.merge_call(count); });
  });
}

void merge_unnamed(Strategy& strategy) {
  MirroredStrategy strict{strategy.backend(), {.require_names = true}};
  strict.run([](ReplicaContext& replica) {
    std::vector<double> gradients{1.0, 100.0};
    for (double& g : gradients) g = replica.all_reduce(ReduceOp::kSum, g);
  });
}

// Structures.

void structure(Strategy& strategy) {
  strategy.run([](ReplicaContext& replica) {
    const std::vector<float> mine(replica.replica_id() == 2 ? 4 : 3);
    return replica.all_reduce(ReduceOp::kSum, mine);
  });
}

void shape(Strategy& strategy) {
  const std::vector<float> values{1, 2, 3};
  strategy.run([&](ReplicaContext&) { Tensor<float>::from(Shape{2, 2}, values); });
}

void dtype(Strategy& strategy) {
  strategy.run([](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, true); });
}

// Arguments.

void invalid_argument(Strategy& strategy) {
  const auto ids = strategy.run([](ReplicaContext& replica) { return replica.replica_id(); });
  std::cout << ids[3];
}

void no_devices(Strategy&) { const sim::Backend none{{.devices = 0}}; }

void duplicate_device(Strategy& strategy) {
  const DeviceSpec first = strategy.devices()[0];
  const MirroredStrategy twice{strategy.backend(), {.devices = {first, first}}};
}

void unknown_device(Strategy& strategy) {
  const OneDeviceStrategy one{strategy.backend(), DeviceSpec::parse("/device:SIM:7")};
}

void device_string(Strategy&) { DeviceSpec::parse("/job:worker/task:x"); }

void integer_mean(Strategy& strategy) {
  strategy.run([](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kMean, 1); });
}

void sum_overflow(Strategy& strategy) {
  MirroredStrategy strict{strategy.backend(), {.report_overflow = true}};
  strict.run([](ReplicaContext& replica) {
    const auto seen = static_cast<std::uint8_t>(90 + replica.replica_id());
    return replica.all_reduce(ReduceOp::kSum, std::vector<std::uint8_t>{1, seen});
  });
}

void no_aggregation(Strategy& strategy) {
  auto step = strategy.mirrored_variable(0, {.name = "step"});
  strategy.run([&](ReplicaContext& replica) { replica.assign_add(step, 1); });
}

void destination(Strategy& strategy) {
  const std::vector<DeviceSpec> elsewhere{DeviceSpec::parse("/gpu:0")};
  strategy.cross_replica().update_non_slot(elsewhere, [] {});
}

// Variables.

void file_format(Strategy&) {
  TensorFile file;
  file.tensors["w"] = {DType::kUInt8, Shape({4}), std::vector<std::byte>(4)};
  std::string contents = file.contents();
  contents.pop_back();
  TensorFile::parse(contents, "model.safetensors");
}

void variable_mismatch(Strategy& strategy) {
  const Aggregation ways[] = {Aggregation::kSum, Aggregation::kMean, Aggregation::kSum};
  strategy.run([&](ReplicaContext& replica) {
    VariableOptions options{.name = "total", .aggregation = ways[replica.replica_id()]};
    strategy.mirrored_variable(0.0, options);
  });
}

void variable_empty(Strategy& strategy) {
  const MirroredVariable<double> nothing;
  strategy.read(nothing);
}

void mirrored_diverged(Strategy& strategy) {
  auto weight = strategy.mirrored_variable(0, {.name = "weight"});
  int calls = 0;
  strategy.cross_replica().update(weight, [&](int& component) { component = ++calls; });
}

// Devices.

void out_of_bounds(Strategy& strategy) {
  Device& device = device_of(strategy.placement(0));
  Stream& stream = device.compute_stream();
  BufferView view = view_of(device.allocate(8, stream), DType::kFloat32);
  view.count = 3;
  stream.launch({.kind = KernelKind::kFill, .outputs = {view}, .inputs = {}});
}

void out_of_memory(Strategy&) {
  sim::Backend small{{.devices = 1, .memory_limit_bytes = 1000}};
  MirroredStrategy strategy{small};
  strategy.run([](ReplicaContext&) { return Tensor<float>::zeros(Shape{16, 16}); });
}

void uninitialised(Strategy& strategy) {
  const auto raw = AnyTensor::allocate(DType::kFloat32, Shape{2}, strategy.placement(0));
  float values[2];
  raw.read(values);
}

void foreign_object(Strategy& strategy) {
  sim::Backend elsewhere{{.devices = 1}};
  strategy.run([&](ReplicaContext&) { Tensor<float>::zeros(Shape{2}).copy_to({&elsewhere, 0}); });
}

// Others.

struct Opaque {};

void unsupported(Strategy& strategy) {
  auto state = strategy.replica_local_variable(ReduceOp::kSum, Opaque{}, {.name = "state"});
  strategy.read(state);
}

void replay(Strategy&) { sim::Schedule::replay("bf1.AAAA"); }

void not_deterministic(Strategy&) {
  int runs = 0;
  const auto program = [&](sim::Backend& backend) {
    MirroredStrategy strategy{backend};
    const int rounds = ++runs;  // From outside the program: 1 the first time, then 2.
    strategy.run([&](ReplicaContext& replica) {
      for (int round = 0; round < rounds; ++round) replica.merge_call(count);
    });
  };
  sim::repeat_and_compare({.devices = 2}, program);
}

void sum_of_mirrored(Strategy& strategy) {
  tower::reduce(strategy, "sum", tower::broadcast(strategy, 1));
}

void captured_value(Strategy&) {
  belfry::testing::compare_functions({.devices = 3}, [](sim::Backend& backend) {
    MirroredStrategy strategy{backend};
    return strategy.run([](ReplicaContext& replica) {
      const double own = 1.0 + replica.replica_id();
      return replica.merge_call([own](CrossReplicaContext&) { return own; });
    });
  });
}

void file(Strategy&) { TensorFile().write("no/such/folder/model.safetensors"); }

struct Mistake {
  const char* code;
  void (*make)(Strategy&);
};

const Mistake kMistakes[] = {
    {"kWrongContext", wrong_context},
    {"kStrategyBusy", strategy_busy},
    {"kOtherStrategy", other_strategy},
    {"kReplicaThrew", replica_threw},
    {"kMergeThrew", merge_threw},
    {"kStrategyContract", strategy_contract},
    {"kMergeMissing", merge_missing},
    {"kMergePlaces", merge_places},
    {"kMergeKinds", merge_kinds},
    {"kMergeNested", merge_nested},
    {"kMergeUnnamed", merge_unnamed},
    {"kCapturedValue", captured_value},
    {"kStructure", structure},
    {"kShape", shape},
    {"kDType", dtype},
    {"kInvalidArgument", invalid_argument},
    {"kNoDevices", no_devices},
    {"kDuplicateDevice", duplicate_device},
    {"kUnknownDevice", unknown_device},
    {"kDeviceString", device_string},
    {"kIntegerMean", integer_mean},
    {"kSumOverflow", sum_overflow},
    {"kNoAggregation", no_aggregation},
    {"kSumOfMirrored", sum_of_mirrored},
    {"kDestination", destination},
    {"kFileFormat", file_format},
    {"kFile", file},
    {"kVariableMismatch", variable_mismatch},
    {"kVariableEmpty", variable_empty},
    {"kMirroredDiverged", mirrored_diverged},
    {"kOutOfMemory", out_of_memory},
    {"kOutOfBounds", out_of_bounds},
    {"kUninitialised", uninitialised},
    {"kForeignObject", foreign_object},
    {"kUnsupported", unsupported},
    {"kReplay", replay},
    {"kNotDeterministic", not_deterministic},
};

}  // namespace

int main() {
  sim::Backend backend{{.devices = 3}};
  MirroredStrategy strategy{backend};
  for (const Mistake& mistake : kMistakes) {
    std::cout << "== " << mistake.code << '\n';
    try {
      mistake.make(strategy);
    } catch (const Error& error) {
      std::cout << error.what() << '\n';
    }
    const auto alive =
        strategy.run([](ReplicaContext& replica) { return replica.merge_call(count); });
    if (alive[2] != 3) std::cout << "the strategy is broken\n";
  }
}
