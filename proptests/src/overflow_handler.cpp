// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "overflow_handler.h"

#include "sanitizer.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace belfry::testing {
namespace {

constexpr std::size_t kBytes = std::size_t{64} << 10;

constinit thread_local const RunProgress* innermost = nullptr;
struct sigaction before{};  // The handler before ours.

// A text without memory from the heap: a handler of a signal may not allocate.
class SignalText {
 public:
  SignalText& operator<<(std::string_view text) {
    const std::size_t taken = std::min(text.size(), text_.size() - size_);
    std::memcpy(text_.data() + size_, text.data(), taken);
    size_ += taken;
    return *this;
  }
  SignalText& operator<<(std::uint64_t number) {
    std::array<char, 20> digits;
    std::size_t first = digits.size();
    do {
      digits[--first] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    return *this << std::string_view(digits.data() + first, digits.size() - first);
  }
  void print() const {
    if (::write(STDERR_FILENO, text_.data(), size_) < 0) return;
  }

 private:
  std::array<char, 1024> text_{};
  std::size_t size_ = 0;
};

std::uint64_t number_of(int number) { return static_cast<std::uint64_t>(number); }

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

void report(const RunProgress& run) {
  const ReplicaProgress& replica = run.replicas()[static_cast<std::size_t>(run.turn())];
  SignalText text;
  text << "belfry: BF-067 replica " << number_of(run.facts().first_replica + run.turn())
       << " used more stack than the " << (run.facts().stack_bytes >> 10) << " KiB it has";
  if (replica.merges > 0) {
    text << "\n  after merge #" << replica.merges << ", " << last_part(replica.site.file) << ":"
         << number_of(replica.site.line);
  }
  text << "\n  hint: keep large data on the heap, or ask for larger stacks (stack_bytes in the "
          "options of the backend)\n";
  text.print();
}

void on_fault(int signal, siginfo_t* info, void* /*context*/) {
  const RunProgress* const run = innermost;
  if (run != nullptr && run->is_below_stack(info->si_addr)) report(*run);
  // The access is repeated on return, and takes its usual effect.
  ::sigaction(signal, &before, nullptr);
}

void install_handler() {
  static const bool installed = [] {
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    return ::sigaction(SIGSEGV, &action, &before) == 0;
  }();
  static_cast<void>(installed);
}

}  // namespace

OverflowHandler::OverflowHandler() {
  if (kReportsFaults) return;
  stack_t present{};
  ::sigaltstack(nullptr, &present);
  if ((present.ss_flags & SS_DISABLE) != 0) {
    stack_ = std::make_unique<char[]>(kBytes);
    stack_t stack{};
    stack.ss_sp = stack_.get();
    stack.ss_size = kBytes;
    ::sigaltstack(&stack, nullptr);
  }
  install_handler();
}

OverflowHandler::~OverflowHandler() {
  if (stack_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
}

void OverflowHandler::set_run(const RunProgress* run) { innermost = run; }

}  // namespace belfry::testing
