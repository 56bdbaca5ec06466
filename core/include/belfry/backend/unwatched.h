// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#if defined(__SANITIZE_THREAD__)
#define BELFRY_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BELFRY_TSAN 1
#endif
#endif

#ifdef BELFRY_TSAN
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace belfry::detail {

/// Turns ThreadSanitizer off for the reads and writes of the calling fiber or thread, for the
/// object's lifetime. Without ThreadSanitizer the class does nothing. Fiber switches are reported
/// to ThreadSanitizer without synchronisation: ThreadSanitizer then finds replicas that share
/// memory outside belfry's handles. Replicas also share state of the library by design (rounds,
/// streams, logs). Code that accesses this state on a replica's stack holds an Unwatched object.
/// No code of the user runs under an Unwatched object, except bodies of kernels on the driver.
class [[maybe_unused]] Unwatched {
 public:
#ifdef BELFRY_TSAN
  Unwatched() noexcept {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~Unwatched() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  Unwatched() = default;
#endif
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;
};

}  // namespace belfry::detail
