// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <cxxabi.h>

#include <cmath>
#include <cstddef>
#include <cstring>

// Functions of the C++ run time, and functions that compilers call for expressions.
extern "C" {

// The dynamic type is that of the table to which the object points.
void* watched_dynamic_cast(const void*, const abi::__class_type_info*,
                           const abi::__class_type_info*, std::ptrdiff_t)
    BELFRY_STANDS_FOR("__dynamic_cast");
void* watched_dynamic_cast(const void* object, const abi::__class_type_info* from,
                           const abi::__class_type_info* to, std::ptrdiff_t hint) {
  belfry::sim::watch::reads(object, sizeof(void*), BELFRY_HERE);
  return abi::__dynamic_cast(object, from, to, hint);
}

char* watched_demangle(const char*, char*, std::size_t*, int*) BELFRY_STANDS_FOR("__cxa_demangle");
char* watched_demangle(const char* name, char* to, std::size_t* room, int* status) {
  belfry::sim::watch::reads(name, std::strlen(name) + 1, BELFRY_HERE);
  char* const readable = abi::__cxa_demangle(name, to, room, status);
  if (status != nullptr) belfry::sim::watch::writes(status, sizeof *status, BELFRY_HERE);
  if (room != nullptr) belfry::sim::watch::writes(room, sizeof *room, BELFRY_HERE);
  if (to != nullptr && readable != nullptr) {
    belfry::sim::watch::writes(readable, std::strlen(readable) + 1, BELFRY_HERE);
  }
  return readable;
}

void watched_sincos(double, double*, double*) BELFRY_STANDS_FOR("sincos");
void watched_sincos(double x, double* sine, double* cosine) {
  belfry::sim::watch::writes(sine, sizeof *sine, BELFRY_HERE);
  belfry::sim::watch::writes(cosine, sizeof *cosine, BELFRY_HERE);
  ::sincos(x, sine, cosine);
}

void watched_sincosf(float, float*, float*) BELFRY_STANDS_FOR("sincosf");
void watched_sincosf(float x, float* sine, float* cosine) {
  belfry::sim::watch::writes(sine, sizeof *sine, BELFRY_HERE);
  belfry::sim::watch::writes(cosine, sizeof *cosine, BELFRY_HERE);
  ::sincosf(x, sine, cosine);
}

}  // extern "C"
