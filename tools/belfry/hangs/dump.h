// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::tool::hangs {

using Sizes = std::vector<std::vector<std::int64_t>>;

enum class State : std::uint8_t { kScheduled, kStarted, kCompleted };
/// Of the host of a rank. Not in dumps of PyTorch.
enum class HostState : std::uint8_t { kUnknown, kRunning, kWaiting, kEnded, kFailed };

/// An operation entered by a rank.
struct Entry {
  std::int64_t record = 0;  ///< Rises by one with each operation of the rank.
  std::string group{};      ///< The name, equal on all ranks of the group.
  std::int64_t seq = 0;     ///< The number among the collectives of the group, from 1.
  std::string kind{};       ///< Such as `all_reduce`, without the name of the library.
  bool p2p = false;         ///< A send or receive between two ranks.
  Sizes input_sizes{};      ///< Of each tensor.
  Sizes output_sizes{};     ///< The same.
  std::vector<std::string> input_types{};
  std::vector<std::string> output_types{};
  State state = State::kScheduled;
  bool retired = false;  ///< Completed, or given up.
  std::string op{};      ///< Of a reduction; empty if not known.
  std::optional<std::int64_t> root{};
  std::string line{};      ///< Of the call, `train.cpp:60`; empty if not known.
  std::string variable{};  ///< The same.
};

struct DumpGroup {
  std::string name{};
  std::string description{};
  std::vector<int> ranks{};  ///< Of the job, rising; empty if not known.
};

/// The dump of the recorder of a rank.
struct Dump {
  std::string file{};
  int rank = 0;
  int ranks = 0;                    ///< Of the job; 0 if not known.
  bool ours = false;                ///< Written by belfry.
  std::vector<DumpGroup> groups{};  ///< Of all entries, and others of the rank.
  /// The last call entered in each group, by name.
  std::vector<std::pair<std::string, std::int64_t>> last_entered{};
  std::vector<Entry> entries{};  ///< The oldest first.
  /// Whether the entries tell started and completed operations. gloo leaves all at `scheduled`.
  bool has_states = false;
  HostState host = HostState::kUnknown;
  std::string where{};  ///< The last call of the host, if known.
  std::string error{};  ///< Of a rank that failed.

  bool is_cut() const { return !entries.empty() && entries.front().record > 0; }
};

}  // namespace belfry::tool::hangs
