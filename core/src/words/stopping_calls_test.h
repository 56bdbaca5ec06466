// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "words/file_calls.h"

#include <cerrno>
#include <functional>
#include <utility>

namespace belfry::detail {

/// The calls of the system; `stop` is called before call number `at`, from 0. The call fails if
/// `stop` returns true.
struct StoppingCalls {
  StoppingCalls(int at, std::function<bool()> stop) : at_(at), stop_(std::move(stop)) {}

  bool has_stopped() const { return made_ > at_; }
  FileCalls calls() {
    FileCalls calls;
    each(calls, [this](auto& call) {
      call = [this, real = call](auto&&... arguments) {
        const bool fails = made_++ == at_ && stop_();
        if (!fails) return real(arguments...);
        errno = ENOSPC;
        return decltype(real(arguments...))(-1);
      };
    });
    // A close that fails frees the descriptor, too.
    calls.close = [close = calls.close](int file) {
      const int result = close(file);
      if (result < 0) ::close(file);
      return result;
    };
    return calls;
  }

 private:
  template <class F>
  static void each(FileCalls& calls, const F& fn) {
    fn(calls.open);
    fn(calls.read_link);
    fn(calls.status);
    fn(calls.may_write);
    fn(calls.list);
    fn(calls.lock);
    fn(calls.write);
    fn(calls.change_owner);
    fn(calls.change_mode);
    fn(calls.sync);
    fn(calls.rename);
    fn(calls.remove);
    fn(calls.close);
  }

  int at_;
  std::function<bool()> stop_;
  int made_ = 0;
};

}  // namespace belfry::detail
