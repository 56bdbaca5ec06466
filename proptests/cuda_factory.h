// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cuda/backend.h"
#include "belfry/sim/log.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/values.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {

/// Random choices from a seed, for carriers that take turns.
class SeededChooser final : public Chooser {
 public:
  explicit SeededChooser(std::uint64_t seed) : seed_(seed) {}
  std::uint32_t choose(ChoiceKind, std::uint32_t count) override {
    return static_cast<std::uint32_t>(mixed_bits(seed_, 1, ++choices_) % count);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t choices_ = 0;
};

/// Spreads replicas over all GPUs, or places all replicas on one GPU: two kinds of communicator.
class CudaFactory final : public BackendFactory {
 public:
  /// `reseed` passes the seed of each backend to a simulated driver; may be null.
  CudaFactory(std::string name, void (*reseed)(std::uint64_t seed))
      : name_(std::move(name)), reseed_(reseed) {}

  std::string_view name() const override { return name_; }
  std::unique_ptr<Backend> make(const BackendRequest& request) const override {
    if (reseed_ != nullptr) reseed_(request.seed);
    auto options = cuda::Options::fit(request.devices);
    if (request.seed % 2 == 1) {
      options.fitted = 0;
      options.devices = std::vector<int>(static_cast<std::size_t>(request.devices), 0);
    }
    // The enumerators are declared in a different order.
    options.carrier = request.carrier == CarrierKind::kFiber   ? cuda::Carrier::kFiber
                      : request.carrier == CarrierKind::kBaton ? cuda::Carrier::kBaton
                                                               : cuda::Carrier::kConcurrent;
    options.memory_limit_bytes = request.memory_limit_bytes;
    options.verify_mirrored = true;
    options.warm_up = false;
    if (request.schedule != ScheduleKind::kFixed) {
      choosers_.push_back(std::make_unique<SeededChooser>(request.seed));
      options.chooser = choosers_.back().get();
    }
    auto book = std::make_unique<Book>();
    options.sink = book.get();
    auto backend = std::make_unique<cuda::Backend>(options);
    books_[backend.get()] = std::move(book);
    return backend;
  }
  DeviceWork work(Backend& backend) const override {
    const cuda::Statistics done = static_cast<cuda::Backend&>(backend).statistics();
    saw_local_ = saw_local_ || done.local_collectives > 0;
    saw_nccl_ = saw_nccl_ || done.nccl_collectives > 0;
    return {done.kernel_launches, done.collectives()};
  }
  std::optional<std::uint64_t> order_free_hash(Backend& backend) const override {
    return books_.at(&backend)->log.order_free_hash();
  }
  std::string replay_token(Backend&) const override { return {}; }

  /// Whether a backend has combined replicas of a single GPU, and whether a backend has called
  /// NCCL. Counts backends whose `work` was asked for.
  bool saw_local_collectives() const { return saw_local_; }
  bool saw_nccl_collectives() const { return saw_nccl_; }

 private:
  /// The operations of replicas and merges.
  struct Book final : OperationSink {
    void on_operation(const Operation& operation) override {
      const std::lock_guard lock(mutex);
      log.append(operation);
    }
    std::mutex mutex;
    sim::Log log;
  };

  std::string name_;
  void (*reseed_)(std::uint64_t seed);
  // Kept until the backends have been destroyed.
  mutable std::vector<std::unique_ptr<Chooser>> choosers_;
  mutable std::map<const Backend*, std::unique_ptr<Book>> books_;
  mutable bool saw_local_ = false;
  mutable bool saw_nccl_ = false;
};

}  // namespace belfry::testing
