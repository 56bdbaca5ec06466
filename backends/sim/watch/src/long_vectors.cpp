// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "long_vectors.h"

#include "code_addresses.h"
#include "source_lines.h"
#include "unseen_calls.h"

#include <algorithm>
#include <string_view>

// The script of belfry_watch() writes the section: the names of the functions with accesses of 32
// bytes or more. clang reports each such access in the function itself, by the first byte.
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern const char* __start_belfry_watch_vectors[];
[[gnu::weak, gnu::visibility("hidden")]] extern const char* __stop_belfry_watch_vectors[];
}

namespace belfry::sim::watch {
namespace {

constinit CodeAddresses accesses;

}  // namespace

constinit bool are_there_long_vectors = false;

void forget_long_vectors() {
  accesses.clear();
  are_there_long_vectors = +__start_belfry_watch_vectors != +__stop_belfry_watch_vectors;
}

void note_long_vector(const void* pc) {
  if (belfry_watch_inside != 0) accesses.add(pc);
}

std::vector<std::string> long_vectors() {
  static constexpr std::string_view kOwn = "belfry_watched.";
  std::vector<std::string> found;
  for (const void* const access : accesses.all()) {
    std::string name = source_lines().name_at(access);
    if (name.starts_with(kOwn)) name.erase(0, kOwn.size());
    const auto is_named = [&](const char* other) { return name == other; };
    // A program without symbols has any of them.
    if (name.starts_with(SourceLines::kWithoutName) ||
        std::any_of(__start_belfry_watch_vectors, __stop_belfry_watch_vectors, is_named)) {
      found.push_back("accesses to vectors of 32 bytes or more in " + readable(name));
    }
  }
  if (accesses.is_full()) found.emplace_back("accesses to vectors of 32 bytes or more");
  return found;
}

}  // namespace belfry::sim::watch
