// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// While one lives, ThreadSanitizer does not look at what its carrier reads and writes; in other
/// builds it is nothing. Fibers are switched without telling ThreadSanitizer that a switch orders
/// anything, so that it sees replicas that share memory outside belfry's handles. What the library
/// itself keeps for all replicas (rounds, streams, logs) is shared too, by design: the code that
/// touches it on a replica's stack does so under one of these. User code never runs under one.
class Unwatched {
 public:
  Unwatched() noexcept {
#ifdef BELFRY_TSAN
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
  }
  ~Unwatched() {
#ifdef BELFRY_TSAN
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
  }
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;
};

}  // namespace belfry::detail
