// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "socket.h"

#include "polling.h"
#include "session.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace belfry::mpi {
namespace {

using belfry::detail::Bytes;

constexpr int kFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
// Connections before they are accepted: of a process of the group, and of some strangers.
constexpr int kBacklog = 8;

struct UnixAddress {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

// A name without a file begins with a zero.
UnixAddress unix_address(std::span<const std::byte> name) {
  UnixAddress unix;
  unix.address.sun_family = AF_UNIX;
  const std::size_t count = std::min(name.size(), sizeof(unix.address.sun_path) - 1);
  std::memcpy(unix.address.sun_path + 1, name.data(), count);
  unix.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + count);
  return unix;
}

sockaddr_in network_address(const NetworkAddress& address) {
  sockaddr_in network{};
  network.sin_family = AF_INET;
  network.sin_addr.s_addr = address.host;
  network.sin_port = address.port;
  return network;
}

const sockaddr* generic(const auto& address) { return reinterpret_cast<const sockaddr*>(&address); }

// The kernel asks the far host after 10 s of silence, and gives the host up after a minute.
void keep_alive(int number) {
  constexpr std::array<std::array<int, 3>, 4> kSettings{{{SOL_SOCKET, SO_KEEPALIVE, 1},
                                                         {IPPROTO_TCP, TCP_KEEPIDLE, 10},
                                                         {IPPROTO_TCP, TCP_KEEPINTVL, 10},
                                                         {IPPROTO_TCP, TCP_KEEPCNT, 6}}};
  for (const auto& [level, name, value] : kSettings) {
    setsockopt(number, level, name, &value, sizeof(value));
  }
}

}  // namespace

Socket::Socket(int number) : number_(number) {
  if (is_open()) keep_from_children(number_);
}

Socket::~Socket() {
  if (is_open() && forget_socket(number_)) close(number_);
}

Socket Socket::at_name(std::span<const std::byte> name) {
  Socket made(socket(AF_UNIX, kFlags, 0));
  const UnixAddress at = unix_address(name);
  if (bind(made.number_, generic(at.address), at.bytes) != 0) return {};
  return listen(made.number_, kBacklog) == 0 ? std::move(made) : Socket();
}

Socket Socket::connected_to_name(std::span<const std::byte> name) {
  Socket made(socket(AF_UNIX, kFlags, 0));
  const UnixAddress to = unix_address(name);
  return connect(made.number_, generic(to.address), to.bytes) == 0 ? std::move(made) : Socket();
}

Socket Socket::at_network() {
  Socket made(socket(AF_INET, kFlags, 0));
  const sockaddr_in any = network_address({});
  if (bind(made.number_, generic(any), sizeof(any)) != 0) return {};
  return listen(made.number_, kBacklog) == 0 ? std::move(made) : Socket();
}

Socket Socket::connecting_to(const NetworkAddress& address) {
  Socket made(socket(AF_INET, kFlags, 0));
  const sockaddr_in to = network_address(address);
  if (connect(made.number_, generic(to), sizeof(to)) != 0 && errno != EINPROGRESS) return {};
  keep_alive(made.number_);
  return made;
}

std::vector<NetworkAddress> Socket::addresses() const {
  sockaddr_in own{};
  socklen_t bytes = sizeof(own);
  ifaddrs* first = nullptr;
  if (getsockname(number_, reinterpret_cast<sockaddr*>(&own), &bytes) != 0 ||
      getifaddrs(&first) != 0) {
    return {};
  }
  std::vector<NetworkAddress> all;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in address{};
    std::memcpy(&address, at->ifa_addr, sizeof(address));
    all.push_back({address.sin_addr.s_addr, own.sin_port});
  }
  freeifaddrs(first);
  return all;
}

bool Socket::is_connected(std::int64_t end_ms) const {
  int error = 0;
  socklen_t bytes = sizeof(error);
  return wait(POLLOUT, end_ms) && getsockopt(number_, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 &&
         error == 0;
}

Socket Socket::accept(std::int64_t end_ms) const {
  if (!wait(POLLIN, end_ms)) return {};
  return Socket(accept4(number_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool Socket::send(std::span<const std::byte> bytes) const {
  return ::send(number_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

std::optional<Bytes> Socket::receive(std::size_t count, std::int64_t end_ms) const {
  Bytes bytes(count);
  std::size_t arrived = 0;
  while (arrived < count && wait(POLLIN, end_ms)) {
    const ssize_t more = recv(number_, bytes.data() + arrived, count - arrived, 0);
    if (more <= 0) break;
    arrived += static_cast<std::size_t>(more);
  }
  if (arrived < count) return std::nullopt;
  return bytes;
}

bool Socket::is_closed_by_peer() const {
  pollfd look{number_, POLLRDHUP, 0};
  return is_open() && poll(&look, 1, 0) > 0;
}

bool Socket::wait(short events, std::int64_t end_ms) const {
  pollfd look{number_, events, 0};
  while (is_open()) {
    const std::int64_t left = std::clamp<std::int64_t>(end_ms - now_ms(), 0, 1000);
    const int found = poll(&look, 1, static_cast<int>(left));
    if (found > 0) return true;
    if (now_ms() >= end_ms || (found < 0 && errno != EINTR)) return false;
  }
  return false;
}

}  // namespace belfry::mpi
