// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/workers.h"

#include <pthread.h>

#include <string>
#include <vector>

namespace belfry::detail {

/// Carries each replica on a thread of its own; whoever has the baton runs.
class ThreadCarriage {
 public:
  using Place = ThreadPlace;
  using Seat = Worker;
  static constexpr bool kShares = false;

  explicit ThreadCarriage(Workers& workers) : pool_(&workers) {}

  void begin(int replicas) { taken_ = pool_->take(static_cast<std::size_t>(replicas)); }
  void end() {}

  Seat& seat(int replica, void (*live)(Seat&)) {
    Worker& worker = *taken_[static_cast<std::size_t>(replica)];
    worker.replica = replica;
    worker.detour = false;
    worker.live = live;
    // What a debugger lists.
    ::pthread_setname_np(worker.thread.native_handle(),
                         ("replica " + std::to_string(replica)).substr(0, 15).c_str());
    return worker;
  }

  void switch_to(Place& from, Place& to) {
    to.wake.post();
    from.wake.wait();
  }

  void fetch(const Seat*) const {}
  void fetch_frames(const Seat*) const {}
  bool healthy(const Seat&) const { return true; }
  void retire(Seat& seat) { pool_->give(seat); }
  // The run may be over, and the seat taken anew, as soon as this has posted.
  void leave(Seat&, Place& to) { to.wake.post(); }
  [[noreturn]] void forsake(Seat& seat, Place& to) {
    to.wake.post();
    Workers::forsake(seat);
  }

 private:
  Workers* pool_;
  std::vector<Worker*> taken_;
};

}  // namespace belfry::detail
