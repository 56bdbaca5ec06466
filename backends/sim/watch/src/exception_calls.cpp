// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

// Functions of standard exceptions, outside the headers of libstdc++: the object and the text of a
// constructor belong to the caller. Classes derived from the two with a text copy and end that
// part. The names are the linker's.
namespace belfry::sim::watch {
namespace {

template <class Exception>
void construct(void* self, const char* text, const void* pc) {
  reads(text, std::char_traits<char>::length(text) + 1, pc);
  writes(self, sizeof(Exception), pc);
  new (self) Exception(text);
}

template <class Exception>
void construct(void* self, const std::string& text, const void* pc) {
  reads(&text, sizeof text, pc);
  reads(text.data(), text.size(), pc);
  writes(self, sizeof(Exception), pc);
  new (self) Exception(text);
}

template <class Exception>
void copy(void* self, const Exception& from, const void* pc) {
  reads(&from, sizeof from, pc);
  writes(self, sizeof from, pc);
  new (self) Exception(from);
}

// The source of a move loses the text.
template <class Exception>
void move(void* self, Exception& from, const void* pc) {
  writes(&from, sizeof from, pc);
  writes(self, sizeof from, pc);
  new (self) Exception(std::move(from));
}

template <class Exception>
void* assign(void* self, const Exception& from, const void* pc) {
  reads(&from, sizeof from, pc);
  writes(self, sizeof from, pc);
  return &(*static_cast<Exception*>(self) = from);
}

template <class Exception>
void* assign_moved(void* self, Exception& from, const void* pc) {
  writes(&from, sizeof from, pc);
  writes(self, sizeof from, pc);
  return &(*static_cast<Exception*>(self) = std::move(from));
}

template <class Exception>
void end(void* self, const void* pc) {
  writes(self, sizeof(Exception), pc);
  static_cast<Exception*>(self)->Exception::~Exception();
}

template <class Exception>
const char* text_of(const void* self, const void* pc) {
  reads(self, sizeof(Exception), pc);
  return static_cast<const Exception*>(self)->Exception::what();
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

#define BELFRY_PARTS(error, part, linkers)                                            \
  void watched_##error##_copy_##part(void*, const std::error&)                        \
      BELFRY_STANDS_FOR(linkers "C" #part "ERKS_");                                   \
  void watched_##error##_copy_##part(void* self, const std::error& from) {            \
    copy(self, from, BELFRY_HERE);                                                    \
  }                                                                                   \
  void watched_##error##_move_##part(void*, std::error&)                              \
      BELFRY_STANDS_FOR(linkers "C" #part "EOS_");                                    \
  void watched_##error##_move_##part(void* self, std::error& from) {                  \
    move(self, from, BELFRY_HERE);                                                    \
  }                                                                                   \
  void watched_##error##_end_##part(void*) BELFRY_STANDS_FOR(linkers "D" #part "Ev"); \
  void watched_##error##_end_##part(void* self) { end<std::error>(self, BELFRY_HERE); }
#define BELFRY_WITH_TEXT(error, linkers)                                                         \
  BELFRY_PARTS(error, 1, "_ZNSt" linkers)                                                        \
  BELFRY_PARTS(error, 2, "_ZNSt" linkers)                                                        \
  void* watched_##error##_assign(void*, const std::error&)                                       \
      BELFRY_STANDS_FOR("_ZNSt" linkers "aSERKS_");                                              \
  void* watched_##error##_assign(void* self, const std::error& from) {                           \
    return assign(self, from, BELFRY_HERE);                                                      \
  }                                                                                              \
  void* watched_##error##_assign_moved(void*, std::error&)                                       \
      BELFRY_STANDS_FOR("_ZNSt" linkers "aSEOS_");                                               \
  void* watched_##error##_assign_moved(void* self, std::error& from) {                           \
    return assign_moved(self, from, BELFRY_HERE);                                                \
  }                                                                                              \
  const char* watched_##error##_text(const void*) BELFRY_STANDS_FOR("_ZNKSt" linkers "4whatEv"); \
  const char* watched_##error##_text(const void* self) {                                         \
    return text_of<std::error>(self, BELFRY_HERE);                                               \
  }

BELFRY_WITH_TEXT(logic_error, "11logic_error")
BELFRY_WITH_TEXT(runtime_error, "13runtime_error")

#undef BELFRY_WITH_TEXT
#undef BELFRY_PARTS
#undef BELFRY_EXCEPTION
#undef BELFRY_CONSTRUCTS_FROM
#undef BELFRY_CONSTRUCTS

}  // namespace belfry::sim::watch
