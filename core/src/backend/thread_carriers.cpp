// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/carrier.h"
#include "backend/workers.h"

#include <pthread.h>

#include <string>
#include <vector>

namespace belfry::detail {
namespace {

// Carries each replica on a thread of its own. A switch wakes the next thread and puts the calling
// thread to sleep.
class ThreadCarriers final : public Carriers {
 public:
  // `workers` outlive the object.
  explicit ThreadCarriers(Workers& workers);

  TurnCarrier& begin(int replicas, bool serial) override;
  void end() override {}
  TurnCarrier& start(int replica, void (*main)(TurnCarrier&)) override;
  // Cold: a compiler that knows no different kind would otherwise guess this one at each switch.
  [[gnu::cold]] void switch_to(TurnCarrier& from, TurnCarrier& to) override;
  void leave(TurnCarrier& from, TurnCarrier& to) override;
  [[noreturn]] void abandon(TurnCarrier& from, TurnCarrier& to) override;
  const Stack* stack_of(const TurnCarrier&) const override { return nullptr; }

 private:
  Workers* pool_;
  std::vector<Worker*> taken_;
  Worker caller_;
};

ThreadCarriers::ThreadCarriers(Workers& workers) : Carriers(false), pool_(&workers) {}

TurnCarrier& ThreadCarriers::begin(int replicas, bool /*serial*/) {
  taken_ = pool_->take(static_cast<std::size_t>(replicas));
  return caller_;
}

TurnCarrier& ThreadCarriers::start(int replica, void (*main)(TurnCarrier&)) {
  Worker& worker = *taken_[static_cast<std::size_t>(replica)];
  worker.cancelled = false;
  worker.main = main;
  // Debuggers list threads by name.
  ::pthread_setname_np(worker.thread.native_handle(),
                       ("replica " + std::to_string(replica)).substr(0, 15).c_str());
  return worker;
}

void ThreadCarriers::switch_to(TurnCarrier& from, TurnCarrier& to) {
  static_cast<Worker&>(to).wake.post();
  static_cast<Worker&>(from).wake.wait();
}

// As soon as `to` is awake, the run may be over, and `from` may serve another run.
void ThreadCarriers::leave(TurnCarrier& from, TurnCarrier& to) {
  pool_->give(static_cast<Worker&>(from));
  static_cast<Worker&>(to).wake.post();
}

void ThreadCarriers::abandon(TurnCarrier& from, TurnCarrier& to) {
  static_cast<Worker&>(to).wake.post();
  Workers::forsake(static_cast<Worker&>(from));
}

}  // namespace

std::unique_ptr<Carriers> make_thread_carriers(Workers& workers) {
  return std::make_unique<ThreadCarriers>(workers);
}

}  // namespace belfry::detail
