// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/observer.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace belfry::sim {

/// The events of a run that keep a verdict from kCertified, each by its first occurrence, and
/// counts as evidence.
class RunFacts {
 public:
  void add(const Observation& seen);

  /// The first occurrence in words: `R1 of run 1, train.cpp:5`.
  using First = std::optional<std::string>;
  First asked{};                   ///< A question about the progress of agents.
  First failed{};                  ///< Failed device work, or a wait that threw.
  First abandoned{};               ///< A replica that ended without unwinding.
  First foreign{};                 ///< Memory of the program, with unseen accesses.
  First grouped{};                 ///< A merge of a group of replicas.
  std::uint64_t work = 0;          ///< Pieces of device work.
  std::uint64_t event_uses = 0;    ///< Records of events, and waits for events.
  std::uint64_t failed_reads = 0;  ///< Reads of the host that threw.
  std::uint64_t steps = 0;         ///< Steps of replicas and merges.
  std::uint32_t runs = 0;          ///< Runs of replicas.
  std::map<std::int64_t, std::uint64_t> allocated{};  ///< Bytes of all buffers, by device.
};

}  // namespace belfry::sim
