// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <cxxabi.h>

#include <cstddef>
#include <exception>

// Owners of exceptions: the last std::exception_ptr ends the exception. The names are the linker's.
namespace {

using belfry::sim::watch::Maker;

// The count is at the begin of a header in front of the exception, on x86-64 and AArch64. The
// header's type is libstdc++'s own.
constexpr std::ptrdiff_t kHeaderBytes = 128;

int* owners_of(const void* pointer) {
  auto* const exception = *static_cast<char* const*>(pointer);
  return reinterpret_cast<int*>(exception - kHeaderBytes);
}

void change_owners(const void* pointer, bool releases, const void* pc) {
  if (belfry_watch_counts == 0) return;
  int* const owners = owners_of(pointer);
  const bool is_last = releases && __atomic_load_n(owners, __ATOMIC_SEQ_CST) == 1;
  belfry::sim::watch::host_watcher().access(
      owners, sizeof *owners,
      {.writes = true, .pc = pc, .maker = Maker::kExceptionOwner, .releases_last_owner = is_last});
}

}  // namespace

extern "C" {

void add_exception_owner(void* pointer) __asm__(
    "_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void watched_add_exception_owner(void* pointer)
    BELFRY_STANDS_FOR("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void watched_add_exception_owner(void* pointer) {
  change_owners(pointer, false, BELFRY_HERE);
  add_exception_owner(pointer);
}

void remove_exception_owner(void* pointer) __asm__(
    "_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void watched_remove_exception_owner(void* pointer)
    BELFRY_STANDS_FOR("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void watched_remove_exception_owner(void* pointer) {
  change_owners(pointer, true, BELFRY_HERE);
  remove_exception_owner(pointer);
}

// The end of a catch block may end the last owner: a second one makes the count last until then.
void watched_end_catch() BELFRY_STANDS_FOR("__cxa_end_catch");
void watched_end_catch() {
  if (belfry_watch_counts == 0) return abi::__cxa_end_catch();
  const std::exception_ptr caught = std::current_exception();
  abi::__cxa_end_catch();
  if (caught) change_owners(&caught, true, BELFRY_HERE);
}

}  // extern "C"

namespace belfry::sim::watch {

// The result may be a part of an object that the caller makes in shared memory.
std::exception_ptr watched_current_exception() BELFRY_STANDS_FOR("_ZSt17current_exceptionv");
std::exception_ptr watched_current_exception() {
  std::exception_ptr present = std::current_exception();
  writes(&present, sizeof present, BELFRY_HERE);
  return present;
}

}  // namespace belfry::sim::watch
