// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <cstring>
#include <ostream>
#include <string>
#include <string_view>

// Functions that print to a stream. The texts of a stream have the order of the calls: each call
// writes a byte of the stream and the pointers of the buffer, and replicas that print to a stream
// or a buffer in one phase are in conflict.
namespace {

using belfry::sim::watch::reads;
using belfry::sim::watch::writes;

std::ostream& touched(std::ostream& out, const void* pc) {
  writes(&out, 1, pc);
  if (out.rdbuf() != nullptr) writes(out.rdbuf(), sizeof(std::streambuf), pc);
  return out;
}

using Manipulator = std::ostream& (*)(std::ostream&);

}  // namespace

// Not with C linkage: the functions return references.
namespace belfry::sim::watch {

// `print(stream, value)` stands for `name`.
#define BELFRY_PRINTS(print, name, Type)                            \
  std::ostream& print(std::ostream&, Type) BELFRY_STANDS_FOR(name); \
  std::ostream& print(std::ostream& out, Type value) { return touched(out, BELFRY_HERE) << value; }

BELFRY_PRINTS(watched_print_bool, "_ZNSolsEb", bool)
BELFRY_PRINTS(watched_print_short, "_ZNSolsEs", short)
BELFRY_PRINTS(watched_print_ushort, "_ZNSolsEt", unsigned short)
BELFRY_PRINTS(watched_print_int, "_ZNSolsEi", int)
BELFRY_PRINTS(watched_print_uint, "_ZNSolsEj", unsigned)
BELFRY_PRINTS(watched_print_long, "_ZNSolsEl", long)
BELFRY_PRINTS(watched_print_ulong, "_ZNSolsEm", unsigned long)
BELFRY_PRINTS(watched_print_longlong, "_ZNSolsEx", long long)
BELFRY_PRINTS(watched_print_ulonglong, "_ZNSolsEy", unsigned long long)
BELFRY_PRINTS(watched_print_float, "_ZNSolsEf", float)
BELFRY_PRINTS(watched_print_double, "_ZNSolsEd", double)
BELFRY_PRINTS(watched_print_longdouble, "_ZNSolsEe", long double)
BELFRY_PRINTS(watched_print_address, "_ZNSolsEPKv", const void*)
BELFRY_PRINTS(watched_print_manipulator, "_ZNSolsEPFRSoS_E", Manipulator)
// The parts of the functions above that optimizing compilers call.
BELFRY_PRINTS(watched_insert_bool, "_ZNSo9_M_insertIbEERSoT_", bool)
BELFRY_PRINTS(watched_insert_long, "_ZNSo9_M_insertIlEERSoT_", long)
BELFRY_PRINTS(watched_insert_ulong, "_ZNSo9_M_insertImEERSoT_", unsigned long)
BELFRY_PRINTS(watched_insert_longlong, "_ZNSo9_M_insertIxEERSoT_", long long)
BELFRY_PRINTS(watched_insert_ulonglong, "_ZNSo9_M_insertIyEERSoT_", unsigned long long)
BELFRY_PRINTS(watched_insert_double, "_ZNSo9_M_insertIdEERSoT_", double)
BELFRY_PRINTS(watched_insert_longdouble, "_ZNSo9_M_insertIeEERSoT_", long double)
BELFRY_PRINTS(watched_insert_address, "_ZNSo9_M_insertIPKvEERSoT_", const void*)
BELFRY_PRINTS(watched_print_char, "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c", char)

#undef BELFRY_PRINTS

std::ostream& watched_print_text(std::ostream&, const char*)
    BELFRY_STANDS_FOR("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc");
std::ostream& watched_print_text(std::ostream& out, const char* text) {
  if (text != nullptr) reads(text, std::strlen(text) + 1, BELFRY_HERE);
  return touched(out, BELFRY_HERE) << text;
}

std::ostream& watched_print_string(std::ostream&, const std::string&) BELFRY_STANDS_FOR(
    "_ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__"
    "cxx1112basic_stringIS4_S5_T1_EE");
std::ostream& watched_print_string(std::ostream& out, const std::string& text) {
  reads(&text, sizeof(text), BELFRY_HERE);
  reads(text.data(), text.size(), BELFRY_HERE);
  return touched(out, BELFRY_HERE) << text;
}

// Formatted, as the width of the stream says.
std::ostream& watched_insert_text(std::ostream&, const char*, std::streamsize) BELFRY_STANDS_FOR(
    "_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l");
std::ostream& watched_insert_text(std::ostream& out, const char* text, std::streamsize length) {
  reads(text, static_cast<std::size_t>(length), BELFRY_HERE);
  return touched(out, BELFRY_HERE) << std::string_view(text, static_cast<std::size_t>(length));
}

std::ostream& watched_write(std::ostream&, const char*, std::streamsize)
    BELFRY_STANDS_FOR("_ZNSo5writeEPKcl");
std::ostream& watched_write(std::ostream& out, const char* text, std::streamsize length) {
  reads(text, static_cast<std::size_t>(length), BELFRY_HERE);
  return touched(out, BELFRY_HERE).write(text, length);
}

std::ostream& watched_put(std::ostream&, char) BELFRY_STANDS_FOR("_ZNSo3putEc");
std::ostream& watched_put(std::ostream& out, char letter) {
  return touched(out, BELFRY_HERE).put(letter);
}

std::ostream& watched_flush(std::ostream&) BELFRY_STANDS_FOR("_ZNSo5flushEv");
std::ostream& watched_flush(std::ostream& out) { return touched(out, BELFRY_HERE).flush(); }

std::ostream& watched_flush_of(std::ostream&)
    BELFRY_STANDS_FOR("_ZSt5flushIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_");
std::ostream& watched_flush_of(std::ostream& out) { return touched(out, BELFRY_HERE).flush(); }

std::ostream& watched_endl(std::ostream&)
    BELFRY_STANDS_FOR("_ZSt4endlIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_");
std::ostream& watched_endl(std::ostream& out) { return touched(out, BELFRY_HERE) << std::endl; }

}  // namespace belfry::sim::watch
