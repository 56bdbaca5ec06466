// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/nest.h"

#include "belfry/any_tensor.h"
#include "belfry/distributed_values.h"

namespace belfry::detail {

LeafRef tensor_leaf(AnyTensor& tensor) {
  return {tensor.dtype(), tensor.view().count, nullptr, &tensor};
}

std::string describe_tensor(const AnyTensor& tensor) {
  if (tensor.empty()) return "an empty tensor";
  return "tensor " + to_string(tensor.dtype()) + to_string(tensor.shape());
}

void throw_bad_component(int index, int size, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "component " + std::to_string(index) + " of a value with " +
                                 std::to_string(size) + " components",
                             "components are numbered from 0 by replica id", site);
}

}  // namespace belfry::detail
