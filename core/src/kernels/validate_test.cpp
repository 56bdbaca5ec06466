// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/device.h"
#include "belfry/backend/element_ops.h"
#include "belfry/backend/kernel.h"
#include "belfry/error.h"
#include "words/report_of_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belfry::validate_test {
namespace {

/// Validation looks at sizes only, and calls no function of the device.
class NoDevice final : public Device {
 public:
  int index() const override { return 0; }
  DeviceSpec spec() const override { return {}; }
  BufferPtr allocate(std::size_t, Stream&) override { return nullptr; }
  Stream& compute_stream() override { throw InternalError(ErrorCode::kInternal, "no stream"); }
  Stream& communication_stream() override { return compute_stream(); }
  std::unique_ptr<Stream> create_stream() override { return nullptr; }
  std::unique_ptr<Event> create_event() override { return nullptr; }
  MemoryUse memory() const override { return {}; }
};

class PlainBuffer final : public Buffer {
 public:
  PlainBuffer(Device& device, std::size_t bytes)
      : PlainBuffer(device, bytes, new char[bytes + 1]) {}

 private:
  PlainBuffer(Device& device, std::size_t bytes, char* memory)
      : Buffer(device, memory, bytes), memory_(memory) {}
  std::unique_ptr<char[]> memory_;
};

class Validate : public ::testing::Test {
 protected:
  BufferView view(std::size_t count, DType dtype = DType::kFloat32) {
    return view_of(std::make_shared<PlainBuffer>(device_, count * size_of(dtype)), dtype);
  }

  Kernel kernel(KernelKind kind, std::vector<BufferView> outputs, std::vector<BufferView> inputs) {
    Kernel kernel;
    kernel.kind = kind;
    kernel.outputs = std::move(outputs);
    kernel.inputs = std::move(inputs);
    return kernel;
  }

  Kernel matrix(KernelKind kind, std::int64_t rows, std::int64_t columns,
                std::vector<BufferView> outputs, std::vector<BufferView> inputs) {
    Kernel result = kernel(kind, std::move(outputs), std::move(inputs));
    result.parameters.rows = rows;
    result.parameters.columns = columns;
    return result;
  }

  NoDevice device_;
};

std::optional<ErrorCode> code_of(const Kernel& kernel) {
  const ErrorReport report = report_of([&] { validate(kernel); });
  if (report.summary == "no error") return std::nullopt;
  // The kernel is named, and the place is the caller's.
  EXPECT_NE(report.summary.find("kernel "), std::string::npos) << report.summary;
  EXPECT_NE(std::string(report.site.file).find("validate_test"), std::string::npos);
  return report.code;
}

constexpr auto kFine = std::nullopt;

TEST_F(Validate, Views) {
  Kernel fill = kernel(KernelKind::kFill, {view(4)}, {});
  EXPECT_EQ(code_of(fill), kFine);
  fill.outputs[0].count = 5;
  EXPECT_EQ(code_of(fill), ErrorCode::kOutOfBounds);
  fill.outputs[0].count = ~std::size_t{0} / 4 + 2;  // Times four, this wraps to 4.
  EXPECT_EQ(code_of(fill), ErrorCode::kOutOfBounds);
  fill.outputs[0] = view(4);
  fill.outputs[0].offset = 4;
  EXPECT_EQ(code_of(fill), ErrorCode::kOutOfBounds);
  fill.outputs[0].count = 3;
  EXPECT_EQ(code_of(fill), kFine);
  fill.outputs[0].offset = ~std::size_t{3};
  fill.outputs[0].count = 0;
  EXPECT_EQ(code_of(fill), ErrorCode::kOutOfBounds);
  fill.outputs[0] = view(4);
  fill.outputs[0].offset = 2;
  fill.outputs[0].count = 1;
  EXPECT_EQ(code_of(fill), ErrorCode::kInvalidArgument);
  fill.outputs[0] = {};
  EXPECT_EQ(code_of(fill), ErrorCode::kInvalidArgument);
  fill.outputs[0] = view(0);
  EXPECT_EQ(code_of(fill), kFine);
  fill.outputs[0].dtype = static_cast<DType>(kNumDTypes);
  EXPECT_EQ(code_of(fill), ErrorCode::kInvalidArgument);
}

TEST_F(Validate, NumbersOfOperands) {
  EXPECT_EQ(code_of(kernel(KernelKind::kFill, {}, {})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(kernel(KernelKind::kFill, {view(1)}, {view(1)})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(kernel(KernelKind::kReduceReplicas, {view(1)}, {})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(kernel(KernelKind::kReduceReplicas, {}, {view(1)})),
            ErrorCode::kInvalidArgument);
  for (int kind = 0; kind <= static_cast<int>(KernelKind::kCopyEach); ++kind) {
    const std::vector<BufferView> five(5, view(1));
    EXPECT_EQ(code_of(kernel(static_cast<KernelKind>(kind), {}, five)),
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(code_of(kernel(static_cast<KernelKind>(kind), five, {})),
              ErrorCode::kInvalidArgument);
  }
}

TEST_F(Validate, UnknownEnumerators) {
  EXPECT_EQ(code_of(kernel(static_cast<KernelKind>(16), {view(1)}, {})),
            ErrorCode::kInvalidArgument);
  const auto expect_rejected = [&](KernelKind kind, std::size_t inputs, auto change) {
    Kernel changed = kernel(kind, {view(1)}, std::vector<BufferView>(inputs, view(1)));
    if (kind == KernelKind::kCompare) changed.outputs[0] = view(1, DType::kBool);
    changed.parameters.rows = changed.parameters.columns = 1;
    EXPECT_EQ(code_of(changed), kFine);
    change(changed.parameters);
    EXPECT_EQ(code_of(changed), ErrorCode::kInvalidArgument);
  };
  expect_rejected(KernelKind::kUnary, 1, [](auto& p) { p.unary = static_cast<UnaryOp>(12); });
  expect_rejected(KernelKind::kBinary, 2, [](auto& p) { p.binary = static_cast<BinaryOp>(6); });
  expect_rejected(KernelKind::kBinary, 2, [](auto& p) { p.broadcast = static_cast<Broadcast>(4); });
  expect_rejected(KernelKind::kCompare, 2, [](auto& p) { p.compare = static_cast<CompareOp>(6); });
  expect_rejected(KernelKind::kRowReduce, 1, [](auto& p) { p.fold = static_cast<FoldOp>(4); });
  expect_rejected(KernelKind::kRandom, 0,
                  [](auto& p) { p.distribution = static_cast<Distribution>(3); });
  expect_rejected(KernelKind::kReduceReplicas, 2,
                  [](auto& p) { p.reduce = static_cast<ReduceOp>(5); });
  expect_rejected(KernelKind::kReduceReplicas, 2,
                  [](auto& p) { p.order = static_cast<ReductionOrder>(4); });
}

TEST_F(Validate, ListsOfTensors) {
  Kernel update =
      kernel(KernelKind::kFusedUpdate, {view(2), view(2), view(0), view(0)}, {view(2), view(0)});
  update.parameters.update = UpdateRule::kMomentum;
  EXPECT_EQ(code_of(update), kFine);
  update.parameters.update = UpdateRule::kAdam;
  EXPECT_EQ(code_of(update), ErrorCode::kInvalidArgument) << "two slots for each";
  update.parameters.update = static_cast<UpdateRule>(3);
  EXPECT_EQ(code_of(update), ErrorCode::kInvalidArgument);
  update.parameters.update = UpdateRule::kMomentum;
  update.outputs[1] = view(3);
  EXPECT_EQ(code_of(update), ErrorCode::kShape);
  update.outputs[1] = view(2, DType::kFloat64);
  EXPECT_EQ(code_of(update), ErrorCode::kDType);
  update.outputs[1] = update.outputs[0];
  EXPECT_EQ(code_of(update), ErrorCode::kInvalidArgument) << "a tensor twice";
  update.outputs[1] = update.inputs[0];
  EXPECT_EQ(code_of(update), ErrorCode::kInvalidArgument) << "the gradient is changed";
  const auto whole = [this] { return view(2, DType::kInt32); };
  EXPECT_EQ(code_of(kernel(KernelKind::kFusedUpdate, {whole()}, {whole()})), ErrorCode::kDType);

  EXPECT_EQ(code_of(kernel(KernelKind::kCopyEach, {whole(), view(3)}, {whole(), view(3)})), kFine);
  EXPECT_EQ(code_of(kernel(KernelKind::kCopyEach, {whole(), view(3)}, {whole(), view(2)})),
            ErrorCode::kShape);
  EXPECT_EQ(code_of(kernel(KernelKind::kCopyEach, {whole()}, {view(2)})), ErrorCode::kDType);
}

TEST_F(Validate, CountsOfElementwiseKinds) {
  EXPECT_EQ(code_of(kernel(KernelKind::kCast, {view(3)}, {view(3, DType::kInt8)})), kFine);
  EXPECT_EQ(code_of(kernel(KernelKind::kCast, {view(3)}, {view(2)})), ErrorCode::kShape);
  EXPECT_EQ(code_of(kernel(KernelKind::kUnary, {view(3)}, {view(3)})), kFine);
  EXPECT_EQ(code_of(kernel(KernelKind::kUnary, {view(3)}, {view(2)})), ErrorCode::kShape);
  const auto select = [&](std::size_t condition, std::size_t left, std::size_t right) {
    return code_of(kernel(KernelKind::kSelect, {view(3)},
                          {view(condition, DType::kBool), view(left), view(right)}));
  };
  EXPECT_EQ(select(3, 3, 3), kFine);
  EXPECT_EQ(select(2, 3, 3), ErrorCode::kShape);
  EXPECT_EQ(select(3, 2, 3), ErrorCode::kShape);
  EXPECT_EQ(select(3, 3, 4), ErrorCode::kShape);
  EXPECT_EQ(code_of(kernel(KernelKind::kReduceReplicas, {view(3)}, {view(3), view(3)})), kFine);
  EXPECT_EQ(code_of(kernel(KernelKind::kReduceReplicas, {view(3)}, {view(3), view(2)})),
            ErrorCode::kShape);
  EXPECT_EQ(code_of(kernel(KernelKind::kReduceReplicas, {view(3), view(4)}, {view(3)})),
            ErrorCode::kShape);
}

TEST_F(Validate, CountsOfBroadcasts) {
  const auto binary = [&](Broadcast broadcast, std::size_t right, std::int64_t rows = 2,
                          std::size_t out = 6) {
    Kernel result = matrix(KernelKind::kBinary, rows, 3, {view(out)}, {view(6), view(right)});
    result.parameters.broadcast = broadcast;
    return code_of(result);
  };
  EXPECT_EQ(binary(Broadcast::kNone, 6), kFine);
  EXPECT_EQ(binary(Broadcast::kNone, 6, -1), kFine);  // Rows are not read.
  EXPECT_EQ(binary(Broadcast::kNone, 5), ErrorCode::kShape);
  EXPECT_EQ(binary(Broadcast::kNone, 6, 2, 5), ErrorCode::kShape);
  EXPECT_EQ(binary(Broadcast::kScalar, 1), kFine);
  EXPECT_EQ(binary(Broadcast::kScalar, 2), ErrorCode::kShape);
  EXPECT_EQ(binary(Broadcast::kScalar, 0), ErrorCode::kShape);
  EXPECT_EQ(binary(Broadcast::kRow, 3), kFine);
  EXPECT_EQ(binary(Broadcast::kRow, 2), ErrorCode::kShape);
  EXPECT_EQ(binary(Broadcast::kRow, 3, 3), ErrorCode::kShape);
  EXPECT_EQ(binary(Broadcast::kColumn, 2), kFine);
  EXPECT_EQ(binary(Broadcast::kColumn, 3), ErrorCode::kShape);
  EXPECT_EQ(binary(Broadcast::kColumn, 2, -2), ErrorCode::kInvalidArgument);
}

TEST_F(Validate, CountsOfMatrices) {
  EXPECT_EQ(code_of(matrix(KernelKind::kRowReduce, 2, 3, {view(2)}, {view(6)})), kFine);
  EXPECT_EQ(code_of(matrix(KernelKind::kRowReduce, 2, 3, {view(3)}, {view(6)})), ErrorCode::kShape);
  EXPECT_EQ(code_of(matrix(KernelKind::kRowReduce, 2, 3, {view(2)}, {view(5)})), ErrorCode::kShape);
  EXPECT_EQ(code_of(matrix(KernelKind::kColumnReduce, 2, 3, {view(3)}, {view(6)})), kFine);
  EXPECT_EQ(code_of(matrix(KernelKind::kColumnReduce, 2, 3, {view(2)}, {view(6)})),
            ErrorCode::kShape);
  EXPECT_EQ(code_of(matrix(KernelKind::kRowReduce, -1, -6, {view(2)}, {view(6)})),
            ErrorCode::kInvalidArgument);
  // 2^33 by 2^33: the product wraps to 0.
  const std::int64_t large = std::int64_t{1} << 33;
  EXPECT_EQ(code_of(matrix(KernelKind::kRowReduce, large, large, {view(0)}, {view(0)})),
            ErrorCode::kShape);
  const auto matmul = [&](std::size_t out, std::size_t left, std::size_t right,
                          std::int64_t inner = 4) {
    Kernel result = matrix(KernelKind::kMatmul, 2, 3, {view(out)}, {view(left), view(right)});
    result.parameters.inner = inner;
    return code_of(result);
  };
  EXPECT_EQ(matmul(6, 8, 12), kFine);
  EXPECT_EQ(matmul(6, 0, 0, 0), kFine);
  EXPECT_EQ(matmul(5, 8, 12), ErrorCode::kShape);
  EXPECT_EQ(matmul(6, 7, 12), ErrorCode::kShape);
  EXPECT_EQ(matmul(6, 8, 11), ErrorCode::kShape);
  EXPECT_EQ(matmul(6, 8, 12, -4), ErrorCode::kInvalidArgument);
}

TEST_F(Validate, RowsByIndex) {
  const auto gather = [&](std::size_t index, std::size_t table, std::size_t out,
                          DType type = DType::kInt32) {
    return code_of(
        matrix(KernelKind::kGatherRows, 2, 3, {view(out)}, {view(index, type), view(table)}));
  };
  EXPECT_EQ(gather(2, 9, 6), kFine);
  EXPECT_EQ(gather(2, 9, 6, DType::kInt64), kFine);
  EXPECT_EQ(gather(2, 9, 6, DType::kUInt8), ErrorCode::kDType);
  EXPECT_EQ(gather(1, 9, 6), ErrorCode::kShape);
  EXPECT_EQ(gather(2, 8, 6), ErrorCode::kShape);
  EXPECT_EQ(gather(2, 9, 5), ErrorCode::kShape);
  const auto scatter = [&](std::size_t index, std::size_t in, std::size_t table) {
    return code_of(matrix(KernelKind::kScatterRows, 2, 3, {view(table)},
                          {view(index, DType::kInt32), view(in)}));
  };
  EXPECT_EQ(scatter(2, 6, 9), kFine);
  EXPECT_EQ(scatter(3, 6, 9), ErrorCode::kShape);
  EXPECT_EQ(scatter(2, 5, 9), ErrorCode::kShape);
  EXPECT_EQ(scatter(2, 6, 8), ErrorCode::kShape);
  Kernel unknown =
      matrix(KernelKind::kScatterRows, 2, 3, {view(9)}, {view(2, DType::kInt32), view(6)});
  unknown.parameters.scatter = ScatterOp::kSet;
  EXPECT_EQ(code_of(unknown), kFine);
  unknown.parameters.scatter = static_cast<ScatterOp>(static_cast<int>(ScatterOp::kSet) + 1);
  EXPECT_EQ(code_of(unknown), ErrorCode::kInvalidArgument);
}

TEST_F(Validate, ElementTypesThatMustAgree) {
  const auto other = [&](std::size_t count) { return view(count, DType::kFloat64); };
  const auto index = view(1, DType::kInt32);
  for (const Kernel& mixed :
       {kernel(KernelKind::kUnary, {view(1)}, {other(1)}),
        kernel(KernelKind::kBinary, {view(1)}, {view(1), other(1)}),
        kernel(KernelKind::kBinary, {other(1)}, {view(1), view(1)}),
        kernel(KernelKind::kCompare, {view(1)}, {view(1), view(1)}),
        kernel(KernelKind::kSelect, {view(1)}, {view(1), view(1), view(1)}),
        kernel(KernelKind::kSelect, {view(1)}, {view(1, DType::kBool), view(1), other(1)}),
        matrix(KernelKind::kRowReduce, 1, 1, {view(1)}, {other(1)}),
        matrix(KernelKind::kGatherRows, 1, 1, {view(1)}, {index, other(1)}),
        matrix(KernelKind::kScatterRows, 1, 1, {view(1)}, {index, other(1)}),
        matrix(KernelKind::kMatmul, 1, 1, {view(1)}, {view(0), other(0)}),
        kernel(KernelKind::kReduceReplicas, {view(1)}, {view(1), other(1)}),
        kernel(KernelKind::kReduceReplicas, {view(1), other(1)}, {view(1)})}) {
    EXPECT_EQ(code_of(mixed), ErrorCode::kDType) << to_string(mixed.kind);
  }
}

// The kinds of kernels for each element type, a second time. Rows are types in the order of DType;
// y: yes.
TEST_F(Validate, ElementTypesOfEachKind) {
  //                        fill cast neg exp add max cmp sel sum max gat sca mat red uni bit set
  const std::string rows[] = {"yyyyyyyyyyyyyyyny", "yyyyyyyyyyyyyyyny", "yyyyyyyyyyyyyyyny",
                              "yyyyyyyyyyyyyyyny", "yyynyyyyyyyyyynyy", "yyynyyyyyyyyyynyy",
                              "yyynyyyyyyyyyynyy", "yyynyyyyyyyyyynyy", "yynnnyyynyynnnnny",
                              "yyynyyyyyyyyyynyy", "yyynyyyyyyyyyynyy", "yyynyyyyyyyyyynyy",
                              "yyynyyyyyyyyyynyy"};
  for (int type = 0; type < kNumDTypes; ++type) {
    const auto dtype = static_cast<DType>(type);
    const auto x = [&] { return view(1, dtype); };
    const auto index = view(1, DType::kInt32);
    std::vector<Kernel> kernels = {
        kernel(KernelKind::kFill, {x()}, {}),
        kernel(KernelKind::kCast, {x()}, {view(1, DType::kUInt16)}),
        kernel(KernelKind::kUnary, {x()}, {x()}),
        kernel(KernelKind::kUnary, {x()}, {x()}),
        kernel(KernelKind::kBinary, {x()}, {x(), x()}),
        kernel(KernelKind::kBinary, {x()}, {x(), x()}),
        kernel(KernelKind::kCompare, {view(1, DType::kBool)}, {x(), x()}),
        kernel(KernelKind::kSelect, {x()}, {view(1, DType::kBool), x(), x()}),
        matrix(KernelKind::kRowReduce, 1, 1, {x()}, {x()}),
        matrix(KernelKind::kColumnReduce, 1, 1, {x()}, {x()}),
        matrix(KernelKind::kGatherRows, 1, 1, {x()}, {index, x()}),
        matrix(KernelKind::kScatterRows, 1, 1, {x()}, {index, x()}),
        matrix(KernelKind::kMatmul, 1, 1, {x()}, {x(), x()}),
        kernel(KernelKind::kReduceReplicas, {x()}, {x()}),
        kernel(KernelKind::kRandom, {x()}, {}),
        kernel(KernelKind::kRandom, {x()}, {}),
        matrix(KernelKind::kScatterRows, 1, 1, {x()}, {index, x()})};
    kernels[3].parameters.unary = UnaryOp::kExp;
    kernels[5].parameters.binary = BinaryOp::kMaximum;
    kernels[9].parameters.fold = FoldOp::kMaximum;
    kernels[12].parameters.inner = 1;
    kernels[15].parameters.distribution = Distribution::kBits;
    kernels[16].parameters.scatter = ScatterOp::kSet;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      const auto expected = rows[type][k] == 'y' ? kFine : std::optional(ErrorCode::kDType);
      EXPECT_EQ(code_of(kernels[k]), expected)
          << to_string(dtype) << ' ' << to_string(kernels[k].kind) << ' ' << k;
    }
  }
}

TEST_F(Validate, MeanOverIntegers) {
  for (int type = 0; type < kNumDTypes; ++type) {
    const auto dtype = static_cast<DType>(type);
    Kernel mean = kernel(KernelKind::kReduceReplicas, {view(1, dtype)}, {view(1, dtype)});
    mean.parameters.reduce = ReduceOp::kMean;
    const auto expected = is_floating(dtype)      ? kFine
                          : dtype == DType::kBool ? std::optional(ErrorCode::kDType)
                                                  : std::optional(ErrorCode::kIntegerMean);
    EXPECT_EQ(code_of(mean), expected) << to_string(dtype);
  }
}

TEST_F(Validate, MessagesNameKernelOperationAndType) {
  Kernel kernel =
      this->kernel(KernelKind::kUnary, {view(1, DType::kInt32)}, {view(1, DType::kInt32)});
  kernel.parameters.unary = UnaryOp::kExp;
  EXPECT_EQ(report_of([&] { validate(kernel); }).summary,
            "kernel unary: exp is not defined for int32");
}

TEST_F(Validate, Overlaps) {
  const BufferView whole = view(8);
  const auto part = [&](std::size_t first, std::size_t count) {
    return BufferView{whole.buffer, first * 4, count, DType::kFloat32};
  };
  // Elementwise kinds work in place, on any input.
  EXPECT_EQ(code_of(kernel(KernelKind::kUnary, {part(0, 4)}, {part(0, 4)})), kFine);
  EXPECT_EQ(code_of(kernel(KernelKind::kBinary, {part(0, 4)}, {view(4), part(0, 4)})), kFine);
  EXPECT_EQ(code_of(kernel(KernelKind::kUnary, {part(0, 4)}, {part(4, 4)})), kFine);
  EXPECT_EQ(code_of(kernel(KernelKind::kUnary, {part(0, 4)}, {part(1, 4)})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(kernel(KernelKind::kCast, {{whole.buffer, 0, 8, DType::kInt32}}, {whole})),
            ErrorCode::kInvalidArgument);
  // Other kinds do not work in place.
  EXPECT_EQ(code_of(matrix(KernelKind::kRowReduce, 4, 1, {part(0, 4)}, {part(0, 4)})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(kernel(KernelKind::kReduceReplicas, {part(0, 4), part(4, 4)},
                           {part(4, 4), part(0, 4)})),
            kFine);
  EXPECT_EQ(code_of(kernel(KernelKind::kReduceReplicas, {part(0, 4), part(3, 4)}, {view(4)})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(kernel(KernelKind::kReduceReplicas, {part(0, 4)}, {part(0, 4), part(2, 4)})),
            ErrorCode::kInvalidArgument);
  // Inputs may be equal; empty views overlap nothing.
  EXPECT_EQ(code_of(kernel(KernelKind::kReduceReplicas, {view(4)}, {part(0, 4), part(2, 4)})),
            kFine);
  EXPECT_EQ(code_of(kernel(KernelKind::kReduceReplicas, {part(2, 0), part(2, 0)}, {part(0, 0)})),
            kFine);
}

// With many outputs a different search runs. Both searches must find the same overlap.
RC_GTEST_FIXTURE_PROP(Validate, OverlapsAmongMany, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(17, 40);
  const auto in_place = *rc::gen::arbitrary<bool>();
  const auto one = *rc::gen::inRange<std::size_t>(0, 2 * n);
  const auto other = *rc::gen::inRange<std::size_t>(0, 2 * n);
  const auto shift = *rc::gen::inRange<std::size_t>(0, 9);
  // Views of 4 elements in a buffer, shuffled by a step without a common factor with 2 n.
  const BufferView whole = view(2 * n * 4 + 8);
  std::vector<BufferView> views;
  for (std::size_t v = 0; v < 2 * n; ++v) {
    views.push_back({whole.buffer, (v * 83 % (2 * n)) * 16, 4, DType::kFloat32});
  }
  Kernel reduce = kernel(KernelKind::kReduceReplicas, {}, {});
  reduce.outputs.assign(views.begin(), views.begin() + static_cast<std::ptrdiff_t>(n));
  reduce.inputs.assign(views.begin() + static_cast<std::ptrdiff_t>(n), views.end());
  if (in_place) reduce.inputs = reduce.outputs;
  const auto at = [&](std::size_t v) -> BufferView& {
    return v < n ? reduce.outputs[v] : reduce.inputs[v - n];
  };
  at(one).offset = at(other).offset + shift * 4;
  bool overlaps = false;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < 2 * n; ++b) {
      if (a == b) continue;
      const std::size_t low = std::min(at(a).offset, at(b).offset);
      const std::size_t high = std::max(at(a).offset, at(b).offset);
      overlaps = overlaps || (high < low + 16 && !(b >= n && low == high));
    }
  }
  RC_CLASSIFY(overlaps, "overlap");
  RC_ASSERT((code_of(reduce) == ErrorCode::kInvalidArgument) == overlaps);
}

TEST_F(Validate, ResolveGivesAddresses) {
  const BufferView whole = view(8);
  const BufferView part{whole.buffer, 12, 2, DType::kFloat32};
  Kernel unary = kernel(KernelKind::kUnary, {view(2)}, {part});
  unary.parameters.unary = UnaryOp::kScale;
  const KernelCall call = resolve(unary);
  EXPECT_EQ(call.kind, KernelKind::kUnary);
  EXPECT_EQ(call.parameters.unary, UnaryOp::kScale);
  ASSERT_EQ(call.inputs.size(), 1U);
  EXPECT_EQ(call.inputs[0].data, static_cast<char*>(whole.buffer->address()) + 12);
  EXPECT_EQ(call.inputs[0].count, 2U);
  EXPECT_EQ(call.outputs[0].data, unary.outputs[0].buffer->address());
}

TEST(KernelNames, MatchTheKinds) {
  EXPECT_EQ(to_string(KernelKind::kFill), "fill");
  EXPECT_EQ(to_string(KernelKind::kMatmul), "matmul");
  EXPECT_EQ(to_string(KernelKind::kReduceReplicas), "reduce_replicas");
  EXPECT_EQ(to_string(KernelKind::kRandom), "random");
  EXPECT_EQ(to_string(static_cast<KernelKind>(77)), "unknown");
}

}  // namespace
}  // namespace belfry::validate_test
