// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <semaphore.h>

#include <cerrno>

namespace belfry::detail {

/// A place of sleep for a thread until the wake-up by a second thread. (std::binary_semaphore of
/// GCC 12 can lose a wake-up, GCC bug 104928.)
class Semaphore {
 public:
  Semaphore() { ::sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { ::sem_destroy(&semaphore_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  void post() { ::sem_post(&semaphore_); }
  void wait() {
    while (::sem_wait(&semaphore_) != 0 && errno == EINTR) {
    }
  }

 private:
  sem_t semaphore_;
};

}  // namespace belfry::detail
