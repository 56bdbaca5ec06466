// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/byte_stream.h"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace belfry::mpi {

/// A place of a host in a network, in the byte order of networks.
struct NetworkAddress {
  std::uint32_t host = 0;
  std::uint16_t port = 0;
};

/// A stream socket of this process; forked children do not get the socket. Functions return an
/// empty socket if the system refuses; none throws.
class Socket {
 public:
  Socket() = default;
  Socket(Socket&& other) noexcept : number_(std::exchange(other.number_, kNone)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Socket();

  /// Listens at a name of Unix without a file: the name ends with the process.
  static Socket at_name(std::span<const std::byte> name);
  static Socket connected_to_name(std::span<const std::byte> name);
  /// Listens at a free port of all networks of IPv4.
  static Socket at_network();
  /// The begin of a connection.
  static Socket connecting_to(const NetworkAddress& address);

  bool is_open() const { return number_ != kNone; }
  /// The addresses of this host, with the port of the socket.
  std::vector<NetworkAddress> addresses() const;
  /// Whether the connection is made.
  /// Order: blocks the host until known, at most to the time `end_ms` of now_ms().
  bool is_connected(std::int64_t end_ms) const;
  /// The next connection. Order: as is_connected.
  Socket accept(std::int64_t end_ms) const;
  /// Sends a short message at once; whether the system has taken the message whole.
  bool send(std::span<const std::byte> bytes) const;
  /// A message of `count` bytes; none if fewer arrive. Order: as is_connected.
  std::optional<belfry::detail::Bytes> receive(std::size_t count, std::int64_t end_ms) const;
  /// Whether the process at the far end has closed, or has ended. False for an empty socket.
  bool is_closed_by_peer() const;

 private:
  static constexpr int kNone = -1;

  explicit Socket(int number);
  bool wait(short events, std::int64_t end_ms) const;

  int number_ = kNone;
};

}  // namespace belfry::mpi
