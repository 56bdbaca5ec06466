// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/process_exchange.h"

#include <algorithm>
#include <vector>

/// Questions about the messages of an exchange.
namespace belfry::detail {

inline CallSite site_of(const ProcessMessage& message) {
  return {message.file.c_str(), message.line};
}

inline bool is_failed(const ProcessMessage& message) {
  return message.kind == ProcessMessage::Kind::kFailed;
}
inline bool listens(const ProcessMessage& message) {
  return message.kind == ProcessMessage::Kind::kListen;
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
