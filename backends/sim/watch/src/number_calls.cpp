// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "texts_of_numbers.h"
#include "watched_call.h"

#include <charconv>
#include <cmath>

// Functions for numbers that write to memory of the caller or read a text of the caller.
// The names of functions of C++ are the linker's.
namespace belfry::sim::watch {

#define BELFRY_TO_CHARS(name, linkers, type)                                                    \
  std::to_chars_result name(char*, char*, type) BELFRY_STANDS_FOR("_ZSt8to_charsPcS_" linkers); \
  std::to_chars_result name(char* first, char* last, type value) {                              \
    const std::to_chars_result written = std::to_chars(first, last, value);                     \
    writes(first, static_cast<std::size_t>(written.ptr - first), BELFRY_HERE);                  \
    return written;                                                                             \
  }
BELFRY_TO_CHARS(watched_float_text, "f", float)
BELFRY_TO_CHARS(watched_double_text, "d", double)
#undef BELFRY_TO_CHARS

#define BELFRY_FROM_CHARS(name, linkers, type)                                        \
  std::from_chars_result name(const char*, const char*, type&, std::chars_format)     \
      BELFRY_STANDS_FOR("_ZSt10from_charsPKcS0_R" linkers "St12chars_format");        \
  std::from_chars_result name(const char* first, const char* last, type& value,       \
                              std::chars_format format) {                             \
    const std::from_chars_result found = std::from_chars(first, last, value, format); \
    reads(first, extent_of_number(first, last), BELFRY_HERE);                         \
    if (found.ec == std::errc()) writes(&value, sizeof value, BELFRY_HERE);           \
    return found;                                                                     \
  }
BELFRY_FROM_CHARS(watched_float_of_text, "f", float)
BELFRY_FROM_CHARS(watched_double_of_text, "d", double)
#undef BELFRY_FROM_CHARS

}  // namespace belfry::sim::watch

// The second result goes to memory of the caller.
#define BELFRY_TWO_RESULTS(name, type, second)                   \
  type watched_##name(type, second*) BELFRY_STANDS_FOR(#name);   \
  type watched_##name(type value, second* more) {                \
    belfry::sim::watch::writes(more, sizeof *more, BELFRY_HERE); \
    return ::name(value, more);                                  \
  }

extern "C" {

BELFRY_TWO_RESULTS(frexp, double, int)
BELFRY_TWO_RESULTS(frexpf, float, int)
BELFRY_TWO_RESULTS(modf, double, double)
BELFRY_TWO_RESULTS(modff, float, float)

#define BELFRY_QUOTIENT(name, type)                               \
  type watched_##name(type, type, int*) BELFRY_STANDS_FOR(#name); \
  type watched_##name(type a, type b, int* bits) {                \
    belfry::sim::watch::writes(bits, sizeof *bits, BELFRY_HERE);  \
    return ::name(a, b, bits);                                    \
  }
BELFRY_QUOTIENT(remquo, double)
BELFRY_QUOTIENT(remquof, float)
#undef BELFRY_QUOTIENT

}  // extern "C"

#undef BELFRY_TWO_RESULTS
