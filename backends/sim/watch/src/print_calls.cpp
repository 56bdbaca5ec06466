// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "printed_arguments.h"
#include "watched_call.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

// Functions that print to memory of the caller, as std::to_string does, or to a file. The texts of
// a file have the order of the calls: each call writes a byte of the file.
namespace {

using belfry::sim::watch::reads;
using belfry::sim::watch::touch_arguments;
using belfry::sim::watch::writes;

constexpr std::size_t kNoRoom = static_cast<std::size_t>(-1) / 2;

int print(char* to, std::size_t room, const char* format, std::va_list arguments, const void* pc) {
  touch_arguments(format, arguments, pc);
  const int length = room == kNoRoom
                         ? std::vsprintf(to, format, arguments)  // NOLINT: as the caller wants.
                         : std::vsnprintf(to, room, format, arguments);
  if (room != 0 && length >= 0) {
    writes(to, std::min(room, static_cast<std::size_t>(length) + 1), pc);
  }
  return length;
}

int print(std::FILE* file, const char* format, std::va_list arguments, const void* pc) {
  touch_arguments(format, arguments, pc);
  writes(file, 1, pc);
  return std::vfprintf(file, format, arguments);
}

int print_line(const char* text, std::FILE* file, const void* pc) {
  reads(text, std::strlen(text) + 1, pc);
  writes(file, 1, pc);
  return std::fputs(text, file);
}

int print_letter(int letter, std::FILE* file, const void* pc) {
  writes(file, 1, pc);
  return std::fputc(letter, file);
}

}  // namespace

// A function with the arguments after `format`, and its relative with a list of the arguments.
// `given` are the arguments before `format` of the call of `print`.
#define BELFRY_PRINTS(name, parameters, given)                                          \
  int watched_v##name(BELFRY_OPEN parameters const char*, std::va_list)                 \
      BELFRY_STANDS_FOR("v" #name);                                                     \
  int watched_v##name(BELFRY_OPEN parameters const char* format, std::va_list values) { \
    return print(BELFRY_OPEN given format, values, BELFRY_HERE);                        \
  }                                                                                     \
  int watched_##name(BELFRY_OPEN parameters const char*, ...) BELFRY_STANDS_FOR(#name); \
  int watched_##name(BELFRY_OPEN parameters const char* format, ...) {                  \
    std::va_list values;                                                                \
    va_start(values, format);                                                           \
    const int length = print(BELFRY_OPEN given format, values, BELFRY_HERE);            \
    va_end(values);                                                                     \
    return length;                                                                      \
  }
#define BELFRY_OPEN(...) __VA_ARGS__

extern "C" {

BELFRY_PRINTS(snprintf, (char* to, std::size_t room, ), (to, room, ))
BELFRY_PRINTS(sprintf, (char* to, ), (to, kNoRoom, ))
BELFRY_PRINTS(printf, (), (stdout, ))
BELFRY_PRINTS(fprintf, (std::FILE * file, ), (file, ))

int watched_puts(const char*) BELFRY_STANDS_FOR("puts");
int watched_puts(const char* text) {
  const int result = print_line(text, stdout, BELFRY_HERE);
  return result < 0 ? result : std::fputc('\n', stdout);
}
int watched_fputs(const char*, std::FILE*) BELFRY_STANDS_FOR("fputs");
int watched_fputs(const char* text, std::FILE* file) { return print_line(text, file, BELFRY_HERE); }
int watched_putchar(int) BELFRY_STANDS_FOR("putchar");
int watched_putchar(int letter) { return print_letter(letter, stdout, BELFRY_HERE); }
int watched_putc(int, std::FILE*) BELFRY_STANDS_FOR("putc");
int watched_putc(int letter, std::FILE* file) { return print_letter(letter, file, BELFRY_HERE); }
int watched_fputc(int, std::FILE*) BELFRY_STANDS_FOR("fputc");
int watched_fputc(int letter, std::FILE* file) { return print_letter(letter, file, BELFRY_HERE); }

std::size_t watched_fwrite(const void*, std::size_t, std::size_t, std::FILE*)
    BELFRY_STANDS_FOR("fwrite");
std::size_t watched_fwrite(const void* from, std::size_t bytes, std::size_t count,
                           std::FILE* file) {
  reads(from, bytes * count, BELFRY_HERE);
  writes(file, 1, BELFRY_HERE);
  return std::fwrite(from, bytes, count, file);
}

int watched_fflush(std::FILE*) BELFRY_STANDS_FOR("fflush");
int watched_fflush(std::FILE* file) {
  for (std::FILE* const one : {stdout, stderr}) {
    if (file == nullptr || file == one) writes(one, 1, BELFRY_HERE);
  }
  if (file != nullptr && file != stdout && file != stderr) writes(file, 1, BELFRY_HERE);
  return std::fflush(file);
}

}  // extern "C"

#undef BELFRY_PRINTS
#undef BELFRY_OPEN
