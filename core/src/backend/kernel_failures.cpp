// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/kernel_failures.h"

#include <algorithm>
#include <utility>

namespace belfry {
namespace {

// The bracket ends the number: the text of a number is in no text of a longer number.
std::string text_of(std::size_t number) { return "(exception " + std::to_string(number) + ")"; }

}  // namespace

std::string KernelFailures::add(std::exception_ptr thrown, std::string_view kernel, CallSite site,
                                int replica) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({std::move(thrown), kernel, site, replica});
  if (entries_.size() > kMostKept) entries_.pop_front();
  return text_of(++added_);
}

std::exception_ptr KernelFailures::find(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  const std::size_t oldest = added_ - entries_.size() + 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (text.find(text_of(oldest + i)) != std::string_view::npos) return entries_[i].thrown;
  }
  return nullptr;
}

std::string KernelFailures::launch_of(const std::exception_ptr& thrown) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(entries_, thrown, &Entry::thrown);
  if (found == entries_.end()) return {};
  std::string text =
      " in kernel " + std::string(found->kernel) + ", launched at " + to_string(found->site);
  if (found->replica >= 0) text += " by replica " + std::to_string(found->replica);
  return text;
}

}  // namespace belfry
