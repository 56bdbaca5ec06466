// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/detail/prints.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::sim {

/// Facts about a record of a log, for people. No hash and no token includes them.
struct Annotation {
  std::uint64_t record = 0;   ///< The index of the record.
  std::uint64_t reads = 0;    ///< Bytes that work or the host reads; of a collective, all members'.
  std::uint64_t writes = 0;   ///< Bytes that work writes; of a collective, all members'.
  CallSite site{};            ///< The user's call; empty if not known.
  std::int32_t replica = -1;  ///< The replica whose call the host carries out; -1: none.
  std::uint32_t name = 0;     ///< A number for Annotations::name.
  std::uint16_t members = 0;  ///< Of a collective; 65535 also stands for more.
  bool failed = false;        ///< Work failed, or was skipped after a failure.
};

/// `record 3, name 2, reads 8 B, writes 12 B, 2 members, replica 1, train.cpp:5, failed`, without
/// the facts that are missing.
std::string to_string(const Annotation& annotation);

/// The begin or the end of a run.
struct RunMark {
  std::uint64_t record = 0;  ///< The number of records before the mark.
  std::uint64_t run = 0;     ///< From 1, in the order in which the runs of the log begin.
  int replicas = 0;          ///< Of a begin: the number of replicas.
  bool begins = false;       ///< A begin, or else an end.
  bool failed = false;       ///< Of an end: the run failed.
  CallSite site{};           ///< The call of `run`.
  std::uint32_t name = 0;    ///< The failure, for Annotations::name.
};

/// `run 1 of 2 replicas begins before record 0, train.cpp:5`; `run 1 ends before record 9, failed`.
std::string to_string(const RunMark& mark);

/// The annotations of a log. Records without facts have none. If memory runs out, later annotations
/// are missing.
class Annotations {
 public:
  /// The annotation of the record with the index `record`, or null.
  const Annotation* find(std::uint64_t record) const;
  /// The kernel, verb, variable or exception with the number `name`; empty for 0.
  std::string_view name(std::uint32_t name) const;
  /// In order. A run that was going on when the log stopped keeping records may lack its end.
  const std::vector<RunMark>& runs() const { return runs_; }

  /// For logs: adds the annotation of the last record.
  void add(const Operation& operation, std::uint64_t record, std::int32_t replica) noexcept;
  /// For logs: adds the begin of a run, or the end of a run whose begin was added.
  void add_run(const Operation& operation, std::uint64_t record, bool keeps_begins) noexcept;

 private:
  struct OpenRun {
    std::uint64_t ordinal = 0;
    CallSite site{};
    std::uint64_t run = 0;
  };
  struct MemberBytes {
    const Footprint* list = nullptr;
    std::uint16_t left = 0;  // Members without an annotation so far.
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
  };

  void add_bytes(const Operation& operation, Annotation& added) noexcept;
  std::uint32_t number_of(std::string_view name, std::uint64_t hint);
  void begin_run(const Operation& operation, std::uint64_t record);
  void end_run(const Operation& operation, std::uint64_t record);

  std::vector<Annotation> annotations_;
  std::vector<RunMark> runs_;
  std::vector<OpenRun> open_;  // In the order of their begins.
  MemberBytes collective_;     // The last one.
  std::uint64_t begun_ = 0;
  std::vector<std::string> names_;  // Name n is at n - 1.
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::array<std::uint32_t, 16> recent_{};  // The last number for each hint: saves a search.
};

using belfry::operator<<;

}  // namespace belfry::sim
