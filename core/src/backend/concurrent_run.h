// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/workers.h"

#include <condition_variable>
#include <mutex>
#include <vector>

namespace belfry::detail {

/// A call of `carry` with all replicas running at once.
class ConcurrentRun final : public Run {
 public:
  /// `mutex` belongs to the executor, and guards the gates and all runs of the executor.
  ConcurrentRun(const Executor& executor, OperationSink* sink, Workers& workers, std::mutex& mutex);

  void carry(int replicas, Job& job);

  void step(Carrier& carrier, const Operation& operation) override;
  void block_until(Carrier& replica, const Operation& operation, Gate& gate) override;
  /// The caller holds the mutex.
  void admit(std::span<const Gate::Waiter> replicas) override;
  [[noreturn]] void abandon(Carrier& replica) override;

 private:
  static void execute_body(TurnCarrier& carrier);
  void start(int replicas);
  void wait_until_idle();
  void resume_admitted();
  void cancel_blocked();
  void stop_running();

  OperationSink* sink_;
  Workers* pool_;
  std::mutex* mutex_;
  std::condition_variable idle_;
  Job* job_ = nullptr;
  ThreadState callers_state_;
  Carrier caller_;
  std::vector<Worker*> workers_;  // Null once a body has ended.
  std::size_t running_ = 0;
  bool settling_ = false;
  std::vector<int> admitted_;  // While settling: they start when it is done.
};

}  // namespace belfry::detail
