// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/print_value.h"

#include "belfry/backend/backend.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"

#include <charconv>

namespace belfry {
namespace {

template <class T>
std::string shortest(T value) {
  char text[32];
  const std::to_chars_result result = std::to_chars(text, text + sizeof(text), value);
  return {text, result.ptr};
}

}  // namespace

std::string detail::number_text(float value) { return shortest(value); }
std::string detail::number_text(double value) { return shortest(value); }

std::string to_string(const Placement& placement) {
  if (placement.backend == nullptr) return "no device";
  return to_string(placement.backend->device_spec(placement.device));
}

std::string to_string(const AnyTensor& tensor) {
  if (tensor.empty()) return "a tensor without elements";
  return to_string(tensor.dtype()) + to_string(tensor.shape()) + " on " +
         to_string(tensor.placement());
}

std::string to_string(const LeafDescription& leaf) { return leaf.path + " " + leaf.type; }

}  // namespace belfry
