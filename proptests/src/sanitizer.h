// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry::testing {

#if defined(__SANITIZE_THREAD__)
#define BELFRY_TESTING_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define BELFRY_TESTING_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BELFRY_TESTING_TSAN 1
#elif __has_feature(address_sanitizer)
#define BELFRY_TESTING_ASAN 1
#endif
#endif

/// Whether ThreadSanitizer delays signals until the thread's next system call, and refuses new
/// threads after a fork.
#ifdef BELFRY_TESTING_TSAN
inline constexpr bool kDelaysSignals = true;
#else
inline constexpr bool kDelaysSignals = false;
#endif

/// Whether the sanitizer reports faults itself.
#if defined(BELFRY_TESTING_TSAN) || defined(BELFRY_TESTING_ASAN)
inline constexpr bool kReportsFaults = true;
#else
inline constexpr bool kReportsFaults = false;
#endif

}  // namespace belfry::testing
