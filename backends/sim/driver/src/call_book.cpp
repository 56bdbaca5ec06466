// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "call_book.h"

#include <string_view>
#include <utility>

namespace belfry::driver {

std::optional<int> CallBook::enter(const char* function) {
  const std::lock_guard lock(mutex_);
  auto place = calls_.find(std::string_view(function));
  if (place == calls_.end()) place = calls_.emplace(function, 0).first;
  const std::uint64_t call = ++place->second;
  const auto planned = planned_.find(std::string_view(function));
  if (planned == planned_.end()) return std::nullopt;
  for (const Planned& failure : planned->second) {
    if (failure.call == call) return failure.code;
  }
  return std::nullopt;
}

void CallBook::plan_failure(const std::string& function, std::uint64_t which, int code) {
  const std::lock_guard lock(mutex_);
  planned_[function].push_back({calls_[function] + which, code});
}

std::uint64_t CallBook::calls(const std::string& function) const {
  const std::lock_guard lock(mutex_);
  const auto place = calls_.find(function);
  return place == calls_.end() ? 0 : place->second;
}

void CallBook::report(std::string text) {
  const std::lock_guard lock(mutex_);
  reports_.push_back(std::move(text));
}

std::vector<std::string> CallBook::reports() const {
  const std::lock_guard lock(mutex_);
  return reports_;
}

}  // namespace belfry::driver
