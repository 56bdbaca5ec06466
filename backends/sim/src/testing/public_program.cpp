// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/public_program.h"

#include "belfry/belfry.h"
#include "belfry/launch.h"
#include "belfry/tensor_ops.h"
#include "testing/raw_program.h"

#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

namespace belfry::sim::testing {
namespace {

using Kind = PublicStep::Kind;

constexpr std::size_t kCells = 2;
constexpr std::size_t kShared = 2;
constexpr auto kFirstOfAll = static_cast<std::size_t>(Kind::kAllReduce);
constexpr auto kKinds = static_cast<std::size_t>(Kind::kKinds);

bool is_private(Kind kind) {
  return kind == Kind::kOwnSlot || kind == Kind::kReadCell || kind == Kind::kMultiply ||
         kind == Kind::kAddShared || kind == Kind::kReadOwn || kind == Kind::kLaunchOwn ||
         kind >= Kind::kAllReduce;
}

Kind draw_kind(RawNumbers& numbers, bool private_only, bool of_all) {
  for (;;) {
    const std::size_t number =
        of_all ? kFirstOfAll + numbers.below(kKinds - kFirstOfAll) : numbers.below(kFirstOfAll);
    const auto kind = static_cast<Kind>(number);
    if (kind == Kind::kThrow && numbers.below(4) != 0) continue;
    if (!private_only || is_private(kind)) return kind;
  }
}

struct Scale {
  float factor;
  void on_host(std::span<float> y) const {
    for (float& value : y) value *= factor;
  }
};

struct AddToCell {
  double* cell;
  double number;
  void on_host(std::span<float> y) const {
    *cell = 3 * *cell + number;
    for (float& value : y) value += 1;
  }
};

// The shared state of the replicas, and the state of each.
class State {
 public:
  State(const PublicProgram& program, Backend& backend, Strategy& strategy)
      : program_(program),
        strategy_(strategy),
        cells_(kCells, 1.0),
        slots_(static_cast<std::size_t>(program.replicas), 0.0),
        own_(slots_.size()),
        stream_(backend.device(0).create_stream()),
        raw_(view_of(backend.device(0).allocate(4, *stream_), DType::kFloat32)),
        total_(strategy.mirrored_variable([] { return 1.0; }, {.aggregation = Aggregation::kSum})) {
    for (std::size_t i = 0; i < kShared; ++i) {
      const int place = static_cast<int>(i) % program.replicas;
      shared_.push_back(
          Tensor<float>::full(Shape{2}, static_cast<float>(i) + 2.0F, strategy.placement(place)));
    }
    const float zero = 0;
    stream_->write(raw_, &zero);
    stream_->synchronize();
  }

  // Kernels may use the cells until their streams have no work.
  ~State() {
    for (int device = 0; device < program_.replicas; ++device) {
      try {
        strategy_.backend().device(device).compute_stream().synchronize();
      } catch (const Error&) {  // The failure of the program's work.
      }
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void take(ReplicaContext& replica, const PublicStep& step) {
    if (step.kind < Kind::kAllReduce) return take_alone(replica, step);
    take_together(replica, step);
  }

  std::vector<double> outcome() {
    std::vector<double> values = cells_;
    values.insert(values.end(), slots_.begin(), slots_.end());
    for (const Tensor<float>& tensor : shared_) values.push_back(tensor.to_host()[0]);
    for (const Tensor<float>& tensor : own_) {
      values.push_back(tensor.empty() ? -1.0 : static_cast<double>(tensor.to_host()[0]));
    }
    float raw = 0;
    stream_->read(&raw, raw_);
    values.push_back(raw);
    values.push_back(strategy_.read(total_));
    return values;
  }

 private:
  Tensor<float>& own(ReplicaContext& replica) {
    Tensor<float>& tensor = own_[static_cast<std::size_t>(replica.replica_id())];
    if (tensor.empty()) tensor = Tensor<float>::full(Shape{2}, 1.0F);
    return tensor;
  }

  void take_alone(ReplicaContext& replica, const PublicStep& step) {
    const auto id = static_cast<std::size_t>(replica.replica_id());
    const auto number = static_cast<float>(step.b + 2 + id);
    double& slot = slots_[id];
    double& cell = cells_[step.a % kCells];
    Tensor<float>& shared = shared_[step.a % kShared];
    switch (step.kind) {
      case Kind::kOwnSlot:
        slot += number;
        break;
      case Kind::kReadCell:
        slot = 3 * slot + cell;
        break;
      case Kind::kWriteCell:
        cell = 3 * cell + number;
        break;
      case Kind::kMultiply:
        own_[id] = multiply(own(replica), number);
        break;
      case Kind::kAddShared:
        own_[id] = add(own(replica), shared.copy_to(replica.placement()));
        break;
      case Kind::kScaleOwn:
        scale(own(replica), number);
        break;
      case Kind::kTakeHandle:
        own_[id] = shared.copy_to(replica.placement());
        break;
      case Kind::kScaleShared:
        scale(shared, number);
        break;
      case Kind::kAssignShared:
        shared = own(replica);
        break;
      case Kind::kReadOwn:
        slot = 5 * slot + own(replica).to_host()[1];
        break;
      case Kind::kRawWrite:
        stream_->write(raw_, &number);
        break;
      case Kind::kLaunchOwn:
        launch(Scale{number}, updates(own(replica)));
        break;
      case Kind::kLaunchCell:
        launch(AddToCell{&cell, number}, updates(own(replica)));
        break;
      default:
        throw std::runtime_error("thrown by a replica");
    }
  }

  void take_together(ReplicaContext& replica, const PublicStep& step) {
    const auto id = static_cast<std::size_t>(replica.replica_id());
    double& cell = cells_[step.a % kCells];
    switch (step.kind) {
      case Kind::kAllReduce:
        own_[id] = replica.all_reduce(ReduceOp::kSum, own(replica));
        break;
      case Kind::kMergeCell:
        replica.merge_call([&](CrossReplicaContext&) { cell = 2 * cell + slots_[0]; });
        break;
      case Kind::kMergeOwn:
        slots_[id] += replica.merge_call(
            [](CrossReplicaContext&, const PerReplica<double>& slots) {
              double sum = 0;
              for (const double slot : slots) sum = 2 * sum + slot;
              return sum;
            },
            slots_[id]);
        break;
      case Kind::kNestedRun:
        replica.merge_call([&](CrossReplicaContext&) {
          strategy_.run([&](ReplicaContext& inner) {
            const auto inner_id = static_cast<std::size_t>(inner.replica_id());
            slots_[inner_id] += 1 + static_cast<double>(inner_id);
          });
        });
        break;
      case Kind::kAssignAdd:
        replica.assign_add(total_, slots_[id]);
        break;
      default: {
        const auto made =
            strategy_.mirrored_variable([] { return Tensor<float>::full(Shape{2}, 7.0F); },
                                        {.name = "made", .aggregation = Aggregation::kMean});
        own_[id] = add(own(replica), made.on(replica).copy_to(replica.placement()));
        break;
      }
    }
  }

  const PublicProgram& program_;
  Strategy& strategy_;
  std::vector<double> cells_;
  std::vector<double> slots_;
  std::vector<Tensor<float>> shared_;
  std::vector<Tensor<float>> own_;
  std::unique_ptr<Stream> stream_;
  BufferView raw_;
  MirroredVariable<double> total_;
};

std::vector<double> run_with(const PublicProgram& program, Backend& backend, Strategy& strategy) {
  State state(program, backend, strategy);
  strategy.run([&](ReplicaContext& replica) {
    const auto id = static_cast<std::size_t>(replica.replica_id());
    for (const PublicStep& step : program.steps[id]) state.take(replica, step);
  });
  return state.outcome();
}

}  // namespace

PublicProgram PublicProgram::draw(std::uint64_t seed, std::size_t positions) {
  RawNumbers numbers(seed);
  PublicProgram program;
  program.replicas = 2 + static_cast<int>(numbers.below(3));
  program.central = numbers.below(4) == 0;
  program.is_private = numbers.below(2) == 0;
  program.steps.resize(static_cast<std::size_t>(program.replicas));
  for (std::size_t position = 0; position < positions; ++position) {
    const bool of_all = numbers.below(3) == 0;
    PublicStep step{draw_kind(numbers, program.is_private, of_all), numbers.below(2),
                    numbers.below(3)};
    for (auto& steps : program.steps) {
      if (!of_all) step.kind = draw_kind(numbers, program.is_private, false);
      if (!of_all) step.a = numbers.below(2);
      steps.push_back(step);
    }
  }
  return program;
}

std::string to_string(const PublicProgram& program) {
  std::string text = program.central ? "central" : "mirrored";
  for (const auto& steps : program.steps) {
    text += "\n ";
    for (const PublicStep& step : steps) {
      text += ' ' + std::to_string(static_cast<int>(step.kind)) + '(' + std::to_string(step.a) +
              ',' + std::to_string(step.b) + ')';
    }
  }
  return text;
}

std::vector<double> run(const PublicProgram& program, Backend& backend) {
  if (program.central) {
    CentralStorageStrategy strategy{backend};
    return run_with(program, backend, strategy);
  }
  MirroredStrategy strategy{backend};
  return run_with(program, backend, strategy);
}

}  // namespace belfry::sim::testing
