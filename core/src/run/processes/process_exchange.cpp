// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/process_exchange.h"

#include "run/processes/process_messages.h"
#include "run/rounds/exception_text.h"
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

ProcessExchange::ProcessExchange(ProcessGroup& group, int replicas, const std::string& options,
                                 CallSite site)
    : group_(group),
      parts_(dynamic_cast<ProcessParts*>(&group)),
      number_(group.next_strategy(site)) {
  first_.assign(static_cast<std::size_t>(processes()) + 1, 0);
  ByteWriter out;
  out.put(replicas);
  out.text(options);
  const std::vector<ProcessMessage> all = make(out.bytes(), site);
  for (std::size_t process = 0; process < all.size(); ++process) {
    ByteReader in(all[process].payload);
    first_[process + 1] = first_[process] + in.get<int>();
    const std::string others = in.text();
    if (others == options) continue;
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "the strategy has options (" + options + ") in process " +
                                   std::to_string(rank()) + ", and (" + others + ") in process " +
                                   std::to_string(process),
                               "give all processes the same options, apart from devices", site);
  }
}

// A process with a strategy of one process leaves, or works for longer than the deadline.
std::vector<ProcessMessage> ProcessExchange::make(const Bytes& own, CallSite site) {
  try {
    group_.name_call("a strategy", site);
    return exchange({Kind::kMake, number_, "a strategy", site.file, site.line, -1, own});
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

int ProcessExchange::process_of(int replica) const {
  return static_cast<int>(std::ranges::upper_bound(first_, replica) - first_.begin()) - 1;
}

void ProcessExchange::begin_run() {
  state_ = State::kRunning;
  failure_ = nullptr;
  listens_.clear();
}

void ProcessExchange::end_run() {
  state_ = State::kIdle;
  listens_.clear();
}

bool ProcessExchange::has_listeners() const {
  return std::ranges::find(listens_, true) != listens_.end();
}

int ProcessExchange::first_speaker() const {
  const auto speaker = std::ranges::find(listens_, false);
  if (speaker == listens_.end()) return process_of(0);
  return static_cast<int>(speaker - listens_.begin());
}

std::vector<int> ProcessExchange::replicas_of(bool listeners) const {
  std::vector<int> replicas;
  for (int replica = 0; replica < this->replicas(); ++replica) {
    if (is_listener(process_of(replica)) == listeners) replicas.push_back(replica);
  }
  return replicas;
}

bool ProcessExchange::has_skipped(std::uint64_t number) const {
  return std::ranges::binary_search(skipped_, number);
}

void ProcessExchange::require_no_listener(const char* what, CallSite site) const {
  const auto listener = std::ranges::find(listens_, true);
  if (listener == listens_.end()) return;
  throw UnsupportedError(ErrorCode::kUnsupported,
                         std::string(what) + " in a run in which no replica of process " +
                             std::to_string(listener - listens_.begin()) +
                             " takes part is not available yet",
                         "make the call outside of the run, or let a replica of every process take "
                         "part",
                         site);
}

// The result of `step`. An error that all processes throw ends the exchanges of the run.
template <class F>
auto ProcessExchange::ending_run_of(const F& step) -> decltype(step()) {
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

void ProcessExchange::note_listeners(const std::vector<ProcessMessage>& all) {
  if (state_ != State::kRunning) return;
  listens_.clear();
  for (const ProcessMessage& message : all) listens_.push_back(listens(message));
}

std::vector<ProcessMessage> ProcessExchange::exchange(const ProcessMessage& own,
                                                      const Describe* describe) {
  require_open(site_of(own));
  const Bytes message = encode(own);
  if (own.kind != Kind::kMake) group_.name_call(purpose_of(own.kind), {});
  return understand(own, ending_run_of([&] { return group_.gather(message); }), describe);
}

void ProcessExchange::require_open(CallSite site) const {
  if (!is_closed()) return;
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  throw_internal("an exchange after the end of a run", site);
}

std::vector<ProcessMessage> ProcessExchange::understand(const ProcessMessage& own,
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
void ProcessExchange::require_equal(const std::vector<ProcessMessage>& all,
                                    const Describe* describe) {
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

std::vector<Bytes> ProcessExchange::round(const Bytes& own, Describe describe) {
  const ProcessMessage message{Kind::kRound, number_, "run", {}, 0, -1, own, true};
  return payloads_of(exchange(message, &describe));
}

// No process listens if all messages are those of a round.
std::vector<Bytes> ProcessExchange::round_unless_equal(std::span<const std::byte> own,
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
  listens_.clear();
  return {};
}

std::vector<Bytes> ProcessExchange::values(const char* what, CallSite site, const Bytes& own) {
  require_no_listener(what, site);
  std::vector<Bytes> payloads = values_of_speakers(what, site, own);
  require_no_listener(what, site);  // Before the first exchange of a run no listener is known.
  return payloads;
}

std::vector<Bytes> ProcessExchange::values_of_speakers(const char* what, CallSite site,
                                                       const Bytes& own) {
  const bool in_run = state_ == State::kRunning;
  const ProcessMessage head{Kind::kValues, number_, what, site.file, site.line, -1, {}, in_run};
  require_open(site);
  const Bytes message = encode(head, own);
  group_.name_call(what, site);
  std::vector<Bytes> sent = ending_run_of([&] { return group_.gather(message); });
  return payloads_of(understand(head, std::move(sent), nullptr));
}

// In the exchange after a failure the failed process tells the reason.
void ProcessExchange::exchange_parts(const std::exception_ptr& failure,
                                     std::span<const SentPart> sent,
                                     std::span<const ReceivedPart> received) {
  require_open({});
  const bool all_ready =
      ending_run_of([&] { return parts_->exchange_parts(failure == nullptr, sent, received); });
  if (all_ready) return;
  if (failure != nullptr) std::rethrow_exception(tell_failure(failure, -1, {}));
  const bool in_run = state_ == State::kRunning;
  exchange({Kind::kValues, number_, "an exchange of parts", {}, 0, -1, {}, in_run});
  throw_internal("a process is not ready, and tells no failure", {});
}

HeardExchange ProcessExchange::listen(const Bytes& answer, CallSite site) {
  std::vector<ProcessMessage> all =
      exchange({Kind::kListen, number_, "run", site.file, site.line, -1, answer, true});
  HeardExchange heard;
  heard.nobody_speaks = std::ranges::all_of(all, listens);
  heard.ends_transaction = speaker_of(all).transaction > 0;
  heard.kind = speaker_of(all).kind;
  heard.what = speaker_of(all).what;
  heard.payloads = payloads_of(std::move(all));
  return heard;
}

std::exception_ptr ProcessExchange::tell_failure(const std::exception_ptr& thrown, int replica,
                                                 CallSite site) noexcept {
  if (is_closed()) return cause_of(thrown, failure_);
  std::exception_ptr told;
  try {
    exchange({Kind::kFailed, number_, text_of(thrown), site.file, site.line, replica, {}});
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

}  // namespace belfry::detail
