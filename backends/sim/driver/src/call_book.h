// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace belfry::driver {

/// Numbers of calls, planned failures, and misuses. Several threads may use a CallBook.
class CallBook {
 public:
  /// Counts a call. Returns the code with which the call must fail, if any.
  std::optional<int> enter(const char* function);
  void plan_failure(const std::string& function, std::uint64_t which, int code);
  std::uint64_t calls(const std::string& function) const;
  void report(std::string text);
  std::vector<std::string> reports() const;

 private:
  struct Planned {
    std::uint64_t call;
    int code;
  };

  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> calls_;
  std::map<std::string, std::vector<Planned>, std::less<>> planned_;
  std::vector<std::string> reports_;
};

}  // namespace belfry::driver
