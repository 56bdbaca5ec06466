// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/processes/group_members.h"

#include "belfry/detail/strategy_core.h"
#include "run/rounds/exception_text.h"
#include "run/rounds/run_picture.h"
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
const char* purpose_of(Kind kind) {
  if (kind == Kind::kFailed) return "the failure of a run";
  return kind == Kind::kListen ? "a run without replicas of this process" : "a run";
}

std::vector<Bytes> payloads_of(std::vector<ProcessMessage> all) {
  std::vector<Bytes> payloads;
  payloads.reserve(all.size());
  for (ProcessMessage& message : all) payloads.push_back(std::move(message.payload));
  return payloads;
}

}  // namespace

GroupMembers::GroupMembers(ProcessGroup& group, int replicas, const std::string& options,
                           CallSite site)
    : RoundMembers(
          ProcessTable{std::vector<int>(static_cast<std::size_t>(group.size()) + 1), group.rank()}),
      group_(group),
      parts_(dynamic_cast<ProcessParts*>(&group)),
      number_(group.next_strategy(site)) {
  ProcessTable members = table();
  ByteWriter out;
  out.put(replicas);
  out.text(options);
  const std::vector<ProcessMessage> all = make(out.bytes(), site);
  for (std::size_t process = 0; process < all.size(); ++process) {
    ByteReader in(all[process].payload);
    members.first[process + 1] = members.first[process] + in.get<int>();
    const std::string others = in.text();
    if (others == options) continue;
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "the strategy has options (" + options + ") in process " +
                                   std::to_string(rank()) + ", and (" + others + ") in process " +
                                   std::to_string(process),
                               "give all processes the same options, apart from devices", site);
  }
  set_table(std::move(members));
}

// A process with a strategy of one process leaves, or works for longer than the deadline.
std::vector<ProcessMessage> GroupMembers::make(const Bytes& own, CallSite site) {
  try {
    group_.name_call("a strategy", site);
    return send({Kind::kMake, number_, "a strategy", site.file, site.line, -1, own});
  } catch (const ProcessLostError& error) {
    ErrorReport report = error.report();
    report.site = site;
    report.hint =
        "make a MultiWorkerMirroredStrategy with the group in every process: a strategy of one "
        "process, such as MirroredStrategy, takes no part; " +
        report.hint;
    throw ProcessLostError(std::move(report));
  }
}

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
  if (own.kind != Kind::kMake) group_.name_call(purpose_of(own.kind), {});
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

bool GroupMembers::agree(const RunFacts& own, std::uint64_t round, CallSite run) {
  const auto describe = [&own] { return describe_round(own); };
  const RoundSummary summary(own, digest_);
  if (summary.state() == RoundState::kArrived) {
    const MergeRequest& merge = *own.requests[static_cast<std::size_t>(own.present.id(0))];
    group_.name_call(to_string(merge.type->kind), merge.site);
  } else if (summary.state() == RoundState::kReturned) {
    group_.name_call("the end of a run", run);
  }
  const std::vector<Bytes> summaries = round_unless_equal(summary.bytes(), describe);
  switch (summaries.empty() ? summary.state() : RoundSummary::common_state(summaries)) {
    case RoundState::kReturned:
      close();
      return false;
    case RoundState::kArrived:
      return true;
    case RoundState::kMixed:
      break;
  }
  // Some process differs: every process sees the difference, and tells all about its replicas.
  return agree_on_descriptions(this->round(describe(), describe), round);
}

bool GroupMembers::agree_on_descriptions(const std::vector<Bytes>& descriptions,
                                         std::uint64_t round) {
  RunPicture all(replicas());
  for (const Bytes& message : descriptions) all.add(message);
  if (all.all_returned()) {
    close();
    return false;
  }
  std::optional<Failure> failure = all.failure(round);
  if (!failure) return true;
  // Every process has the same picture, and fails alike.
  close();
  complete(failure->report);
  throw_error(std::move(failure->report));
}

std::vector<Bytes> GroupMembers::round(const Bytes& own, Describe describe) {
  const ProcessMessage message{Kind::kRound, number_, "run", {}, 0, -1, own, true};
  return payloads_of(send(message, &describe));
}

// No process listens if all messages are those of a round.
std::vector<Bytes> GroupMembers::round_unless_equal(std::span<const std::byte> own,
                                                    Describe describe) {
  require_open({});
  const ProcessMessage head{Kind::kRound, number_, "run", {}, 0, -1, {}, true};
  if (round_message_.empty()) {
    round_message_ = encode(head);
    round_head_ = round_message_.size();
  }
  round_message_.resize(round_head_);
  round_message_.insert(round_message_.end(), own.begin(), own.end());
  std::vector<Bytes> sent =
      ending_run_of([&] { return group_.gather_unless_equal(round_message_); });
  if (!sent.empty()) return payloads_of(understand(head, std::move(sent), &describe));
  set_listeners({});
  return {};
}

std::vector<Bytes> GroupMembers::exchange(const char* what, CallSite site, const Bytes& own) {
  const bool in_run = state_ == State::kRunning;
  const ProcessMessage head{Kind::kValues, number_, what, site.file, site.line, -1, {}, in_run};
  require_open(site);
  const Bytes message = encode(head, own);
  group_.name_call(what, site);
  std::vector<Bytes> sent = ending_run_of([&] { return group_.gather(message); });
  return payloads_of(understand(head, std::move(sent), nullptr));
}

std::vector<Bytes> GroupMembers::exchange_about_file(const char* what, CallSite site,
                                                     const Bytes& own) {
  const ProcessGroup::FileWait wait(group_);
  return exchange(what, site, own);
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

HeardExchange GroupMembers::hear(const Bytes& answer, CallSite site) {
  std::vector<ProcessMessage> all =
      send({Kind::kListen, number_, "run", site.file, site.line, -1, answer, true});
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
