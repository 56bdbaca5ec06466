// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A backend of one's own: the devices of HostBackend, and a communicator that counts.
#include <belfry/backend/host_backend.h>
#include <belfry/belfry.h>

#include <iostream>
#include <memory>
#include <span>
#include <utility>

// [communicator]
/// Hands everything on, and counts reductions.
class CountingCommunicator final : public belfry::Communicator {
 public:
  CountingCommunicator(std::unique_ptr<belfry::Communicator> inner, int& reductions)
      : inner_(std::move(inner)), reductions_(reductions) {}

  int size() const override { return inner_->size(); }
  std::span<const int> local_ranks() const override { return inner_->local_ranks(); }
  belfry::ReductionOrder order() const override { return inner_->order(); }
  bool supports(belfry::DType dtype) const override { return inner_->supports(dtype); }
  void run(const belfry::Collective& collective) override {
    inner_->run(collective);  // Throws if the parts are refused.
    reductions_ += collective.kind == belfry::CollectiveKind::kAllReduce ? 1 : 0;
  }
  void check_health() override { inner_->check_health(); }

 private:
  std::unique_ptr<belfry::Communicator> inner_;
  int& reductions_;
};
// [communicator]

// [backend]
class CountingBackend final : public belfry::Backend {
 public:
  explicit CountingBackend(int devices) : inner_(devices) {}

  std::string_view name() const override { return "counting"; }
  int device_count() const override { return inner_.device_count(); }
  belfry::DeviceSpec device_spec(int index) const override { return inner_.device_spec(index); }
  belfry::Device& device(int index) override { return inner_.device(index); }
  std::unique_ptr<belfry::Communicator> communicator(std::span<const int> devices) override {
    return std::make_unique<CountingCommunicator>(inner_.communicator(devices), reductions_);
  }
  belfry::Executor& executor() override { return inner_.executor(); }
  const belfry::Connections& connections() const override { return inner_.connections(); }
  belfry::RunSettings run_settings() const override { return inner_.run_settings(); }

  int reductions() const { return reductions_; }

 private:
  belfry::HostBackend inner_;
  int reductions_ = 0;
};
// [backend]

int main() {
  // [use]
  CountingBackend backend(2);
  belfry::MirroredStrategy strategy(backend);
  const auto sums = strategy.run([](belfry::ReplicaContext& replica) {
    const auto mine = belfry::Tensor<double>::full(belfry::Shape{}, 1.0 + replica.replica_id());
    return replica.all_reduce(belfry::ReduceOp::kSum, mine).item();
  });
  std::cout << sums[0] << ' ' << sums[1] << '\n';
  std::cout << backend.reductions() << " reduction\n";
  // [use]
}
