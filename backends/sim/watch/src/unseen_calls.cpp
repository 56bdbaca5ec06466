// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "unseen_calls.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string_view>

// The script of belfry_watch() writes the sections: a call for each unwatched function that watched
// code calls, the names of unwatched functions with an address in watched code, and the names of
// functions that watched files define.
namespace {
struct Call {
  const char* name;
  std::uint64_t called;
};
}  // namespace

extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern Call __start_belfry_watch_unseen[];
[[gnu::weak, gnu::visibility("hidden")]] extern Call __stop_belfry_watch_unseen[];
[[gnu::weak, gnu::visibility("hidden")]] extern const char* __start_belfry_watch_pointers[];
[[gnu::weak, gnu::visibility("hidden")]] extern const char* __stop_belfry_watch_pointers[];
[[gnu::weak, gnu::visibility("hidden")]] extern const char* __start_belfry_watch_defined[];
[[gnu::weak, gnu::visibility("hidden")]] extern const char* __stop_belfry_watch_defined[];
}

namespace belfry::sim::watch {
namespace {

// belfry_watch() knows the short name, too.
std::string with_short_strings(std::string text) {
  static constexpr std::string_view kLong =
      "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  for (std::size_t at = 0; (at = text.find(kLong, at)) != std::string::npos;) {
    text.replace(at, kLong.size(), "std::string");
  }
  return text;
}

}  // namespace

void forget_unseen_calls() {
  for (Call* call = __start_belfry_watch_unseen; call != __stop_belfry_watch_unseen; ++call) {
    call->called = 0;
  }
}

std::vector<std::string> unseen_calls() {
  std::vector<std::string> called(__start_belfry_watch_pointers, __stop_belfry_watch_pointers);
  for (Call* call = __start_belfry_watch_unseen; call != __stop_belfry_watch_unseen; ++call) {
    if (call->called != 0) called.emplace_back(call->name);
  }
  std::vector<std::string> defined(__start_belfry_watch_defined, __stop_belfry_watch_defined);
  std::ranges::sort(called);
  std::ranges::sort(defined);
  called.erase(std::ranges::unique(called).begin(), called.end());
  std::vector<std::string> unseen;
  std::ranges::set_difference(called, defined, std::back_inserter(unseen));
  return unseen;
}

bool is_note_of_a_call(const void* address) {
  return address >= __start_belfry_watch_unseen && address < __stop_belfry_watch_unseen;
}

std::string readable(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? with_short_strings(text.get()) : name;
}

const void* address_of_code(std::uint32_t code) {
  if (code == 0) return nullptr;
  const auto base = reinterpret_cast<std::uintptr_t>(&address_of_code);
  return reinterpret_cast<const void*>(
      base + static_cast<std::uintptr_t>(static_cast<std::int32_t>(code)));
}

}  // namespace belfry::sim::watch
