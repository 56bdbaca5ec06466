// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"
#include "belfry/strategy.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
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

/// The parts of a reduction, with zeros in the last replica's.
std::vector<std::vector<LeafRef>> without_the_last(const ReduceCall& call);

/// The last replica's values never enter a reduction.
class ForgetfulReduce final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_reduce(const ReduceCall& call) override;
};

/// Divides MEAN of host values by the number of replicas plus 1.
class WrongMean final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_reduce(const ReduceCall& call) override;
};

/// Divides MEAN of host values by the number of all replicas, including replicas without values.
class CountsTheAbsent final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_reduce(const ReduceCall& call) override;
};

/// Rounds the terms of sums to bfloat16. No mistake, but not exact.
class SendsBFloat16 final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_reduce(const ReduceCall& call) override;
};

/// The last device keeps the tensor of its first broadcast.
class StaleBroadcast final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                      std::span<const Placement> targets) override;

  AnyTensor first_{};
};

/// Every component asks the initialiser for itself.
class InitialiserEverywhere final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_initialise(ComponentWork& variable) override {
    for (int i = 0; i < variable.size(); ++i) variable.compute(i);
  }
};

/// Updates pass the last component over.
class SkippingUpdate final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_update(ComponentWork& update) override {
    for (int i = 0; i + 1 < update.size(); ++i) update.compute(i);
    if (update.size() == 1) update.compute(0);
  }
};

/// Merges again, to be sure.
class MergeTwice final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_merge(StrategyStep& merge) override {
    merge.carry_out();
    merge.carry_out();
  }
};

/// The second run finds the strategy tired.
class RunOnce final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_run(StrategyStep& replicas) override {
    if (!replicas.nested() && tired_) return;
    tired_ = true;
    replicas.carry_out();
  }

  bool tired_ = false;
};

/// Names the first device as the place of variables, and places variables on the last.
class MovingVariables final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
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
class AcceptsIntegerMean final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_reduce(const ReduceCall& call) override;
};

/// Reduces the first leaves of a nest alone.
class FirstLeaves final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_reduce(const ReduceCall& call) override;
};

/// Changes the last bit of the host leaves that `Which` selects.
template <class Which>
class WrongLeaves final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_reduce(const ReduceCall& call) override {
    Strategy::do_reduce(call);
    for (const std::vector<LeafRef>& part : call.parts) {
      for (const LeafRef& leaf : part) {
        if (leaf.tensor != nullptr || leaf.count == 0 || !Which()(leaf)) continue;
        auto* last = static_cast<std::byte*>(leaf.data) + (leaf.count - 1) * size_of(leaf.dtype);
        *last ^= std::byte{1};
      }
      if (!call.everywhere) return;
    }
  }
};

/// Of the second type of 16-bit floats.
struct OfBFloat16 {
  bool operator()(const LeafRef& leaf) const { return leaf.dtype == DType::kBFloat16; }
};
struct OfInt64 {
  bool operator()(const LeafRef& leaf) const { return leaf.dtype == DType::kInt64; }
};
struct Long {
  bool operator()(const LeafRef& leaf) const { return leaf.count > 8; }
};

/// Refuses to reduce the leaves that `Which` selects.
template <class Which>
class RefusesLeaves final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_reduce(const ReduceCall& call) override {
    for (const LeafRef& leaf : call.parts.front()) {
      if (Which()(leaf)) throw std::invalid_argument("no such leaves, please");
    }
    Strategy::do_reduce(call);
  }
};

struct Empty {
  bool operator()(const LeafRef& leaf) const { return leaf.count == 0; }
};
struct OfRankTwo {
  bool operator()(const LeafRef& leaf) const {
    return leaf.tensor != nullptr && leaf.tensor->shape().rank() == 2;
  }
};

/// Broadcasts zeros in place of long tensors, for all element types except one.
class ShortBroadcast final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                      std::span<const Placement> targets) override;
};

/// Calls the function of an update again after an exception.
class RetriesUpdates final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_update(ComponentWork& update) override;
};

/// Computes every update once, even of replica-local variables.
class CopiesUpdates final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_update(ComponentWork& update) override {
    update.compute(0);
    update.copy_from(0);
  }
};

/// Allocates copies and does not fill them.
class EmptyCopies final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                      std::span<const Placement> targets) override;
};

/// Leaves reduced tensors in the storage of the inputs, which other tensors may share.
class ReducesInPlace final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_reduce(const ReduceCall& call) override;
};

/// Starts reductions of host floats from the last sum, and clears nothing but at first.
class AddsToTheLast final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  void do_reduce(const ReduceCall& call) override;

  std::vector<float> last_{};
};

/// The first component of a replica-local variable is the last replica's.
class ReversesComponents final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  VariablePlaces do_place(Synchronization kind) const override {
    VariablePlaces places = Strategy::do_place(kind);
    if (kind == Synchronization::kOnWrite) return places;
    std::ranges::reverse(places.devices);
    std::ranges::reverse(places.component);
    return places;
  }
};

/// Keeps variables on the first replica's device, and returns their storage as copies.
class LendsStorage final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  VariablePlaces do_place(Synchronization kind) const override {
    if (kind == Synchronization::kOnRead) return Strategy::do_place(kind);
    return VariablePlaces::in_one_place(replica_devices().front(), num_replicas());
  }
  std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                      std::span<const Placement> targets) override;
};

/// Keeps a component for each replica, all on the first replica's device.
class CrowdedVariables final : public Mistaken {
 public:
  using Mistaken::Mistaken;

 private:
  VariablePlaces do_place(Synchronization kind) const override {
    VariablePlaces places = Strategy::do_place(kind);
    if (kind == Synchronization::kOnWrite) std::ranges::fill(places.devices, places.devices[0]);
    return places;
  }
};

}  // namespace belfry::testing
