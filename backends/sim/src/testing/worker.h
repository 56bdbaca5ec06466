// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace belfry::sim::testing {

/// A thread that does a piece of work at a time, as a pool of a user does. Lives until the end of
/// the process.
class Worker {
 public:
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void starts(std::function<void()> work) {
    waits();
    {
      const std::lock_guard lock(mutex_);
      work_ = std::move(work);
    }
    changed_.notify_all();
  }
  void waits() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return work_ == nullptr; });
  }
  void does(std::function<void()> work) {
    starts(std::move(work));
    waits();
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ends_ || work_ != nullptr; });
      if (work_ == nullptr) return;
      lock.unlock();
      work_();
      lock.lock();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool ends_ = false;
  std::thread thread_{[this] { loop(); }};
};

/// The worker of the process.
inline Worker& worker() {
  static Worker worker;
  return worker;
}

}  // namespace belfry::sim::testing
