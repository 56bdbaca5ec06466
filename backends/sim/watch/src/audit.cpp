// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "audit.h"

#include "pointer_calls.h"
#include "source_lines.h"
#include "unseen_calls.h"

#include <link.h>
#include <unwind.h>

#include <algorithm>
#include <cstring>

namespace belfry::sim::watch {
namespace {

using Range = std::pair<std::uintptr_t, std::uintptr_t>;

/// Marks the audit as busy: its own blocks are no blocks of watched code.
class Busy {
 public:
  explicit Busy(bool& flag) : flag_(flag) { flag_ = true; }
  ~Busy() { flag_ = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  bool& flag_;
};

// The writable parts of the program itself: the first of the files in memory.
int add_variables(dl_phdr_info* file, std::size_t, void* to) {
  auto& ranges = *static_cast<std::vector<Range>*>(to);
  for (int k = 0; k < file->dlpi_phnum; ++k) {
    const auto& part = file->dlpi_phdr[k];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
    const std::uintptr_t low = file->dlpi_addr + part.p_vaddr;
    ranges.emplace_back(low, low + part.p_memsz);
  }
  return 1;
}

// The frame of a function reaches from the frame of its callee to that of its caller.
_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* to) {
  auto& ranges = *static_cast<std::vector<Range>*>(to);
  const auto low = static_cast<std::uintptr_t>(_Unwind_GetCFA(context));
  if (!ranges.empty() && ranges.back().second == 0) ranges.back().second = low;
  if (is_watched_code(reinterpret_cast<const void*>(_Unwind_GetIP(context)))) {
    ranges.emplace_back(low, 0);
  }
  return _URC_NO_REASON;
}

// Whether belfry, the run time or the C++ library has the variable.
bool is_foreign(const std::string& name) {
  return name == "_GLOBAL_OFFSET_TABLE_" || name.starts_with("_ZGV") || name.starts_with("_ZSt") ||
         name.starts_with("__") || is_known_function(name);
}

// Whether the byte of a block is of the count of a std::shared_ptr, which belfry changes, too: the
// object with the count begins with the pointer to the table of its type.
bool is_count_of_owners(std::uintptr_t block, std::size_t byte) {
  if (byte / sizeof(void*) != 1) return false;
  const void* const type = *reinterpret_cast<const void* const*>(block);
  return source_lines().name_at(type).find("_Sp_counted_") != std::string::npos;
}

}  // namespace

void Audit::begin(bool wanted) {
  const Busy busy(busy_);
  on_ = wanted;
  blocks_.clear();
  frames_.clear();
  areas_.clear();
  announced_.clear();
  of_paused_.clear();
  found_.clear();
}

void Audit::made(const void* block, std::size_t bytes) {
  if (!on_ || busy_) return;
  const Busy busy(busy_);
  blocks_[reinterpret_cast<std::uintptr_t>(block)] = bytes;
}

void Audit::ended(const void* block) {
  if (!on_ || busy_) return;
  const Busy busy(busy_);
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  if (blocks_.erase(at) != 0) ended_.insert(at);
}

void Audit::begin_run() {
  if (!on_) return;
  const Busy busy(busy_);
  frames_.clear();
  _Unwind_Backtrace(&add_frame, &frames_);
  std::erase_if(frames_, [](const Range& frame) { return frame.second <= frame.first; });
}

void Audit::add_area(Kind kind, std::uintptr_t low, std::size_t bytes) {
  const auto* const first = reinterpret_cast<const unsigned char*>(low);
  areas_.push_back({kind, low, bytes, {first, first + bytes}});
}

void Audit::begin_phase() {
  if (!on_) return;
  const Busy busy(busy_);
  announced_.clear();
  of_paused_.clear();
}

void Audit::begin_slice(const std::string& replica) {
  if (!on_) return;
  const Busy busy(busy_);
  areas_.clear();
  ended_.clear();
  announced_ = std::exchange(of_paused_[replica], {});
  writes_ = announced_;
  for (const auto& [low, bytes] : blocks_) add_area(Kind::kBlock, low, bytes);
  std::vector<Range> variables;
  ::dl_iterate_phdr(&add_variables, &variables);
  for (const Range& range : variables) {
    add_area(Kind::kVariables, range.first, range.second - range.first);
  }
  for (const Range& range : frames_) {
    add_area(Kind::kFrame, range.first, range.second - range.first);
  }
}

void Audit::wrote(std::uintptr_t at, std::size_t bytes) {
  if (!on_ || busy_) return;
  const Busy busy(busy_);
  if (!writes_.empty() && at >= writes_.back().first && at <= writes_.back().second) {
    writes_.back().second = std::max(writes_.back().second, at + bytes);
  } else {
    writes_.emplace_back(at, at + bytes);
  }
}

void Audit::announced(std::uintptr_t at, std::size_t bytes) {
  if (!on_ || busy_) return;
  wrote(at, bytes);
  const Busy busy(busy_);
  announced_.emplace_back(at, at + bytes);
}

// Sorted, and without overlaps.
void Audit::sort_writes() {
  std::ranges::sort(writes_);
  std::vector<Range> merged;
  for (const Range& write : writes_) {
    if (!merged.empty() && write.first <= merged.back().second) {
      merged.back().second = std::max(merged.back().second, write.second);
    } else {
      merged.push_back(write);
    }
  }
  writes_ = std::move(merged);
}

bool Audit::is_seen(std::uintptr_t at) const {
  const auto after = std::ranges::upper_bound(writes_, at, {}, &Range::first);
  return after != writes_.begin() && at < std::prev(after)->second;
}

void Audit::compare(const Area& area, const std::string& replica) {
  const auto* const now = reinterpret_cast<const unsigned char*>(area.low);
  if (std::memcmp(now, area.before.data(), area.bytes) == 0) return;
  for (std::size_t k = 0; k < area.bytes; ++k) {
    if (now[k] == area.before[k] || is_seen(area.low + k)) continue;
    if (area.kind == Kind::kBlock && is_count_of_owners(area.low, k)) continue;
    const std::string by = " changed in " + replica + " without a seen write";
    if (area.kind == Kind::kBlock) {
      found_.insert("byte " + std::to_string(k) + " of a block of " + std::to_string(area.bytes) +
                    " bytes" + by);
      return;
    }
    if (area.kind == Kind::kFrame) {
      found_.insert("a variable of a function with a run" + by);
      return;
    }
    if (is_note_of_a_call(now + k)) continue;
    const std::string name = source_lines().name_at(now + k);
    if (!is_foreign(name)) found_.insert("the variable " + readable(name) + by);
  }
}

void Audit::end_slice(const std::string& replica) {
  if (!on_) return;
  const Busy busy(busy_);
  sort_writes();
  for (const Area& area : areas_) {
    if (area.kind != Kind::kBlock || !ended_.contains(area.low)) compare(area, replica);
  }
  areas_.clear();
  of_paused_[replica] = std::exchange(announced_, {});
}

}  // namespace belfry::sim::watch
