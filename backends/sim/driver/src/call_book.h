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

/// Which functions were called how often, which calls are to fail, and what was done wrong. May be
/// used by several threads.
class CallBook {
 public:
  /// Counts a call, and says with which code it has to fail, if it has.
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
