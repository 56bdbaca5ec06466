// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The matrix product of the host kernels, with a fixed order of additions. The baseline is Eigen's
// product in the same run, with a free order, compiled for the same processors. Counters:
//
//     eigen  how many times as long Eigen takes
//     flops  operations a second of belfry's product

#include "belfry/backend/host_kernels.h"
#include "kernels/paired_bench.h"

#include <Eigen/Core>
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>

namespace belfry {
namespace {

template <class T>
void matmul(benchmark::State& state) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto rows = state.range(0);
  const auto inner = state.range(1);
  const auto columns = state.range(2);
  Matrix left = Matrix::Random(rows, inner);
  Matrix right = Matrix::Random(inner, columns);
  Matrix out(rows, columns);
  Matrix eigens(rows, columns);
  const auto operand = [](Matrix& matrix) {
    return KernelOperand{matrix.data(), static_cast<std::size_t>(matrix.size()), dtype_of<T>()};
  };
  KernelCall call;
  call.kind = KernelKind::kMatmul;
  call.parameters.rows = rows;
  call.parameters.columns = columns;
  call.parameters.inner = inner;
  call.inputs = {operand(left), operand(right)};
  call.outputs = {operand(out)};
  const bench::Comparison comparison(
      state, {[&] { run_on_host(call); }, [&] { eigens.noalias() = left * right; }});
  comparison.report("eigen", {1});
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(rows * inner * columns),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(31);
  benchmark->Args({16, 64, 64})->Args({64, 64, 10})->Args({64, 64, 64})->Args({256, 256, 256});
  benchmark->Args({1024, 1024, 1024});
}

BENCHMARK_TEMPLATE(matmul, float)->Apply(shapes);
BENCHMARK_TEMPLATE(matmul, double)->Apply(shapes);

}  // namespace
}  // namespace belfry
