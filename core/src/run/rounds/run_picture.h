// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/byte_stream.h"
#include "run/rounds/merge_digest.h"
#include "run/rounds/run_report.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace belfry::detail {

/// The message of a process about a round: the state of each of its replicas. All replicas have
/// arrived at a merge or have returned; if some wait in groups, others may wait for variables.
Bytes describe_round(const RunFacts& run);
/// The message of a process without replicas in the run.
Bytes describe_absent(const ProcessTable& processes, std::size_t process);

/// A round in short: all replicas have returned, or have arrived at merges that belong together, or
/// neither.
enum class RoundState : std::uint8_t { kMixed, kReturned, kArrived };

/// A round of a process in a few bytes. Equal summaries of uniform rounds need no description: the
/// merge is in the summary as a digest of 128 bits.
class RoundSummary {
 public:
  RoundSummary(const RunFacts& run, MergeDigest& digest);

  std::span<const std::byte> bytes() const { return bytes_; }
  RoundState state() const { return state_; }
  /// The state of all processes, if the summaries are equal; else kMixed. Listening processes have
  /// an empty summary. What follows a summary is not read.
  static RoundState common_state(const std::vector<Bytes>& summaries);
  /// The descriptions that follow the summaries of processes in which a replica waits in a group,
  /// with those of listening processes; nothing if another process takes part.
  static std::vector<Bytes> descriptions(const std::vector<Bytes>& payloads,
                                         const ProcessTable& processes);

 private:
  // The state and the digest.
  std::array<std::byte, sizeof(RoundState) + sizeof(MergeDigest::Words)> bytes_{};
  RoundState state_ = RoundState::kMixed;
};

/// The replicas of all processes in a round, from the messages of the processes. The addresses of
/// types of merges, functions and variables have no meaning in another process: equal descriptions
/// get equal addresses here, and in each process unequal addresses stay unequal.
class RunPicture {
 public:
  /// Nothing is known yet of `replicas` replicas.
  explicit RunPicture(int replicas);
  RunPicture(const RunPicture&) = delete;
  RunPicture& operator=(const RunPicture&) = delete;

  /// Adds the message of a process. Throws: InternalError for a message of a different form.
  void add(const Bytes& message);

  /// Valid as long as the picture.
  RunFacts facts() const { return {states_, requests_, present_}; }
  bool all_returned() const;
  /// The groups whose merges follow, if the round does not fail, as ready_groups.
  std::vector<Participants> ready_groups() const;
  /// The failure of the round; none if merges of groups follow, or if every replica waits in a
  /// merge of all. The merges of each group belong together then.
  std::optional<Failure> failure() const;

 private:
  struct Request : MergeRequest {
    std::string described;
    std::string tag_text;
    MergeTag own_tag{};
    std::optional<Participants> members{};
  };

  void add_request(ByteReader& in, int replica, CallSite site);

  ReplicaStates states_;
  std::vector<MergeRequest*> requests_;
  Participants present_;
  std::deque<Request> storage_;
  std::deque<VariableRequest> sought_;
  std::set<std::string> texts_;
  std::map<std::tuple<MergeKind, std::string, std::uint32_t, bool>, MergeType> types_;
  std::set<std::pair<std::string, std::uint32_t>> identities_;
};

}  // namespace belfry::detail
