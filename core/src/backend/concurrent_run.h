// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/workers.h"
#include "belfry/backend/wait_limit.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace belfry::detail {

/// A call of `carry` with all replicas running at once.
class ConcurrentRun final : public Run {
 public:
  /// `mutex` belongs to the executor, and guards the gates and all runs of the executor. `limit`
  /// may be null.
  ConcurrentRun(const Executor& executor, OperationSink* sink, Workers& workers, std::mutex& mutex,
                WaitLimit* limit);

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
  void wait_within_limit(std::unique_lock<std::mutex>& lock);
  void cancel_waiting();
  void resume_admitted();
  void cancel_blocked();
  void stop_running();

  OperationSink* sink_;
  Workers* pool_;
  std::mutex* mutex_;
  WaitLimit* limit_;
  std::int64_t begin_ms_ = 0;
  bool is_late_ = false;  // After a limit.
  std::condition_variable idle_;
  Job* job_ = nullptr;
  ThreadState callers_state_;
  Carrier caller_;
  std::vector<Worker*> workers_;  // Null once a body has ended.
  std::size_t running_ = 0;
  std::size_t alive_ = 0;  // Running or blocked.
  bool settling_ = false;
  std::vector<int> admitted_;  // While settling: they start when it is done.
};

}  // namespace belfry::detail
