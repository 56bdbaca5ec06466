// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace belfry::sim {

/// The ways of a run to break a condition of a certificate (SEM-193), in the order of the
/// conditions. Each has a check of its own in conditions.cpp, and a pair of programs in the tests:
/// a new enumerator needs both.
enum class Breach : std::uint8_t {
  kUnrecorded,         ///< More operations or choices than are kept.
  kNewAnswers,         ///< A clock, or a source of random numbers.
  kDeviceRace,         ///< Accesses to device memory without an order.
  kNestedRun,          ///< A run begun by a replica.
  kGroup,              ///< A merge of a group of replicas.
  kProgramMemory,      ///< A buffer over memory of the program.
  kInnerExploration,   ///< The body is part of the body of an exploration.
  kUnwatchedProgram,   ///< A program without watched code.
  kUnwatchedReplicas,  ///< Replicas without accesses in watched code.
  kHostRace,           ///< Accesses to host memory without an order.
  kUnseenCode,         ///< Code of replicas that may touch memory unseen.
  kUnknownOrder,       ///< The body of a kernel touches memory of the program.
  kQuestion,           ///< A question about the progress of agents.
  kLock,               ///< A lock in a replica.
  kAtomic,             ///< An atomic object that replicas share.
  kLastOwner,          ///< A shared object whose last owner the schedule decides.
  kEventRace,          ///< Uses of an event without an order.
  kFailedWork,         ///< Work that failed, or a wait that threw.
  kShortage,           ///< Memory ran out.
  kMemoryLimit,        ///< Buffers that exceed the limit of a device in all.
  kDrawnOrder,         ///< An order of a reduction that the schedule drew.
  kSecondBackend,      ///< A backend besides the body's.
  kSecondThread,       ///< A thread besides the body's.
  kDraw,               ///< A draw of a random value.
};

inline constexpr std::size_t kBreaches = static_cast<std::size_t>(Breach::kDraw) + 1;

}  // namespace belfry::sim
