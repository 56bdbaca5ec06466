// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "mailbox.h"

#include "checked.h"

#include <algorithm>
#include <utility>

namespace belfry::mpi {
namespace {

bool is_done(MPI_Request& request) {
  int done = 0;
  checked(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

}  // namespace

void Mailbox::send(int to, int tag, std::shared_ptr<const belfry::detail::Bytes> bytes,
                   std::size_t first, std::size_t count) {
  // In the list before the call: the buffer has to outlive the request in any case.
  std::deque<Sending>& queue = sending_[static_cast<std::size_t>(to)];
  Sending& sending = queue.emplace_back(Sending{std::move(bytes), MPI_REQUEST_NULL});
  checked(MPI_Isend(sending.bytes->data() + first, static_cast<int>(count), MPI_BYTE, to, tag,
                    communicator_, &sending.request),
          "MPI_Isend");
}

void Mailbox::drop_sent() {
  for (std::deque<Sending>& queue : sending_) {
    while (!queue.empty() && is_done(queue.front().request)) queue.pop_front();
  }
}

// Begins to receive the next message that has a sender; false without one.
bool Mailbox::receive_next() {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  checked(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &found, &message, &status),
          "MPI_Improbe");
  if (found == 0) return false;
  int count = 0;
  checked(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
  Receiving& next = receiving_.emplace_back();
  next.request = MPI_REQUEST_NULL;
  next.letter.from = status.MPI_SOURCE;
  next.letter.tag = status.MPI_TAG;
  next.letter.bytes.resize(static_cast<std::size_t>(count));
  checked(MPI_Imrecv(next.letter.bytes.data(), count, MPI_BYTE, &message, &next.request),
          "MPI_Imrecv");
  return true;
}

std::optional<Letter> Mailbox::poll() {
  drop_sent();
  receive_next();
  std::vector<int> late;  // Senders with an earlier message underway.
  for (auto next = receiving_.begin(); next != receiving_.end(); ++next) {
    if (!next->arrived) next->arrived = is_done(next->request);
    const int from = next->letter.from;
    if (next->arrived && std::ranges::find(late, from) == late.end()) {
      Letter letter = std::move(next->letter);
      receiving_.erase(next);
      return letter;
    }
    late.push_back(from);
  }
  return std::nullopt;
}

bool Mailbox::is_idle() const {
  const auto is_empty = [](const auto& queue) { return queue.empty(); };
  return receiving_.empty() && std::ranges::all_of(sending_, is_empty);
}

}  // namespace belfry::mpi
