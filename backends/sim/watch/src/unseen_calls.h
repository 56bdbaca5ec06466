// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace belfry::sim::watch {

/// Forgets which unwatched functions replicas have called.
void forget_unseen_calls();

/// Unwatched functions that replicas have called, or may have called through pointers, by the names
/// of the linker. Sorted. Functions with a new answer in each run have a `~` before the name, and
/// are listed also if code outside replicas has called them.
std::vector<std::string> unseen_calls();

/// Whether the byte at `address` is a note of a call.
bool is_note_of_a_call(const void* address);

/// The name as the source has it, for a name of the linker.
std::string readable(const std::string& name);

/// The inverse of code_of; null for 0.
const void* address_of_code(std::uint32_t code);

/// The distance of a code address from a fixed address of the program; 0 for code far away. All
/// watched code of a program is near.
inline std::uint32_t code_of(const void* address) {
  const auto base = reinterpret_cast<std::uintptr_t>(&address_of_code);
  const auto distance = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) - base);
  const auto code = static_cast<std::int32_t>(distance);
  return code == distance ? static_cast<std::uint32_t>(code) : 0;
}

}  // namespace belfry::sim::watch
