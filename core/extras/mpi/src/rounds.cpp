// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "rounds.h"

#include "belfry/detail/group_reports.h"
#include "checked.h"
#include "polling.h"
#include "session.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace belfry::mpi {
namespace {

using belfry::detail::Bytes;

int answer(int (*question)(MPI_Comm, int*), MPI_Comm communicator) {
  int number = 0;
  checked(question(communicator, &number), "MPI_Comm_size or MPI_Comm_rank");
  return number;
}

// Rounds of merges without data have an empty result, which needs no memory.
std::shared_ptr<const Bytes> shared(Bytes bytes) {
  static const Bytes nothing;
  if (bytes.empty()) return {std::shared_ptr<const Bytes>(), &nothing};
  return std::make_shared<const Bytes>(std::move(bytes));
}

}  // namespace

Rounds::Rounds(MPI_Comm communicator, Deadline deadline, Deadline file_deadline,
               std::size_t piece_bytes)
    : communicator_(communicator),
      deadline_(deadline),
      file_deadline_(file_deadline),
      piece_bytes_(piece_bytes),
      rank_(answer(MPI_Comm_rank, communicator)),
      peers_(static_cast<std::size_t>(answer(MPI_Comm_size, communicator))),
      mailbox_(std::make_unique<Mailbox>(communicator, size())),
      slots_(std::make_unique<RoundSlots>(communicator, rank_, size())) {}

Rounds::~Rounds() {
  if (!mailbox_->is_idle()) keep(std::move(mailbox_));
  if (!is_mpi_usable() || !slots_->close()) keep(std::move(slots_));
  if (all_took_leave_ && is_mpi_usable()) MPI_Comm_free(&communicator_);
}

void Rounds::set_hosts(const std::vector<std::string>& hosts) {
  hosts_ = hosts;
  const auto here = std::ranges::count(hosts, hosts[static_cast<std::size_t>(rank_)]);
  is_crowded_ = static_cast<std::size_t>(here) > std::thread::hardware_concurrency();
}

std::vector<Bytes> Rounds::meet(Call call, std::span<const std::byte> value) {
  return noting_loss([&] {
    begin_round(call, value);
    return rest_of_round(value);
  });
}

// Values without pieces are folded in their slots.
FoldedBytes Rounds::meet_to_fold(Call call, std::span<const std::byte> value,
                                 ProcessGroup::Fold fold) {
  return noting_loss([&] {
    begin_round(call, value);
    FoldedBytes folded;
    to_fold_.clear();
    const bool are_in_slots = all_are_short(value);
    if (are_in_slots) {
      for (int process = 0; process < size(); ++process) {
        to_fold_.push_back(process == rank_ ? value : slots_->first(process));
      }
    } else {
      folded.all = rest_of_round(value);
      to_fold_.assign(folded.all.begin(), folded.all.end());
    }
    if (std::optional<Bytes> result = fold(to_fold_)) {
      folded = {.result = shared(*std::move(result))};
      release_slots();
    } else if (are_in_slots) {
      folded.all = values_of_round(value);
    }
    return folded;
  });
}

std::size_t Rounds::in_first(std::size_t bytes) const {
  return std::min({bytes, kFirstBytes, piece_bytes_});
}

// Sends the beginning of the value. Afterwards the first messages of all processes are in their
// slots, and the calls are equal.
void Rounds::begin_round(Call call, std::span<const std::byte> value) {
  ++round_;
  call_ = call;
  for (Peer& peer : peers_) peer.heard_ms = kNow;
  slots_->send({.call = call, .round = round_, .bytes = value.size(), .piece = piece_bytes_},
               value.first(in_first(value.size())));
  const auto has_not_called = [&](int process) {
    return !slots_->has(process) || slots_->is_sending_to(process);
  };
  await(has_not_called);
  require_level();
}

// Whether no value has pieces.
bool Rounds::all_are_short(std::span<const std::byte> value) const {
  if (value.size() > in_first(value.size())) return false;
  for (int process = 0; process < size(); ++process) {
    if (process == rank_) continue;
    if (slots_->first(process).size() != slots_->head(process).bytes) return false;
  }
  return true;
}

void Rounds::release_slots() {
  for (int process = 0; process < size(); ++process) slots_->release(process);
}

// The rest of long values, and then all values.
std::vector<Bytes> Rounds::rest_of_round(std::span<const std::byte> value) {
  bool has_rest = value.size() > in_first(value.size());
  if (has_rest) send_pieces(value);
  for (int process = 0; process < size(); ++process) {
    if (process == rank_) continue;
    const std::span<const std::byte> first = slots_->first(process);
    const std::uint64_t bytes = slots_->head(process).bytes;
    if (first.size() == bytes) continue;
    has_rest = true;
    Peer& peer = peers_[static_cast<std::size_t>(process)];
    peer.value = std::make_shared<Bytes>(static_cast<std::size_t>(bytes));
    std::ranges::copy(first, peer.value->begin());
    peer.parts.push_back({process, {peer.value, peer.value->data()}, peer.value->size()});
    peer.arrived = first.size();
    receive_piece(process);
  }
  if (has_rest) await_pieces();
  return values_of_round(value);
}

std::vector<Bytes> Rounds::values_of_round(std::span<const std::byte> value) {
  std::vector<Bytes> all;
  all.reserve(peers_.size());
  for (int process = 0; process < size(); ++process) {
    Peer& peer = peers_[static_cast<std::size_t>(process)];
    if (peer.value != nullptr) {
      all.push_back(std::move(*peer.value));
      peer.value = nullptr;
    } else {
      const std::span<const std::byte> whole = process == rank_ ? value : slots_->first(process);
      all.emplace_back(whole.begin(), whole.end());
    }
    slots_->release(process);
  }
  return all;
}

// Takes messages until nothing is awaited.
void Rounds::await(const Awaited& is_awaited) {
  Polling polling(is_crowded_);
  const auto awaits = [&](int process) { return process != rank_ && is_awaited(process); };
  while (true) {
    // The clock, and the end of a process, are read before the messages: after a stop of this
    // process, no arrived message is overlooked.
    const bool is_due = polling.is_due();
    const std::int64_t now = is_due ? waited_.read(deadline_) : kNow;
    const bool has_ended = is_due && next_has_ended();
    if (look()) polling.moved();
    take_notices();
    if (lost_) throw_error(*lost_);
    bool is_done = true;
    for (int process = 0; is_done && process < size(); ++process) is_done = !awaits(process);
    if (is_done) return;
    if (is_due) give_up_silent(is_awaited, now);
    if (has_ended && awaits(liveness_->next())) give_up_ended();
    require_nobody_left();
    polling.pause();
  }
}

// Whether a message has arrived.
bool Rounds::look() {
  bool has_moved = false;
  for (const int process : slots_->poll()) {
    const RoundHead head = slots_->head(process);
    Peer& peer = peers_[static_cast<std::size_t>(process)];
    peer.heard_ms = kNow;
    peer.last_round = head.round;
    peer.last_call = head.call;
    peer.has_left = is_farewell(head.call);
    has_moved = true;
  }
  if (mailbox_->is_idle()) return has_moved;
  mailbox_->drive();
  for (int process = 0; process < size(); ++process) {
    Peer& peer = peers_[static_cast<std::size_t>(process)];
    if (!peer.awaits_pieces() || mailbox_->is_receiving_from(process)) continue;
    peer.heard_ms = kNow;
    has_moved = true;
    receive_piece(process);
  }
  return has_moved;
}

void Rounds::take_notices() {
  while (const std::optional<Notice> notice = slots_->take_notice()) {
    peers_[static_cast<std::size_t>(notice->from)].heard_ms = kNow;
    if (lost_) continue;
    lost_ranks_ = notice->lost;
    lost_ = lost_report(notice->lost, notice->reason, notice->from);
  }
}

void Rounds::give_up_silent(const Awaited& is_awaited, std::int64_t now) {
  std::vector<int> silent;
  std::vector<int> lost;
  for (int process = 0; process < size(); ++process) {
    Peer& peer = peers_[static_cast<std::size_t>(process)];
    if (peer.heard_ms == kNow) peer.heard_ms = now;
    if (process == rank_ || !is_awaited(process)) continue;
    if (now - peer.heard_ms > deadline_.as_milliseconds()) silent.push_back(process);
    if (now - peer.heard_ms > patience().as_milliseconds()) lost.push_back(process);
  }
  if (!lost.empty()) {
    give_up(std::move(lost), "no answer for " + detail::words_of(patience()));
  }
  if (!silent.empty()) tell_of_wait(silent);
}

Call Rounds::call_of(int process) const {
  return process == rank_ ? call_ : slots_->head(process).call;
}

// The first process to leave ends the rounds of all: no process waits for a third process.
void Rounds::require_nobody_left() const {
  if (is_farewell(call_)) return;
  for (int process = 0; process < size(); ++process) {
    if (!peers_[static_cast<std::size_t>(process)].has_left) continue;
    throw_error(left_report(process));
  }
}

// All processes have called: with different calls, all throw the same error and are level again.
void Rounds::require_level() {
  require_nobody_left();
  bool is_level = true;
  for (int process = 0; process < size(); ++process) {
    if (process == rank_) continue;
    const RoundHead head = slots_->head(process);
    check(head.round == round_, "processes of a group are in different rounds");
    is_level = is_level && head.call == call_;
  }
  if (is_level) return;
  std::vector<std::string> calls;
  for (int process = 0; process < size(); ++process) calls.push_back(text_of(call_of(process)));
  release_slots();
  throw_error(detail::calls_differ(calls));
}

void Rounds::give_up(std::vector<int> lost, const std::string& reason) {
  ErrorReport report = lost_report(lost, reason, -1);
  lost_ranks_ = lost;
  lost_ = report;
  if (is_farewell(call_)) tell_of(report);
  const auto notice = std::make_shared<const Bytes>(encode(Notice{rank_, std::move(lost), reason}));
  for (int process = 0; process < size(); ++process) {
    if (process == rank_) continue;
    mailbox_->send(process, kNoticeTag, {notice, notice->data()}, notice->size());
  }
  throw_error(std::move(report));
}

ErrorReport Rounds::lost_report(const std::vector<int>& lost, const std::string& reason,
                                int teller) const {
  ErrorReport report;
  report.code = ErrorCode::kProcessLost;
  const bool is_own = std::ranges::find(lost, rank_) != lost.end();
  const std::string whose = teller < 0 ? "" : "process " + std::to_string(teller) + " had ";
  if (is_own) {
    report.summary = "process " + std::to_string(teller) + " has given up this process, " +
                     detail::processes_text({rank_}) + ": " + reason;
  } else {
    report.summary = detail::processes_text(lost) + (lost.size() == 1 ? " is" : " are") +
                     " lost: " + whose + reason;
  }
  report.replicas = last_seen();
  report.expected = "every process calls the group within the deadline";
  report.hint =
      "the lost process has ended, waits elsewhere, or works for longer than the deadline, which "
      "set_deadline changes";
  return report;
}

ErrorReport Rounds::left_report(int process) const {
  ErrorReport report = detail::process_left(process, {});
  report.replicas = last_seen();
  return report;
}

// A line for each process: its host, and its last known call.
std::vector<ReplicaReport> Rounds::last_seen() const {
  std::vector<ReplicaReport> parts;
  for (int process = 0; process < size(); ++process) {
    const auto index = static_cast<std::size_t>(process);
    const Peer& peer = peers_[index];
    const bool is_own = process == rank_;
    ReplicaReport& part = parts.emplace_back();
    part.process = process;
    if (index < hosts_.size()) part.what = "on host " + hosts_[index] + ", ";
    if (!is_own && peer.last_round == 0) {
      part.what += "has not called";
      continue;
    }
    part.what += (is_own ? "in call " : "last seen in call ") +
                 std::to_string(is_own ? round_ : peer.last_round) + ", " + purpose_of(process);
  }
  return parts;
}

// The purpose of the last call of a process. The previous round was the same call in all processes.
std::string Rounds::purpose_of(int process) const {
  const Peer& peer = peers_[static_cast<std::size_t>(process)];
  const std::string call = text_of(process == rank_ ? call_ : peer.last_call);
  if (names_ == nullptr) return call;
  if (process == rank_) return belfry::detail::text_of(names_->present, call);
  const bool is_before = peer.last_round + 1 == round_;
  return is_before ? belfry::detail::text_of(names_->previous, call) : call;
}

GroupHealth Rounds::health() {
  look();
  take_notices();
  GroupHealth health;
  health.deadline = deadline_;
  health.lost = lost_ranks_;
  for (int process = 0; process < size(); ++process) {
    if (peers_[static_cast<std::size_t>(process)].has_left) health.lost.push_back(process);
  }
  std::ranges::sort(health.lost);
  const auto twice = std::ranges::unique(health.lost);
  health.lost.erase(twice.begin(), twice.end());
  if (lost_) {
    health.reason = to_string(*lost_);
  } else if (!health.lost.empty()) {
    health.reason = to_string(left_report(health.lost.front()));
  }
  return health;
}

}  // namespace belfry::mpi
