// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The merge functions decide the number and the kinds of the exchanges, and a listening process
// calls no merge function. The message of a listening process therefore fits every exchange, and
// the messages of the other processes tell what happens. Exchanges that combine values need no work
// here. Rounds, new values of variables, questions for the components of a replica-local variable,
// and files do.
#include "belfry/call_site.h"
#include "belfry/detail/changed_components.h"
#include "belfry/detail/distribute.h"
#include "belfry/detail/initial_value.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable_state.h"
#include "run/processes/group_members.h"
#include "run/processes/process_files.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace belfry::detail {
namespace {

class Listener {
 public:
  Listener(StrategyCore& core, GroupMembers& processes, ListensTo to, CallSite site)
      : core_(core), processes_(processes), to_(to), site_(site), files_(core, site) {}

  // If the run fails, every transaction fails, the innermost first.
  void listen() {
    try {
      while (!processes_.is_closed() && !is_over_) {
        const Bytes answer = std::exchange(answer_, Bytes());
        const HeardExchange heard = processes_.hear(to_, answer, site_);
        file_wait_.reset();
        hear(heard);
      }
    } catch (...) {
      while (!transactions_.empty()) end_transaction(true);
      throw;
    }
  }

 private:
  using Kind = ProcessMessage::Kind;

  void hear(const HeardExchange& heard) {
    if (heard.nobody_speaks) {
      processes_.close();
      throw_nobody_takes_part(site_);
    }
    if (heard.kind == Kind::kRound) {
      awaits_descriptions_ ? hear_descriptions(heard.payloads) : hear_round(heard.payloads);
    } else if (heard.ends_transaction) {
      end_transaction(heard.kind == Kind::kFailed);
    } else if (heard.what == kEndOfGroupMerge) {
      is_over_ = to_ == ListensTo::kGroupMerge;
    } else if (heard.what == kBeginTransaction) {
      transactions_.push_back(core_.snapshots());
      processes_.begin_heard_transaction();
    } else if (heard.what == kVariable) {
      hear_variable(heard.payloads);
    } else if (heard.what == kFirstValue) {
      skip_variable();
    } else if (heard.what == kNewValue) {
      hear_new_value(heard.payloads);
    } else if (heard.what == kPutValue) {
      for (const std::function<void()>& put : std::exchange(puts_, {})) put();
    } else if (heard.what == kComponents) {
      answer_ = components_of_variable(heard.payloads);
    } else if (heard.what == kSaveFile || heard.what == kReadFile || heard.what == kFileBegun) {
      hear_of_file(heard);
    }
  }

  // Process 0 works on the file before the next exchange.
  void hear_of_file(const HeardExchange& heard) {
    file_wait_.emplace(processes_.group());
    if (processes_.rank() == 0) answer_ = files_.hear(heard.what, heard.payloads);
  }

  void hear_round(const std::vector<Bytes>& summaries) {
    const RoundState common = RoundSummary::common_state(summaries);
    if (common == RoundState::kReturned) return processes_.close();
    if (common == RoundState::kArrived) return;
    const auto descriptions = RoundSummary::descriptions(summaries, processes_.table());
    awaits_descriptions_ = descriptions.empty();
    if (!awaits_descriptions_)
      return static_cast<void>(processes_.agree_on_descriptions(descriptions));
    answer_ = describe_absent(processes_.table(), static_cast<std::size_t>(processes_.rank()));
  }

  void hear_descriptions(const std::vector<Bytes>& descriptions) {
    awaits_descriptions_ = false;
    processes_.agree_on_descriptions(descriptions);
  }

  void end_transaction(bool failed) {
    if (failed) {
      for (const std::function<void()>& undo : transactions_.back()) undo();
    }
    transactions_.pop_back();
    processes_.leave_transaction();
  }

  void skip_variable() { processes_.skip_variable(core_.next_variable()); }

  // The processes of the run number a variable after the first value is known.
  void hear_variable(const std::vector<Bytes>& payloads) {
    const auto usual = static_cast<std::size_t>(processes_.process_of(0));
    if (describe_one_variable(payloads, usual) && !payloads[usual].empty()) skip_variable();
  }

  // The variable changes after a later exchange, when every process has prepared the change.
  void hear_new_value(const std::vector<Bytes>& payloads) {
    ByteReader in(payload_of_speaker(payloads));
    const std::shared_ptr<VariableRecord> variable = core_.variable(in.get<std::uint64_t>());
    if (variable == nullptr) return;  // A variable without a handle is gone here.
    check(variable->sent != nullptr, "a new value of a variable that cannot be sent");
    puts_.emplace_back(
        [variable, put = variable->sent->receive(core_, *variable, in, site_)] { put(); });
  }

  Bytes components_of_variable(const std::vector<Bytes>& payloads) {
    ByteReader in(payload_of_speaker(payloads));
    const auto number = in.get<std::uint64_t>();
    if (processes_.has_skipped(number)) return {};
    const std::shared_ptr<VariableRecord> variable = core_.variable(number);
    if (variable == nullptr) {
      throw InvalidArgumentError(ErrorCode::kVariableEmpty,
                                 "a replica-local variable in a merge has no handle in process " +
                                     std::to_string(processes_.rank()),
                                 "keep the handle of the variable in every process", site_);
    }
    check(variable->sent != nullptr, "components of a variable that cannot be sent");
    ByteWriter out;
    variable->sent->send(core_, *variable, out);
    return out.bytes();
  }

  static const Bytes& payload_of_speaker(const std::vector<Bytes>& payloads) {
    const auto found =
        std::ranges::find_if(payloads, [](const Bytes& payload) { return !payload.empty(); });
    check(found != payloads.end(), "a message without a payload");
    return *found;
  }

  StrategyCore& core_;
  GroupMembers& processes_;
  ListensTo to_;
  bool is_over_ = false;
  CallSite site_;
  Bytes answer_;  // In the next exchange.
  ListenersFiles files_;
  std::optional<ProcessGroup::FileWait> file_wait_;
  bool awaits_descriptions_ = false;
  std::vector<std::function<void()>> puts_;                       // Prepared changes of variables.
  std::vector<std::vector<std::function<void()>>> transactions_;  // How to undo each.
};

}  // namespace

void GroupMembers::listen(StrategyCore& core, CallSite site) {
  Listener(core, *this, ListensTo::kRun, site).listen();
}

void GroupMembers::listen_to_group_merge(CurrentContext& cross, CallSite site) {
  const CurrentScope scope(cross);
  const SiteScope here(site);
  Listener(*cross.strategy, *this, ListensTo::kGroupMerge, site).listen();
}

}  // namespace belfry::detail
