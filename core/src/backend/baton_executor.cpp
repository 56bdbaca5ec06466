// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/host_step.h"
#include "backend/running_thread.h"
#include "backend/thread_carriage.h"
#include "backend/turn_run.h"

#include <cstdlib>

namespace belfry {
namespace {

using detail::Carrier;

class BatonExecutor final : public Executor {
 public:
  explicit BatonExecutor(const ExecutorParts& parts) : parts_(parts) {}

  std::string_view name() const override { return "baton"; }

  void carry(int replicas, Job& job, const CarryOptions& options) override {
    const detail::RunningThread::Run alone(running_, detail::carrier_on(*this) != nullptr);
    detail::TurnRun<detail::ThreadCarriage> run(*this, parts_, workers_);
    run.carry(replicas, job, options.concurrent);
  }

  void announce(const Operation& operation) override {
    if (parts_.sink != nullptr) parts_.sink->on_operation(operation);
  }

  void step(const Operation& operation) override {
    Carrier* const carrier = detail::carrier_on(*this);
    if (carrier == nullptr) return detail::host_step(parts_, operation);
    carrier->run->step(*carrier, operation);
  }

  void block_until(const Operation& operation, Gate& gate) override {
    Carrier& replica = detail::replica_on(*this);
    replica.run->block_until(replica, operation, gate);
  }

  void open(Gate& gate) override { detail::open_gate(gate); }

  bool on_replica() const override {
    const Carrier* const carrier = detail::carrier_on(*this);
    if (carrier == nullptr) running_.require_mine();
    return carrier != nullptr && carrier->replica >= 0;
  }

  [[noreturn]] void abandon() override {
    Carrier& replica = detail::replica_on(*this);
    replica.run->abandon(replica);
    std::abort();  // Not reached; GCC forgets the attribute of virtual functions.
  }

 private:
  detail::RunningThread running_;
  ExecutorParts parts_;
  detail::Workers workers_;
};

}  // namespace

std::unique_ptr<Executor> make_baton_executor(const ExecutorParts& parts) {
  return std::make_unique<BatonExecutor>(parts);
}

}  // namespace belfry
