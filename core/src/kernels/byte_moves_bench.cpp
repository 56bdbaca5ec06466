// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/byte_moves_bench.h"

#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/reduce_loops.h"

namespace belfry::bench {
namespace {

constexpr std::size_t kStep = 128;

#if defined(__x86_64__)
#define BELFRY_WIDE __attribute__((target("avx2")))
#else
#define BELFRY_WIDE
#endif

template <std::size_t bytes>
struct Chunk {
  typedef float Floats __attribute__((vector_size(bytes), aligned(4), may_alias));
  typedef std::uint64_t Words __attribute__((vector_size(bytes), aligned(8), may_alias));
};

template <std::size_t width>
inline __attribute__((always_inline)) void copy_step(std::byte* to, const std::byte* from) {
  using Floats = typename Chunk<width>::Floats;
  for (std::size_t b = 0; b < kStep; b += width) {
    *reinterpret_cast<Floats*>(to + b) = *reinterpret_cast<const Floats*>(from + b);
  }
}

void copy_baseline(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kStep) copy_step<16>(to + i, from + i);
}

BELFRY_WIDE void copy_wide(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kStep) {
    using Floats = Chunk<32>::Floats;
    for (std::size_t b = 0; b < kStep; b += 32) {
      *reinterpret_cast<Floats*>(to + i + b) = *reinterpret_cast<const Floats*>(from + i + b);
    }
  }
}

void stream_baseline(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  for (std::size_t i = 0; i < bytes; i += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
  _mm_sfence();
#else
  copy_baseline(to, from, bytes);
#endif
}

BELFRY_WIDE void stream_wide(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  for (std::size_t i = 0; i < bytes; i += 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
  }
  _mm_sfence();
#else
  copy_baseline(to, from, bytes);
#endif
}

void scale_baseline(float* data, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) data[i] *= 1.0000001F;
}

BELFRY_WIDE void scale_wide(float* data, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) data[i] *= 1.0000001F;
}

constexpr std::size_t kAhead = 2048;

template <std::size_t width>
inline __attribute__((always_inline)) std::uint64_t read_all(const std::byte* from,
                                                             std::size_t bytes) {
  using Words = typename Chunk<width>::Words;
  Words sum{};
  for (std::size_t i = 0; i < bytes; i += kStep) {
    for (std::size_t b = 0; b < kStep; b += width) {
      if (b % 64 == 0) __builtin_prefetch(from + i + b + kAhead);
      sum += *reinterpret_cast<const Words*>(from + i + b);
    }
  }
  std::uint64_t total = 0;
  for (std::size_t w = 0; w < width / sizeof(total); ++w) total += sum[w];
  return total;
}

std::uint64_t read_baseline(const std::byte* from, std::size_t bytes) {
  return read_all<16>(from, bytes);
}

BELFRY_WIDE std::uint64_t read_wide(const std::byte* from, std::size_t bytes) {
  return read_all<32>(from, bytes);
}

}  // namespace

void ByteMoves::copy() const {
  const auto copy = kernels::has_wide_vectors() ? copy_wide : copy_baseline;
  for (std::size_t k = 0; k < in.size(); ++k) copy(out[k], in[k], bytes);
}

void ByteMoves::stream() const {
  const auto stream = kernels::has_wide_vectors() ? stream_wide : stream_baseline;
  for (std::size_t k = 0; k < in.size(); ++k) stream(out[k], in[k], bytes);
}

void ByteMoves::memcpy_all() const {
  for (std::size_t k = 0; k < in.size(); ++k) std::memcpy(out[k], in[k], bytes);
}

void ByteMoves::scale() const {
  const auto scale = kernels::has_wide_vectors() ? scale_wide : scale_baseline;
  for (std::byte* data : in) scale(reinterpret_cast<float*>(data), bytes / sizeof(float));
}

std::uint64_t ByteMoves::read() const {
  const auto read = kernels::has_wide_vectors() ? read_wide : read_baseline;
  std::uint64_t sum = 0;
  for (const std::byte* data : in) sum += read(data, bytes);
  return sum;
}

}  // namespace belfry::bench
