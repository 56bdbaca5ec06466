// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <cstddef>
#include <iomanip>
#include <ios>
#include <ostream>
#include <sstream>
#include <string>

// Streams of the program's own, that print to texts: begin and end, the text, and manipulators. The
// names are the linker's; optimized code calls the constructors and destructors of the parts.
namespace belfry::sim::watch {
namespace {

const std::ostringstream& touched(const std::ostringstream& out, const void* pc) {
  reads(&out, 1, pc);
  reads(out.rdbuf(), sizeof(std::streambuf), pc);
  return out;
}

std::ostream& touched(std::ostream& out, const void* pc) {
  writes(&out, 1, pc);
  return out;
}

}  // namespace

// A constructor or destructor: writes a byte of the object, as each print does.
#define BELFRY_LIFE(name, linkers)                       \
  void original_##name(void*) __asm__(linkers);          \
  void watched_##name(void*) BELFRY_STANDS_FOR(linkers); \
  void watched_##name(void* self) {                      \
    writes(self, 1, BELFRY_HERE);                        \
    original_##name(self);                               \
  }
#define BELFRY_OF_CHARS(name) #name "IcSt11char_traitsIcESaIcEE"

BELFRY_LIFE(make_ostringstream, "_ZNSt7__cxx11" BELFRY_OF_CHARS(19basic_ostringstream) "C1Ev")
BELFRY_LIFE(end_ostringstream, "_ZNSt7__cxx11" BELFRY_OF_CHARS(19basic_ostringstream) "D1Ev")
BELFRY_LIFE(make_istringstream, "_ZNSt7__cxx11" BELFRY_OF_CHARS(19basic_istringstream) "C1Ev")
BELFRY_LIFE(end_istringstream, "_ZNSt7__cxx11" BELFRY_OF_CHARS(19basic_istringstream) "D1Ev")
BELFRY_LIFE(make_stringstream, "_ZNSt7__cxx11" BELFRY_OF_CHARS(18basic_stringstream) "C1Ev")
BELFRY_LIFE(end_stringstream, "_ZNSt7__cxx11" BELFRY_OF_CHARS(18basic_stringstream) "D1Ev")
BELFRY_LIFE(make_ios_base, "_ZNSt8ios_baseC2Ev")
BELFRY_LIFE(end_ios_base, "_ZNSt8ios_baseD2Ev")
BELFRY_LIFE(make_locale, "_ZNSt6localeC1Ev")
BELFRY_LIFE(end_locale, "_ZNSt6localeD1Ev")

#undef BELFRY_OF_CHARS
#undef BELFRY_LIFE

void watched_init(std::ios*, std::streambuf*)
    BELFRY_STANDS_FOR("_ZNSt9basic_iosIcSt11char_traitsIcEE4initEPSt15basic_streambufIcS1_E");
void original_init(std::ios*, std::streambuf*) __asm__(
    "_ZNSt9basic_iosIcSt11char_traitsIcEE4initEPSt15basic_streambufIcS1_E");
void watched_init(std::ios* stream, std::streambuf* buffer) {
  writes(stream, 1, BELFRY_HERE);
  original_init(stream, buffer);
}

void watched_sync(std::stringbuf*, char*, std::size_t, std::size_t)
    BELFRY_STANDS_FOR("_ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE7_M_syncEPcmm");
void original_sync(std::stringbuf*, char*, std::size_t, std::size_t) __asm__(
    "_ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE7_M_syncEPcmm");
void watched_sync(std::stringbuf* buffer, char* base, std::size_t in, std::size_t out) {
  writes(buffer, sizeof(std::streambuf), BELFRY_HERE);
  original_sync(buffer, base, in, out);
}

std::string watched_text(const std::ostringstream&)
    BELFRY_STANDS_FOR("_ZNKRSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv");
std::string watched_text(const std::ostringstream& out) { return touched(out, BELFRY_HERE).str(); }

std::string watched_moved_text(std::ostringstream&)
    BELFRY_STANDS_FOR("_ZNOSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv");
std::string watched_moved_text(std::ostringstream& out) {
  touched(static_cast<std::ostream&>(out), BELFRY_HERE);
  return std::move(out).str();
}

using Manipulator = std::ios_base& (*)(std::ios_base&);
std::ostream& watched_manipulator(std::ostream&, Manipulator)
    BELFRY_STANDS_FOR("_ZNSolsEPFRSt8ios_baseS0_E");
std::ostream& watched_manipulator(std::ostream& out, Manipulator manipulator) {
  return touched(out, BELFRY_HERE) << manipulator;
}

#define BELFRY_MANIPULATES(name, type, linkers)                                             \
  std::ostream& name(std::ostream&, type)                                                   \
      BELFRY_STANDS_FOR("_ZStlsIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_" linkers); \
  std::ostream& name(std::ostream& out, type manipulator) {                                 \
    return touched(out, BELFRY_HERE) << manipulator;                                        \
  }

BELFRY_MANIPULATES(watched_precision, decltype(std::setprecision(0)), "St13_Setprecision")
BELFRY_MANIPULATES(watched_width, decltype(std::setw(0)), "St5_Setw")
BELFRY_MANIPULATES(watched_fill, decltype(std::setfill('0')), "St8_SetfillIS3_E")

#undef BELFRY_MANIPULATES

}  // namespace belfry::sim::watch
