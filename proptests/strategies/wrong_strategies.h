// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/dtype.h"
#include "belfry/strategy.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

// Strategies with one mistake each, as a user might write them: the contracts must notice.
namespace belfry::testing {

/// Base of most strategies: the defaults of `Strategy` on the requested devices.
class Mistaken : public Strategy {
 public:
  Mistaken(Backend& backend, const StrategyOptions& options)
      : Strategy(backend, options, CallSite::here()) {}
};

/// Calls `visit` with each leaf that a reduction gives to the replicas.
template <class Visit>
void for_each_result(const ReduceCall& call, const Visit& visit) {
  for (const std::vector<LeafRef>& part : call.parts) {
    for (const LeafRef& leaf : part) visit(leaf);
    if (!call.everywhere) return;
  }
}

inline AnyTensor zeros_like(const AnyTensor& tensor, const Placement& place) {
  const std::vector<std::byte> zeros(tensor.bytes());
  return AnyTensor::from_host(tensor.dtype(), tensor.shape(), zeros.data(), place);
}

/// Multiplies means of host floats.
inline void scale_host_means(const ReduceCall& call, float factor) {
  if (call.op != ReduceOp::kMean) return;
  for_each_result(call, [factor](const LeafRef& leaf) {
    if (leaf.tensor != nullptr || leaf.dtype != DType::kFloat32) return;
    auto* values = static_cast<float*>(leaf.data);
    for (std::size_t i = 0; i < leaf.count; ++i) values[i] *= factor;
  });
}

/// The parts of a reduction, with zeros in the last replica's.
inline std::vector<std::vector<LeafRef>> without_the_last(const ReduceCall& call) {
  std::vector<std::vector<LeafRef>> some(call.parts.begin(), call.parts.end());
  if (some.size() == 1) return some;
  for (const LeafRef& leaf : some.back()) {
    if (leaf.tensor == nullptr) {
      std::fill_n(static_cast<std::byte*>(leaf.data), leaf.bytes(), std::byte{});
    } else {
      *leaf.tensor = zeros_like(*leaf.tensor, leaf.tensor->placement());
    }
  }
  return some;
}

/// The last replica's values never enter a reduction.
struct ForgetfulReduce final : Mistaken {
  using Mistaken::Mistaken;
  void do_reduce(const ReduceCall& call) override {
    // The last replica gets the result of the others.
    std::vector<std::vector<LeafRef>> some = without_the_last(call);
    Strategy::do_reduce({call.op, some, call.everywhere, call.present});
  }
};

/// Divides MEAN of host values by the number of replicas plus 1.
struct WrongMean final : Mistaken {
  using Mistaken::Mistaken;
  void do_reduce(const ReduceCall& call) override {
    Strategy::do_reduce(call);
    const auto replicas = static_cast<float>(call.parts.size());
    scale_host_means(call, replicas / (replicas + 1));
  }
};

/// Adds up the factors of products.
struct AddsFactors final : Mistaken {
  using Mistaken::Mistaken;
  void do_reduce(const ReduceCall& call) override {
    const ReduceOp op = call.op == ReduceOp::kProd ? ReduceOp::kSum : call.op;
    Strategy::do_reduce({op, call.parts, call.everywhere, call.present});
  }
};

/// MAX of host floats by comparisons, which are false for NaN.
struct DropsNan final : Mistaken {
  using Mistaken::Mistaken;
  void do_reduce(const ReduceCall& call) override {
    for (const std::vector<LeafRef>& part : call.parts) {
      for (const LeafRef& leaf : part) {
        if (call.op != ReduceOp::kMax || leaf.tensor != nullptr || leaf.dtype != DType::kFloat32) {
          continue;
        }
        auto* values = static_cast<float*>(leaf.data);
        std::replace_if(
            values, values + leaf.count, [](float x) { return std::isnan(x); },
            std::numeric_limits<float>::lowest());
      }
    }
    Strategy::do_reduce(call);
  }
};

/// Divides MEAN of host values by the number of all replicas, including replicas without values.
struct CountsTheAbsent final : Mistaken {
  using Mistaken::Mistaken;
  void do_reduce(const ReduceCall& call) override {
    Strategy::do_reduce(call);
    scale_host_means(call,
                     static_cast<float>(call.parts.size()) / static_cast<float>(num_replicas()));
  }
};

/// Rounds the terms of sums to bfloat16. No mistake, but not exact.
struct SendsBFloat16 final : Mistaken {
  using Mistaken::Mistaken;
  void do_reduce(const ReduceCall& call) override {
    for (const std::vector<LeafRef>& part : call.parts) {
      for (const LeafRef& leaf : part) {
        if (leaf.dtype != DType::kFloat32) continue;
        std::vector<float> values(leaf.count);
        auto* data = leaf.tensor == nullptr ? static_cast<float*>(leaf.data) : values.data();
        if (leaf.tensor != nullptr && leaf.count > 0) leaf.tensor->read(data);
        for (std::size_t i = 0; i < leaf.count; ++i)
          data[i] = static_cast<float>(BFloat16(data[i]));
        if (leaf.tensor == nullptr) continue;
        *leaf.tensor =
            AnyTensor::from_host(leaf.dtype, leaf.tensor->shape(), data, leaf.tensor->placement());
      }
    }
    Strategy::do_reduce(call);
  }
};

/// The last device keeps the tensor of its first broadcast.
struct StaleBroadcast final : Mistaken {
  using Mistaken::Mistaken;
  std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                      std::span<const Placement> targets) override {
    std::vector<AnyTensor> copies = Strategy::do_broadcast(source, targets);
    if (targets.empty()) return copies;
    const bool fits = !first_.empty() && first_.shape() == source.shape() &&
                      first_.dtype() == source.dtype() && first_.placement() == targets.back();
    if (fits) copies.back() = first_;
    if (first_.empty()) first_ = copies.back();
    return copies;
  }

  AnyTensor first_{};
};

/// Every component asks the initialiser for itself.
struct InitialiserEverywhere final : Mistaken {
  using Mistaken::Mistaken;
  void do_initialise(ComponentWork& variable) override {
    for (int i = 0; i < variable.size(); ++i) variable.compute(i);
  }
};

/// Updates pass the last component over.
struct SkippingUpdate final : Mistaken {
  using Mistaken::Mistaken;
  void do_update(ComponentWork& update) override {
    for (int i = 0; i + 1 < update.size(); ++i) update.compute(i);
    if (update.size() == 1) update.compute(0);
  }
};

/// Merges again, to be sure.
struct MergeTwice final : Mistaken {
  using Mistaken::Mistaken;
  void do_merge(StrategyStep& merge) override {
    merge.carry_out();
    merge.carry_out();
  }
};

/// The second run finds the strategy tired.
struct RunOnce final : Mistaken {
  using Mistaken::Mistaken;
  void do_run(StrategyStep& replicas) override {
    if (!replicas.nested() && tired_) return;
    tired_ = true;
    replicas.carry_out();
  }

  bool tired_ = false;
};

/// Names the first device as the place of variables, and places variables on the last.
struct MovingVariables final : Mistaken {
  using Mistaken::Mistaken;
  VariablePlaces do_place(Synchronization kind) const override {
    if (kind == Synchronization::kOnRead) return Strategy::do_place(kind);
    const std::vector<int>& devices = replica_devices();
    return VariablePlaces::in_one_place(++calls_ % 2 == 0 ? devices.front() : devices.back(),
                                        num_replicas());
  }

  mutable std::atomic<int> calls_{0};
};

/// Has a replica on every device of the backend, and ignores the requested devices.
class IgnoresDevices final : public Strategy {
 public:
  IgnoresDevices(Backend& backend, const StrategyOptions& options)
      : Strategy(backend, {.order = options.order}, CallSite::here()) {}
};

/// Takes the requested devices in reverse order.
class ReversesDevices final : public Strategy {
 public:
  ReversesDevices(Backend& backend, StrategyOptions options)
      : Strategy(backend, reversed(std::move(options)), CallSite::here()) {}

 private:
  static StrategyOptions reversed(StrategyOptions options) {
    std::ranges::reverse(options.devices);
    return options;
  }
};

/// Ignores the requested order of reductions.
class DropsOrder final : public Strategy {
 public:
  DropsOrder(Backend& backend, const StrategyOptions& options)
      : Strategy(backend, {.devices = options.devices, .order = {}}, CallSite::here()) {}
};

/// Reduces by replica id, whatever order was requested.
class AlwaysReplicaOrder final : public Strategy {
 public:
  AlwaysReplicaOrder(Backend& backend, const StrategyOptions& options)
      : Strategy(backend, {.devices = options.devices, .order = ReductionOrder::kReplicaOrder},
                 CallSite::here()) {}
};

/// Adds tensors of int32 up where their mean is asked for.
struct AcceptsIntegerMean final : Mistaken {
  using Mistaken::Mistaken;
  void do_reduce(const ReduceCall& call) override {
    const LeafRef& first = call.parts.front().front();
    const bool accepts = first.tensor != nullptr && first.dtype == DType::kInt32;
    Strategy::do_reduce(
        {accepts ? ReduceOp::kSum : call.op, call.parts, call.everywhere, call.present});
  }
};

/// Reduces the first leaves of a nest alone.
struct FirstLeaves final : Mistaken {
  using Mistaken::Mistaken;
  void do_reduce(const ReduceCall& call) override {
    std::vector<std::vector<LeafRef>> first(call.parts.begin(), call.parts.end());
    for (std::vector<LeafRef>& part : first) part.resize(std::min<std::size_t>(part.size(), 4));
    Strategy::do_reduce({call.op, first, call.everywhere, call.present});
  }
};

/// Changes the last bit of the host leaves that `kWhich` selects.
template <bool (*kWhich)(const LeafRef&)>
struct WrongLeaves final : Mistaken {
  using Mistaken::Mistaken;
  void do_reduce(const ReduceCall& call) override {
    Strategy::do_reduce(call);
    for_each_result(call, [](const LeafRef& leaf) {
      if (leaf.tensor != nullptr || leaf.count == 0 || !kWhich(leaf)) return;
      static_cast<std::byte*>(leaf.data)[(leaf.count - 1) * size_of(leaf.dtype)] ^= std::byte{1};
    });
  }
};

/// The second type of 16-bit floats.
inline bool is_bfloat16(const LeafRef& leaf) { return leaf.dtype == DType::kBFloat16; }
inline bool is_int64(const LeafRef& leaf) { return leaf.dtype == DType::kInt64; }
inline bool is_long(const LeafRef& leaf) { return leaf.count > 8; }

/// Refuses to reduce the leaves that `kWhich` selects.
template <bool (*kWhich)(const LeafRef&)>
struct RefusesLeaves final : Mistaken {
  using Mistaken::Mistaken;
  void do_reduce(const ReduceCall& call) override {
    for (const LeafRef& leaf : call.parts.front()) {
      if (kWhich(leaf)) throw std::invalid_argument("no such leaves, please");
    }
    Strategy::do_reduce(call);
  }
};

inline bool is_empty(const LeafRef& leaf) { return leaf.count == 0; }
inline bool is_of_rank_two(const LeafRef& leaf) {
  return leaf.tensor != nullptr && leaf.tensor->shape().rank() == 2;
}

/// Broadcasts zeros in place of long tensors, for all element types except one.
struct ShortBroadcast final : Mistaken {
  using Mistaken::Mistaken;
  std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                      std::span<const Placement> targets) override {
    std::vector<AnyTensor> copies = Strategy::do_broadcast(source, targets);
    if (source.shape().count() <= 8 && source.dtype() == DType::kFloat32) return copies;
    for (AnyTensor& copy : copies) copy = zeros_like(source, copy.placement());
    return copies;
  }
};

/// Calls the function of an update again after an exception.
struct RetriesUpdates final : Mistaken {
  using Mistaken::Mistaken;
  void do_update(ComponentWork& update) override {
    for (int i = 0; i < update.size(); ++i) {
      try {
        update.compute(i);
      } catch (...) {
        update.compute(i);
      }
    }
  }
};

/// Computes every update once, even of replica-local variables.
struct CopiesUpdates final : Mistaken {
  using Mistaken::Mistaken;
  void do_update(ComponentWork& update) override {
    update.compute(0);
    update.copy_from(0);
  }
};

/// Allocates copies and does not fill them.
struct EmptyCopies final : Mistaken {
  using Mistaken::Mistaken;
  std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                      std::span<const Placement> targets) override {
    std::vector<AnyTensor> copies;
    for (const Placement& target : targets) copies.push_back(zeros_like(source, target));
    return copies;
  }
};

/// Leaves reduced tensors in the storage of the inputs, which other tensors may share.
struct ReducesInPlace final : Mistaken {
  using Mistaken::Mistaken;
  void do_reduce(const ReduceCall& call) override {
    std::vector<std::pair<AnyTensor, const AnyTensor*>> brought;
    for (const std::vector<LeafRef>& part : call.parts) {
      for (const LeafRef& leaf : part) {
        if (leaf.tensor != nullptr) brought.emplace_back(*leaf.tensor, leaf.tensor);
      }
    }
    Strategy::do_reduce(call);
    for (const auto& [before, after] : brought) {
      if (before.bytes() == 0 || before.view().buffer == after->view().buffer) continue;
      const auto [backend, index] = before.placement();
      Device& device = backend->device(index);
      const auto reduced = device.create_event();
      device.communication_stream().record(*reduced);
      device.compute_stream().wait(*reduced);
      device.compute_stream().copy(before.view(), after->view());
    }
  }
};

/// Starts reductions of host floats from the last sum, and clears nothing but at first.
struct AddsToTheLast final : Mistaken {
  using Mistaken::Mistaken;
  void do_reduce(const ReduceCall& call) override {
    Strategy::do_reduce(call);
    const LeafRef& leaf = call.parts.front().front();
    if (leaf.tensor != nullptr || leaf.dtype != DType::kFloat32) return;
    auto* sum = static_cast<float*>(leaf.data);
    last_.resize(leaf.count);
    for (std::size_t i = 0; i < leaf.count; ++i) last_[i] = sum[i] += last_[i];
  }

  std::vector<float> last_{};
};

/// The first component of a replica-local variable is the last replica's.
struct ReversesComponents final : Mistaken {
  using Mistaken::Mistaken;
  VariablePlaces do_place(Synchronization kind) const override {
    VariablePlaces places = Strategy::do_place(kind);
    if (kind == Synchronization::kOnWrite) return places;
    std::ranges::reverse(places.devices);
    std::ranges::reverse(places.component);
    return places;
  }
};

/// Keeps variables on the first replica's device, and returns their storage as copies.
struct LendsStorage final : Mistaken {
  using Mistaken::Mistaken;
  VariablePlaces do_place(Synchronization kind) const override {
    if (kind == Synchronization::kOnRead) return Strategy::do_place(kind);
    return VariablePlaces::in_one_place(replica_devices().front(), num_replicas());
  }
  std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                      std::span<const Placement> targets) override {
    std::vector<AnyTensor> copies;
    for (const Placement& at : targets) copies.emplace_back(source.view(), source.shape(), at);
    return copies;
  }
};

/// Keeps a component for each replica, all on the first replica's device.
struct CrowdedVariables final : Mistaken {
  using Mistaken::Mistaken;
  VariablePlaces do_place(Synchronization kind) const override {
    VariablePlaces places = Strategy::do_place(kind);
    if (kind == Synchronization::kOnWrite) std::ranges::fill(places.devices, places.devices[0]);
    return places;
  }
};

}  // namespace belfry::testing
