// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

// Functions of the C library that read and write memory of the caller. Compilers leave most calls
// without instrumentation.
namespace {

using belfry::sim::watch::reads;
using belfry::sim::watch::writes;

// The bytes of `text` that a function reads: up to the end of the text, and at most `most`.
std::size_t extent(const char* text, std::size_t most) {
  const std::size_t length = ::strnlen(text, most);
  return length < most ? length + 1 : most;
}

// The bytes that a comparison of two texts reads in each.
std::size_t compared(const char* a, const char* b, std::size_t most) {
  std::size_t k = 0;
  while (k < most && a[k] == b[k] && a[k] != '\0') ++k;
  return std::min(k + 1, most);
}

constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1) / 2;

}  // namespace

extern "C" {

void* watched_memcpy(void*, const void*, std::size_t) BELFRY_STANDS_FOR("memcpy");
void* watched_memcpy(void* to, const void* from, std::size_t bytes) {
  reads(from, bytes, BELFRY_HERE);
  writes(to, bytes, BELFRY_HERE);
  return std::memcpy(to, from, bytes);
}

void* watched_memmove(void*, const void*, std::size_t) BELFRY_STANDS_FOR("memmove");
void* watched_memmove(void* to, const void* from, std::size_t bytes) {
  reads(from, bytes, BELFRY_HERE);
  writes(to, bytes, BELFRY_HERE);
  return std::memmove(to, from, bytes);
}

void* watched_mempcpy(void*, const void*, std::size_t) BELFRY_STANDS_FOR("mempcpy");
void* watched_mempcpy(void* to, const void* from, std::size_t bytes) {
  reads(from, bytes, BELFRY_HERE);
  writes(to, bytes, BELFRY_HERE);
  return static_cast<char*>(std::memcpy(to, from, bytes)) + bytes;
}

void watched_bzero(void*, std::size_t) BELFRY_STANDS_FOR("bzero");
void watched_bzero(void* to, std::size_t bytes) {
  writes(to, bytes, BELFRY_HERE);
  std::memset(to, 0, bytes);
}

// Calls of unwatched libraries write memory of the libraries.
int watched_posix_memalign(void**, std::size_t, std::size_t) BELFRY_STANDS_FOR("posix_memalign");
int watched_posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  const int failure = ::posix_memalign(block, alignment, bytes);
  if (failure == 0) writes(block, sizeof(*block), BELFRY_HERE);
  return failure;
}

void* watched_memset(void*, int, std::size_t) BELFRY_STANDS_FOR("memset");
void* watched_memset(void* to, int value, std::size_t bytes) {
  writes(to, bytes, BELFRY_HERE);
  return std::memset(to, value, bytes);
}

int watched_memcmp(const void*, const void*, std::size_t) BELFRY_STANDS_FOR("memcmp");
int watched_memcmp(const void* a, const void* b, std::size_t bytes) {
  reads(a, bytes, BELFRY_HERE);
  reads(b, bytes, BELFRY_HERE);
  return std::memcmp(a, b, bytes);
}

int watched_bcmp(const void*, const void*, std::size_t) BELFRY_STANDS_FOR("bcmp");
int watched_bcmp(const void* a, const void* b, std::size_t bytes) {
  reads(a, bytes, BELFRY_HERE);
  reads(b, bytes, BELFRY_HERE);
  return std::memcmp(a, b, bytes);
}

const void* watched_memchr(const void*, int, std::size_t) BELFRY_STANDS_FOR("memchr");
const void* watched_memchr(const void* at, int value, std::size_t bytes) {
  reads(at, bytes, BELFRY_HERE);
  return std::memchr(at, value, bytes);
}

std::size_t watched_strlen(const char*) BELFRY_STANDS_FOR("strlen");
std::size_t watched_strlen(const char* text) {
  const std::size_t length = std::strlen(text);
  reads(text, length + 1, BELFRY_HERE);
  return length;
}

std::size_t watched_strnlen(const char*, std::size_t) BELFRY_STANDS_FOR("strnlen");
std::size_t watched_strnlen(const char* text, std::size_t most) {
  reads(text, extent(text, most), BELFRY_HERE);
  return ::strnlen(text, most);
}

int watched_strcmp(const char*, const char*) BELFRY_STANDS_FOR("strcmp");
int watched_strcmp(const char* a, const char* b) {
  const std::size_t bytes = compared(a, b, kNoLimit);
  reads(a, bytes, BELFRY_HERE);
  reads(b, bytes, BELFRY_HERE);
  return std::strcmp(a, b);
}

int watched_strncmp(const char*, const char*, std::size_t) BELFRY_STANDS_FOR("strncmp");
int watched_strncmp(const char* a, const char* b, std::size_t most) {
  const std::size_t bytes = compared(a, b, most);
  reads(a, bytes, BELFRY_HERE);
  reads(b, bytes, BELFRY_HERE);
  return std::strncmp(a, b, most);
}

char* watched_strcpy(char*, const char*) BELFRY_STANDS_FOR("strcpy");
char* watched_strcpy(char* to, const char* from) {
  const std::size_t bytes = std::strlen(from) + 1;
  reads(from, bytes, BELFRY_HERE);
  writes(to, bytes, BELFRY_HERE);
  return static_cast<char*>(std::memcpy(to, from, bytes));
}

char* watched_stpcpy(char*, const char*) BELFRY_STANDS_FOR("stpcpy");
char* watched_stpcpy(char* to, const char* from) {
  const std::size_t bytes = std::strlen(from) + 1;
  reads(from, bytes, BELFRY_HERE);
  writes(to, bytes, BELFRY_HERE);
  return static_cast<char*>(std::memcpy(to, from, bytes)) + bytes - 1;
}

char* watched_strncpy(char*, const char*, std::size_t) BELFRY_STANDS_FOR("strncpy");
char* watched_strncpy(char* to, const char* from, std::size_t most) {
  reads(from, extent(from, most), BELFRY_HERE);
  writes(to, most, BELFRY_HERE);
  const std::size_t length = ::strnlen(from, most);
  std::memcpy(to, from, length);
  std::memset(to + length, 0, most - length);
  return to;
}

char* watched_strcat(char*, const char*) BELFRY_STANDS_FOR("strcat");
char* watched_strcat(char* to, const char* from) {
  const std::size_t length = std::strlen(to);
  const std::size_t bytes = std::strlen(from) + 1;
  reads(to, length + 1, BELFRY_HERE);
  reads(from, bytes, BELFRY_HERE);
  writes(to + length, bytes, BELFRY_HERE);
  std::memcpy(to + length, from, bytes);
  return to;
}

const char* watched_strchr(const char*, int) BELFRY_STANDS_FOR("strchr");
const char* watched_strchr(const char* text, int value) {
  reads(text, std::strlen(text) + 1, BELFRY_HERE);
  return std::strchr(text, value);
}

const char* watched_strrchr(const char*, int) BELFRY_STANDS_FOR("strrchr");
const char* watched_strrchr(const char* text, int value) {
  reads(text, std::strlen(text) + 1, BELFRY_HERE);
  return std::strrchr(text, value);
}

const char* watched_strstr(const char*, const char*) BELFRY_STANDS_FOR("strstr");
const char* watched_strstr(const char* text, const char* part) {
  reads(text, std::strlen(text) + 1, BELFRY_HERE);
  reads(part, std::strlen(part) + 1, BELFRY_HERE);
  return std::strstr(text, part);
}

}  // extern "C"
