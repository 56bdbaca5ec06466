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
#include <utility>
#include <vector>

// Digests of results for all types and operations of each kind, equal for GCC 12 and clang 19, with
// and without optimization. A change of a digest is a change of the bits that users' seeds give.
// Digests of more integers are from a second implementation, in Python with unbounded integers.
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

constexpr std::size_t kCount = 720;  // 24 x 30
constexpr Pattern kPatterns[] = {Pattern::kUnitInterval, Pattern::kAnyBits};

/// The types of the older digests.
constexpr auto kFirstTypes = [](auto&& function) {
  testing::for_each_type<float, double, Float16, BFloat16, std::int8_t, std::int32_t, std::int64_t,
                         std::uint8_t>(function);
};
constexpr auto kMoreIntegers = [](auto&& function) {
  testing::for_each_type<std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>(function);
};

KernelCall call_of(KernelKind kind) {
  KernelCall call;
  call.kind = kind;
  call.parameters.rows = 24;
  call.parameters.columns = 30;
  call.parameters.scalar = 0.7;
  call.parameters.integer_scalar = -3;
  call.parameters.seed = 11;
  call.parameters.offset = 5;
  return call;
}

// Runs `call` on two operands of each pattern and adds the results.
template <class Out, class T>
void add_results(Digest& digest, KernelCall call, std::size_t inputs, std::size_t count) {
  for (const Pattern pattern : kPatterns) {
    const Elements<T> a(kCount, pattern, 1);
    const Elements<T> b(kCount, pattern, 2);
    Elements<Out> out(count);
    call.inputs.clear();
    if (inputs > 0) call.inputs.push_back(a.operand());
    if (inputs > 1) call.inputs.push_back(b.operand());
    call.outputs = {out.operand()};
    run_on_host(call);
    digest.add(out);
  }
}

std::string fill_digest() {
  Digest digest;
  testing::for_all_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    add_results<T, T>(digest, call_of(KernelKind::kFill), 0, kCount);
  });
  return digest.text();
}

std::string cast_digest() {
  Digest digest;
  testing::for_all_types([&](auto* to) {
    testing::for_all_types([&](auto* from) {
      add_results<std::remove_pointer_t<decltype(to)>, std::remove_pointer_t<decltype(from)>>(
          digest, call_of(KernelKind::kCast), 1, kCount);
    });
  });
  return digest.text();
}

template <class Types>
std::string unary_digest(Types for_types) {
  Digest digest;
  for_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int op = 0; op <= static_cast<int>(UnaryOp::kShift); ++op) {
      KernelCall call = call_of(KernelKind::kUnary);
      call.parameters.unary = static_cast<UnaryOp>(op);
      if (!element::supports(call.parameters.unary, dtype_of<T>())) continue;
      add_results<T, T>(digest, call, 1, kCount);
    }
  });
  return digest.text();
}

template <class Types>
std::string binary_digest(Types for_types) {
  Digest digest;
  for_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int op = 0; op <= static_cast<int>(BinaryOp::kMaximum); ++op) {
      KernelCall call = call_of(KernelKind::kBinary);
      call.parameters.binary = static_cast<BinaryOp>(op);
      add_results<T, T>(digest, call, 2, kCount);
    }
  });
  return digest.text();
}

template <class Types>
std::string compare_digest(Types for_types) {
  Digest digest;
  for_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int op = 0; op <= static_cast<int>(CompareOp::kGreaterEqual); ++op) {
      KernelCall call = call_of(KernelKind::kCompare);
      call.parameters.compare = static_cast<CompareOp>(op);
      add_results<bool, T>(digest, call, 2, kCount);
    }
  });
  return digest.text();
}

template <class Types>
std::string fold_digest(Types for_types, KernelKind kind, std::size_t count) {
  Digest digest;
  for_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int op = 0; op <= static_cast<int>(FoldOp::kMinimum); ++op) {
      KernelCall call = call_of(kind);
      call.parameters.fold = static_cast<FoldOp>(op);
      add_results<T, T>(digest, call, 1, count);
    }
  });
  return digest.text();
}

template <class Types>
std::string scatter_digest(Types for_types, ScatterOp op) {
  Digest digest;
  Elements<std::int32_t> index(24);
  for (std::size_t i = 0; i < 24; ++i) index[i] = static_cast<std::int32_t>(i * i % 7);
  for_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (const Pattern pattern : kPatterns) {
      const Elements<T> in(kCount, pattern, 1);
      Elements<T> out(kCount, pattern, 2);
      KernelCall call = call_of(KernelKind::kScatterRows);
      call.parameters.scatter = op;
      call.inputs = {index.operand(), in.operand()};
      call.outputs = {out.operand()};
      run_on_host(call);
      digest.add(out);
    }
  });
  return digest.text();
}

template <class Types>
std::string matmul_digest(Types for_types) {
  Digest digest;
  for_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    KernelCall call = call_of(KernelKind::kMatmul);
    call.parameters.columns = 24;
    call.parameters.inner = 30;
    add_results<T, T>(digest, call, 2, 24 * 24);
  });
  return digest.text();
}

std::string reduce_digest(ReductionOrder order, ReduceOp op) {
  Digest digest;
  testing::for_floating_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (const std::size_t n : {2, 5, 8, 16, 19}) {
      for (const Pattern pattern : kPatterns) {
        std::vector<Elements<T>> in;
        KernelCall call = call_of(KernelKind::kReduceReplicas);
        call.parameters.order = order;
        call.parameters.reduce = op;
        for (std::size_t k = 0; k < n; ++k) in.emplace_back(kCount, pattern, k);
        for (const auto& input : in) call.inputs.push_back(input.operand());
        call.outputs = call.inputs;
        run_on_host(call);
        digest.add(in.back());
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
    KernelCall call = call_of(KernelKind::kRandom);
    call.parameters.distribution = distribution;
    if (element::supports(distribution, dtype_of<T>())) add_results<T, T>(digest, call, 0, kCount);
  });
  return digest.text();
}

TEST(KnownAnswers, Elementwise) {
  EXPECT_EQ(fill_digest(), "11e3d9e7d0307805");
  EXPECT_EQ(cast_digest(), "a0b5d64dfa7f498d");
  EXPECT_EQ(unary_digest(kFirstTypes), "501ddbf128b63de3");
  EXPECT_EQ(binary_digest(kFirstTypes), "163b50e5feebfb00");
  EXPECT_EQ(compare_digest(kFirstTypes), "c388e8ea05a5ae25");
}

TEST(KnownAnswers, Matrices) {
  EXPECT_EQ(fold_digest(kFirstTypes, KernelKind::kRowReduce, 24), "070552a705e7b2d2");
  EXPECT_EQ(fold_digest(kFirstTypes, KernelKind::kColumnReduce, 30), "22f6c53940e4b466");
  EXPECT_EQ(scatter_digest(kFirstTypes, ScatterOp::kAdd), "fa1df604660a0ad8");
  EXPECT_EQ(scatter_digest(kFirstTypes, ScatterOp::kSubtract), "130d104c7cc5939c");
  EXPECT_EQ(scatter_digest(kFirstTypes, ScatterOp::kMultiply), "3832b755e865aa33");
  EXPECT_EQ(scatter_digest(kFirstTypes, ScatterOp::kDivide), "a1c08c8d112d8001");
  EXPECT_EQ(scatter_digest(kFirstTypes, ScatterOp::kMinimum), "18b3dabba5657dad");
  EXPECT_EQ(scatter_digest(kFirstTypes, ScatterOp::kMaximum), "37cd269f4897834e");
  EXPECT_EQ(scatter_digest(kFirstTypes, ScatterOp::kSet), "9e897a227c41f36d");
  EXPECT_EQ(matmul_digest(kFirstTypes), "610eefc32f5e1ce1");
}

TEST(KnownAnswers, Reductions) {
  EXPECT_EQ(reduce_digest(ReductionOrder::kReplicaOrder, ReduceOp::kSum), "f18a7721b72e29f9");
  EXPECT_EQ(reduce_digest(ReductionOrder::kReplicaOrder, ReduceOp::kMean), "27ae82e3a8846648");
  EXPECT_EQ(reduce_digest(ReductionOrder::kTree, ReduceOp::kSum), "54d7d4c3c24b7aeb");
  EXPECT_EQ(reduce_digest(ReductionOrder::kRing, ReduceOp::kSum), "e4f988409c337956");
}

TEST(KnownAnswers, Random) {
  EXPECT_EQ(random_digest(kFirstTypes, Distribution::kUniform), "cf09be19557e2fc1");
  EXPECT_EQ(random_digest(kFirstTypes, Distribution::kNormal), "db55637e81e672dd");
  EXPECT_EQ(random_digest(kFirstTypes, Distribution::kBits), "884ce376b2f8a905");
}

TEST(KnownAnswers, ElementwiseOfMoreIntegers) {
  EXPECT_EQ(unary_digest(kMoreIntegers), "6ad816e7f1eb070b");
  EXPECT_EQ(binary_digest(kMoreIntegers), "f27f09271e16acf3");
  EXPECT_EQ(compare_digest(kMoreIntegers), "4bcdab6318478d9d");
  EXPECT_EQ(random_digest(kMoreIntegers, Distribution::kBits), "b1e8e89ca96c3985");
}

TEST(KnownAnswers, MatricesOfMoreIntegers) {
  EXPECT_EQ(fold_digest(kMoreIntegers, KernelKind::kRowReduce, 24), "f68f03befa2e7a79");
  EXPECT_EQ(fold_digest(kMoreIntegers, KernelKind::kColumnReduce, 30), "f43e448304b42fe5");
  EXPECT_EQ(scatter_digest(kMoreIntegers, ScatterOp::kAdd), "fddca76e5bd5cd29");
  EXPECT_EQ(scatter_digest(kMoreIntegers, ScatterOp::kSubtract), "0ebe74ea0fc78091");
  EXPECT_EQ(scatter_digest(kMoreIntegers, ScatterOp::kMultiply), "0c3fe20df11c1f44");
  EXPECT_EQ(scatter_digest(kMoreIntegers, ScatterOp::kDivide), "2bf45b54d76219df");
  EXPECT_EQ(scatter_digest(kMoreIntegers, ScatterOp::kMinimum), "7a48d57eda7ff637");
  EXPECT_EQ(scatter_digest(kMoreIntegers, ScatterOp::kMaximum), "a4ab4a0c505b5ff9");
  EXPECT_EQ(scatter_digest(kMoreIntegers, ScatterOp::kSet), "a5a05f2ca6c61d03");
  EXPECT_EQ(matmul_digest(kMoreIntegers), "b9f34bec669213c1");
}

}  // namespace
}  // namespace belfry::known_answers_test
