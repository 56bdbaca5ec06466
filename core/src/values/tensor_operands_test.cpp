// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "values/tensor_operands.h"

#include "belfry/backend/host_backend.h"
#include "belfry/error.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace belfry::tensor_operands_test {
namespace {

class TensorOperands : public ::testing::Test {
 protected:
  template <class T = float>
  Tensor<T> make(Shape shape, int device = 0) {
    return Tensor<T>::full(std::move(shape), T(1), Placement{&backend_, device});
  }

  // Runs `work`, which must fail with `code`, and returns the report.
  static ErrorReport failure(ErrorCode code, const auto& work) {
    const ErrorReport report = report_of(work);
    EXPECT_EQ(to_string(report.code), to_string(code)) << report.summary;
    return report;
  }

  HostBackend backend_{2};
};

TEST_F(TensorOperands, ShapesThatDoNotFitAreNamed) {
  const auto report = failure(ErrorCode::kShape, [&] { add(make({2, 3}), make({2})); });
  EXPECT_EQ(report.summary, "add: shapes [2,3] and [2] do not fit");
  EXPECT_NE(report.hint.find("as_column"), std::string::npos) << report.hint;
  EXPECT_EQ(to_string(report.site), "tensor_operands_test.cpp:" + std::to_string(__LINE__ - 3));
  const auto turned = failure(ErrorCode::kShape, [&] { add(make({3}), make({2, 3})); });
  EXPECT_EQ(turned.summary, "add: shapes [3] and [2,3] do not fit");
  EXPECT_NE(turned.hint.find("left operand"), std::string::npos) << turned.hint;
}

TEST_F(TensorOperands, AreMadeFromBraces) {
  const Placement second{&backend_, 1};
  const auto table = Tensor<float>::from({2, 3}, {1, 2, 3, 4, 5, 6}, second);
  EXPECT_EQ(table.placement(), second);
  EXPECT_EQ(to_string(table.shape()), "[2,3]");
  EXPECT_EQ(table.to_host(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Tensor<bool>::from({2}, {true, false}, second).to_host(),
            (std::vector<std::uint8_t>{1, 0}));
  EXPECT_EQ(Tensor<std::int32_t>::from({2}, {0, 0}, second).to_host(),
            (std::vector<std::int32_t>{0, 0}));
  const auto report = failure(ErrorCode::kShape, [&] { Tensor<float>::from({3}, {1, 2}, second); });
  EXPECT_EQ(report.summary, "2 values for shape [3]");
  EXPECT_EQ(to_string(report.site), "tensor_operands_test.cpp:" + std::to_string(__LINE__ - 2));
}

TEST_F(TensorOperands, EqualCountsAreNotEqualShapes) {
  failure(ErrorCode::kShape, [&] { add(make({2, 3}), make({3, 2})); });
  failure(ErrorCode::kShape, [&] { add(make({2, 3}), make({6})); });
  failure(ErrorCode::kShape, [&] { less(make({4}), make({2, 2})); });
  failure(ErrorCode::kShape, [&] { add(make({2, 3}), make({1, 1, 1, 3})); });
}

TEST_F(TensorOperands, SelectWantsOneShape) {
  const auto flags = make<bool>({2, 2});
  const auto report = failure(ErrorCode::kShape, [&] { select(flags, make({2, 2}), make({2})); });
  EXPECT_EQ(report.summary, "select: shapes [2,2] and [2] do not fit");
}

TEST_F(TensorOperands, MatricesMustMatchInside) {
  const auto report = failure(ErrorCode::kShape, [&] {
    matmul(make({2, 3}), make({2, 3}), {.transpose_a = true, .transpose_b = true});
  });
  EXPECT_EQ(report.summary, "matmul: shapes [2,3] and [2,3] do not fit");
  EXPECT_NE(report.hint.find("(a: yes, b: yes)"), std::string::npos) << report.hint;
  failure(ErrorCode::kShape, [&] { matmul(make({2, 3}), make({2, 3})); });
  EXPECT_EQ(failure(ErrorCode::kShape, [&] { row_sum(make({4})); }).summary,
            "row_sum: shape [4] is not a matrix");
}

TEST_F(TensorOperands, RowsAndTheirIndicesMustMatch) {
  auto table = make({3, 2});
  const auto two = make<std::int32_t>({2});
  failure(ErrorCode::kShape, [&] { gather_rows(make({3}), two); });
  failure(ErrorCode::kShape, [&] { gather_rows(table, make<std::int32_t>({2, 1})); });
  const auto report =
      failure(ErrorCode::kShape, [&] { scatter_add_rows(table, two, make({3, 2})); });
  EXPECT_EQ(report.hint, "for these indices the rows are [2,2]");
}

TEST_F(TensorOperands, NoLargestOfNone) {
  EXPECT_EQ(failure(ErrorCode::kShape, [&] { row_max(make({2, 0})); }).summary,
            "row_max of a tensor [2,0]");
  failure(ErrorCode::kShape, [&] { argmax_rows(make({2, 0})); });
  failure(ErrorCode::kShape, [&] { argmax_rows(make({2})); });
}

TEST_F(TensorOperands, TypesWithoutArithmeticAreNamed) {
  const auto flags = make<bool>({2, 2});
  const auto report = failure(ErrorCode::kDType, [&] { add(flags, flags); });
  EXPECT_EQ(report.summary, "add: tensors of bool have no arithmetic");
  failure(ErrorCode::kDType, [&] { multiply(flags, flags); });
  failure(ErrorCode::kDType, [&] { negate(flags); });
  failure(ErrorCode::kDType, [&] { row_sum(flags); });
  failure(ErrorCode::kDType, [&] { matmul(flags, flags); });
}

TEST_F(TensorOperands, DevicesMustBeTheSame) {
  const auto report = failure(ErrorCode::kForeignObject, [&] { add(make({2}, 0), make({2}, 1)); });
  EXPECT_EQ(report.summary, "add: operands [2] on host device CPU:0 and [2] on host device CPU:1");
  EXPECT_NE(report.hint.find("copy_to"), std::string::npos);
}

TEST_F(TensorOperands, BackendsMustBeTheSame) {
  HostBackend other{1};
  const auto foreign = Tensor<float>::full({2}, 1, Placement{&other, 0});
  const auto report = failure(ErrorCode::kForeignObject, [&] { matmul(make({2}), foreign); });
  EXPECT_NE(report.summary.find("of different backends"), std::string::npos) << report.summary;
  EXPECT_NE(report.hint.find("to_host"), std::string::npos);
}

TEST_F(TensorOperands, TensorsWithoutStorageAreNamed) {
  const Tensor<float> none;
  Tensor<float> target;
  const auto summary_of = [](const auto& work) {
    return failure(ErrorCode::kInvalidArgument, work).summary;
  };
  const std::string what = "a default-constructed tensor was used";
  EXPECT_EQ(summary_of([&] { exp(none); }), "exp: " + what);
  EXPECT_EQ(summary_of([&] { add(make({2}), none); }), "add: " + what);
  EXPECT_EQ(summary_of([&] { add(none, 1); }), "add: " + what);
  EXPECT_EQ(summary_of([&] { scale(target, 1); }), "scale: " + what);
}

TEST_F(TensorOperands, AFailedUpdateLeavesTheTensorAlone) {
  auto x = make({2, 2});
  failure(ErrorCode::kShape, [&] { subtract_scaled(x, 2, make({3})); });
  failure(ErrorCode::kForeignObject, [&] { add_to(x, make({2, 2}, 1)); });
  EXPECT_EQ(x.to_host(), (std::vector<float>{1, 1, 1, 1}));
}

TEST_F(TensorOperands, NoCurrentDeviceIsAnError) {
  testing::asserts("SEM-16");
  EXPECT_THROW(random_uniform({2}, 1), ContextError);
}

TEST_F(TensorOperands, FitsAreFound) {
  const detail::TensorCall call{"add", {}};
  EXPECT_EQ(detail::fit(call, {2, 3}, {2, 3}).broadcast, Broadcast::kNone);
  EXPECT_EQ(detail::fit(call, {2, 3}, {3}).broadcast, Broadcast::kRow);
  EXPECT_EQ(detail::fit(call, {2, 3}, {2, 1}).broadcast, Broadcast::kColumn);
  EXPECT_EQ(detail::fit(call, {2, 3}, {1, 1}).broadcast, Broadcast::kScalar);
  // A column wins where both would do: [n,1] against [n,n].
  EXPECT_EQ(detail::fit(call, {3, 3}, {3, 1}).broadcast, Broadcast::kColumn);
  EXPECT_EQ(detail::fit(call, {3, 3}, {1, 3}).broadcast, Broadcast::kRow);
  EXPECT_EQ(detail::fit(call, {2, 3}, {2, 1}).rows, 2);
  EXPECT_EQ(detail::fit(call, {2, 3}, {2, 1}).columns, 3);
}

}  // namespace
}  // namespace belfry::tensor_operands_test
