// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/names.h"

#include "belfry/backend/host_kernels.h"
#include "belfry/backend/user_kernel.h"

#include <cstddef>

namespace belfry {
namespace {

template <std::size_t count, class Enum>
std::string_view name_in(const std::string_view (&names)[count], Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < count ? names[index] : "unknown";
}

}  // namespace

std::string_view to_string(KernelKind kind) {
  static constexpr std::string_view kNames[] = {
      "fill",       "cast",          "unary",       "binary",       "compare", "select",
      "row_reduce", "column_reduce", "gather_rows", "scatter_rows", "matmul",  "reduce_replicas",
      "random",     "fused_update",  "copy_each",   "user"};
  return name_in(kNames, kind);
}

std::string_view operation_name(const Kernel& kernel) {
  if (kernel.kind == KernelKind::kUnary) return kernels::name_of(kernel.parameters.unary);
  if (kernel.kind == KernelKind::kBinary) return kernels::name_of(kernel.parameters.binary);
  if (kernel.user != nullptr) return kernel.user->traits().name;
  return to_string(kernel.kind);
}

namespace kernels {

std::string_view name_of(UnaryOp op) {
  static constexpr std::string_view kNames[] = {"negate",     "abs",  "square", "sqrt",
                                                "reciprocal", "exp",  "log",    "tanh",
                                                "relu",       "step", "scale",  "shift"};
  return name_in(kNames, op);
}

std::string_view name_of(BinaryOp op) {
  static constexpr std::string_view kNames[] = {"add",    "subtract", "multiply",
                                                "divide", "minimum",  "maximum"};
  return name_in(kNames, op);
}

std::string_view name_of(FoldOp op) {
  static constexpr std::string_view kNames[] = {"sum", "maximum", "minimum", "product"};
  return name_in(kNames, op);
}

std::string_view name_of(ScatterOp op) {
  static constexpr std::string_view kNames[] = {"add",     "subtract", "multiply", "divide",
                                                "minimum", "maximum",  "set"};
  return name_in(kNames, op);
}

std::string_view name_of(Distribution distribution) {
  static constexpr std::string_view kNames[] = {"uniform", "normal", "bits"};
  return name_in(kNames, distribution);
}

}  // namespace kernels
}  // namespace belfry
