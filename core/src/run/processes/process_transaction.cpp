// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Transactions over several processes. The exception of a single process leaves the
// others in any exchange: the message about the end therefore takes the place of the next exchange.
#include "belfry/detail/process_transaction.h"

#include "belfry/detail/process_exchange.h"
#include "belfry/detail/process_listeners.h"
#include "run/processes/process_messages.h"
#include "run/rounds/exception_text.h"

#include <algorithm>
#include <string>

namespace belfry::detail {

void ProcessExchange::note_transaction(const std::vector<ProcessMessage>& all) {
  for (const ProcessMessage& message : all) {
    if (message.transaction == 0 || message.transaction > transactions_) continue;
    over_from_ = over_from_ == 0 ? message.transaction : std::min(over_from_, message.transaction);
  }
}

void ProcessExchange::end_transaction(CallSite site) {
  ProcessMessage message{ProcessMessage::Kind::kValues, number_, "transaction", site.file,
                         site.line};
  message.in_run = state_ == State::kRunning;
  message.transaction = transactions_;
  if (over_from_ != 0 && over_from_ <= transactions_) {
    // The function has caught the failure of another process.
    ErrorReport report;
    report.code = ErrorCode::kPeerFailed;
    report.summary = "a transaction has failed in another process";
    report.site = site;
    report.hint = "let the exceptions of belfry leave the function of a transaction";
    throw PeerFailedError(std::move(report));
  }
  exchange(message);
}

void ProcessExchange::end_failed_transaction(const std::exception_ptr& thrown,
                                             CallSite site) noexcept {
  if (is_closed() || (over_from_ != 0 && over_from_ <= transactions_)) return;
  try {
    ProcessMessage message{ProcessMessage::Kind::kFailed, number_, text_of(thrown), site.file,
                           site.line};
    message.in_run = state_ == State::kRunning;
    message.transaction = transactions_;
    if (end_one_transaction(exchange(message)) || state_ != State::kRunning) return;
  } catch (...) {
    // The other processes have left, and hear of the failure from the group.
    if (state_ != State::kRunning) return;
  }
  // The others have left the run.
  state_ = State::kClosed;
  failure_ = thrown;
}

void ProcessExchange::leave_transaction() {
  if (over_from_ == transactions_) over_from_ = 0;
  --transactions_;
}

ProcessTransaction::ProcessTransaction(StrategyCore& core, CallSite site)
    : processes_(*core.processes()), site_(site) {
  if (processes_.has_listeners()) processes_.values_of_speakers(kBeginTransaction, site, {});
  processes_.begin_transaction();
}

ProcessTransaction::~ProcessTransaction() { processes_.leave_transaction(); }

void ProcessTransaction::commit() { processes_.end_transaction(site_); }

void ProcessTransaction::fail(const std::exception_ptr& thrown) noexcept {
  processes_.end_failed_transaction(thrown, site_);
}

}  // namespace belfry::detail
