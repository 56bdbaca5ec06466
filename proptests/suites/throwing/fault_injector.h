// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/current.h"

#include <atomic>
#include <tuple>

namespace belfry::testing {

/// Exception of a fault point. Not a std::exception: the library must pass on any type.
struct InjectedFault {
  int point = 0;
};

/// Injects exceptions into functions of the user. The functions call `point()` at every place that
/// may throw, a fault point; the injector counts the points and throws at a chosen point.
class FaultInjector {
 public:
  enum class Extent { kOnce, kFromThenOn };

  /// Starts to count anew. Point `at` will throw, and later points too with kFromThenOn. If `at` is
  /// 0, no point throws. Not while replicas run.
  void arm(int at, Extent extent = Extent::kOnce) {
    at_ = at;
    extent_ = extent;
    points_ = 0;
    thrown_ = 0;
  }
  void disarm() { at_ = 0; }
  void point() {
    // Exactly 1 context is current (INV-2).
    if ((current_replica() == nullptr) == (current_cross_replica() == nullptr))
      wrong_context_ = true;
    const int now = ++points_;
    if (at_ == 0 || now < at_ || (now > at_ && extent_ == Extent::kOnce)) return;
    ++thrown_;
    throw InjectedFault{now};
  }
  int points() const { return points_; }
  int thrown() const { return thrown_; }
  /// Whether some point had no current context, or two.
  bool had_wrong_context() const { return wrong_context_; }

  /// Number of existing ThrowingNumber values, including values on the stacks of replicas.
  std::atomic<int> alive{0};

 private:
  int at_ = 0;
  Extent extent_ = Extent::kOnce;
  std::atomic<int> points_{0};
  std::atomic<int> thrown_{0};
  std::atomic<bool> wrong_context_{false};
};

/// A number in a class of the user. Every copy passes a fault point.
struct ThrowingNumber {
  ThrowingNumber(FaultInjector& owner, float number) : injector(&owner), value(number) {
    ++injector->alive;
  }
  ThrowingNumber(const ThrowingNumber& other) : injector(other.injector), value(other.value) {
    injector->point();
    ++injector->alive;
  }
  ThrowingNumber(ThrowingNumber&& other) noexcept : injector(other.injector), value(other.value) {
    ++injector->alive;
  }
  ThrowingNumber& operator=(const ThrowingNumber& other) {
    injector->point();
    if (this != &other) value = other.value;
    return *this;
  }
  ThrowingNumber& operator=(ThrowingNumber&& other) noexcept {
    value = other.value;
    return *this;
  }
  ~ThrowingNumber() { --injector->alive; }

  static auto members(auto& self) { return std::tie(self.value); }

  FaultInjector* injector;
  float value;
};

}  // namespace belfry::testing
