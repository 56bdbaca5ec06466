// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/verbs/sum_overflow.h"

#include "belfry/detail/integer_sums.h"
#include "belfry/tensor.h"
#include "kernels/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace belfry::detail {
namespace {

using Integers = kernels::TypeList<std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                   std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;

bool is_added_as_integers(const LeafRef& leaf) {
  // A default-constructed tensor has no elements; the reduction refuses the tensor.
  if (leaf.tensor != nullptr && leaf.tensor->empty()) return false;
  return leaf.own == nullptr && leaf.dtype != DType::kBool && !is_floating(leaf.dtype);
}

// The elements of a leaf in host memory. Tensors are copied to `storage`.
template <class E>
const E* elements_on_host(const LeafRef& leaf, std::vector<E>& storage) {
  if (leaf.tensor == nullptr) return static_cast<const E*>(leaf.data);
  storage.resize(leaf.count);
  if (leaf.count > 0) leaf.tensor->read(storage.data());
  return storage.data();
}

template <class E>
bool is_in_range(Int128 sum) {
  return sum >= Int128{std::numeric_limits<E>::min()} &&
         sum <= Int128{std::numeric_limits<E>::max()};
}

// An exact sum or product of integers of up to 64 bits.
class ExactResult {
 public:
  explicit ExactResult(ReduceOp op) : is_product_(op == ReduceOp::kProd), value_(is_product_) {}

  void take(Int128 term) {
    if (!is_product_) {
      value_ += term;
    } else if (term == 0) {
      is_zero_ = true;
    } else {
      is_beyond_ = is_beyond_ || __builtin_mul_overflow(value_, term, &value_);
    }
  }
  template <class E>
  bool fits() const {
    return is_zero_ || (!is_beyond_ && is_in_range<E>(value_));
  }
  std::string text() const {
    return is_beyond_ ? "of more than 128 bits" : fmt::format("{}", value_);
  }

 private:
  bool is_product_;
  bool is_zero_ = false;    // A factor is 0.
  bool is_beyond_ = false;  // The product of the other factors leaves 128 bits.
  Int128 value_;
};

template <class E>
std::optional<SumOverflow> find_in_leaf(ReduceOp op, std::span<const std::vector<LeafRef>> parts,
                                        std::size_t leaf) {
  const std::size_t count = parts.front()[leaf].count;
  std::vector<ExactResult> results(count, ExactResult(op));
  std::vector<std::vector<E>> storage(parts.size());
  std::vector<const E*> elements;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    elements.push_back(elements_on_host<E>(parts[part][leaf], storage[part]));
    for (std::size_t i = 0; i < count; ++i) results[i].take(elements.back()[i]);
  }
  const auto found = std::ranges::find_if_not(results, &ExactResult::fits<E>);
  if (found == results.end()) return std::nullopt;
  const auto element = static_cast<std::size_t>(found - results.begin());
  SumOverflow overflow{op, leaf, element, count, dtype_of<E>(), found->text(), {}};
  for (const E* own : elements) overflow.operands.push_back(std::to_string(own[element]));
  return overflow;
}

std::string range_of(DType dtype) {
  std::string range;
  kernels::visit_type(Integers{}, dtype, [&](auto tag) {
    using Limits = std::numeric_limits<typename decltype(tag)::Type>;
    range = "[" + std::to_string(Limits::min()) + ", " + std::to_string(Limits::max()) + "]";
  });
  return range;
}

}  // namespace

std::optional<SumOverflow> find_sum_overflow(ReduceOp op,
                                             std::span<const std::vector<LeafRef>> parts) {
  if (op != ReduceOp::kSum && op != ReduceOp::kProd) return std::nullopt;
  const std::vector<LeafRef>& first = parts.front();
  for (std::size_t leaf = 0; leaf < first.size(); ++leaf) {
    if (!is_added_as_integers(first[leaf])) continue;
    std::optional<SumOverflow> found;
    kernels::visit_type(Integers{}, first[leaf].dtype, [&](auto tag) {
      found = find_in_leaf<typename decltype(tag)::Type>(op, parts, leaf);
    });
    if (found) return found;
  }
  return std::nullopt;
}

void throw_sum_overflow(const SumOverflow& found, const std::string& place,
                        std::vector<ReplicaReport> replicas, CallSite site) {
  const bool is_product = found.op == ReduceOp::kProd;
  const std::string result = is_product ? "product" : "sum";
  ErrorReport report;
  report.code = ErrorCode::kSumOverflow;
  report.summary =
      "the " + result + " " + found.sum + " does not fit " + to_string(found.dtype) + place;
  if (found.count > 1) report.summary += " at element " + std::to_string(found.element);
  if (replicas.empty()) {
    std::string_view gap = ", of ";
    for (const std::string& operand : found.operands) {
      report.summary += std::string(std::exchange(gap, is_product ? " * " : " + ")) + operand;
    }
  }
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    replicas[i].what = "brings " + found.operands[i];
  }
  report.replicas = std::move(replicas);
  report.site = site;
  report.expected = "a " + result + " in " + range_of(found.dtype);
  report.hint =
      "cast to a wider element type before the reduction, or clear report_overflow to let " +
      result + "s wrap";
  throw InvalidArgumentError(std::move(report));
}

}  // namespace belfry::detail
