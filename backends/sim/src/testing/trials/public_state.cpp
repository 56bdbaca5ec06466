// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/trials/public_state.h"

#include "belfry/launch.h"
#include "belfry/tensor_ops.h"

#include <span>
#include <stdexcept>

namespace belfry::sim::testing {
namespace {

using Kind = PublicStep::Kind;

struct Scale {
  float factor;
  void on_host(std::span<float> y) const {
    for (float& value : y) value *= factor;
  }
};

// Writes a new tensor from two.
struct Mix {
  float factor;
  void on_host(std::span<float> z, std::span<const float> x, std::span<const float> y) const {
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = factor * x[i] + y[i];
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

std::size_t id_of(const ReplicaContext& replica) {
  return static_cast<std::size_t>(replica.replica_id());
}

// A number that differs between replicas.
float number_of(const ReplicaContext& replica, const PublicStep& step) {
  return static_cast<float>(step.b + 2 + id_of(replica));
}

}  // namespace

PublicState::PublicState(const PublicProgram& program, Backend& backend, Strategy& strategy)
    : program_(program),
      strategy_(strategy),
      cells_(kCells, 1.0),
      slots_(static_cast<std::size_t>(program.replicas), 0.0),
      own_(slots_.size()),
      stream_(backend.device(0).create_stream()),
      raw_(view_of(backend.device(0).allocate(4, *stream_), DType::kFloat32)),
      total_(strategy.mirrored_variable([] { return 1.0; }, {.aggregation = Aggregation::kSum})),
      local_(strategy.replica_local_variable(ReduceOp::kSum, [] { return 0.0; })),
      mesh_(strategy.mesh({{"x", program.replicas == 4 ? 2 : program.replicas},
                           {"y", program.replicas == 4 ? 2 : 1}})) {
  if (program.has(Kind::kSharded)) {
    std::vector<float> rows;
    for (int i = 0; i <= program.replicas; ++i) rows.push_back(static_cast<float>(i + 1));
    const auto whole = [&] { return Tensor<float>::from({program.replicas + 1}, rows); };
    rows_ = strategy.sharded_variable(whole, Axis(0));
  }
  for (std::size_t i = 0; i < kShared; ++i) {
    const int place = static_cast<int>(i) % program.replicas;
    shared_.push_back(
        Tensor<float>::full(Shape{2}, static_cast<float>(i) + 2.0F, strategy.placement(place)));
  }
  const float zero = 0;
  stream_->write(raw_, &zero);
  stream_->synchronize();
}

PublicState::~PublicState() {
  try {
    wait_for_work();
  } catch (const Error&) {  // The failure of the program's work.
  }
}

void PublicState::wait_for_work() {
  for (int device = 0; device < program_.replicas; ++device) {
    strategy_.backend().device(device).compute_stream().synchronize();
  }
}

Tensor<float>& PublicState::own(const ReplicaContext& replica) {
  Tensor<float>& tensor = own_[id_of(replica)];
  if (tensor.empty()) tensor = Tensor<float>::full(Shape{2}, 1.0F);
  return tensor;
}

Placement PublicState::neighbour(const ReplicaContext& replica) const {
  return strategy_.placement((replica.replica_id() + 1) % program_.replicas);
}

void PublicState::take(ReplicaContext& replica, const PublicStep& step) {
  if (is_together(step.kind)) return take_together(replica, step);
  switch (step.kind) {
    case Kind::kLaunchOwn:
    case Kind::kLaunchMix:
    case Kind::kLaunchCell:
      return launch_kernel(replica, step);
    case Kind::kOwnSlot:
    case Kind::kReadCell:
    case Kind::kWriteCell:
    case Kind::kReadTotal:
    case Kind::kAddLocal:
      return take_on_host(replica, step);
    case Kind::kThrow:
      throw std::runtime_error("thrown by a replica");
    default:
      return take_with_tensors(replica, step);
  }
}

void PublicState::take_on_host(ReplicaContext& replica, const PublicStep& step) {
  double& slot = slots_[id_of(replica)];
  double& cell = cells_[step.a % kCells];
  switch (step.kind) {
    case Kind::kReadCell:
      slot = 3 * slot + cell;
      return;
    case Kind::kWriteCell:
      cell = 3 * cell + number_of(replica, step);
      return;
    case Kind::kReadTotal: {
      const double total = total_.on(replica);
      slot = 7 * slot + total;
      return;
    }
    case Kind::kAddLocal:
      local_.on(replica) += number_of(replica, step);
      return;
    default:
      slot += number_of(replica, step);
  }
}

void PublicState::take_with_tensors(ReplicaContext& replica, const PublicStep& step) {
  const float number = number_of(replica, step);
  Tensor<float>& mine = own(replica);
  Tensor<float>& shared = shared_[step.a % kShared];
  switch (step.kind) {
    case Kind::kMultiply:
      mine = multiply(mine, number);
      return;
    case Kind::kAddShared:
      mine = add(mine, shared.copy_to(replica.placement()));
      return;
    case Kind::kScaleOwn:
      scale(mine, number);
      return;
    case Kind::kTakeHandle:
      mine = shared.copy_to(replica.placement());
      return;
    case Kind::kScaleShared:
      scale(shared, number);
      return;
    case Kind::kAssignShared:
      shared = mine;
      return;
    case Kind::kCopyAcross: {
      Tensor<float> there = mine.copy_to(neighbour(replica));
      scale(there, number);
      mine = there.copy_to(replica.placement());
      return;
    }
    case Kind::kRawWrite:
      stream_->write(raw_, &number);
      return;
    default:
      slots_[id_of(replica)] *= 5;
      slots_[id_of(replica)] += static_cast<double>(mine.to_host()[1]);
  }
}

void PublicState::launch_kernel(ReplicaContext& replica, const PublicStep& step) {
  const float number = number_of(replica, step);
  Tensor<float>& mine = own(replica);
  if (step.kind == Kind::kLaunchOwn) return launch(Scale{number}, updates(mine));
  if (step.kind == Kind::kLaunchCell) {
    return launch(AddToCell{&cells_[step.a % kCells], number}, updates(mine));
  }
  const Tensor<float> here = shared_[step.a % kShared].copy_to(replica.placement());
  auto mixed = Tensor<float>::uninitialised(Shape{2});
  launch(Mix{number}, writes(mixed), reads(mine), reads(here));
  mine = mixed;
}

std::vector<double> PublicState::values() {
  wait_for_work();  // Kernels write cells.
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
  values.push_back(strategy_.read(local_));
  if (program_.has(Kind::kSharded)) {
    for (const float row : strategy_.read(rows_).to_host()) values.push_back(row);
  }
  return values;
}

}  // namespace belfry::sim::testing
