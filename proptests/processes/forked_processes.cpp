// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Process 0 has a socket to every process, and hands the bytes of all processes round.
#include "processes/forked_processes.h"

#include "belfry/detail/group_reports.h"
#include "belfry/error.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <system_error>
#include <utility>

namespace belfry::testing {
namespace {

using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kLost = ~std::uint64_t{0};  // In place of a length; the rank follows.

/// The process at the far end has ended, or is silent.
struct PeerIsLost {};

/// An end of a connection between two processes.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void send(const void* data, std::size_t count) const {
    const auto* bytes = static_cast<const char*>(data);
    while (count > 0) {
      const ssize_t sent = ::send(descriptor_, bytes, count, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) throw PeerIsLost();
      bytes += sent;
      count -= static_cast<std::size_t>(sent);
    }
  }
  void receive(void* data, std::size_t count, Clock::time_point end) const {
    auto* bytes = static_cast<char*>(data);
    while (count > 0) {
      await(end);
      const ssize_t got = ::recv(descriptor_, bytes, count, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw PeerIsLost();
      bytes += got;
      count -= static_cast<std::size_t>(got);
    }
  }
  bool has_ended() const {
    char byte = 0;
    return ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }

 private:
  void await(Clock::time_point end) const {
    pollfd asked{descriptor_, POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0 || ::poll(&asked, 1, static_cast<int>(left.count()) + 1) == 0) {
      throw PeerIsLost();
    }
  }

  int descriptor_;
};

class ForkedGroup final : public ProcessGroup {
 public:
  /// Process 0 has sockets to processes 1, 2 and later; each later process has a socket to process
  /// 0.
  ForkedGroup(int rank, int size, std::chrono::milliseconds deadline, std::vector<Socket> sockets)
      : rank_(rank), size_(size), deadline_(deadline), sockets_(std::move(sockets)) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<Bytes> gather(std::span<const std::byte> bytes) override {
    if (lost_ >= 0) fail();
    return rank_ == 0 ? collect(bytes) : hand_in(bytes);
  }
  Bytes broadcast(std::span<const std::byte> bytes, int from) override {
    detail::require_rank(*this, from);
    return gather(bytes)[static_cast<std::size_t>(from)];
  }
  GroupHealth health() override {
    GroupHealth health;
    health.deadline = Deadline::milliseconds(deadline_.count());
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      const int peer = rank_ == 0 ? static_cast<int>(i) + 1 : 0;
      if (peer == lost_ || sockets_[i].has_ended()) health.lost.push_back(peer);
    }
    return health;
  }

 private:
  [[noreturn]] void fail() const { throw ProcessLostError(detail::process_left(lost_, {})); }

  std::vector<Bytes> collect(std::span<const std::byte> bytes) {
    std::vector<Bytes> all = {{bytes.begin(), bytes.end()}};
    // Later processes wait for process 0 while process 0 waits for a lost process.
    const Clock::time_point end = Clock::now() + deadline_ / 2;
    for (int peer = 1; peer < size_; ++peer) {
      try {
        all.push_back(receive(to(peer), end));
      } catch (const PeerIsLost&) {
        tell_loss(peer);
      }
    }
    for (int peer = 1; peer < size_; ++peer) {
      try {
        for (const Bytes& one : all) send(to(peer), one);
      } catch (const PeerIsLost&) {
        tell_loss(peer);
      }
    }
    return all;
  }

  [[noreturn]] void tell_loss(int lost) {
    lost_ = lost;
    const std::uint64_t words[] = {kLost, static_cast<std::uint64_t>(lost)};
    for (int peer = 1; peer < size_; ++peer) {
      try {
        to(peer).send(words, sizeof words);
      } catch (const PeerIsLost&) {
        // Hears nothing any more.
      }
    }
    fail();
  }

  std::vector<Bytes> hand_in(std::span<const std::byte> bytes) {
    try {
      send(sockets_[0], bytes);
      std::vector<Bytes> all;
      const Clock::time_point end = Clock::now() + deadline_;
      for (int peer = 0; peer < size_; ++peer) all.push_back(receive(sockets_[0], end));
      return all;
    } catch (const PeerIsLost&) {
      if (lost_ < 0) lost_ = 0;
      fail();
    }
  }

  static void send(const Socket& socket, std::span<const std::byte> bytes) {
    const std::uint64_t length = bytes.size();
    socket.send(&length, sizeof length);
    socket.send(bytes.data(), bytes.size());
  }
  Bytes receive(const Socket& socket, Clock::time_point end) {
    std::uint64_t length = 0;
    socket.receive(&length, sizeof length, end);
    if (length == kLost) {
      socket.receive(&length, sizeof length, end);
      lost_ = static_cast<int>(length);
      throw PeerIsLost();
    }
    Bytes bytes(length);
    socket.receive(bytes.data(), bytes.size(), end);
    return bytes;
  }
  const Socket& to(int peer) const { return sockets_[static_cast<std::size_t>(peer) - 1]; }

  int rank_;
  int size_;
  std::chrono::milliseconds deadline_;
  std::vector<Socket> sockets_;
  int lost_ = -1;
};

int status_of(ForkedGroup& group, const std::function<int(ProcessGroup&)>& body) {
  try {
    return body(group);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "process %d: %s\n", group.rank(), error.what());
    return 1;
  }
}

}  // namespace

std::vector<int> run_forked(int processes, std::chrono::milliseconds deadline,
                            const std::function<int(ProcessGroup&)>& body) {
  std::vector<Socket> of_first;
  std::vector<Socket> of_others;
  for (int peer = 1; peer < processes; ++peer) {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
      throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    of_first.emplace_back(ends[0]);
    of_others.emplace_back(ends[1]);
  }
  std::vector<pid_t> children;
  for (int rank = 0; rank < processes; ++rank) {
    const pid_t child = ::fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    std::vector<Socket> own;
    if (rank == 0) {
      own = std::move(of_first);
    } else {
      own.push_back(std::move(of_others[static_cast<std::size_t>(rank) - 1]));
      of_first.clear();
    }
    of_others.clear();
    int status = 1;
    {
      ForkedGroup group(rank, processes, deadline, std::move(own));
      status = status_of(group, body);
    }
    std::fflush(nullptr);
    ::_exit(status);
  }
  of_first.clear();
  of_others.clear();
  std::vector<int> statuses;
  for (const pid_t child : children) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return statuses;
}

}  // namespace belfry::testing
