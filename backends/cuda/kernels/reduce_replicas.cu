// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "dispatch.cuh"
#include "families.h"

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

// A single kernel reads every input and writes every output once. All addresses are kernel
// parameters: nothing is copied or allocated before the kernel.
namespace belfry::cuda::kernels {
namespace {

/// The type of the steps: floats of 32 and 64 bits, 16-bit floats widened; integers are kept for
/// extremes, and else unsigned, so that they wrap.
template <class T>
using Sum = std::conditional_t<
    element::kIsFloating<T>, element::Compute<T>,
    std::conditional_t<sizeof(T) == 8,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>>;

// A GPU widens and rounds a Float16 in a single instruction each; belfry/dtype.h needs many. The
// bits are the same except for the bits of a NaN, which `Finish` sets.
template <class T>
__device__ Sum<T> widen(T value) {
  if constexpr (std::is_same_v<T, Float16>) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
  } else {
    return static_cast<Sum<T>>(value);
  }
}

template <class T>
__device__ T narrow(Sum<T> value) {
  if constexpr (std::is_same_v<T, Float16>) {
    constexpr Float16 kNan(std::numeric_limits<float>::quiet_NaN());
    std::uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return value == value ? Float16::from_bits(bits) : kNan;
  } else {
    return static_cast<T>(element::canonical(value));
  }
}

template <int kMost>
struct Members {
  const void* inputs[kMost];
  void* outputs[kMost];
  int num_inputs;
  int num_outputs;
  std::size_t count;
  ReductionOrder order;
  bool mean;

  template <class T>
  __device__ Sum<T> input(int k, std::size_t i) const {
    return widen(static_cast<const T*>(inputs[k])[i]);
  }
};

// Few members for small launches, many for all others. A larger number is refused.
constexpr int kFew = 64;
constexpr int kMany = 1024;
constexpr int kTreeDepth = 11;  // Partial sums of kMany inputs at a time.

/// Makes a result of a sum: divided by the number of members, where a mean is asked for.
template <class T>
struct Finish {
  template <int kMost>
  __device__ explicit Finish(const Members<kMost>& members)
      : mean(members.mean), members(static_cast<Sum<T>>(members.num_inputs)) {
    // Multiplication by the inverse of a power of two gives the bits of the division, and is
    // faster.
    if ((members.num_inputs & (members.num_inputs - 1)) == 0) inverse = 1 / this->members;
  }

  __device__ T operator()(Sum<T> sum) const {
    if constexpr (element::kIsFloating<T>) {
      if (mean) sum = inverse != 0 ? sum * inverse : sum / members;
      return narrow<T>(sum);
    } else {
      return static_cast<T>(sum);
    }
  }

  bool mean;
  Sum<T> members;
  Sum<T> inverse = 0;
};

template <FoldOp op, class T>
__device__ Sum<T> combine(Sum<T> left, Sum<T> right) {
  if constexpr (op == FoldOp::kSum) return left + right;
  return element::apply<op>(left, right);
}

template <FoldOp op, class T, int kMost>
__device__ Sum<T> fold_in_order(const Members<kMost>& members, std::size_t i) {
  Sum<T> sum = members.template input<T>(0, i);
  for (int k = 1; k < members.num_inputs; ++k) {
    sum = combine<op, T>(sum, members.template input<T>(k, i));
  }
  return sum;
}

// Neighbours are added up, then neighbouring sums, ...: a binary counter of partial sums.
template <FoldOp op, class T, int kMost>
__device__ Sum<T> fold_as_tree(const Members<kMost>& members, std::size_t i) {
  Sum<T> partial[kTreeDepth];
  int held = 0;
  for (int k = 0; k < members.num_inputs; ++k) {
    Sum<T> sum = members.template input<T>(k, i);
    for (int bits = k; (bits & 1) != 0; bits >>= 1) sum = combine<op, T>(partial[--held], sum);
    partial[held++] = sum;
  }
  for (; held > 1; --held) {
    partial[held - 2] = combine<op, T>(partial[held - 2], partial[held - 1]);
  }
  return partial[0];
}

template <FoldOp op, class T, int kMost>
__device__ Sum<T> fold_as_ring(const Members<kMost>& members, std::size_t i) {
  const auto inputs = static_cast<std::size_t>(members.num_inputs);
  const std::size_t chunk = (members.count + inputs - 1) / inputs;
  int k = static_cast<int>(i / chunk);
  Sum<T> sum = members.template input<T>(k, i);
  for (int step = 1; step < members.num_inputs; ++step) {
    k = k + 1 == members.num_inputs ? 0 : k + 1;
    sum = combine<op, T>(sum, members.template input<T>(k, i));
  }
  return sum;
}

template <FoldOp op, class T, int kMost>
__device__ void reduce_element(const Members<kMost>& members, std::size_t i) {
  Sum<T> sum;
  if (members.order == ReductionOrder::kTree) {
    sum = fold_as_tree<op, T>(members, i);
  } else if (members.order == ReductionOrder::kRing) {
    sum = fold_as_ring<op, T>(members, i);
  } else {
    sum = fold_in_order<op, T>(members, i);
  }
  const T result = Finish<T>(members)(sum);
  for (int k = 0; k < members.num_outputs; ++k) static_cast<T*>(members.outputs[k])[i] = result;
}

template <FoldOp op, class T, int kMost>
__global__ void reduce_elements(const __grid_constant__ Members<kMost> members) {
  for (std::size_t i = place_in_grid(); i < members.count; i += threads_in_grid()) {
    reduce_element<op, T>(members, i);
  }
}

/// The elements that a thread loads at once.
template <class T>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / sizeof(T);
  T elements[kSize];
};

template <class T>
__device__ Pack<T> load_pack(const void* from, std::size_t pack) {
  return static_cast<const Pack<T>*>(from)[pack];
}

// The usual case: replica order and aligned operands. Elements after the last whole pack are
// reduced one by one.
template <FoldOp op, class T, int kMost>
__global__ void reduce_packs(const __grid_constant__ Members<kMost> members) {
  constexpr int kSize = Pack<T>::kSize;
  const std::size_t packs = members.count / kSize;
  const Finish<T> finish(members);
  for (std::size_t i = place_in_grid(); i < packs; i += threads_in_grid()) {
    Sum<T> sum[kSize];
    Pack<T> pack = load_pack<T>(members.inputs[0], i);
    for (int e = 0; e < kSize; ++e) sum[e] = widen(pack.elements[e]);
#pragma unroll 4
    for (int k = 1; k < members.num_inputs; ++k) {
      pack = load_pack<T>(members.inputs[k], i);
      for (int e = 0; e < kSize; ++e) sum[e] = combine<op, T>(sum[e], widen(pack.elements[e]));
    }
    for (int e = 0; e < kSize; ++e) pack.elements[e] = finish(sum[e]);
    for (int k = 0; k < members.num_outputs; ++k) {
      static_cast<Pack<T>*>(members.outputs[k])[i] = pack;
    }
  }
  const std::size_t rest = packs * kSize + place_in_grid();
  if (rest < members.count) reduce_element<op, T>(members, rest);
}

bool is_aligned(const KernelOperand& operand) {
  return reinterpret_cast<std::uintptr_t>(operand.data) % 16 == 0;
}

bool can_be_packed(const KernelCall& call) {
  const ReductionOrder order = call.parameters.order;
  return (order == ReductionOrder::kReplicaOrder || order == ReductionOrder::kUnspecified) &&
         std::all_of(call.inputs.begin(), call.inputs.end(), is_aligned) &&
         std::all_of(call.outputs.begin(), call.outputs.end(), is_aligned);
}

template <FoldOp op, class T, int kMost>
void launch_members(const KernelCall& call, cudaStream_t stream) {
  Members<kMost> members{};
  for (const KernelOperand& in : call.inputs) members.inputs[members.num_inputs++] = in.data;
  for (const KernelOperand& out : call.outputs) members.outputs[members.num_outputs++] = out.data;
  members.count = call.outputs[0].count;
  members.order = call.parameters.order;
  members.mean = call.parameters.reduce == ReduceOp::kMean;
  if (can_be_packed(call)) {
    const std::size_t threads = members.count / Pack<T>::kSize + Pack<T>::kSize;
    reduce_packs<op, T><<<blocks_for(threads), kThreads, 0, stream>>>(members);
  } else {
    reduce_elements<op, T><<<blocks_for(members.count), kThreads, 0, stream>>>(members);
  }
}

template <FoldOp op, class T>
void launch_type(const KernelCall& call, cudaStream_t stream) {
  const std::size_t most = std::max(call.inputs.size(), call.outputs.size());
  if (most <= kFew) return launch_members<op, T, kFew>(call, stream);
  if (most <= kMany) return launch_members<op, T, kMany>(call, stream);
  throw UnsupportedError(
      ErrorCode::kUnsupported,
      "a reduction of more than " + std::to_string(kMany) + " values in one kernel",
      "reduce them in groups");
}

// The same bits in every order: the order that can be packed.
template <FoldOp op>
void launch_extreme(KernelCall call, cudaStream_t stream) {
  call.parameters.order = ReductionOrder::kReplicaOrder;
  visit_type(NumericTypes{}, call.outputs[0].dtype,
             [&](auto tag) { launch_type<op, typename decltype(tag)::Type>(call, stream); });
}

// Sums and products of integers are the same bits whether signed or not.
template <FoldOp op>
void launch_wrapping(const KernelCall& call, cudaStream_t stream) {
  visit_type(UnsignedOrFloatingTypes{}, element::unsigned_of(call.outputs[0].dtype),
             [&](auto tag) { launch_type<op, typename decltype(tag)::Type>(call, stream); });
}

}  // namespace

void launch_reduce_replicas(const KernelCall& call, cudaStream_t stream) {
  if (call.outputs[0].count == 0) return;
  switch (element::fold_of(call.parameters.reduce)) {
    case FoldOp::kSum:
      return launch_wrapping<FoldOp::kSum>(call, stream);
    case FoldOp::kProduct:
      return launch_wrapping<FoldOp::kProduct>(call, stream);
    case FoldOp::kMaximum:
      return launch_extreme<FoldOp::kMaximum>(call, stream);
    case FoldOp::kMinimum:
      return launch_extreme<FoldOp::kMinimum>(call, stream);
  }
}

}  // namespace belfry::cuda::kernels
