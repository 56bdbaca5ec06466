// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "clique_work.h"

#include "belfry/backend/element_types.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/backend/type_lists.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>

namespace belfry::driver {
namespace {

// The call has refused all remaining types.
DType dtype_in(const CliqueCall& call) { return dtype_of(call.type).value_or(DType::kUInt8); }

// Reduces 16-bit floats as NCCL does: every partial result is rounded to the type. NCCL does not
// define the order; this function goes rank after rank.
void round_each_step(const KernelCall& kernel) {
  const KernelOperand& first = kernel.inputs.front();
  const std::size_t bytes = first.count * size_of(first.dtype);
  std::vector<std::byte> result(bytes);
  std::memcpy(result.data(), first.data, bytes);
  KernelCall pair;
  pair.kind = KernelKind::kReduceReplicas;
  pair.parameters.reduce = kernel.parameters.reduce;
  pair.outputs = {{result.data(), first.count, first.dtype}};
  for (const KernelOperand& next : std::span(kernel.inputs).subspan(1)) {
    pair.inputs = {pair.outputs.front(), next};
    run_on_host(pair);
  }
  for (const KernelOperand& output : kernel.outputs) {
    std::memcpy(output.data, result.data(), bytes);
  }
}

// The extreme of floats is the other operand where one is NaN, and the first of two zeros: of NCCL
// this is not stated, and programs that count on NaN are to fail here.
template <class T>
void drop_nan(const KernelCall& kernel) {
  const bool is_max = kernel.parameters.reduce == ReduceOp::kMax;
  for (std::size_t i = 0; i < kernel.inputs.front().count; ++i) {
    const auto term = [&](const KernelOperand& one) { return static_cast<const T*>(one.data)[i]; };
    T extreme = term(kernel.inputs.front());
    for (const KernelOperand& next : kernel.inputs) {
      const auto x = element::load(term(next));
      const auto so_far = element::load(extreme);
      if (std::isnan(so_far) || (is_max ? x > so_far : x < so_far)) extreme = term(next);
    }
    for (const KernelOperand& output : kernel.outputs) static_cast<T*>(output.data)[i] = extreme;
  }
}

void run(const KernelCall& kernel) {
  const DType dtype = kernel.inputs.front().dtype;
  const ReduceOp op = kernel.parameters.reduce;
  const bool is_extreme = op == ReduceOp::kMax || op == ReduceOp::kMin;
  if (is_floating(dtype) && is_extreme) {
    return kernels::visit_type(kernels::FloatingTypes{}, dtype,
                               [&](auto tag) { drop_nan<typename decltype(tag)::Type>(kernel); });
  }
  if (is_floating(dtype) && size_of(dtype) == 2) return round_each_step(kernel);
  run_on_host(kernel);
}

KernelCall reduction_of(const std::vector<CliqueCall>& calls, std::size_t count,
                        ReductionOrder order) {
  KernelCall kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = reduce_op_of(calls.front().op).value_or(ReduceOp::kSum);
  kernel.parameters.order = order;
  for (const CliqueCall& call : calls) {
    kernel.inputs.push_back({const_cast<void*>(call.send), count, dtype_in(call)});
  }
  return kernel;
}

void reduce(const std::vector<CliqueCall>& calls, ReductionOrder order) {
  KernelCall kernel = reduction_of(calls, calls.front().count, order);
  for (const CliqueCall& call : calls) {
    const bool receives = call.verb == Verb::kAllReduce || call.communicator->rank == call.root;
    if (receives) kernel.outputs.push_back({call.receive, call.count, dtype_in(call)});
  }
  run(kernel);
}

// Rank r receives part r of the sum. A part may lie in the memory of its input.
void reduce_scatter(const std::vector<CliqueCall>& calls, ReductionOrder order) {
  const DType dtype = dtype_in(calls.front());
  const std::size_t part = calls.front().count * size_of(dtype);
  std::vector<std::byte> sum(part * calls.size());
  KernelCall kernel = reduction_of(calls, calls.front().count * calls.size(), order);
  kernel.outputs = {{sum.data(), kernel.inputs.front().count, dtype}};
  run(kernel);
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    std::memcpy(calls[rank].receive, sum.data() + rank * part, part);
  }
}

void broadcast(const std::vector<CliqueCall>& calls) {
  const CliqueCall& source = calls[static_cast<std::size_t>(calls.front().root)];
  const std::size_t bytes = source.count * size_of(dtype_in(source));
  for (const CliqueCall& call : calls) std::memmove(call.receive, source.send, bytes);
}

void all_gather(const std::vector<CliqueCall>& calls) {
  std::vector<std::byte> gathered;
  for (const CliqueCall& call : calls) {
    const auto* from = static_cast<const std::byte*>(call.send);
    gathered.insert(gathered.end(), from, from + call.count * size_of(dtype_in(call)));
  }
  for (const CliqueCall& call : calls) {
    std::memcpy(call.receive, gathered.data(), gathered.size());
  }
}

}  // namespace

std::optional<DType> dtype_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return DType::kInt8;
    case ncclUint8:
      return DType::kUInt8;
    case ncclInt32:
      return DType::kInt32;
    case ncclUint32:
      return DType::kUInt32;
    case ncclInt64:
      return DType::kInt64;
    case ncclUint64:
      return DType::kUInt64;
    case ncclFloat16:
      return DType::kFloat16;
    case ncclFloat32:
      return DType::kFloat32;
    case ncclFloat64:
      return DType::kFloat64;
    case ncclBfloat16:
      return DType::kBFloat16;
    default:
      return std::nullopt;
  }
}

std::optional<ReduceOp> reduce_op_of(ncclRedOp_t op) {
  switch (op) {
    case ncclSum:
      return ReduceOp::kSum;
    case ncclProd:
      return ReduceOp::kProd;
    case ncclMax:
      return ReduceOp::kMax;
    case ncclMin:
      return ReduceOp::kMin;
    default:
      return std::nullopt;
  }
}

void run_collective(const std::vector<CliqueCall>& calls, ReductionOrder order) {
  if (calls.front().count == 0) return;
  switch (calls.front().verb) {
    case Verb::kAllReduce:
    case Verb::kReduce:
      return reduce(calls, order);
    case Verb::kBroadcast:
      return broadcast(calls);
    case Verb::kAllGather:
      return all_gather(calls);
    case Verb::kReduceScatter:
      return reduce_scatter(calls, order);
    case Verb::kSend:
    case Verb::kReceive:
      return;  // Of two ranks: transfers.cpp.
  }
}

}  // namespace belfry::driver
