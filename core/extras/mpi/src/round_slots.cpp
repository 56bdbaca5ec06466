// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "round_slots.h"

#include "belfry/error.h"
#include "checked.h"

#include <algorithm>
#include <cstring>

namespace belfry::mpi {
namespace {

constexpr std::size_t kSlotBytes = sizeof(RoundHead) + kFirstBytes;

// The format, the sender, a reason of a line, and the ranks.
std::size_t notice_bytes(int processes) {
  return kSlotBytes + static_cast<std::size_t>(processes) * sizeof(int);
}

}  // namespace

RoundSlots::RoundSlots(MPI_Comm communicator, int rank, int processes)
    : communicator_(communicator),
      rank_(rank),
      memory_(static_cast<std::size_t>(processes) * kSlotBytes + notice_bytes(processes)),
      receives_(static_cast<std::size_t>(processes) + 1, MPI_REQUEST_NULL),
      sends_(static_cast<std::size_t>(processes), MPI_REQUEST_NULL),
      full_(receives_.size()),
      completed_(receives_.size()) {
  full_[static_cast<std::size_t>(rank)] = 1;
  for (int process = 0; process < processes; ++process) {
    if (process != rank_) post(process, kSlotBytes, process, kRoundTag);
  }
  post(processes, notice_bytes(processes), MPI_ANY_SOURCE, kNoticeTag);
}

void RoundSlots::post(int to, std::size_t bytes, int from, int tag) {
  MPI_Request& request = receives_[static_cast<std::size_t>(to)];
  checked(MPI_Recv_init(slot(to), static_cast<int>(bytes), MPI_BYTE, from, tag, communicator_,
                        &request),
          "MPI_Recv_init");
  checked(MPI_Start(&request), "MPI_Start");
}

std::byte* RoundSlots::slot(int process) {
  return memory_.data() + static_cast<std::size_t>(process) * kSlotBytes;
}

const std::byte* RoundSlots::slot(int process) const {
  return memory_.data() + static_cast<std::size_t>(process) * kSlotBytes;
}

void RoundSlots::send(const RoundHead& head, std::span<const std::byte> first) {
  check(sending_ == 0 && first.size() <= kFirstBytes, "a message of a round that cannot be sent");
  std::byte* const own = slot(rank_);
  std::memcpy(own, &head, sizeof(head));
  if (!first.empty()) std::memcpy(own + sizeof(head), first.data(), first.size());
  const auto bytes = static_cast<int>(sizeof(head) + first.size());
  for (std::size_t process = 0; process < sends_.size(); ++process) {
    if (process == static_cast<std::size_t>(rank_)) continue;
    ++sending_;
    checked(MPI_Isend(own, bytes, MPI_BYTE, static_cast<int>(process), kRoundTag, communicator_,
                      &sends_[process]),
            "MPI_Isend");
  }
}

std::span<const int> RoundSlots::poll() {
  for (std::size_t process = 0; sending_ > 0 && process < sends_.size(); ++process) {
    if (sends_[process] == MPI_REQUEST_NULL) continue;
    int done = 0;
    checked(MPI_Test(&sends_[process], &done, MPI_STATUS_IGNORE), "MPI_Test");
    sending_ -= done != 0 ? 1 : 0;
  }
  int count = 0;
  checked(MPI_Testsome(static_cast<int>(receives_.size()), receives_.data(), &count,
                       completed_.data(), MPI_STATUSES_IGNORE),
          "MPI_Testsome");
  if (count == MPI_UNDEFINED) return {};  // No slot is free.
  for (int i = 0; i < count; ++i)
    full_[static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)])] = 1;
  const auto end = std::remove(completed_.begin(), completed_.begin() + count, processes());
  const std::span<const int> arrived(completed_.begin(), end);
  for (const int process : arrived) {
    check(head(process).format == kFormat, "processes of different versions or byte orders");
  }
  return arrived;
}

RoundHead RoundSlots::head(int process) const {
  RoundHead head;
  std::memcpy(&head, slot(process), sizeof(head));
  return head;
}

std::span<const std::byte> RoundSlots::first(int process) const {
  const RoundHead of = head(process);
  const std::uint64_t count = std::min<std::uint64_t>({of.bytes, of.piece, kFirstBytes});
  return {slot(process) + sizeof(RoundHead), static_cast<std::size_t>(count)};
}

void RoundSlots::release(int process) {
  char& full = full_[static_cast<std::size_t>(process)];
  if (process == rank_ || full == 0) return;
  full = 0;
  checked(MPI_Start(&receives_[static_cast<std::size_t>(process)]), "MPI_Start");
}

std::optional<Notice> RoundSlots::take_notice() {
  if (!has(processes())) return std::nullopt;
  Notice notice = decode_notice({slot(processes()), notice_bytes(processes())});
  release(processes());
  return notice;
}

bool RoundSlots::close() noexcept {
  bool is_free = sending_ == 0;
  for (std::size_t process = 0; process < receives_.size(); ++process) {
    MPI_Request& request = receives_[process];
    if (request == MPI_REQUEST_NULL) continue;
    int done = 1;
    if (full_[process] == 0) {
      const bool is_asked = MPI_Cancel(&request) == MPI_SUCCESS;
      const bool is_told = MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS;
      if (!is_asked || !is_told) done = 0;
    }
    if (done == 0 || MPI_Request_free(&request) != MPI_SUCCESS) is_free = false;
  }
  return is_free;
}

}  // namespace belfry::mpi
