// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "words/file_calls.h"

#include <cerrno>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The calls of the system; `stop` is called before call number `at`, from 0. The call fails if
/// `stop` returns true. A negative number stops nothing.
struct StoppingCalls {
  StoppingCalls(int at, std::function<bool()> stop) : at_(at), stop_(std::move(stop)) {}

  bool has_stopped() const { return at_ >= 0 && static_cast<int>(made_.size()) > at_; }
  /// The names of the calls so far, in order.
  const std::vector<std::string>& made() const { return made_; }
  FileCalls calls() {
    FileCalls calls;
    each(calls, [this](const char* name, auto& call) {
      call = [this, name, real = call](auto&&... arguments) {
        made_.emplace_back(name);
        const bool fails = static_cast<int>(made_.size()) - 1 == at_ && stop_();
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
    fn("open", calls.open);
    fn("readlink", calls.read_link);
    fn("stat", calls.status);
    fn("access", calls.may_write);
    fn("list", calls.list);
    fn("flock", calls.lock);
    fn("write", calls.write);
    fn("fchown", calls.change_owner);
    fn("fchmod", calls.change_mode);
    fn("fsync", calls.sync);
    fn("rename", calls.rename);
    fn("unlink", calls.remove);
    fn("close", calls.close);
  }

  int at_;
  std::function<bool()> stop_;
  std::vector<std::string> made_;
};

}  // namespace belfry::detail
