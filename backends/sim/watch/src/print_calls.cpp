// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

// Functions that print to memory of the caller: std::to_string calls them. Arguments are numbers,
// except those of %s and %n, which are memory that nobody has seen.
namespace {

using belfry::sim::watch::host_watcher;
using belfry::sim::watch::reads;
using belfry::sim::watch::writes;

bool takes_addresses(const char* format) {
  while ((format = std::strchr(format, '%')) != nullptr) {
    format += 1 + std::strspn(format + 1, "-+ #0123456789$.*'hlLqjzt");
    if (*format == 's' || *format == 'S' || *format == 'n') return true;
    if (*format != '\0') ++format;
  }
  return false;
}

int print(char* to, std::size_t room, const char* format, std::va_list arguments, const void* pc) {
  const int length = std::vsnprintf(to, room, format, arguments);
  reads(format, std::strlen(format) + 1, pc);
  if (room != 0 && length >= 0) {
    writes(to, std::min(room, static_cast<std::size_t>(length) + 1), pc);
  }
  if (belfry_watch_inside != 0 && takes_addresses(format)) {
    host_watcher().note_unseen("snprintf with %s or %n");
  }
  return length;
}

}  // namespace

extern "C" {

int watched_vsnprintf(char*, std::size_t, const char*, std::va_list) BELFRY_STANDS_FOR("vsnprintf");
int watched_vsnprintf(char* to, std::size_t room, const char* format, std::va_list arguments) {
  return print(to, room, format, arguments, BELFRY_HERE);
}

int watched_snprintf(char*, std::size_t, const char*, ...) BELFRY_STANDS_FOR("snprintf");
int watched_snprintf(char* to, std::size_t room, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int length = print(to, room, format, arguments, BELFRY_HERE);
  va_end(arguments);
  return length;
}

}  // extern "C"
