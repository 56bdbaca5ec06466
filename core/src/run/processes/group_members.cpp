// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/processes/group_members.h"

#include "belfry/detail/all_reduce_request.h"
#include "belfry/detail/step_tap.h"
#include "belfry/detail/strategy_core.h"
#include "run/processes/all_reduce_parts.h"
#include "run/processes/reduction_fold.h"
#include "run/rounds/exception_text.h"
#include "run/rounds/group_waits.h"
#include "run/rounds/run_report.h"
#include "words/with_report.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace belfry::detail {
namespace {

using Kind = ProcessMessage::Kind;

// Errors that all processes throw together: afterwards no process waits.
bool is_common(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kMergeMissing:
    case ErrorCode::kMergePlaces:
    case ErrorCode::kMergeKinds:
    case ErrorCode::kMergeTypes:
    case ErrorCode::kProcessLost:
    case ErrorCode::kPeerFailed:
      return true;
    default:
      return false;
  }
}

bool has_code(const std::exception_ptr& thrown, ErrorCode code) {
  const std::optional<ErrorReport> report = error_report(thrown);
  return report && report->code == code;
}

// Work of a device that waits for a lost process ends late, as a lost device.
std::exception_ptr cause_of(const std::exception_ptr& thrown, const std::exception_ptr& told) {
  if (told == nullptr) return thrown;
  const bool is_behind_loss =
      has_code(thrown, ErrorCode::kDeviceLost) && has_code(told, ErrorCode::kProcessLost);
  return is_behind_loss ? told : thrown;
}

// For reports about lost processes; the constructor names the place of the strategy.
const char* purpose_of(const ProcessMessage& message) {
  if (is_failed(message)) return "the failure of a run";
  if (!listens(message)) return "a run";
  return listens_to_group_merge(message) ? "a merge of a group without members in this process"
                                         : "a run without replicas of this process";
}

std::vector<Bytes> payloads_of(std::vector<ProcessMessage> all) {
  std::vector<Bytes> payloads;
  payloads.reserve(all.size());
  for (ProcessMessage& message : all) payloads.push_back(std::move(message.payload));
  return payloads;
}

}  // namespace

void GroupMembers::begin_run() {
  state_ = State::kRunning;
  failure_ = nullptr;
  digest_ = {};
  set_listeners({});
}

void GroupMembers::end_run() {
  state_ = State::kIdle;
  set_listeners({});
}

bool GroupMembers::has_skipped(std::uint64_t number) const {
  return std::ranges::binary_search(skipped_, number);
}

// The result of `step`. An error that all processes throw ends the exchanges of the run.
template <class F>
auto GroupMembers::ending_run_of(const F& step) -> decltype(step()) {
  try {
    return step();
  } catch (const Error& error) {
    if (state_ == State::kRunning && is_common(error)) {
      state_ = State::kClosed;
      failure_ = std::current_exception();
    }
    throw;
  }
}

void GroupMembers::note_listeners(const std::vector<ProcessMessage>& all) {
  if (state_ != State::kRunning) return;
  std::vector<bool> listening;
  for (const ProcessMessage& message : all) listening.push_back(listens(message));
  set_listeners(std::move(listening));
}

std::vector<ProcessMessage> GroupMembers::send(const ProcessMessage& own,
                                               const Describe* describe) {
  require_open(site_of(own));
  const Bytes message = encode(own);
  if (own.kind != Kind::kMake) group_.name_call(purpose_of(own), {});
  return understand(own, ending_run_of([&] { return group_.gather(message); }), describe);
}

void GroupMembers::require_open(CallSite site) const {
  if (!is_closed()) return;
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  throw_internal("an exchange after the end of a run", site);
}

std::vector<ProcessMessage> GroupMembers::understand(const ProcessMessage& own,
                                                     std::vector<Bytes> sent,
                                                     const Describe* describe) {
  return ending_run_of([&] {
    std::vector<ProcessMessage> all;
    all.reserve(sent.size());
    for (Bytes& bytes : sent) all.push_back(decode(std::move(bytes)));
    note_transaction(all);
    if (is_failed(own)) return all;
    if (listens(own) && end_one_transaction(all)) return all;
    if (std::ranges::any_of(all, is_failed)) throw_peer_failed(all);
    require_equal(all, describe);
    note_listeners(all);
    return all;
  });
}

// Two rounds are compared by the runner. After a mismatch, which every process sees, processes in a
// round tell all about their replicas.
void GroupMembers::require_equal(const std::vector<ProcessMessage>& all, const Describe* describe) {
  const ProcessMessage& first = speaker_of(all);
  for (const ProcessMessage& other : all) {
    if (same_call(first, other) && same_place(first, other)) continue;
    const Bytes own = describe == nullptr ? Bytes() : (*describe)();
    if (std::ranges::any_of(all, is_of_group)) {
      // The process of the other call takes no part in a second exchange.
      std::vector<Bytes> rounds(all.size());
      rounds[static_cast<std::size_t>(rank())] = own;
      throw_mismatch(all, rounds);
    }
    throw_mismatch(all, group_.gather(own));
  }
}

bool GroupMembers::agree(const RunFacts& own, CallSite run) {
  const auto describe = [&own] { return describe_round(own); };
  for (;;) {
    std::vector<Bytes> descriptions;
    switch (begin_to_agree(own, run, describe, descriptions)) {
      case RoundState::kReturned:
        close();
        return false;
      case RoundState::kArrived:
        return true;
      case RoundState::kMixed:
        break;
    }
    // Some process differs: every process sees the difference, and tells all about its replicas.
    if (descriptions.empty()) descriptions = this->round(describe(), describe);
    const auto groups = agree_on_descriptions(descriptions);
    if (groups.empty()) return !is_closed();
    if (merge_groups(own, groups, run)) return false;
  }
}

RoundState GroupMembers::begin_to_agree(const RunFacts& own, CallSite run, Describe describe,
                                        std::vector<Bytes>& descriptions) {
  const RoundSummary summary(own, digest_);
  begin_round(summary.bytes());
  if (summary.state() == RoundState::kArrived) {
    const MergeRequest& merge = *own.requests[static_cast<std::size_t>(own.present.id(0))];
    group_.name_call(to_string(merge.type->kind), merge.site);
    if (merge.type->execute == &execute_all_reduce) {
      const CurrentScope scope(*own.cross);
      const SiteScope site(merge.site);
      write_for_round(*own.cross->strategy, own.requests.data(), own.present, round_message_);
    }
  } else if (summary.state() == RoundState::kReturned) {
    group_.name_call("the end of a run", run);
  }
  const auto reduce = [&own](std::span<const std::span<const std::byte>> values) {
    return fold_reduction(*own.cross->strategy, values);
  };
  const ProcessGroup::Fold fold(reduce);
  if (waits_in_group(own)) {
    const Bytes description = describe();
    round_message_.add(description.data(), description.size());
  }
  const std::vector<Bytes> summaries =
      finish_round(summary.state(), step_tap == nullptr ? &fold : nullptr, describe);
  if (summary.state() == RoundState::kMixed) {
    descriptions = RoundSummary::descriptions(summaries, table());
  }
  return summaries.empty() ? summary.state() : RoundSummary::common_state(summaries);
}

std::vector<Participants> GroupMembers::agree_on_descriptions(
    const std::vector<Bytes>& descriptions) {
  RunPicture all(replicas());
  for (const Bytes& message : descriptions) all.add(message);
  if (all.all_returned()) {
    close();
    return {};
  }
  std::optional<Failure> failure = all.failure();
  if (!failure) return all.ready_groups();
  // Every process has the same picture, and fails alike.
  close();
  complete(failure->report);
  throw_error(std::move(failure->report));
}

std::vector<Bytes> GroupMembers::round(const Bytes& own, Describe describe) {
  ProcessMessage message = head_of_round();
  message.payload = own;
  return payloads_of(send(message, &describe));
}

ProcessMessage GroupMembers::head_of_round() const {
  return {Kind::kRound, number_, "run", {}, 0, -1, {}, true};
}

void GroupMembers::begin_round(std::span<const std::byte> summary) {
  require_open({});
  if (round_head_ == 0) {
    write_head(round_message_, head_of_round());
    round_head_ = round_message_.bytes().size();
  }
  round_message_.truncate(round_head_);
  round_message_.add(summary.data(), summary.size());
  round_summary_ = summary.size();
  round_values_.reset();
}

std::vector<Bytes> GroupMembers::finish_round(RoundState own, const ProcessGroup::Fold* fold,
                                              Describe describe) {
  const auto head = [this] { return head_of_round(); };
  const Bytes& message = round_message_.bytes();
  const std::size_t values = round_head_ + round_summary_;
  const bool has_values = own == RoundState::kArrived && message.size() > values;
  const auto nothing_if_empty = [](std::span<const std::span<const std::byte>> all) {
    const bool are_empty = std::ranges::all_of(all, &std::span<const std::byte>::empty);
    return are_empty ? std::optional(Bytes()) : std::nullopt;
  };
  const ProcessGroup::Fold without_values(nothing_if_empty);
  FoldedBytes sent =
      fold_payloads(head, message, values, has_values ? fold : &without_values, &describe);
  if (own == RoundState::kMixed) return std::move(sent.all);
  std::vector<Bytes> summaries;
  bool all_have_values = has_values;
  for (const Bytes& payload : sent.all) {
    const auto end =
        payload.begin() + static_cast<std::ptrdiff_t>(std::min(payload.size(), round_summary_));
    summaries.emplace_back(payload.begin(), end);
    all_have_values = all_have_values && (payload.empty() || end != payload.end());
  }
  if (all_have_values) round_values_ = std::move(sent);
  return summaries;
}

FoldedBytes GroupMembers::exchange_to_fold(const char* what, CallSite site, WriteMessage write,
                                           const ProcessGroup::Fold* fold) {
  const bool in_run = state_ == State::kRunning;
  const auto head = [&]() -> ProcessMessage {
    return {Kind::kValues, number_, what, site.file, site.line, -1, {}, in_run};
  };
  ByteWriter message;
  write_head(message, head());
  const std::size_t begin = message.bytes().size();
  try {
    write(message);
  } catch (...) {
    tell_failure(site);
    throw;
  }
  require_open(site);
  group_.name_call(what, site);
  return fold_payloads(head, message.bytes(), begin, fold, nullptr);
}

// Equal heads are those of one call: no process listens or fails. `head` is the number of equal
// bytes; without a fold the process gathers.
FoldedBytes GroupMembers::fold_payloads(FunctionRef<ProcessMessage()> own,
                                        std::span<const std::byte> message, std::size_t head,
                                        const ProcessGroup::Fold* fold, const Describe* describe) {
  const auto has_head = [&](std::span<const std::byte> other) {
    return other.size() >= head && same_bytes(other.first(head), message.first(head));
  };
  const auto fold_behind_heads =
      [&](std::span<const std::span<const std::byte>> messages) -> std::optional<Bytes> {
    std::vector<std::span<const std::byte>> payloads;
    payloads.reserve(messages.size());
    for (const std::span<const std::byte> other : messages) {
      if (!has_head(other)) return std::nullopt;
      payloads.push_back(other.subspan(head));
    }
    try {
      return (*fold)(payloads);
    } catch (...) {
      // Every process finds the error in the messages.
      return std::nullopt;
    }
  };
  FoldedBytes sent = ending_run_of([&] {
    return fold != nullptr ? group_.fold(message, fold_behind_heads)
                           : FoldedBytes{.all = group_.gather(message)};
  });
  const bool is_folded = sent.result != nullptr;
  const bool are_values = !is_folded && describe == nullptr;
  if (is_folded || (are_values && std::ranges::all_of(sent.all, has_head))) {
    if (state_ == State::kRunning) set_listeners({});
    for (Bytes& other : sent.all) {
      other.erase(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(head));
    }
  } else {
    sent.all = payloads_of(understand(own(), std::move(sent.all), describe));
  }
  return sent;
}

// In the exchange after a failure the failed process tells the reason.
void GroupMembers::exchange_parts(const std::exception_ptr& failure, std::span<const SentPart> sent,
                                  std::span<const ReceivedPart> received) {
  require_open({});
  const bool all_ready =
      ending_run_of([&] { return parts_->exchange_parts(failure == nullptr, sent, received); });
  if (all_ready) return;
  if (failure != nullptr) std::rethrow_exception(tell_failure(failure, -1, {}));
  const bool in_run = state_ == State::kRunning;
  send({Kind::kValues, number_, "an exchange of parts", {}, 0, -1, {}, in_run});
  throw_internal("a process is not ready, and tells no failure", {});
}

HeardExchange GroupMembers::hear(ListensTo to, const Bytes& answer, CallSite site) {
  const char* const what = to == ListensTo::kRun ? "run" : kEndOfGroupMerge;
  std::vector<ProcessMessage> all =
      send({Kind::kListen, number_, what, site.file, site.line, -1, answer, true});
  HeardExchange heard;
  heard.nobody_speaks = std::ranges::all_of(all, listens);
  heard.ends_transaction = speaker_of(all).transaction > 0;
  heard.kind = speaker_of(all).kind;
  heard.what = speaker_of(all).what;
  heard.payloads = payloads_of(std::move(all));
  return heard;
}

std::exception_ptr GroupMembers::tell_failure(const std::exception_ptr& thrown, int replica,
                                              CallSite site) noexcept {
  if (is_closed()) return cause_of(thrown, failure_);
  std::exception_ptr told;
  try {
    send({Kind::kFailed, number_, text_of(thrown), site.file, site.line, replica, {}});
  } catch (...) {
    // The other processes have left, and hear of the failure from the group.
    told = std::current_exception();
  }
  std::exception_ptr cause = cause_of(thrown, told);
  if (state_ == State::kRunning) {
    state_ = State::kClosed;
    failure_ = cause;
  }
  return cause;
}

GroupMembers& group_members(StrategyCore& core) {
  check(!core.members().is_alone(), "an exchange of a process alone");
  return static_cast<GroupMembers&>(core.members());
}

}  // namespace belfry::detail
