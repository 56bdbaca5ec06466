// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <cstddef>
#include <istream>
#include <sstream>
#include <string>
#include <utility>

// Functions that read from a stream. A stream gives its letters in the order of the calls: each
// call writes a byte of the stream and the pointers of the buffer, as a print does, and the result.
namespace belfry::sim::watch {
namespace {

std::istream& used(std::istream& in, const void* pc) {
  writes(&in, 1, pc);
  if (in.rdbuf() != nullptr) writes(in.rdbuf(), sizeof(std::streambuf), pc);
  return in;
}

void wrote_string(const std::string& text, const void* pc) {
  writes(&text, sizeof(text), pc);
  writes(text.data(), text.size() + 1, pc);
}

using InputManipulator = std::istream& (*)(std::istream&);

}  // namespace

// `read(stream, value)` stands for `name`.
#define BELFRY_EXTRACTS(read, name, Type)                           \
  std::istream& read(std::istream&, Type&) BELFRY_STANDS_FOR(name); \
  std::istream& read(std::istream& in, Type& value) {               \
    writes(&value, sizeof(value), BELFRY_HERE);                     \
    return used(in, BELFRY_HERE) >> value;                          \
  }

BELFRY_EXTRACTS(watched_read_bool, "_ZNSirsERb", bool)
BELFRY_EXTRACTS(watched_read_short, "_ZNSirsERs", short)
BELFRY_EXTRACTS(watched_read_ushort, "_ZNSirsERt", unsigned short)
BELFRY_EXTRACTS(watched_read_int, "_ZNSirsERi", int)
BELFRY_EXTRACTS(watched_read_uint, "_ZNSirsERj", unsigned)
BELFRY_EXTRACTS(watched_read_long, "_ZNSirsERl", long)
BELFRY_EXTRACTS(watched_read_ulong, "_ZNSirsERm", unsigned long)
BELFRY_EXTRACTS(watched_read_longlong, "_ZNSirsERx", long long)
BELFRY_EXTRACTS(watched_read_ulonglong, "_ZNSirsERy", unsigned long long)
BELFRY_EXTRACTS(watched_read_float, "_ZNSirsERf", float)
BELFRY_EXTRACTS(watched_read_double, "_ZNSirsERd", double)
BELFRY_EXTRACTS(watched_read_longdouble, "_ZNSirsERe", long double)
// The parts of the functions above that optimizing compilers call.
BELFRY_EXTRACTS(watched_extract_bool, "_ZNSi10_M_extractIbEERSiRT_", bool)
BELFRY_EXTRACTS(watched_extract_ushort, "_ZNSi10_M_extractItEERSiRT_", unsigned short)
BELFRY_EXTRACTS(watched_extract_uint, "_ZNSi10_M_extractIjEERSiRT_", unsigned)
BELFRY_EXTRACTS(watched_extract_long, "_ZNSi10_M_extractIlEERSiRT_", long)
BELFRY_EXTRACTS(watched_extract_ulong, "_ZNSi10_M_extractImEERSiRT_", unsigned long)
BELFRY_EXTRACTS(watched_extract_longlong, "_ZNSi10_M_extractIxEERSiRT_", long long)
BELFRY_EXTRACTS(watched_extract_ulonglong, "_ZNSi10_M_extractIyEERSiRT_", unsigned long long)
BELFRY_EXTRACTS(watched_extract_float, "_ZNSi10_M_extractIfEERSiRT_", float)
BELFRY_EXTRACTS(watched_extract_double, "_ZNSi10_M_extractIdEERSiRT_", double)
BELFRY_EXTRACTS(watched_extract_longdouble, "_ZNSi10_M_extractIeEERSiRT_", long double)
BELFRY_EXTRACTS(watched_read_char, "_ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_RS3_",
                char)
#undef BELFRY_EXTRACTS

#define BELFRY_OF_STRING(function) \
  function "RSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE"

std::istream& watched_read_string(std::istream&, std::string&)
    BELFRY_STANDS_FOR(BELFRY_OF_STRING("_ZStrsIcSt11char_traitsIcESaIcEE"));
std::istream& watched_read_string(std::istream& in, std::string& text) {
  used(in, BELFRY_HERE) >> text;
  wrote_string(text, BELFRY_HERE);
  return in;
}

std::istream& watched_line_up_to(std::istream&, std::string&, char)
    BELFRY_STANDS_FOR(BELFRY_OF_STRING("_ZSt7getlineIcSt11char_traitsIcESaIcEE") "S4_");
std::istream& watched_line_up_to(std::istream& in, std::string& text, char end) {
  std::getline(used(in, BELFRY_HERE), text, end);
  wrote_string(text, BELFRY_HERE);
  return in;
}

std::istream& watched_line(std::istream&, std::string&)
    BELFRY_STANDS_FOR(BELFRY_OF_STRING("_ZSt7getlineIcSt11char_traitsIcESaIcEE"));
std::istream& watched_line(std::istream& in, std::string& text) {
  std::getline(used(in, BELFRY_HERE), text);
  wrote_string(text, BELFRY_HERE);
  return in;
}
#undef BELFRY_OF_STRING

// `read(stream, letters, room)` stands for `name`.
#define BELFRY_READS_LETTERS(read, name, function)                                   \
  std::istream& read(std::istream&, char*, std::streamsize) BELFRY_STANDS_FOR(name); \
  std::istream& read(std::istream& in, char* letters, std::streamsize room) {        \
    if (room > 0) writes(letters, static_cast<std::size_t>(room), BELFRY_HERE);      \
    return used(in, BELFRY_HERE).function(letters, room);                            \
  }
BELFRY_READS_LETTERS(watched_read, "_ZNSi4readEPcl", read)
BELFRY_READS_LETTERS(watched_get_letters, "_ZNSi3getEPcl", get)
BELFRY_READS_LETTERS(watched_getline_letters, "_ZNSi7getlineEPcl", getline)
#undef BELFRY_READS_LETTERS

#define BELFRY_TAKES_LETTER(take, name, function)  \
  int take(std::istream&) BELFRY_STANDS_FOR(name); \
  int take(std::istream& in) { return used(in, BELFRY_HERE).function(); }
BELFRY_TAKES_LETTER(watched_get, "_ZNSi3getEv", get)
BELFRY_TAKES_LETTER(watched_peek, "_ZNSi4peekEv", peek)
#undef BELFRY_TAKES_LETTER

std::istream& watched_get_letter(std::istream&, char&) BELFRY_STANDS_FOR("_ZNSi3getERc");
std::istream& watched_get_letter(std::istream& in, char& letter) {
  writes(&letter, 1, BELFRY_HERE);
  return used(in, BELFRY_HERE).get(letter);
}

std::istream& watched_ignore(std::istream&) BELFRY_STANDS_FOR("_ZNSi6ignoreEv");
std::istream& watched_ignore(std::istream& in) { return used(in, BELFRY_HERE).ignore(); }
std::istream& watched_ignore_up_to(std::istream&, std::streamsize, int)
    BELFRY_STANDS_FOR("_ZNSi6ignoreEli");
std::istream& watched_ignore_up_to(std::istream& in, std::streamsize most, int end) {
  return used(in, BELFRY_HERE).ignore(most, end);
}

std::istream& watched_blanks(std::istream&)
    BELFRY_STANDS_FOR("_ZSt2wsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_");
std::istream& watched_blanks(std::istream& in) { return used(in, BELFRY_HERE) >> std::ws; }
std::istream& watched_read_manipulator(std::istream&, InputManipulator)
    BELFRY_STANDS_FOR("_ZNSirsEPFRSiS_E");
std::istream& watched_read_manipulator(std::istream& in, InputManipulator manipulator) {
  return used(in, BELFRY_HERE) >> manipulator;
}

// Streams of the program's own over a text, which is a new object if the stream takes the text.
#define BELFRY_OF_TEXT(make, linkers)                                                        \
  void original_##make(void*, const std::string&, std::ios_base::openmode) __asm__(linkers); \
  void watched_##make(void*, const std::string&, std::ios_base::openmode)                    \
      BELFRY_STANDS_FOR(linkers);                                                            \
  void watched_##make(void* self, const std::string& text, std::ios_base::openmode m) {      \
    writes(self, 1, BELFRY_HERE);                                                            \
    reads(&text, sizeof(text), BELFRY_HERE);                                                 \
    reads(text.data(), text.size(), BELFRY_HERE);                                            \
    original_##make(self, text, m);                                                          \
  }
#define BELFRY_CLASS(name) "_ZNSt7__cxx11" #name "IcSt11char_traitsIcESaIcEE"
#define BELFRY_TEXT "C1ERKNS_12basic_stringIcS2_S3_EESt13_Ios_Openmode"
#define BELFRY_MOVED_TEXT "C1EONS_12basic_stringIcS2_S3_EESt13_Ios_Openmode"
BELFRY_OF_TEXT(istringstream_of, BELFRY_CLASS(19basic_istringstream) BELFRY_TEXT)
BELFRY_OF_TEXT(stringstream_of, BELFRY_CLASS(18basic_stringstream) BELFRY_TEXT)
BELFRY_OF_TEXT(istringstream_with, BELFRY_CLASS(19basic_istringstream) BELFRY_MOVED_TEXT)
BELFRY_OF_TEXT(stringstream_with, BELFRY_CLASS(18basic_stringstream) BELFRY_MOVED_TEXT)
#undef BELFRY_MOVED_TEXT
#undef BELFRY_TEXT
#undef BELFRY_CLASS
#undef BELFRY_OF_TEXT

std::string watched_text_of_input(const std::istringstream&)
    BELFRY_STANDS_FOR("_ZNKRSt7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEE3strEv");
std::string watched_text_of_input(const std::istringstream& in) {
  reads(&in, 1, BELFRY_HERE);
  return in.str();
}
std::string watched_text_of_both(const std::stringstream&)
    BELFRY_STANDS_FOR("_ZNKRSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strEv");
std::string watched_text_of_both(const std::stringstream& stream) {
  reads(&stream, 1, BELFRY_HERE);
  reads(stream.rdbuf(), sizeof(std::streambuf), BELFRY_HERE);
  return stream.str();
}

}  // namespace belfry::sim::watch
