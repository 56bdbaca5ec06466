// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "mailbox.h"

#include "checked.h"

#include <utility>

namespace belfry::mpi {
namespace {

bool is_done(MPI_Request& request) {
  int done = 0;
  checked(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

}  // namespace

void Mailbox::send(int to, int tag, std::shared_ptr<const std::byte> bytes, std::size_t count) {
  // In the list before the call: the buffer has to outlive the request in any case.
  std::deque<Sending>& queue = sending_[static_cast<std::size_t>(to)];
  Sending& sending = queue.emplace_back(Sending{std::move(bytes), MPI_REQUEST_NULL});
  ++underway_;
  checked(MPI_Isend(sending.bytes.get(), static_cast<int>(count), MPI_BYTE, to, tag, communicator_,
                    &sending.request),
          "MPI_Isend");
}

void Mailbox::receive(int from, int tag, std::shared_ptr<std::byte> bytes, std::size_t count) {
  Receiving& receiving = receiving_[static_cast<std::size_t>(from)];
  receiving.bytes = std::move(bytes);
  ++underway_;
  checked(MPI_Irecv(receiving.bytes.get(), static_cast<int>(count), MPI_BYTE, from, tag,
                    communicator_, &receiving.request),
          "MPI_Irecv");
}

void Mailbox::drive() {
  if (underway_ == 0) return;
  for (std::deque<Sending>& queue : sending_) {
    while (!queue.empty() && is_done(queue.front().request)) {
      queue.pop_front();
      --underway_;
    }
  }
  for (Receiving& receiving : receiving_) {
    if (receiving.request == MPI_REQUEST_NULL || !is_done(receiving.request)) continue;
    receiving.bytes = nullptr;
    --underway_;
  }
}

}  // namespace belfry::mpi
