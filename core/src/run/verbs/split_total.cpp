// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/split_total.h"

#include "belfry/error.h"
#include "kernels/dispatch.h"

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace belfry {

std::string to_string(SumSplit split) {
  switch (split) {
    case SumSplit::kFirst:
      return "first";
    case SumSplit::kDivide:
      return "divide";
  }
  return "split(" + std::to_string(static_cast<int>(split)) + ")";
}

namespace detail {
namespace {

template <class E>
E share_of(E total, int component, int components) {
  if constexpr (std::is_integral_v<E>) {
    const auto parts = static_cast<std::int64_t>(components);
    if constexpr (std::is_same_v<E, std::uint64_t>) {
      const std::uint64_t rest = total % static_cast<std::uint64_t>(parts);
      const std::uint64_t more = static_cast<std::uint64_t>(component) < rest ? 1 : 0;
      return total / static_cast<std::uint64_t>(parts) + more;
    } else {
      const auto whole = static_cast<std::int64_t>(+total);
      const std::int64_t rest = whole % parts;
      const std::int64_t more = component < (rest < 0 ? -rest : rest) ? (rest < 0 ? -1 : 1) : 0;
      return static_cast<E>(whole / parts + more);
    }
  } else if constexpr (std::is_same_v<E, double>) {
    return total / components;
  } else {
    return static_cast<E>(static_cast<float>(total) / static_cast<float>(components));
  }
}

template <class E>
std::vector<E> elements_of(const LeafRef& leaf) {
  std::vector<E> values(leaf.count);
  if (leaf.tensor != nullptr) {
    leaf.tensor->read(values.data());
  } else {
    std::memcpy(values.data(), leaf.data, leaf.bytes());
  }
  return values;
}

template <class E>
void write_elements(const LeafRef& leaf, const std::vector<E>& values) {
  if (leaf.tensor != nullptr) {
    *leaf.tensor = AnyTensor::from_host(leaf.dtype, leaf.tensor->shape(), values.data(),
                                        leaf.tensor->placement());
  } else {
    std::memcpy(leaf.data, values.data(), leaf.bytes());
  }
}

template <class E>
void take_share_of(const LeafRef& leaf, SumSplit split, int component, int components) {
  if (split == SumSplit::kFirst) return write_elements(leaf, std::vector<E>(leaf.count));
  std::vector<E> values = elements_of<E>(leaf);
  for (E& value : values) value = share_of(value, component, components);
  write_elements(leaf, values);
}

// A product of factors of 1 is the total for any number of components.
void take_factor(const LeafRef& leaf) {
  if (leaf.own != nullptr) {
    throw InvalidArgumentError(ErrorCode::kDType,
                               "values of " + name_of(*leaf.own) + " have no prod",
                               "reduce by SUM, or by a Reduction of your own");
  }
  kernels::visit_type(kernels::AllTypes{}, leaf.dtype, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    if constexpr (!std::is_same_v<E, element::BoolByte>) {
      write_elements(leaf, std::vector<E>(leaf.count, static_cast<E>(1)));
    }
  });
}

// Shares of a quotient need not add up to the total.
void take_share_of_own(const LeafRef& leaf, SumSplit split, CallSite site) {
  if (split == SumSplit::kFirst) return leaf.own->set_zero(leaf.data);
  throw InvalidArgumentError(ErrorCode::kDType,
                             "a total of " + name_of(*leaf.own) + " cannot be divided",
                             "use SumSplit::kFirst", site);
}

}  // namespace

void take_share(const std::vector<LeafRef>& leaves, SumSplit split, int component, int components,
                bool is_product, CallSite site) {
  if ((is_product || split == SumSplit::kFirst) && component == 0) return;
  for (const LeafRef& leaf : leaves) {
    if (leaf.dtype == DType::kBool) {
      throw InvalidArgumentError(ErrorCode::kDType, "bool values have no total",
                                 "cast them to an integer type first", site);
    }
    if (leaf.count == 0) continue;
    if (is_product) {
      take_factor(leaf);
      continue;
    }
    if (leaf.own != nullptr) {
      take_share_of_own(leaf, split, site);
      continue;
    }
    kernels::visit_type(kernels::AllTypes{}, leaf.dtype, [&](auto tag) {
      using E = typename decltype(tag)::Type;
      if constexpr (!std::is_same_v<E, element::BoolByte>) {
        take_share_of<E>(leaf, split, component, components);
      }
    });
  }
}

void require_split(SumSplit split, CallSite site) {
  // A number from a file or a caller may be no enumerator.
  if (split <= SumSplit::kDivide) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             to_string(split) + " is no way to split a total",
                             "use SumSplit::kFirst or SumSplit::kDivide", site);
}

void require_sum(const VariableInfo& info, CallSite site) {
  if (info.synchronization == Synchronization::kOnRead && info.aggregation == Aggregation::kSum) {
    return;
  }
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             info.name + " is read as " + to_string(info.aggregation) +
                                 ", and only a replica-local sum has a total",
                             "assign_each sets every component", site);
}

}  // namespace detail
}  // namespace belfry
