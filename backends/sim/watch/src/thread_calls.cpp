// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host_watcher.h"

#include <dlfcn.h>
#include <pthread.h>

// The function that begins threads, for the whole program: the standard library, OpenMP and further
// libraries call it by name. The C library's own function does the work.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (belfry_watch_active != 0) belfry::sim::watch::host_watcher().begin_thread();
  const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, run, argument);
}

namespace belfry::sim::watch {

// As kAllocationCalls.
extern const int kThreadCalls = 0;

}  // namespace belfry::sim::watch
