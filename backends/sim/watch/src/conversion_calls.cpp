// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "texts_of_numbers.h"
#include "watched_call.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

// Functions of the C library for texts of numbers, as std::stoi calls. Newer headers of C have
// second names for some functions.
namespace belfry::sim::watch {
namespace {

template <class Convert>
auto converted(const char* text, char** end, const Convert& convert, const void* pc) {
  char* after = nullptr;
  const auto number = convert(text, &after);
  reads(text, extent_of_number(text, text + std::strlen(text) + 1), pc);
  if (end != nullptr) {
    writes(end, sizeof *end, pc);
    *end = after;
  }
  return number;
}

}  // namespace
}  // namespace belfry::sim::watch

#define BELFRY_TO_FLOAT(type, name)                                                       \
  type watched_##name(const char*, char**) BELFRY_STANDS_FOR(#name);                      \
  type watched_##name(const char* text, char** end) {                                     \
    return belfry::sim::watch::converted(                                                 \
        text, end, [](const char* from, char** after) { return std::name(from, after); }, \
        BELFRY_HERE);                                                                     \
  }
#define BELFRY_TO_INTEGER(type, name, stand_in, linkers)                                 \
  type stand_in(const char*, char**, int) BELFRY_STANDS_FOR(linkers);                    \
  type stand_in(const char* text, char** end, int base) {                                \
    return belfry::sim::watch::converted(                                                \
        text, end,                                                                       \
        [base](const char* from, char** after) { return std::name(from, after, base); }, \
        BELFRY_HERE);                                                                    \
  }
#define BELFRY_TO_INTEGERS(type, name)                 \
  BELFRY_TO_INTEGER(type, name, watched_##name, #name) \
  BELFRY_TO_INTEGER(type, name, watched_c23_##name, "__isoc23_" #name)

extern "C" {

BELFRY_TO_FLOAT(float, strtof)
BELFRY_TO_FLOAT(double, strtod)
BELFRY_TO_FLOAT(long double, strtold)
BELFRY_TO_INTEGERS(long, strtol)
BELFRY_TO_INTEGERS(long long, strtoll)
BELFRY_TO_INTEGERS(unsigned long, strtoul)
BELFRY_TO_INTEGERS(unsigned long long, strtoull)

}  // extern "C"

#undef BELFRY_TO_FLOAT
#undef BELFRY_TO_INTEGER
#undef BELFRY_TO_INTEGERS
