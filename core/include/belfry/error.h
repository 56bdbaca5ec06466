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

/// The part of a replica in an error: its place, and its state there.
struct ReplicaReport {
  int replica_id = -1;
  CallSite site{};
  std::string what;                ///< For example `waits in merge_call #2`.
  std::exception_ptr exception{};  ///< The replica's exception, or null.
};

/// The contents of an Error, as data.
struct ErrorReport {
  ErrorCode code = ErrorCode::kInternal;
  std::string summary;                  ///< The event, in one sentence.
  CallSite site{};                      ///< The failed call; empty if no single call failed.
  std::vector<ReplicaReport> replicas;  ///< In replica order; empty if no replica is involved.
  std::string expected;                 ///< The correct state or call; may be empty.
  std::string hint;                     ///< A remedy; may be empty.
};

/// The code, the summary, a line for each replica, the expected state, and the hint.
std::string to_string(const ErrorReport& report);

/// The base of all exceptions that belfry throws at users. Exceptions of users keep their types.
class Error : public std::exception {
 public:
  explicit Error(ErrorReport report);
  Error(ErrorCode code, std::string summary, std::string hint = {}, CallSite site = {});

  const char* what() const noexcept override;
  ErrorCode code() const noexcept { return shared_->report.code; }
  const ErrorReport& report() const noexcept { return shared_->report; }

 private:
  // Shared by copies of the exception: a copy cannot throw.
  struct Shared {
    ErrorReport report;
    std::string text;
  };
  std::shared_ptr<const Shared> shared_;
};

/// A call in the wrong context or on the wrong strategy.
struct ContextError : Error {
  using Error::Error;
};
/// Replicas did not meet at the same merge.
struct MergeMismatchError : Error {
  using Error::Error;
};
/// Values with different structures, lengths or shapes in one operation.
struct StructureMismatchError : Error {
  using Error::Error;
};
/// An argument outside its documented range.
struct InvalidArgumentError : Error {
  using Error::Error;
};
/// A variable other than expected.
struct VariableMismatchError : Error {
  using Error::Error;
};
/// An error reported by a device or its driver.
struct DeviceError : Error {
  using Error::Error;
};
/// A feature that is documented as not available.
struct UnsupportedError : Error {
  using Error::Error;
};
/// A strategy of a user that breaks a rule for strategies.
struct StrategyError : Error {
  using Error::Error;
};
/// A broken invariant of belfry itself; please report the error.
struct InternalError : Error {
  using Error::Error;
};

/// Throws the child of Error that belongs to `report.code`.
[[noreturn]] void throw_error(ErrorReport report);

/// Throws InternalError.
[[noreturn]] void throw_internal(std::string_view what, CallSite site);
/// Throws InternalError if `condition` is false.
inline void check(bool condition, std::string_view what, CallSite site = CallSite::here()) {
  if (!condition) throw_internal(what, site);
}

/// Unwinds a replica after a failure elsewhere in its run. Not derived from std::exception:
/// handlers of ordinary errors do not catch the type. Never leaves `run`.
struct ReplicaCancelled {};

}  // namespace belfry
