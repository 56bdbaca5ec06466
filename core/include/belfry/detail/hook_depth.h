// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace belfry::detail {

/// A hook of a strategy. The hook may start the verb that calls the hook.
enum class Hook : std::uint8_t { kInitialise, kUpdate, kReduce, kBroadcast, kRun, kMerge };

/// The depth of each hook of one strategy: calls of the hook within calls of the hook. Calls that
/// the program's own functions start are not counted. A hook that starts its verb again without end
/// would use up the stack (SEM-145).
class HookDepth {
 public:
  static constexpr int kMost = 32;

  /// A call of a hook.
  class Call {
   public:
    /// Throws: StrategyError (kStrategyContract) for a call deeper than kMost.
    Call(HookDepth& depths, Hook hook, CallSite site) : depth_(depths.of(hook)) {
      if (depth_ == kMost) [[unlikely]] {
        refuse(hook, site);
      }
      ++depth_;
    }
    ~Call() { --depth_; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    int& depth_;
  };

  /// A call of a function of the program by a hook.
  class Pause {
   public:
    Pause(HookDepth& depths, Hook hook) : depth_(depths.of(hook)), before_(depth_) { depth_ = 0; }
    ~Pause() { depth_ = before_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    int& depth_;
    int before_;
  };

 private:
  [[noreturn]] static void refuse(Hook hook, CallSite site);
  int& of(Hook hook) { return depths_[static_cast<std::size_t>(hook)]; }

  std::array<int, 6> depths_{};
};

}  // namespace belfry::detail
