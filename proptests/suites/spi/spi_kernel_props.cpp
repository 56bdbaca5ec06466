// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "belfry/backend/host_kernels.h"
#include "suites/spi/spi_support.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

// Every kind of kernel gives the same bits as the host's implementation, for any contents of
// memory.
namespace belfry::testing::spi::spi_kernel_props {
namespace {

class SpiKernels : public SpiTest {};

constexpr int kKinds = static_cast<int>(KernelKind::kCopyEach) + 1;

/// A kernel on host memory: its parameters and operands.
struct Case {
  KernelKind kind = KernelKind::kFill;
  KernelParameters parameters;
  std::vector<HostArray> outputs;
  std::vector<HostArray> inputs;
};

DType any_dtype(Bits& bits, int count = kNumDTypes) {
  return static_cast<DType>(bits.below(static_cast<std::size_t>(count)));
}

// Draws a type for which `supported` holds.
template <class Supported>
DType dtype_with(Bits& bits, Supported&& supported) {
  for (;;) {
    const DType dtype = any_dtype(bits);
    if (supported(dtype)) return dtype;
  }
}

std::size_t count_of(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(rows * columns);
}

void make_elementwise(Case& made, std::size_t count, Bits& bits) {
  KernelParameters& p = made.parameters;
  if (made.kind == KernelKind::kFill) {
    made.outputs = {HostArray(any_dtype(bits), count)};
  } else if (made.kind == KernelKind::kCast) {
    made.inputs = {random_array(any_dtype(bits), count, bits)};
    made.outputs = {HostArray(any_dtype(bits), count)};
  } else if (made.kind == KernelKind::kUnary) {
    p.unary = static_cast<UnaryOp>(bits.below(static_cast<std::size_t>(UnaryOp::kShift) + 1));
    const DType dtype = dtype_with(bits, [&](DType t) { return element::supports(p.unary, t); });
    made.inputs = {random_array(dtype, count, bits)};
    made.outputs = {HostArray(dtype, count)};
  } else {
    const DType dtype = any_dtype(bits);
    made.inputs = {random_array(DType::kBool, count, bits), random_array(dtype, count, bits),
                   random_array(dtype, count, bits)};
    made.outputs = {HostArray(dtype, count)};
  }
}

void make_broadcast(Case& made, Bits& bits) {
  KernelParameters& p = made.parameters;
  const bool compares = made.kind == KernelKind::kCompare;
  p.binary = static_cast<BinaryOp>(bits.below(6));
  p.compare = static_cast<CompareOp>(bits.below(6));
  p.broadcast = static_cast<Broadcast>(bits.below(4));
  const DType dtype =
      dtype_with(bits, [&](DType t) { return compares || element::supports(p.binary, t); });
  const std::size_t count = count_of(p.rows, p.columns);
  const std::size_t right[] = {count, 1, static_cast<std::size_t>(p.columns),
                               static_cast<std::size_t>(p.rows)};
  made.inputs = {random_array(dtype, count, bits),
                 random_array(dtype, right[static_cast<int>(p.broadcast)], bits)};
  made.outputs = {HostArray(compares ? DType::kBool : dtype, count)};
}

void make_fold(Case& made, Bits& bits) {
  KernelParameters& p = made.parameters;
  p.fold = static_cast<FoldOp>(bits.below(4));
  const DType dtype = dtype_with(bits, [&](DType t) { return element::supports(p.fold, t); });
  made.inputs = {random_array(dtype, count_of(p.rows, p.columns), bits)};
  const auto results = made.kind == KernelKind::kRowReduce ? p.rows : p.columns;
  made.outputs = {HostArray(dtype, static_cast<std::size_t>(results))};
}

void make_rows_by_index(Case& made, Bits& bits) {
  KernelParameters& p = made.parameters;
  const bool gathers = made.kind == KernelKind::kGatherRows;
  p.scatter = static_cast<ScatterOp>(bits.below(static_cast<std::size_t>(ScatterOp::kSet) + 1));
  const DType dtype =
      dtype_with(bits, [&](DType t) { return gathers || element::supports(p.scatter, t); });
  const std::size_t table_rows = bits.below(6) + 1;
  HostArray index(DType::kInt32, static_cast<std::size_t>(p.rows));
  for (std::size_t i = 0; i < index.count(); ++i) {
    const auto row = static_cast<std::int32_t>(bits.below(table_rows));
    reinterpret_cast<std::int32_t*>(index.bytes.data())[i] = row;
  }
  const std::size_t table = table_rows * static_cast<std::size_t>(p.columns);
  const std::size_t rows = count_of(p.rows, p.columns);
  made.inputs = {index, random_array(dtype, gathers ? table : rows, bits)};
  made.outputs = {gathers ? HostArray(dtype, rows) : random_array(dtype, table, bits)};
}

void make_matmul(Case& made, Bits& bits) {
  KernelParameters& p = made.parameters;
  p.inner = static_cast<std::int64_t>(bits.below(20));
  p.transpose_left = bits.below(2) == 1;
  p.transpose_right = bits.below(2) == 1;
  const DType dtype = dtype_with(bits, element::is_numeric);
  made.inputs = {random_array(dtype, count_of(p.rows, p.inner), bits),
                 random_array(dtype, count_of(p.inner, p.columns), bits)};
  made.outputs = {HostArray(dtype, count_of(p.rows, p.columns))};
}

void make_reduce(Case& made, std::size_t count, Bits& bits) {
  KernelParameters& p = made.parameters;
  p.order = static_cast<ReductionOrder>(bits.below(3));
  const DType dtype = dtype_with(bits, [](DType t) { return t != DType::kBool; });
  constexpr ReduceOp ops[] = {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kProd,
                              ReduceOp::kMean};
  p.reduce = ops[bits.below(is_floating(dtype) ? 5 : 4)];
  const std::size_t inputs = bits.below(12) + 1;
  const std::size_t outputs = bits.below(inputs) + 1;
  for (std::size_t k = 0; k < inputs; ++k) made.inputs.push_back(random_array(dtype, count, bits));
  for (std::size_t k = 0; k < outputs; ++k) made.outputs.emplace_back(dtype, count);
}

void make_random(Case& made, std::size_t count, Bits& bits) {
  KernelParameters& p = made.parameters;
  p.distribution = static_cast<Distribution>(bits.below(3));
  const DType dtype =
      dtype_with(bits, [&](DType t) { return element::supports(p.distribution, t); });
  p.seed = bits.next();
  p.offset = bits.below(1000);
  made.outputs = {HostArray(dtype, count)};
}

void make_fused_update(Case& made, Bits& bits) {
  KernelParameters& p = made.parameters;
  p.update = static_cast<UpdateRule>(bits.below(3));
  p.decay = static_cast<double>(bits.below(100)) / 100;
  p.second_decay = static_cast<double>(bits.below(100)) / 100;
  p.epsilon = static_cast<double>(bits.below(10)) / 1000;
  const DType dtype = dtype_with(bits, is_floating);
  for (std::size_t left = bits.below(20) + 1; left > 0; --left) {
    const std::size_t count = bits.below(600);
    made.inputs.push_back(random_array(dtype, count, bits));
    for (std::size_t o = 0; o <= slots_of(p.update); ++o) {
      made.outputs.push_back(random_array(dtype, count, bits));
    }
  }
}

void make_copy_each(Case& made, Bits& bits) {
  for (std::size_t left = bits.below(20) + 1; left > 0; --left) {
    const DType dtype = any_dtype(bits);
    made.inputs.push_back(random_array(dtype, bits.below(600), bits));
    made.outputs.emplace_back(dtype, made.inputs.back().count());
  }
}

Case make_case(KernelKind kind, Bits& bits) {
  Case made;
  made.kind = kind;
  KernelParameters& p = made.parameters;
  p.rows = static_cast<std::int64_t>(bits.below(40));
  p.columns = static_cast<std::int64_t>(bits.below(40)) + 1;
  p.scalar = static_cast<double>(bits.below(100)) / 8 - 6;
  p.integer_scalar = static_cast<std::int64_t>(bits.next());
  const std::size_t count = bits.below(600);
  switch (kind) {
    case KernelKind::kBinary:
    case KernelKind::kCompare:
      make_broadcast(made, bits);
      break;
    case KernelKind::kRowReduce:
    case KernelKind::kColumnReduce:
      make_fold(made, bits);
      break;
    case KernelKind::kGatherRows:
    case KernelKind::kScatterRows:
      make_rows_by_index(made, bits);
      break;
    case KernelKind::kMatmul:
      make_matmul(made, bits);
      break;
    case KernelKind::kReduceReplicas:
      make_reduce(made, count, bits);
      break;
    case KernelKind::kRandom:
      make_random(made, count, bits);
      break;
    case KernelKind::kFusedUpdate:
      make_fused_update(made, bits);
      break;
    case KernelKind::kCopyEach:
      make_copy_each(made, bits);
      break;
    default:
      make_elementwise(made, count, bits);
  }
  return made;
}

std::vector<HostArray> outputs_on_host(Case made) {
  KernelCall call{made.kind, made.parameters, {}, {}};
  for (HostArray& array : made.outputs) call.outputs.push_back(array.operand());
  for (HostArray& array : made.inputs) call.inputs.push_back(array.operand());
  run_on_host(call);
  return made.outputs;
}

std::vector<HostArray> outputs_on_device(const Case& made, Device& device) {
  Kernel kernel{made.kind, made.parameters, {}, {}};
  for (const HostArray& array : made.outputs) {
    // Outputs are written beforehand only if the kernel changes its output.
    kernel.outputs.push_back(updates_output(made.kind)
                                 ? upload(device, array)
                                 : allocate(device, array.dtype, array.count()));
  }
  for (const HostArray& array : made.inputs) kernel.inputs.push_back(upload(device, array));
  device.compute_stream().launch(kernel);
  std::vector<HostArray> results;
  for (const BufferView& view : kernel.outputs) results.push_back(download(view));
  return results;
}

TEST_F(SpiKernels, GiveTheBitsOfTheHost) {
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    const auto backend = make_backend(1, schedule);
    const DeviceWork before = backend_factory().work(*backend);
    for (int kind = 0; kind < kKinds; ++kind) {
      const Case made = make_case(static_cast<KernelKind>(kind), bits);
      const std::vector<HostArray> device = outputs_on_device(made, backend->device(0));
      RC_LOG() << to_string(made.kind) << " of " << to_string(made.outputs[0].dtype) << ", "
               << made.parameters.rows << " x " << made.parameters.columns << "\n";
      RC_ASSERT(device == outputs_on_host(made));
    }
    const DeviceWork after = backend_factory().work(*backend);
    RC_ASSERT(after.commands >= before.commands + kKinds);
  });
}

}  // namespace
}  // namespace belfry::testing::spi::spi_kernel_props
