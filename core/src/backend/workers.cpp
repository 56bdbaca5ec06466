// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/workers.h"

#include "belfry/error.h"

#include <memory>
#include <string>
#include <system_error>

namespace belfry::detail {
namespace {

void work(Worker& worker) {
  for (;;) {
    worker.wake.wait();
    if (worker.main == nullptr) return;
    worker.main(worker);
  }
}

}  // namespace

Workers::~Workers() {
  for (Worker* const worker : idle_) {
    worker->main = nullptr;
    worker->wake.post();
    worker->thread.join();
    delete worker;
  }
}

Worker* Workers::make() {
  auto worker = std::make_unique<Worker>();
  worker->thread = std::thread(work, std::ref(*worker));
  return worker.release();
}

std::vector<Worker*> Workers::take(std::size_t count) {
  const std::lock_guard lock(mutex_);
  std::vector<Worker*> taken;
  taken.reserve(count);
  try {
    if (idle_.size() < count) idle_.reserve(all_ + count - idle_.size());
    while (idle_.size() < count) {
      idle_.push_back(make());
      ++all_;
    }
  } catch (const std::system_error& error) {
    throw UnsupportedError(ErrorCode::kUnsupported,
                           "no more than " + std::to_string(idle_.size()) + " of " +
                               std::to_string(count) + " threads could be started (" +
                               error.code().message() + ")",
                           "carry this many replicas on fibers");
  }
  const auto first = idle_.end() - static_cast<std::ptrdiff_t>(count);
  taken.assign(first, idle_.end());
  idle_.erase(first, idle_.end());
  return taken;
}

void Workers::give(Worker& worker) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(&worker);
}

void Workers::forsake(Worker& worker) {
  worker.thread.detach();
  for (;;) worker.wake.wait();
}

}  // namespace belfry::detail
