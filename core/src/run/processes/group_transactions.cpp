// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Transactions over several processes. The exception of a single process leaves the
// others in any exchange: the message about the end therefore takes the place of the next exchange.
#include "run/processes/group_members.h"
#include "run/rounds/exception_text.h"

#include <algorithm>
#include <string>

namespace belfry::detail {

void GroupMembers::note_transaction(const std::vector<ProcessMessage>& all) {
  for (const ProcessMessage& message : all) {
    if (message.transaction == 0 || message.transaction > transactions_) continue;
    over_from_ = over_from_ == 0 ? message.transaction : std::min(over_from_, message.transaction);
  }
}

void GroupMembers::begin_transaction(CallSite site) {
  if (has_listeners()) exchange(kBeginTransaction, site, Bytes());
  ++transactions_;
}

void GroupMembers::end_transaction(CallSite site) {
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
  send(message);
}

void GroupMembers::end_failed_transaction(const std::exception_ptr& thrown,
                                          CallSite site) noexcept {
  if (is_closed() || (over_from_ != 0 && over_from_ <= transactions_)) return;
  try {
    ProcessMessage message{ProcessMessage::Kind::kFailed, number_, text_of(thrown), site.file,
                           site.line};
    message.in_run = state_ == State::kRunning;
    message.transaction = transactions_;
    if (end_one_transaction(send(message)) || state_ != State::kRunning) return;
  } catch (...) {
    // The other processes have left, and hear of the failure from the group.
    if (state_ != State::kRunning) return;
  }
  // The others have left the run.
  state_ = State::kClosed;
  failure_ = thrown;
}

void GroupMembers::leave_transaction() noexcept {
  if (over_from_ == transactions_) over_from_ = 0;
  --transactions_;
}

}  // namespace belfry::detail
