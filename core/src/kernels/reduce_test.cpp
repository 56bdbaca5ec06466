// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_kernels.h"
#include "belfry/testing/asserts.h"
#include "kernels/operands_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::reduce_test {
namespace {

using testing::assert_elements;
using testing::Elements;
using testing::kIsFloat;
using testing::Pattern;
using testing::Stored;

/// A reduction: everything except the element type.
struct Reduction {
  std::size_t inputs = 1;
  std::size_t outputs = 1;
  std::size_t count = 0;
  std::size_t offset = 0;
  ReductionOrder order = ReductionOrder::kReplicaOrder;
  ReduceOp op = ReduceOp::kSum;
  Pattern pattern = Pattern::kZeros;
  std::uint64_t seed = 0;
  bool stream = false;
  bool far = false;
  bool wide = false;
};

void showValue(const Reduction& r, std::ostream& os) {
  os << r.inputs << " inputs, " << r.outputs << " outputs, " << r.count << " elements from "
     << r.offset << ", " << to_string(r.order) << ", " << to_string(r.op) << ", ";
  showValue(r.pattern, os);
  os << ", seed " << r.seed << (r.stream ? ", streaming" : "") << (r.far ? ", far" : "")
     << (r.wide ? ", wide" : "");
}

rc::Gen<std::size_t> any_size(std::size_t common, std::size_t rare) {
  return rc::gen::weightedOneOf<std::size_t>(
      {{9, rc::gen::inRange<std::size_t>(0, common)}, {1, rc::gen::inRange<std::size_t>(0, rare)}});
}

rc::Gen<ReductionOrder> any_order() {
  return rc::gen::element(ReductionOrder::kReplicaOrder, ReductionOrder::kTree,
                          ReductionOrder::kRing, ReductionOrder::kUnspecified);
}

rc::Gen<Reduction> any_reduction() {
  return rc::gen::build<Reduction>(
      rc::gen::set(&Reduction::inputs,
                   rc::gen::map(any_size(20, 70), [](auto n) { return n + 1; })),
      rc::gen::set(&Reduction::outputs, rc::gen::inRange<std::size_t>(0, 4)),
      rc::gen::set(&Reduction::count, any_size(300, 20000)),
      rc::gen::set(&Reduction::offset, rc::gen::inRange<std::size_t>(0, 5)),
      rc::gen::set(&Reduction::order, any_order()),
      rc::gen::set(&Reduction::op, rc::gen::element(ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax,
                                                    ReduceOp::kMin, ReduceOp::kProd)),
      rc::gen::set(&Reduction::pattern, testing::any_pattern()),
      rc::gen::set(&Reduction::seed, rc::gen::arbitrary<std::uint64_t>()),
      rc::gen::set(&Reduction::stream, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Reduction::far, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Reduction::wide, rc::gen::arbitrary<bool>()));
}

// A term of a product: `+` multiplies, so that naive_sum gives products.
template <class V>
struct Factor {
  V value;
  Factor operator+(const Factor& right) const { return {static_cast<V>(value * right.value)}; }
};

// A second implementation of SEM-252: the last of the sorted terms, -0 before +0; NaN if any is.
template <class V>
V naive_extreme(std::vector<V> terms, bool is_max) {
  if constexpr (std::is_floating_point_v<V>) {
    for (const V term : terms) {
      if (std::isnan(term)) return std::numeric_limits<V>::quiet_NaN();
    }
    std::sort(terms.begin(), terms.end(),
              [](V a, V b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); });
  } else {
    std::sort(terms.begin(), terms.end());
  }
  return is_max ? terms.back() : terms.front();
}

// A second implementation of the orders: chooses the next two terms to add. Consumes the terms.
template <class V>
V naive_sum(std::vector<V>& terms, ReductionOrder order, std::size_t element, std::size_t count) {
  if (order == ReductionOrder::kRing) {
    // Equal chunks except the last, with as few elements as possible. Chunk k starts with term k.
    const std::size_t chunk = (count + terms.size() - 1) / terms.size();
    const auto start = terms.begin() + static_cast<std::ptrdiff_t>(element / chunk);
    std::rotate(terms.begin(), start, terms.end());
  }
  if (order != ReductionOrder::kTree) {
    V sum = terms[0];
    for (std::size_t k = 1; k < terms.size(); ++k) sum = static_cast<V>(sum + terms[k]);
    return sum;
  }
  while (terms.size() > 1) {
    std::vector<V> sums;
    for (std::size_t k = 0; k + 1 < terms.size(); k += 2) {
      sums.push_back(static_cast<V>(terms[k] + terms[k + 1]));
    }
    if (terms.size() % 2 == 1) sums.push_back(terms.back());
    terms = std::move(sums);
  }
  return terms[0];
}

template <class V>
V naive_result(const Reduction& r, std::vector<V> terms, std::size_t i) {
  if (r.op == ReduceOp::kProd) {
    std::vector<Factor<V>> factors;
    for (const V term : terms) factors.push_back({term});
    return naive_sum(factors, r.order, i, r.count).value;
  }
  const auto members = static_cast<V>(terms.size());
  V sum = naive_sum(terms, r.order, i, r.count);
  if (r.op == ReduceOp::kMean) sum /= members;
  return sum;
}

template <class T>
T naive_reduction(const Reduction& r, const std::vector<Elements<T>>& in, std::size_t i) {
  const bool is_extreme = r.op == ReduceOp::kMax || r.op == ReduceOp::kMin;
  if constexpr (kIsFloat<T>) {
    using V = decltype(testing::value_of(T{}));
    std::vector<V> terms;
    for (const auto& input : in) terms.push_back(testing::value_of(input[i]));
    return testing::rounded_to<T>(is_extreme ? naive_extreme(terms, r.op == ReduceOp::kMax)
                                             : naive_result(r, terms, i));
  } else {
    std::vector<T> terms;
    for (const auto& input : in) terms.push_back(input[i]);
    if (is_extreme) return naive_extreme(terms, r.op == ReduceOp::kMax);
    return static_cast<T>(
        naive_result(r, std::vector<std::uint64_t>(terms.begin(), terms.end()), i));
  }
}

template <class T>
std::vector<Elements<T>> inputs_of(const Reduction& r) {
  std::vector<Elements<T>> in;
  for (std::size_t k = 0; k < r.inputs; ++k) {
    in.emplace_back(r.count, r.pattern, r.seed + k, r.offset);
  }
  return in;
}

/// Every output is an input: its own, or the last inputs in reverse order.
template <class T>
KernelCall in_place(const std::vector<Elements<T>>& all, std::size_t backwards = 0) {
  KernelCall call;
  for (const auto& each : all) call.inputs.push_back(each.operand());
  if (backwards == 0) call.outputs = call.inputs;
  for (std::size_t k = 0; k < backwards; ++k) {
    call.outputs.push_back(call.inputs[all.size() - 1 - k]);
  }
  return call;
}

void run(const Reduction& r, KernelCall call) {
  call.kind = KernelKind::kReduceReplicas;
  call.parameters.order = r.order;
  call.parameters.reduce = r.op;
  // A part of work beyond any cache.
  if (r.stream && r.far && r.wide) return reduce_on_host(call, ~std::size_t{0});
  reduce_on_host(call, {.non_temporal_bytes = r.stream ? 0 : ~std::size_t{0},
                        .fetched_bytes = r.far ? 0 : ~std::size_t{0},
                        .wide_vectors = r.wide});
}

template <class T>
void check_reduction(Reduction r) {
  if (!kIsFloat<T> && r.op == ReduceOp::kMean) r.op = ReduceOp::kSum;
  const auto in = inputs_of<T>(r);
  const auto expected = [&](std::size_t i) { return naive_reduction<T>(r, in, i); };
  // Outputs of their own: none in the draw means as many as inputs.
  KernelCall call;
  std::vector<Elements<T>> out;
  for (std::size_t k = 0; k < (r.outputs == 0 ? r.inputs : r.outputs); ++k) {
    out.emplace_back(r.count, r.offset);
  }
  for (const auto& input : in) call.inputs.push_back(input.operand());
  for (const auto& output : out) call.outputs.push_back(output.operand());
  run(r, call);
  for (const auto& output : out) assert_elements(output, expected);
  // In place: each output is its own input, and in a different order; fewer outputs are the last
  // inputs.
  const auto own = inputs_of<T>(r);
  run(r, in_place(own));
  for (const auto& output : own) assert_elements(output, expected);
  const auto both = inputs_of<T>(r);
  const std::size_t outputs = std::min(out.size(), both.size());
  run(r, in_place(both, outputs));
  for (std::size_t k = 0; k < outputs; ++k) {
    assert_elements(both[both.size() - 1 - k], expected);
  }
}

RC_GTEST_PROP(ReduceReplicas, EveryOutputIsTheFoldInTheNamedOrder, ()) {
  const auto reduction = *any_reduction();
  RC_CLASSIFY(reduction.inputs > 16, "more than 16 inputs");
  RC_CLASSIFY(reduction.outputs == 0, "as many outputs as inputs");
  testing::for_numeric_types(
      [&](auto* type) { check_reduction<std::remove_pointer_t<decltype(type)>>(reduction); });
}

TEST(ReduceReplicas, StoresOfLargeOutputsBypassTheCache) {
  const auto from = [](std::size_t cache) { return reduce_tuning_for(cache).non_temporal_bytes; };
  EXPECT_EQ(from(0), std::size_t{8} << 20);
  EXPECT_EQ(from(std::size_t{4} << 20), std::size_t{8} << 20);
  EXPECT_EQ(from(std::size_t{16} << 20), std::size_t{16} << 20);
  EXPECT_EQ(from(std::size_t{480} << 20), std::size_t{32} << 20);
}

/// In each order, with operands within a cache, beyond a cache, and stored past the cache, with and
/// without the widest vectors.
std::vector<Reduction> all_ways(const Reduction& like) {
  std::vector<Reduction> all;
  for (const auto order :
       {ReductionOrder::kReplicaOrder, ReductionOrder::kTree, ReductionOrder::kRing}) {
    for (const bool wide : {false, true}) {
      for (const auto& [far, stream] : {std::pair{false, false}, {true, false}, {true, true}}) {
        Reduction r = like;
        r.order = order;
        r.stream = stream;
        r.far = far;
        r.wide = wide;
        all.push_back(r);
      }
    }
  }
  return all;
}

// Operands after the 16th share a loop, and large trees are joined of smaller trees. Of 155
// elements, whole vectors remain after the last block, and single elements after the last vector,
// for every type. Sanitizers take ten times as long: numbers above 18 are left to the optimized
// build.
TEST(ReduceReplicas, EveryNumberOfReplicas) {
  testing::asserts("SEM-31", "SEM-33");
  const std::size_t most = BELFRY_TESTS_ARE_SANITIZED ? 18 : 34;
  for (std::size_t n = 1; n <= most; ++n) {
    const Reduction like{.inputs = n,
                         .outputs = 0,
                         .count = 155,
                         .offset = 1,
                         .op = ReduceOp::kMean,
                         .pattern = Pattern::kUnitInterval,
                         .seed = n};
    for (const Reduction& r : all_ways(like)) {
      testing::for_floating_types(
          [&](auto* type) { check_reduction<std::remove_pointer_t<decltype(type)>>(r); });
      check_reduction<std::int32_t>(r);
    }
  }
}

// Of 600 elements, a block of products ends before the last element, and chunks of rings inside.
TEST(ReduceReplicas, ProductsOfSeveralNumbersOfReplicas) {
  testing::asserts("SEM-253");
  for (const std::size_t n : {1, 2, 3, 4, 7, 16, 17}) {
    for (const auto order :
         {ReductionOrder::kReplicaOrder, ReductionOrder::kTree, ReductionOrder::kRing}) {
      const Reduction r{.inputs = n,
                        .outputs = 0,
                        .count = 600,
                        .offset = 1,
                        .order = order,
                        .op = ReduceOp::kProd,
                        .pattern = Pattern::kUnitInterval,
                        .seed = n};
      check_reduction<float>(r);
      check_reduction<BFloat16>(r);
      check_reduction<std::int16_t>(r);
    }
  }
}

// A NaN that no kernel computes: negative, with different bits.
template <class T>
T foreign_nan() {
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(0xfff8000000000123U);
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(0xffc00123U);
  if constexpr (std::is_same_v<T, Float16>) return T::from_bits(0xfe01);
  if constexpr (std::is_same_v<T, BFloat16>) return T::from_bits(0xffc1);
}

// Kernels search several vectors at once for NaNs: a single NaN is found at any place, and its
// neighbours stay, even infinities of both signs.
TEST(ReduceReplicas, SingleNaNsLeaveTheirNeighboursUnchanged) {
  constexpr std::size_t kCount = 150;
  for (const std::size_t n : {2, 3, 6, 9, 13, 16, 20}) {
    for (std::size_t at = 0; at < kCount; ++at) {
      const Reduction r{.inputs = n,
                        .count = kCount,
                        .op = at % 2 == 0 ? ReduceOp::kMean : ReduceOp::kSum,
                        .pattern = Pattern::kSmallIntegers,
                        .wide = at % 4 < 2};
      testing::for_floating_types([&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        auto in = inputs_of<T>(r);
        in[at % n][at] = foreign_nan<T>();
        in[0][(at + 40) % kCount] = T(std::numeric_limits<float>::infinity());
        in[1][(at + 41) % kCount] = T(-std::numeric_limits<float>::infinity());
        const auto given = in;
        const auto expected = [&](std::size_t i) { return naive_reduction<T>(r, given, i); };
        const auto out = inputs_of<T>(r);
        KernelCall call = in_place(in);
        for (std::size_t k = 0; k < n; ++k) call.outputs[k] = out[k].operand();
        run(r, call);
        for (const auto& output : out) assert_elements(output, expected);
        run(r, in_place(in));
        for (const auto& output : in) assert_elements(output, expected);
      });
    }
  }
}

// All patterns of 16-bit floats are widened and rounded as by the second implementation, with and
// without special instructions: x + y for every x, and values of y with all kinds of sums.
template <class T>
void check_every_pattern(bool wide) {
  constexpr std::size_t kPatterns = 65536;
  std::vector<Elements<T>> in;
  in.emplace_back(kPatterns);
  in.emplace_back(kPatterns);
  for (std::size_t i = 0; i < kPatterns; ++i) {
    in[0][i] = T::from_bits(static_cast<std::uint16_t>(i));
  }
  for (const std::uint16_t partner : {0x8000, 0x0001, 0x1234, 0x3c01, 0x5555, 0x7bff, 0xfc00}) {
    for (std::size_t i = 0; i < kPatterns; ++i) in[1][i] = T::from_bits(partner);
    for (const ReduceOp op :
         {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kProd}) {
      std::vector<Elements<T>> out;
      out.emplace_back(kPatterns);
      out.emplace_back(kPatterns);
      const Reduction r{.inputs = 2, .op = op, .wide = wide};
      KernelCall call;
      call.inputs = {in[0].operand(), in[1].operand()};
      call.outputs = {out[0].operand(), out[1].operand()};
      run(r, call);
      assert_elements(out[0], [&](std::size_t i) { return naive_reduction<T>(r, in, i); });
    }
  }
}

// Hand arithmetic: -128 * -1 = 128 = -128 modulo 256; 65535 * 65535 = 2^32 - 2^17 + 1, whose last
// 16 bits are 1; (2^31 - 1)^2 = 2^62 - 2^32 + 1, whose last 32 bits are 1; (-2^63)^2 = 0 modulo
// 2^64.
TEST(ReduceReplicas, ProductsOfIntegersWrap) {
  testing::asserts("SEM-253");
  const auto product = []<class T>(T left, T right) {
    T result = 0;
    KernelCall call;
    call.kind = KernelKind::kReduceReplicas;
    call.parameters.reduce = ReduceOp::kProd;
    call.inputs = {{&left, 1, dtype_of<T>()}, {&right, 1, dtype_of<T>()}};
    call.outputs = {{&result, 1, dtype_of<T>()}};
    reduce_on_host(call);
    return result;
  };
  EXPECT_EQ(product(std::int8_t{-128}, std::int8_t{-1}), -128);
  EXPECT_EQ(product(std::uint16_t{65535}, std::uint16_t{65535}), 1);
  EXPECT_EQ(product(std::int32_t{2147483647}, std::int32_t{2147483647}), 1);
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(product(lowest, lowest), 0);
  EXPECT_EQ(product(std::int16_t{-300}, std::int16_t{7}), -2100);
}

TEST(ReduceReplicas, EveryPatternOf16BitFloats) {
  for (const bool wide : {false, true}) {
    check_every_pattern<Float16>(wide);
    check_every_pattern<BFloat16>(wide);
  }
}

}  // namespace
}  // namespace belfry::reduce_test
