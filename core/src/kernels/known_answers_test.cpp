// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "belfry/backend/host_kernels.h"
#include "kernels/operands_test.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

// Digests of the results that no second implementation gives bit for bit: exp, log, tanh and random
// numbers, equal for GCC 12 and clang 19, with and without optimization. A change of a digest is a
// change of the bits that users' seeds give. The tests beside this one define the bits of all other
// kernels.
namespace belfry::known_answers_test {
namespace {

using testing::Elements;
using testing::Pattern;

/// FNV-1a over the bytes of elements.
class Digest {
 public:
  template <class T>
  void add(const Elements<T>& elements) {
    for (std::size_t i = 0; i < elements.count(); ++i) {
      const std::uint64_t bits = testing::bits_of(elements[i]);
      for (std::size_t b = 0; b < sizeof(T); ++b) {
        value_ = (value_ ^ ((bits >> (8 * b)) & 0xffU)) * 0x100000001b3U;
      }
    }
  }

  std::string text() const {
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value_));
    return text;
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

constexpr std::size_t kCount = 720;
constexpr Pattern kPatterns[] = {Pattern::kUnitInterval, Pattern::kAnyBits};

/// The types of the older digests.
constexpr auto kFirstTypes = [](auto&& function) {
  testing::for_each_type<float, double, Float16, BFloat16, std::int8_t, std::int32_t, std::int64_t,
                         std::uint8_t>(function);
};
constexpr auto kMoreIntegers = [](auto&& function) {
  testing::for_each_type<std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>(function);
};

template <class Types>
std::string unary_digest(Types for_types) {
  Digest digest;
  for_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int op = 0; op <= static_cast<int>(UnaryOp::kShift); ++op) {
      KernelCall call;
      call.kind = KernelKind::kUnary;
      call.parameters.unary = static_cast<UnaryOp>(op);
      call.parameters.scalar = 0.7;
      call.parameters.integer_scalar = -3;
      if (!element::supports(call.parameters.unary, dtype_of<T>())) continue;
      for (const Pattern pattern : kPatterns) {
        const Elements<T> in(kCount, pattern, 1);
        const Elements<T> out(kCount);
        call.inputs = {in.operand()};
        call.outputs = {out.operand()};
        run_on_host(call);
        digest.add(out);
      }
    }
  });
  return digest.text();
}

template <class Types>
std::string random_digest(Types for_types, Distribution distribution) {
  Digest digest;
  for_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if (!element::supports(distribution, dtype_of<T>())) return;
    const Elements<T> out(kCount);
    KernelCall call;
    call.kind = KernelKind::kRandom;
    call.parameters.distribution = distribution;
    call.parameters.seed = 11;
    call.parameters.offset = 5;
    call.outputs = {out.operand()};
    run_on_host(call);
    digest.add(out);
    digest.add(out);  // The digests are of two equal draws.
  });
  return digest.text();
}

TEST(KnownAnswers, Elementwise) {
  EXPECT_EQ(unary_digest(kFirstTypes), "501ddbf128b63de3");
  EXPECT_EQ(unary_digest(kMoreIntegers), "6ad816e7f1eb070b");
}

TEST(KnownAnswers, Random) {
  EXPECT_EQ(random_digest(kFirstTypes, Distribution::kUniform), "cf09be19557e2fc1");
  EXPECT_EQ(random_digest(kFirstTypes, Distribution::kNormal), "db55637e81e672dd");
  EXPECT_EQ(random_digest(kFirstTypes, Distribution::kBits), "884ce376b2f8a905");
  EXPECT_EQ(random_digest(kMoreIntegers, Distribution::kBits), "b1e8e89ca96c3985");
}

}  // namespace
}  // namespace belfry::known_answers_test
