// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The pieces of rounds: of parts, and of values with more bytes than the first message.
#include "rounds.h"

#include <algorithm>
#include <memory>

namespace belfry::mpi {

using belfry::detail::Bytes;

// The value of the round tells whether the process is ready.
bool Rounds::exchange_parts(bool is_ready, std::span<const SentPart> sent,
                            std::span<const ReceivedPart> received) {
  return noting_loss([&] {
    const std::byte ready{is_ready};
    begin_round(kParts, {&ready, 1});
    bool all_ready = is_ready;
    for (int process = 0; process < size(); ++process) {
      all_ready = all_ready && (process == rank_ || slots_->first(process)[0] == std::byte{1});
    }
    if (all_ready) exchange_pieces(sent, received);
    release_slots();
    return all_ready;
  });
}

void Rounds::exchange_pieces(std::span<const SentPart> sent,
                             std::span<const ReceivedPart> received) {
  for (const SentPart& part : sent) send_pieces(part);
  for (const ReceivedPart& part : received) {
    peers_[static_cast<std::size_t>(part.from)].parts.push_back(part);
  }
  for (int process = 0; process < size(); ++process) {
    if (peers_[static_cast<std::size_t>(process)].awaits_pieces()) receive_piece(process);
  }
  await_pieces();
}

// A copy of the value: if the call fails, MPI may read the bytes after the call.
void Rounds::send_pieces(std::span<const std::byte> value) {
  const auto shared = std::make_shared<const Bytes>(value.begin(), value.end());
  const std::size_t first = in_first(value.size());
  for (int process = 0; process < size(); ++process) {
    if (process == rank_) continue;
    send_pieces({process, {shared, shared->data() + first}, value.size() - first});
  }
}

void Rounds::send_pieces(const SentPart& part) {
  for (std::size_t first = 0; first < part.count; first += piece_bytes_) {
    const std::size_t count = std::min(piece_bytes_, part.count - first);
    mailbox_->send(part.to, kPieceTag, {part.bytes, part.bytes.get() + first}, count);
  }
}

void Rounds::receive_piece(int process) {
  Peer& peer = peers_[static_cast<std::size_t>(process)];
  const ReceivedPart& part = peer.parts[peer.part];
  const std::size_t count =
      std::min(static_cast<std::size_t>(slots_->head(process).piece), part.count - peer.arrived);
  mailbox_->receive(process, kPieceTag, {part.bytes, part.bytes.get() + peer.arrived}, count);
  peer.arrived += count;
  if (peer.arrived < part.count) return;
  ++peer.part;
  peer.arrived = 0;
}

// Until all pieces of this process are sent, and all pieces of the others received.
void Rounds::await_pieces() {
  const auto is_underway = [&](int process) {
    return peers_[static_cast<std::size_t>(process)].awaits_pieces() ||
           mailbox_->is_receiving_from(process) || mailbox_->is_sending_to(process);
  };
  await(is_underway);
  for (Peer& peer : peers_) {
    peer.parts.clear();
    peer.part = 0;
  }
}

}  // namespace belfry::mpi
