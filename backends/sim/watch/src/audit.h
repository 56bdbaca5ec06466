// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim::watch {

/// Compares memory of the program before and after each slice of a replica, the time from a resume
/// to the next pause: bytes that changed without a seen write were written by code that the watch
/// does not see. The memory: live blocks that watched code has allocated during the watch, the
/// variables of the program, and the frames of watched code on the stack of the caller.
class Audit {
 public:
  /// Begins, or ends, the audits of a watch.
  void begin(bool wanted);
  bool is_on() const { return on_; }
  /// Watched code has a new block, or a block of memory ends.
  void made(const void* block, std::size_t bytes);
  void ended(const void* block);
  /// The caller begins a run: the frames of watched code above hold captured variables.
  void begin_run();
  /// A replica goes on. `replica` is its name.
  void begin_slice(const std::string& replica);
  /// A seen write.
  void wrote(std::uintptr_t at, std::size_t bytes);
  /// belfry tells of a write before it writes: the replica may pause between, and the bytes change
  /// in a later slice of the phase.
  void announced(std::uintptr_t at, std::size_t bytes);
  /// Watched code goes on: the call has written.
  void end_call() { announced_.clear(); }
  /// Writes that were announced before do not count after.
  void begin_phase();
  /// Compares.
  void end_slice(const std::string& replica);
  /// A sentence for each variable, block or frame with a change that nobody has seen.
  std::set<std::string> take() { return std::exchange(found_, {}); }

 private:
  using Range = std::pair<std::uintptr_t, std::uintptr_t>;
  enum class Kind : std::uint8_t { kBlock, kVariables, kFrame };
  struct Area {
    Kind kind;
    std::uintptr_t low;
    std::size_t bytes;
    std::vector<unsigned char> before{};
  };

  void add_area(Kind kind, std::uintptr_t low, std::size_t bytes);
  void sort_writes();
  bool is_seen(std::uintptr_t at) const;
  void compare(const Area& area, const std::string& replica);

  bool on_ = false;
  bool busy_ = false;  // The audit itself allocates.
  std::map<std::uintptr_t, std::size_t> blocks_;
  std::vector<Range> frames_;
  std::vector<Area> areas_;
  std::set<std::uintptr_t> ended_;                       // Blocks that ended in the slice.
  std::vector<Range> writes_;                            // Begins and ends.
  std::vector<Range> announced_;                         // Of the present call of the replica,
  std::map<std::string, std::vector<Range>> of_paused_;  // and of replicas that pause in a call.
  std::set<std::string> found_;
};

}  // namespace belfry::sim::watch
