// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "rounds.h"

#include "belfry/detail/group_reports.h"
#include "checked.h"
#include "polling.h"
#include "session.h"

#include <algorithm>
#include <utility>

namespace belfry::mpi {
namespace {

using belfry::detail::Bytes;

// The part of a value in the first message. Messages of this length need no answer of the receiver,
// with every transport of Open MPI.
constexpr std::size_t kFirstBytes = 1024;
constexpr const char* kLeave = "the destructor";

int answer(int (*question)(MPI_Comm, int*), MPI_Comm communicator) {
  int number = 0;
  checked(question(communicator, &number), "MPI_Comm_size or MPI_Comm_rank");
  return number;
}

}  // namespace

Rounds::Rounds(MPI_Comm communicator, Deadline deadline, std::size_t piece_bytes)
    : communicator_(communicator),
      deadline_(deadline),
      piece_bytes_(piece_bytes),
      rank_(answer(MPI_Comm_rank, communicator)),
      peers_(static_cast<std::size_t>(answer(MPI_Comm_size, communicator))),
      mailbox_(std::make_unique<Mailbox>(communicator, size())) {}

Rounds::~Rounds() {
  if (!mailbox_->is_idle()) keep(std::move(mailbox_));
  if (all_took_leave_ && is_mpi_usable()) MPI_Comm_free(&communicator_);
}

std::vector<Bytes> Rounds::meet(const std::string& call, std::span<const std::byte> value) {
  if (lost_) throw_error(*lost_);
  try {
    return exchange(call, value);
  } catch (const ProcessLostError& error) {
    if (!lost_) lost_ = error.report();
    throw;
  }
}

bool Rounds::take_leave() noexcept {
  if (lost_) return false;
  try {
    exchange(kLeave, {});
    all_took_leave_ = true;
  } catch (...) {
    // Processes have lost each other.
  }
  return all_took_leave_;
}

std::vector<Bytes> Rounds::exchange(const std::string& call, std::span<const std::byte> value) {
  begin_call(call);
  const std::size_t in_first = std::min({value.size(), kFirstBytes, piece_bytes_});
  RoundMessage own{.round = round_, .call = call, .bytes = value.size(), .first = {}};
  own.first.assign(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(in_first));
  send_to_all(kRoundTag, encode(own));
  const auto has_not_called = [&](int process) {
    return peers_[static_cast<std::size_t>(process)].inbox.empty() ||
           mailbox_->is_sending_to(process);
  };
  await(has_not_called);
  require_level();
  if (value.size() > in_first) {
    send_pieces({value.begin(), value.end()}, in_first);
  }
  const auto has_not_sent_all = [&](int process) {
    const Peer& peer = peers_[static_cast<std::size_t>(process)];
    const RoundMessage& message = peer.inbox.front();
    return message.first.size() + peer.rest.size() < message.bytes ||
           mailbox_->is_sending_to(process);
  };
  await(has_not_sent_all);

  std::vector<Bytes> all;
  for (int process = 0; process < size(); ++process) {
    if (process == rank_) {
      all.emplace_back(value.begin(), value.end());
      continue;
    }
    Peer& peer = peers_[static_cast<std::size_t>(process)];
    Bytes& bytes = all.emplace_back(std::move(peer.inbox.front().first));
    bytes.insert(bytes.end(), peer.rest.begin(), peer.rest.end());
    peer.inbox.pop_front();
    peer.rest = {};
  }
  return all;
}

void Rounds::begin_call(const std::string& call) {
  ++round_;
  call_ = call;
  const std::int64_t now = now_ms();
  for (Peer& peer : peers_) peer.heard_ms = now;
}

void Rounds::send_to_all(int tag, Bytes message) {
  const auto shared = std::make_shared<const Bytes>(std::move(message));
  for (int process = 0; process < size(); ++process) {
    if (process != rank_) mailbox_->send(process, tag, shared, 0, shared->size());
  }
}

// A copy of the value: if the call fails, MPI may read the bytes after the call.
void Rounds::send_pieces(const Bytes& value, std::size_t first) {
  const auto shared = std::make_shared<const Bytes>(value);
  for (; first < shared->size(); first += piece_bytes_) {
    const std::size_t count = std::min(piece_bytes_, shared->size() - first);
    for (int process = 0; process < size(); ++process) {
      if (process != rank_) mailbox_->send(process, kPieceTag, shared, first, count);
    }
  }
}

// Takes letters until nothing is awaited.
void Rounds::await(const Awaited& is_awaited) {
  Polling polling;
  while (true) {
    while (std::optional<Letter> letter = mailbox_->poll()) {
      take(std::move(*letter));
      polling.moved();
    }
    if (lost_) throw_error(*lost_);
    std::vector<int> silent;
    bool is_done = true;
    const std::int64_t now = now_ms();
    for (int process = 0; process < size(); ++process) {
      if (process == rank_ || !is_awaited(process)) continue;
      is_done = false;
      const std::int64_t heard = peers_[static_cast<std::size_t>(process)].heard_ms;
      if (now - heard > deadline_.as_milliseconds()) silent.push_back(process);
    }
    if (is_done) return;
    if (!silent.empty()) give_up(std::move(silent));
    require_nobody_left();
    polling.pause();
  }
}

void Rounds::take(Letter letter) {
  Peer& peer = peers_[static_cast<std::size_t>(letter.from)];
  peer.heard_ms = now_ms();
  switch (letter.tag) {
    case kRoundTag: {
      RoundMessage& message = peer.inbox.emplace_back(decode_round(letter.bytes));
      peer.last_round = message.round;
      peer.last_call = message.call;
      peer.has_left = message.call == kLeave;
      break;
    }
    case kPieceTag:
      peer.rest.insert(peer.rest.end(), letter.bytes.begin(), letter.bytes.end());
      break;
    default: {
      const Notice notice = decode_notice(letter.bytes);
      if (lost_) break;
      lost_ranks_ = notice.lost;
      lost_ = lost_report(notice.lost, notice.reason, letter.from);
    }
  }
}

// The first process to leave ends the rounds of all: no process waits for a third process.
void Rounds::require_nobody_left() const {
  if (call_ == kLeave) return;
  for (int process = 0; process < size(); ++process) {
    const Peer& peer = peers_[static_cast<std::size_t>(process)];
    if (peer.inbox.empty() || peer.inbox.front().call != kLeave) continue;
    throw_error(left_report(process));
  }
}

// All processes have called: with different calls, all throw the same error and are level again.
void Rounds::require_level() {
  require_nobody_left();
  const std::vector<std::string> calls = calls_of_round(call_);
  if (std::ranges::all_of(calls, [&](const std::string& call) { return call == call_; })) return;
  for (Peer& peer : peers_) {
    if (!peer.inbox.empty()) peer.inbox.pop_front();
  }
  throw_error(detail::calls_differ(calls));
}

std::vector<std::string> Rounds::calls_of_round(const std::string& own) const {
  std::vector<std::string> calls;
  for (int process = 0; process < size(); ++process) {
    if (process == rank_) {
      calls.push_back(own);
      continue;
    }
    const RoundMessage& message = peers_[static_cast<std::size_t>(process)].inbox.front();
    check(message.round == round_, "processes of a group are in different rounds");
    calls.push_back(message.call);
  }
  return calls;
}

void Rounds::give_up(std::vector<int> silent) {
  const std::string reason = "no answer for " + detail::words_of(deadline_);
  ErrorReport report = lost_report(silent, reason, -1);
  lost_ranks_ = silent;
  lost_ = report;
  // A process that leaves has told all others already.
  if (call_ != kLeave) send_to_all(kNoticeTag, encode(Notice{std::move(silent), reason}));
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
                 std::to_string(is_own ? round_ : peer.last_round) + ", " +
                 (is_own ? call_ : peer.last_call);
  }
  return parts;
}

GroupHealth Rounds::health() {
  while (std::optional<Letter> letter = mailbox_->poll()) take(std::move(*letter));
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
