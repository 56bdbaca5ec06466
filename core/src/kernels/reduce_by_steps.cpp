// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "kernels/dispatch.h"
#include "kernels/reduce_call.h"

#include <algorithm>
#include <cstddef>
#include <vector>

// Elements are reduced in blocks: partial results of a block stay in the first-level cache while
// the block goes through the inputs, and loops over a block are loops over vectors.
namespace belfry::kernels {
namespace {

constexpr std::size_t kBlock = 256;

template <FoldOp op, class T>
class StepReduction {
 public:
  explicit StepReduction(const KernelCall& call)
      : call_(call), count_(call.outputs[0].count), order_(order_of(call)) {
    // A tree has a partial result for each input.
    partial_.resize(order_ == ReductionOrder::kTree ? inputs() : 1);
  }

  void run() {
    const bool is_ring = order_ == ReductionOrder::kRing;
    const std::size_t chunk =
        is_ring ? std::max<std::size_t>(1, ring_chunk(count_, inputs())) : count_;
    for (std::size_t first = 0; first < count_; first += chunk) {
      const std::size_t end = std::min(count_, first + chunk);
      for (std::size_t i = first; i < end; i += kBlock) {
        reduce(first / chunk, i, std::min(kBlock, end - i));
      }
    }
  }

 private:
  using C = element::Compute<T>;
  struct Block {
    C values[kBlock];
  };

  // Order is visible in products of floats alone.
  static ReductionOrder order_of(const KernelCall& call) {
    const bool has_order = op == FoldOp::kProduct && element::kIsFloating<T>;
    return has_order ? call.parameters.order : ReductionOrder::kReplicaOrder;
  }

  std::size_t inputs() const { return call_.inputs.size(); }

  // `count` elements from `i` on; `start` is the first input.
  void reduce(std::size_t start, std::size_t i, std::size_t count) {
    order_ == ReductionOrder::kTree ? fold_tree(i, count) : fold_from(start, i, count);
    for (const KernelOperand& output : call_.outputs) {
      T* const out = elements_of<T>(output) + i;
      for (std::size_t e = 0; e < count; ++e) {
        out[e] = element::store<T>(element::finish_fold(partial_[0].values[e]));
      }
    }
  }

  void load(Block& block, std::size_t input, std::size_t i, std::size_t count) {
    const T* const in = elements_of<const T>(call_.inputs[input]) + i;
    for (std::size_t e = 0; e < count; ++e) block.values[e] = element::load(in[e]);
  }

  static void combine(Block& left, const Block& right, std::size_t count) {
    for (std::size_t e = 0; e < count; ++e) {
      left.values[e] = element::apply<op>(left.values[e], right.values[e]);
    }
  }

  void fold_from(std::size_t start, std::size_t i, std::size_t count) {
    load(partial_[0], start, i, count);
    for (std::size_t step = 1; step < inputs(); ++step) {
      load(term_, (start + step) % inputs(), i, count);
      combine(partial_[0], term_, count);
    }
  }

  // Neighbours are multiplied, then neighbouring products, and further.
  void fold_tree(std::size_t i, std::size_t count) {
    for (std::size_t k = 0; k < inputs(); ++k) load(partial_[k], k, i, count);
    for (std::size_t reach = 1; reach < inputs(); reach *= 2) {
      for (std::size_t k = 0; k + reach < inputs(); k += 2 * reach) {
        combine(partial_[k], partial_[k + reach], count);
      }
    }
  }

  const KernelCall& call_;
  std::size_t count_;
  ReductionOrder order_;
  std::vector<Block> partial_;
  Block term_;
};

}  // namespace

void reduce_by_steps(const KernelCall& call) {
  visit_enum<FoldOp::kProduct>(element::fold_of(call.parameters.reduce), [&](auto op) {
    if constexpr (op.kValue != FoldOp::kSum) {
      visit_number<element::ignores_sign(op.kValue)>(call.outputs[0].dtype, [&](auto tag) {
        StepReduction<op.kValue, typename decltype(tag)::Type>(call).run();
      });
    }
  });
}

}  // namespace belfry::kernels
