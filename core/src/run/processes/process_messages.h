// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/byte_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

/// The messages of an exchange, and questions about the messages.
namespace belfry::detail {

/// The message of a process in an exchange.
struct ProcessMessage {
  enum class Kind : std::uint8_t {
    kMake,    ///< Makes a strategy.
    kRound,   ///< A round of a run: the state of each replica of the process.
    kValues,  ///< The values of a verb.
    kFailed,  ///< The run, or the preparation of the run, has failed in this process.
    kListen,  ///< No replica of this process takes part in the run (SEM-212) or merge (SEM-289).
    kGroup,   ///< A call of the group, and no call of a strategy.
  };

  Kind kind = Kind::kValues;
  std::uint64_t strategy = 0;  ///< Its number in the group.
  std::string what;            ///< The verb, for kValues; the failure, for kFailed.
  std::string file{};
  int line = 0;
  int replica = -1;  ///< The failed replica; -1 if no replica failed.
  Bytes payload{};
  bool in_run = false;
  int transaction = 0;  ///< The depth of the transaction that the process ends; 0 for none.
};

/// Writes the message up to its payload.
void write_head(ByteWriter& out, const ProcessMessage& message);
/// The message as bytes.
Bytes encode(const ProcessMessage& message);
/// The message of a strategy, or the call of the group that a process makes instead, which has the
/// kind kGroup.
/// Throws: InternalError for a message of another version or byte order.
ProcessMessage decode(Bytes bytes);

/// A call of a group by means of a gather.
struct GroupCall {
  std::string word;  ///< Tells calls apart: `barrier`; `gather` for bytes of the program.
  std::string file{};
  int line = 0;
  std::int64_t number = 0;
};
Bytes encode(const GroupCall& call);
/// The call of a process, which may be a strategy's.
GroupCall decode_group_call(const Bytes& bytes);

inline CallSite site_of(const ProcessMessage& message) {
  return {message.file.c_str(), message.line};
}

inline bool is_failed(const ProcessMessage& message) {
  return message.kind == ProcessMessage::Kind::kFailed;
}
/// Whether a process makes a call of the group, and no call of a strategy.
inline bool is_of_group(const ProcessMessage& message) {
  return message.kind == ProcessMessage::Kind::kGroup;
}
inline bool listens(const ProcessMessage& message) {
  return message.kind == ProcessMessage::Kind::kListen;
}

// Whether a process listens to a merge of a group, and to the run.
inline bool listens_to_group_merge(const ProcessMessage& message) {
  return listens(message) && message.what != "run";
}

// Whether two processes make the same call, apart from the place. A listening process is in the
// same call as each process of the run.
inline bool same_call(const ProcessMessage& first, const ProcessMessage& other) {
  if (other.strategy != first.strategy) return false;
  if (listens(first) || listens(other)) return first.in_run && other.in_run;
  return other.kind == first.kind && other.what == first.what;
}

inline bool same_place(const ProcessMessage& first, const ProcessMessage& other) {
  if (first.kind == ProcessMessage::Kind::kRound || listens(first) || listens(other)) return true;
  return other.line == first.line && other.file == first.file;
}

// The lowest process with replicas in the run; process 0 if all processes listen.
inline const ProcessMessage& speaker_of(const std::vector<ProcessMessage>& all) {
  const auto speaker = std::ranges::find_if_not(all, listens);
  return speaker == all.end() ? all.front() : *speaker;
}

// Whether one transaction has failed in all processes of the run, each by its own exception.
inline bool end_one_transaction(const std::vector<ProcessMessage>& all) {
  const int depth = speaker_of(all).transaction;
  return depth > 0 && std::ranges::all_of(all, [depth](const ProcessMessage& message) {
           return listens(message) || (is_failed(message) && message.transaction == depth);
         });
}

}  // namespace belfry::detail
