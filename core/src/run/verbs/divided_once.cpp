// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/integer_sums.h"
#include "belfry/detail/tensor_launch.h"

namespace belfry::detail {

AnyTensor divided_once(const AnyTensor& tensor, int by, std::string_view what, CallSite site) {
  const DType dtype = tensor.dtype();
  if (!is_floating(dtype) || size_of(dtype) != 2) {
    return launch_binary(BinaryOp::kDivide, tensor, Scalar::of(by), what, site);
  }
  const AnyTensor wide = launch_cast(tensor, DType::kFloat32, site);
  return launch_cast(launch_binary(BinaryOp::kDivide, wide, Scalar::of(by), what, site), dtype,
                     site);
}

}  // namespace belfry::detail
