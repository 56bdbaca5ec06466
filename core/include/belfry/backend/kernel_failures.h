// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>

namespace belfry {

/// The latest exceptions of bodies of users' kernels on a backend, with their launches: an
/// exception keeps its type, and the report of a failed run names the kernel (SEM-173). Threads may
/// share the list.
class KernelFailures {
 public:
  /// Keeps an exception of a launch at `site`, by a replica or, with -1, outside replicas. Of many
  /// exceptions the oldest is forgotten. Returns a text with the number of the exception.
  std::string add(std::exception_ptr thrown, std::string_view kernel, CallSite site, int replica);
  /// The exception whose number is in `text`; null if there is none, or if it is forgotten.
  std::exception_ptr find(std::string_view text) const;
  /// ` in kernel Step, launched at train.cc:12 by replica 1`; empty for an exception that is not in
  /// the list.
  std::string launch_of(const std::exception_ptr& thrown) const;

 private:
  struct Entry {
    std::exception_ptr thrown;
    std::string_view kernel;
    CallSite site;
    int replica = -1;
  };
  static constexpr std::size_t kMostKept = 64;

  mutable std::mutex mutex_;
  std::size_t added_ = 0;
  std::deque<Entry> entries_;
};

}  // namespace belfry
