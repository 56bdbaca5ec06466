// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <new>
#include <stdexcept>
#include <string>

// Constructors of standard exceptions, outside the headers of libstdc++: the text belongs to the
// caller. The names are the linker's.
namespace belfry::sim::watch {
namespace {

template <class Exception>
void construct(void* self, const char* text, const void* pc) {
  reads(text, std::char_traits<char>::length(text) + 1, pc);
  new (self) Exception(text);
}

template <class Exception>
void construct(void* self, const std::string& text, const void* pc) {
  reads(&text, sizeof text, pc);
  reads(text.data(), text.size(), pc);
  new (self) Exception(text);
}

}  // namespace

#define BELFRY_CONSTRUCTS(name, error, part, type, linkers)           \
  void name##_##part(void*, type) BELFRY_STANDS_FOR("_ZNSt" linkers); \
  void name##_##part(void* self, type text) { construct<std::error>(self, text, BELFRY_HERE); }
// Of a whole object, and of the part of an object of a derived class.
#define BELFRY_CONSTRUCTS_FROM(name, error, linkers, type, mangled)  \
  BELFRY_CONSTRUCTS(name, error, whole, type, linkers "C1E" mangled) \
  BELFRY_CONSTRUCTS(name, error, part, type, linkers "C2E" mangled)
#define BELFRY_EXCEPTION(error, linkers)                                                  \
  BELFRY_CONSTRUCTS_FROM(watched_##error##_of_chars, error, linkers, const char*, "PKc")  \
  BELFRY_CONSTRUCTS_FROM(watched_##error##_of_string, error, linkers, const std::string&, \
                         "RKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE")

BELFRY_EXCEPTION(logic_error, "11logic_error")
BELFRY_EXCEPTION(domain_error, "12domain_error")
BELFRY_EXCEPTION(invalid_argument, "16invalid_argument")
BELFRY_EXCEPTION(length_error, "12length_error")
BELFRY_EXCEPTION(out_of_range, "12out_of_range")
BELFRY_EXCEPTION(runtime_error, "13runtime_error")
BELFRY_EXCEPTION(range_error, "11range_error")
BELFRY_EXCEPTION(overflow_error, "14overflow_error")
BELFRY_EXCEPTION(underflow_error, "15underflow_error")

#undef BELFRY_EXCEPTION
#undef BELFRY_CONSTRUCTS_FROM
#undef BELFRY_CONSTRUCTS

}  // namespace belfry::sim::watch
