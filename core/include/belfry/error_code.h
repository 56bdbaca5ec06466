// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace belfry {

/// Stable numbers of everything that can go wrong; printed as `BF-012`. Never renumbered.
/// `docs/errors.md` explains each, and has a test each.
enum class ErrorCode : int {
  // Contexts.
  kWrongContext = 1,      ///< Cross-replica work inside a replica, or the reverse.
  kStrategyBusy = 2,      ///< A second run on a strategy that is running.
  kRunFailed = 3,         ///< A cancellation that a user threw where no run had failed.
  kOtherStrategy = 4,     ///< A context, variable or scope of another strategy.
  kReplicaThrew = 5,      ///< A replica's own exception ended the run (reports only).
  kMergeThrew = 6,        ///< A merge function's own exception ended the run (reports only).
  kStrategyContract = 7,  ///< A user's strategy broke what a strategy must keep.
  // Merges.
  kMergeMissing = 10,   ///< Some replicas ended without a merge others wait in.
  kMergePlaces = 11,    ///< Replicas wait at different places.
  kMergeKinds = 12,     ///< Replicas wait in different kinds of merge.
  kMergeTypes = 13,     ///< Same place, different structure of types.
  kMergeNested = 14,    ///< A merge through a replica context that is not current.
  kMergeUnnamed = 15,   ///< A merge without a name, reached again though names are required.
  kCapturedValue = 16,  ///< Merge functions of different replicas do different things.
  // Structures.
  kStructure = 20,  ///< Values of different structure or length meet in one reduction.
  kShape = 21,      ///< Shapes that do not fit an operation.
  kDType = 22,      ///< Element types that do not fit an operation.
  // Arguments.
  kInvalidArgument = 30,  ///< An argument outside its documented range.
  kNoDevices = 31,        ///< A backend or strategy without devices.
  kDuplicateDevice = 32,  ///< One device named twice.
  kUnknownDevice = 33,    ///< A device this backend or strategy does not have.
  kDeviceString = 34,     ///< A device string that does not parse.
  kIntegerMean = 35,      ///< MEAN over integers without a policy.
  kNoAggregation = 36,    ///< A mirrored variable assigned in a replica without an aggregation.
  kSumOfMirrored = 37,    ///< SUM of one value all replicas share.
  kDestination = 38,      ///< A destination that names no device of the strategy.
  kFileFormat = 39,       ///< A file that does not hold what it should.
  kFile = 40,             ///< A file that cannot be saved.
  // Variables.
  kVariableMismatch = 50,  ///< Replicas asked for different variables at one place.
  kVariableForeign = 51,   ///< A variable of another strategy.
  kVariableEmpty = 52,     ///< A default-constructed handle was used.
  kMirroredDiverged = 53,  ///< Components promised equal are not.
  kTransaction = 54,       ///< An update failed and was rolled back.
  // Devices.
  kOutOfMemory = 60,    ///< The device's memory limit was reached.
  kOutOfBounds = 61,    ///< A view beyond its buffer, or a row that is not there.
  kUninitialised = 62,  ///< A read of memory nobody wrote.
  kDeviceLost = 63,     ///< The driver reported an error; the text says which.
  kNoDriver = 64,       ///< No driver or no GPU on this machine.
  kDeadlock = 65,       ///< Every agent waits.
  kForeignObject = 66,  ///< A stream, event or buffer of another backend.
  kStackOverflow = 67,  ///< A replica used more stack than it was given.
  kLeak = 68,           ///< Buffers alive when their backend was destroyed.
  // Others.
  kUnsupported = 80,       ///< Documented as not available here.
  kReplay = 81,            ///< A replay token that does not fit this program.
  kNotDeterministic = 82,  ///< Two runs of one schedule differed.
  kInternal = 99,          ///< A broken invariant of belfry itself.
};

/// `BF-` and three digits.
std::string to_string(ErrorCode code);

}  // namespace belfry
