// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/thread_carriers.h"

#include <pthread.h>

#include <string>

namespace belfry::detail {

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

}  // namespace belfry::detail
