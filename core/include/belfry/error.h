// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/error_code.h"

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belfry {

/// One replica's part in an error: where it was, and what it did there.
struct ReplicaReport {
  int replica_id = -1;
  CallSite site{};
  std::string what;                ///< For example `waits in merge_call #2`.
  std::exception_ptr exception{};  ///< What the replica threw, if it threw.
};

/// Everything an Error says, as data.
struct ErrorReport {
  ErrorCode code = ErrorCode::kInternal;
  std::string summary;                  ///< One sentence: what happened.
  CallSite site{};                      ///< The call that failed, when one call did.
  std::vector<ReplicaReport> replicas;  ///< In replica order; empty when no replica is involved.
  std::string expected;                 ///< What would have been right; may be empty.
  std::string hint;                     ///< How to mend it; may be empty.
};

/// The code, the summary, a line for each replica, what was expected, and the hint.
std::string to_string(const ErrorReport& report);

/// Base of every exception belfry throws at users (a user's own exceptions keep their type).
class Error : public std::exception {
 public:
  explicit Error(ErrorReport report);
  Error(ErrorCode code, std::string summary, std::string hint = {}, CallSite site = {});

  const char* what() const noexcept override;
  ErrorCode code() const noexcept { return shared_->report.code; }
  const ErrorReport& report() const noexcept { return shared_->report; }

 private:
  // Shared so that copying an exception cannot throw.
  struct Shared {
    ErrorReport report;
    std::string text;
  };
  std::shared_ptr<const Shared> shared_;
};

/// Called in a context, or on a strategy, where it does not belong.
struct ContextError : Error {
  using Error::Error;
};
/// Replicas did not meet at the same merge.
struct MergeMismatchError : Error {
  using Error::Error;
};
/// Values that meet have different structures, lengths or shapes.
struct StructureMismatchError : Error {
  using Error::Error;
};
/// An argument outside its documented range.
struct InvalidArgumentError : Error {
  using Error::Error;
};
/// A variable that is not the one expected.
struct VariableMismatchError : Error {
  using Error::Error;
};
/// Something a device or its driver reported.
struct DeviceError : Error {
  using Error::Error;
};
/// Documented as not available.
struct UnsupportedError : Error {
  using Error::Error;
};
/// A strategy that does not keep what a strategy must.
struct StrategyError : Error {
  using Error::Error;
};
/// A broken promise of belfry itself; please report it.
struct InternalError : Error {
  using Error::Error;
};

/// Throws the child of Error that belongs to `report.code`.
[[noreturn]] void throw_error(ErrorReport report);

/// Throws InternalError.
[[noreturn]] void throw_internal(std::string_view what, CallSite site);
/// Throws InternalError when `condition` is false.
inline void check(bool condition, std::string_view what, CallSite site = CallSite::here()) {
  if (!condition) throw_internal(what, site);
}

/// Unwinds a replica whose run has failed elsewhere. Deliberately not a std::exception, so that
/// handlers for ordinary errors let it pass. Never escapes `run`.
struct ReplicaCancelled {};

}  // namespace belfry
