// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Transactions over several processes. The exception of a single process leaves the
// others in any exchange: the message about the end therefore takes the place of the next exchange.
#include "run/processes/group_members.h"
#include "run/rounds/exception_text.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace belfry::detail {

void GroupMembers::note_transaction(const std::vector<ProcessMessage>& all) {
  for (const ProcessMessage& message : all) {
    if (message.transaction == 0 || message.transaction > transactions_) continue;
    over_from_ = over_from_ == 0 ? message.transaction : std::min(over_from_, message.transaction);
  }
}

class GroupMembers::Transaction final : public MembersTransaction {
 public:
  Transaction(GroupMembers& members, CallSite site) : members_(members), site_(site) {
    ++members_.transactions_;
  }
  ~Transaction() override { members_.leave_transaction(); }

  void commit() override {
    if (is_over()) {
      // The function has caught the failure of another process.
      ErrorReport report;
      report.code = ErrorCode::kPeerFailed;
      report.summary = "a transaction has failed in another process";
      report.site = site_;
      report.hint = "let the exceptions of belfry leave the function of a transaction";
      throw PeerFailedError(std::move(report));
    }
    members_.send(end(ProcessMessage::Kind::kValues, "transaction"));
  }

  void fail(const std::exception_ptr& thrown) noexcept override {
    if (members_.is_closed() || is_over()) return;
    try {
      const auto all = members_.send(end(ProcessMessage::Kind::kFailed, text_of(thrown)));
      if (end_one_transaction(all) || !is_in_run()) return;
    } catch (...) {
      // The other processes have left, and hear of the failure from the group.
      if (!is_in_run()) return;
    }
    // The others have left the run.
    members_.state_ = State::kClosed;
    members_.failure_ = thrown;
  }

 private:
  bool is_in_run() const { return members_.state_ == State::kRunning; }
  bool is_over() const {
    return members_.over_from_ != 0 && members_.over_from_ <= members_.transactions_;
  }
  ProcessMessage end(ProcessMessage::Kind kind, std::string what) const {
    ProcessMessage message{kind, members_.number_, std::move(what), site_.file, site_.line};
    message.in_run = is_in_run();
    message.transaction = members_.transactions_;
    return message;
  }

  GroupMembers& members_;
  CallSite site_;
};

std::unique_ptr<MembersTransaction> GroupMembers::begin_transaction(CallSite site) {
  if (has_listeners()) exchange(kBeginTransaction, site, Bytes());
  return std::make_unique<Transaction>(*this, site);
}

void GroupMembers::leave_transaction() noexcept {
  if (over_from_ == transactions_) over_from_ = 0;
  --transactions_;
}

}  // namespace belfry::detail
