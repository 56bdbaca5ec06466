// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belfry {

/// Stable numbers of all errors, printed as `BF-012`. Never renumbered. `docs/errors.md` has a
/// section on each, with an example or the reason for having none.
enum class ErrorCode : int {
  // Contexts.
  kWrongContext = 1,      ///< Cross-replica work inside a replica, or the reverse.
  kStrategyBusy = 2,      ///< A second run on a busy strategy, or a call refused while a run lasts.
  kRunFailed = 3,         ///< ReplicaCancelled thrown by user code in a run that had not failed.
  kOtherStrategy = 4,     ///< A context, variable or scope of another strategy.
  kReplicaThrew = 5,      ///< A replica's own exception ended the run (reports only).
  kMergeThrew = 6,        ///< A merge function's own exception ended the run (reports only).
  kStrategyContract = 7,  ///< A user's strategy broke a rule for strategies.
  // Merges.
  kMergeMissing = 10,    ///< Some replicas ended, and others wait in a merge.
  kMergePlaces = 11,     ///< Replicas wait at different places, names, functions or variables.
  kMergeKinds = 12,      ///< Replicas wait in different kinds of merge.
  kMergeTypes = 13,      ///< Same place, different structure of types.
  kMergeNested = 14,     ///< A merge through a replica context that is not current.
  kMergeUnnamed = 15,    ///< A second merge without a name, although names are required.
  kCapturedValue = 16,   ///< The merge functions of different replicas have different effects.
  kReplicaStalled = 17,  ///< A replica took no step within the limit of a StallWatch.
  kDeadline = 18,        ///< A run, or the wait at a merge, took longer than its limit.
  // Structures.
  kStructure = 20,  ///< Values of different structure or length in one reduction.
  kShape = 21,      ///< Shapes that do not fit an operation.
  kDType = 22,      ///< Element types that do not fit an operation.
  // Arguments.
  kInvalidArgument = 30,  ///< An argument outside its documented range.
  kNoDevices = 31,        ///< No device where at least one is needed.
  kDuplicateDevice = 32,  ///< One device named twice.
  kUnknownDevice = 33,    ///< A device that the backend or strategy lacks.
  kDeviceString = 34,     ///< A device string that does not parse.
  kIntegerMean = 35,      ///< MEAN over integers without a policy.
  kNoAggregation = 36,    ///< A mirrored variable assigned in a replica without an aggregation.
  kSumOfMirrored = 37,    ///< SUM of a value that all replicas share.
  kDestination = 38,      ///< A destination without a device, or a place without a component.
  kFileFormat = 39,       ///< A file that breaks its format or cannot be read.
  kFile = 40,             ///< A file that cannot be saved.
  kSumOverflow = 41,      ///< A sum of integers that its type cannot hold, if such are reported.
  // Variables.
  kVariableMismatch = 50,  ///< A variable of another kind, type or shape than asked for.
  kVariableForeign = 51,   ///< Reserved. A variable of another strategy is kOtherStrategy.
  kVariableEmpty = 52,     ///< A default-constructed handle was used.
  kMirroredDiverged = 53,  ///< Components of a mirrored variable differ.
  kTransaction = 54,       ///< Reserved for updates that are rolled back together.
  // Devices.
  kOutOfMemory = 60,    ///< A device's memory, or its limit, is used up.
  kOutOfBounds = 61,    ///< A view beyond its buffer, or an index without a row or element.
  kUninitialised = 62,  ///< A read of memory that was never written.
  kDeviceLost = 63,     ///< The driver or NCCL reported an error; the text has its words.
  kNoDriver = 64,       ///< No driver or no GPU on this machine.
  kDeadlock = 65,       ///< Every agent waits.
  kForeignObject = 66,  ///< An object of another backend, or tensors on different devices.
  kStackOverflow = 67,  ///< A replica needs more stack than it has.
  kLeak = 68,           ///< Reserved for buffers alive when their backend is destroyed.
  // Processes.
  kProcessLost = 70,   ///< A process of a group ended, left, or is silent.
  kPeerFailed = 71,    ///< Another process of the group failed.
  kGroupContext = 72,  ///< A group made or used where the engine of the group cannot be used.
  // Others.
  kUnsupported = 80,       ///< Documented as not available here.
  kReplay = 81,            ///< A replay token that does not fit this program.
  kNotDeterministic = 82,  ///< Two runs of one schedule differed.
  kInternal = 99,          ///< A broken invariant of belfry itself.
};

/// `BF-` and three digits.
std::string to_string(ErrorCode code);

/// The part of a replica in an error, or of a whole process: its place, and its state there.
struct ReplicaReport {
  int replica_id = -1;             ///< -1 for the part of a process.
  CallSite site{};                 ///< The call of the replica.
  std::string what;                ///< For example `waits in merge_call #2`.
  std::exception_ptr exception{};  ///< The replica's exception, or null.
  int process = -1;                ///< The rank of the replica's process; -1 without a group.
  /// The text of the file of `site`, if another process sent the text; else null.
  std::shared_ptr<const std::string> file{};
};

/// The line of the replica in the text of an ErrorReport:
/// `replica 2  train.cc:88  waits in merge_call #2`.
std::string to_string(const ReplicaReport& report);

/// The schedule of a run on the simulator: the same program with the same options and this schedule
/// fails in the same way (SEM-79).
struct ScheduleReport {
  std::uint64_t seed = 0;  ///< `sim::Options::seed`.
  /// The choices from the start of the backend to the end of the run, for `sim::Schedule::replay`.
  /// Empty if the backend has not kept all choices, or runs replicas on concurrent threads.
  std::string token{};
};

/// `seed 7, replay ` and the token, if there is one.
std::string to_string(const ScheduleReport& report);

/// The contents of an Error, as data.
struct ErrorReport {
  ErrorCode code = ErrorCode::kInternal;  ///< The number of the error.
  std::string summary;                    ///< The event, in one sentence.
  CallSite site{};                        ///< The failed call; empty if no single call failed.
  std::vector<ReplicaReport> replicas;    ///< In replica order; empty if no replica is involved.
  std::string expected;                   ///< The correct state or call; may be empty.
  std::string hint;                       ///< A remedy; may be empty.
  /// Of the failed run; empty outside of runs, and on backends without replay.
  std::optional<ScheduleReport> schedule{};
};

/// The code, the summary, a line for each replica, the expected state, and the hint. The schedule
/// is left out: the text does not depend on the seed.
std::string to_string(const ErrorReport& report);
/// The same, and a line each for the seed and the replay token of the schedule.
std::string describe(const ErrorReport& report);

/// The base of all exceptions that belfry throws at users. Exceptions of users keep their types.
///
///     try {
///       strategy.run(train_step);
///     } catch (const Error& error) {
///       std::cerr << error.what() << '\n';    // BF-060, the device, the bytes, and a hint.
///       return error.code() == ErrorCode::kOutOfMemory ? 2 : 1;
///     }
class Error : public std::exception {
 public:
  /// An error with this report.
  explicit Error(ErrorReport report);
  /// An error without replicas.
  Error(ErrorCode code, std::string summary, std::string hint = {}, CallSite site = {});

  /// The report as text.
  const char* what() const noexcept override;
  /// The number of the error.
  ErrorCode code() const noexcept { return shared_->report.code; }
  /// The report as data.
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
/// A process of a group ended or left before the rest of the group.
struct ProcessLostError : Error {
  using Error::Error;
};
/// A failure in another process of the group; the error has the text of the failure.
struct PeerFailedError : Error {
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
