// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cfenv>

namespace belfry::detail {

/// The floating-point settings of a thread: the rounding mode, the treatment of subnormal numbers,
/// and the enabled exceptions.
#ifdef __x86_64__
class FloatControl {
 public:
  /// A switch of Boost.Context keeps the state of each stack.
  static constexpr bool kKeptBySwitches = true;

  static FloatControl current() {
    FloatControl control;
    control.vectors_ = __builtin_ia32_stmxcsr();
    __asm__ volatile("fnstcw %0" : "=m"(control.stack_));
    return control;
  }
  void restore() const {
    const FloatControl now = current();
    if (now.vectors_ != vectors_) __builtin_ia32_ldmxcsr(vectors_);
    if (now.stack_ != stack_) __asm__ volatile("fldcw %0" : : "m"(stack_));
  }

 private:
  unsigned vectors_ = 0;      // MXCSR.
  unsigned short stack_ = 0;  // The control word of the x87 unit, for long double.
};
#else
class FloatControl {
 public:
  static constexpr bool kKeptBySwitches = false;

  static FloatControl current() {
    FloatControl control;
    std::fegetenv(&control.environment_);
    return control;
  }
  void restore() const { std::fesetenv(&environment_); }

 private:
  std::fenv_t environment_{};
};
#endif

/// State of a thread that code leaves behind for the next code on the thread. The body of a replica
/// begins with the state of the caller of its run.
class ThreadState {
 public:
  static ThreadState current() { return {errno, FloatControl::current()}; }
  void restore() const {
    control_.restore();
    errno = error_;
  }
  ThreadState() = default;

 private:
  ThreadState(int error, const FloatControl& control) : error_(error), control_(control) {}

  int error_ = 0;
  FloatControl control_;
};

}  // namespace belfry::detail
