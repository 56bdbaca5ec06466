// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/tensor/of_user_element.h"
#include "belfry/dtype.h"
#include "belfry/error.h"

namespace belfry::detail {

void throw_no_tensor(const ElementFunctions& element, CallSite site) {
  const std::string type = name_of(element);
  throw UnsupportedError(ErrorCode::kUnsupported, "tensors of " + type + " do not exist",
                         "write std::vector<" + type +
                             "> for values in host memory, or a structure of tensors of numbers "
                             "with members",
                         site);
}

// GCC: `... [with T = Fixed; std::string_view = ...]`. Clang: `... [T = Fixed]`.
std::string name_of(const ElementFunctions& functions) {
  constexpr std::string_view kBefore = "T = ";
  std::string_view name = functions.spelling;
  const std::size_t begin = name.find(kBefore);
  if (begin == std::string_view::npos) return "a type of the program";
  name.remove_prefix(begin + kBefore.size());
  const std::size_t aliases = name.find("; ");
  return std::string(name.substr(0, aliases == std::string_view::npos ? name.rfind(']') : aliases));
}

}  // namespace belfry::detail
