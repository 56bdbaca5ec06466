// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "liveness.h"

#include "polling.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace belfry::mpi {
namespace {

using belfry::detail::ByteReader;
using belfry::detail::Bytes;
using belfry::detail::ByteWriter;

constexpr std::size_t kNameBytes = 16;
constexpr int kNoConnection = -1;

Bytes random_name() {
  Bytes name(kNameBytes);
  if (getrandom(name.data(), name.size(), 0) != static_cast<ssize_t>(name.size())) name.clear();
  return name;
}

Bytes bytes_of(const auto& value) {
  ByteWriter out;
  out.put(value);
  return out.bytes();
}

Bytes bytes_of_addresses(const std::vector<NetworkAddress>& addresses) {
  ByteWriter out;
  for (const NetworkAddress& address : addresses) {
    out.put(address.host);
    out.put(address.port);
  }
  return out.bytes();
}

std::vector<NetworkAddress> addresses_of(const Bytes& bytes) {
  std::vector<NetworkAddress> addresses;
  ByteReader in(bytes);
  while (!in.rest().empty()) {
    const auto host = in.get<std::uint32_t>();
    addresses.push_back({host, in.get<std::uint16_t>()});
  }
  return addresses;
}

int number_in(const Bytes& bytes) { return ByteReader(bytes).get<int>(); }

// The message on the connection with a number: the name of the receiver, and the number.
Bytes proof(Bytes name, int number) {
  const Bytes end = bytes_of(number);
  name.insert(name.end(), end.begin(), end.end());
  return name;
}

// Connections to some of the addresses, each with a proof.
std::vector<Socket> connections_to(const std::vector<NetworkAddress>& addresses, const Bytes& name,
                                   std::int64_t end_ms) {
  std::vector<Socket> begun;
  for (const NetworkAddress& address : addresses) begun.push_back(Socket::connecting_to(address));
  std::vector<Socket> made;
  for (Socket& socket : begun) {
    const int number = static_cast<int>(made.size());
    if (!socket.is_connected(end_ms) || !socket.send(proof(name, number))) continue;
    made.push_back(std::move(socket));
  }
  return made;
}

}  // namespace

Liveness::Liveness(int rank, const Gather& gather, std::int64_t network_ms, bool uses_names)
    : rank_(rank), name_(random_name()) {
  if (uses_names && !name_.empty()) listener_ = Socket::at_name(name_);
  connect_by_name(gather);
  note_unseen(gather);
  if (unseen_.empty()) return;
  connect_by_network(gather, network_ms);
  note_unseen(gather);
}

void Liveness::connect_by_name(const Gather& gather) {
  const std::vector<Bytes> names = gather(name_);
  const int size = static_cast<int>(names.size());
  next_ = (rank_ + 1) % size;
  previous_ = (rank_ + size - 1) % size;
  next_name_ = names[static_cast<std::size_t>(next_)];
  if (!next_name_.empty()) connection_ = Socket::connected_to_name(next_name_);
}

// Every process tells the addresses of a socket, gets connections with numbers at some addresses,
// and answers with the number of a connection of the process before.
void Liveness::connect_by_network(const Gather& gather, std::int64_t network_ms) {
  const bool must_listen = is_unseen(rank_);
  const bool must_connect = is_unseen(next_);
  if (must_listen) listener_ = Socket::at_network();
  const std::vector<Bytes> addresses =
      gather(must_listen ? bytes_of_addresses(listener_.addresses()) : Bytes());
  std::vector<Socket> connections;
  if (must_connect) {
    connections = connections_to(addresses_of(addresses[static_cast<std::size_t>(next_)]),
                                 next_name_, now_ms() + network_ms);
  }
  const std::vector<Bytes> counts = gather(bytes_of(static_cast<int>(connections.size())));
  const int made = number_in(counts[static_cast<std::size_t>(previous_)]);
  const std::vector<Bytes> answers =
      gather(bytes_of(made > 0 ? accept_of_previous(now_ms() + network_ms) : kNoConnection));
  const int chosen = number_in(answers[static_cast<std::size_t>(next_)]);
  if (chosen < 0 || std::cmp_greater_equal(chosen, connections.size())) return;
  connection_ = std::move(connections[static_cast<std::size_t>(chosen)]);
}

// The number of the connection.
int Liveness::accept_of_previous(std::int64_t end_ms) {
  while (now_ms() < end_ms) {
    Socket made = listener_.accept(end_ms);
    const auto message = made.receive(kNameBytes + sizeof(int), end_ms);
    if (!message) continue;
    const int number = number_in({message->begin() + kNameBytes, message->end()});
    if (*message != proof(name_, number)) continue;
    accepted_ = std::move(made);
    listener_ = Socket();
    return number;
  }
  return kNoConnection;
}

// A lone process has nothing to see.
void Liveness::note_unseen(const Gather& gather) {
  const std::vector<Bytes> seen = gather(bytes_of(static_cast<int>(connection_.is_open())));
  const int size = static_cast<int>(seen.size());
  unseen_.clear();
  for (int process = 0; process < size && size > 1; ++process) {
    const int before = (process + size - 1) % size;
    if (number_in(seen[static_cast<std::size_t>(before)]) == 0) unseen_.push_back(process);
  }
}

bool Liveness::is_unseen(int process) const { return std::ranges::binary_search(unseen_, process); }

}  // namespace belfry::mpi
