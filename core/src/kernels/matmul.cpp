// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "kernels/dispatch.h"
#include "kernels/families.h"
#include "kernels/matmul_tile.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

// The product goes block by block, so that the blocks in use fit into caches: blocks of 96 rows of
// the left factor and 512 columns of the right, 256 terms of each sum at a time. A product of 200 x
// 300 by 300 x 600, for example, has 3 x 2 blocks of rows and columns, each in two parts of 256 and
// 44 terms. Both blocks are packed first: transposed, converted to the type of the additions, and
// in the order in which the tile kernel reads.
//
// Invariant: an element's sum has the terms of all parts so far, in ascending order. It is a single
// left fold, as in three plain loops. Unfinished sums lie in the output, or in a panel if the
// output has 16-bit or 8-bit elements.
namespace belfry::kernels {
namespace {

constexpr std::size_t kRowBlock = 96;      // A multiple of every tile's height.
constexpr std::size_t kColumnBlock = 512;  // A multiple of every tile's width.
constexpr std::size_t kInnerBlock = 256;

/// A factor as stored: element (i, j) is at i * row_step + j * column_step.
template <class T>
struct Factor {
  const T* elements;
  std::size_t row_step;
  std::size_t column_step;

  const T* at(std::size_t row, std::size_t column) const {
    return elements + row * row_step + column * column_step;
  }
};

/// The sums: element (i, j) is at i * stride + j.
template <class A>
struct Sums {
  A* elements;
  std::size_t stride;
};

// Writes a group of lines, element k of each line side by side. Missing lines are zeros.
template <std::size_t group, class A, class T>
void pack_group(A* to, const T* from, std::size_t line_step, std::size_t depth_step,
                std::size_t lines, std::size_t depth) {
  if (lines == group) {
    for (std::size_t k = 0; k < depth; ++k, to += group, from += depth_step) {
      for (std::size_t l = 0; l < group; ++l) to[l] = static_cast<A>(+from[l * line_step]);
    }
    return;
  }
  for (std::size_t k = 0; k < depth; ++k, to += group, from += depth_step) {
    for (std::size_t l = 0; l < lines; ++l) to[l] = static_cast<A>(+from[l * line_step]);
    for (std::size_t l = lines; l < group; ++l) to[l] = A(0);
  }
}

template <std::size_t group, class A, class T>
void pack(A* to, const T* from, std::size_t line_step, std::size_t depth_step, std::size_t lines,
          std::size_t depth) {
  for (std::size_t first = 0; first < lines; first += group, to += group * depth) {
    const std::size_t width = std::min(group, lines - first);
    const T* line = from + first * line_step;
    if (line_step == 1) {
      pack_group<group>(to, line, 1, depth_step, width, depth);
    } else {
      pack_group<group>(to, line, line_step, depth_step, width, depth);
    }
  }
}

// Adds the product of packed factors to rows x columns sums.
template <class A>
void multiply_packed(const A* left, const A* right, std::size_t depth, Sums<A> sums,
                     std::size_t rows, std::size_t columns) {
  using Tile = MatmulTile<A>;
  for (std::size_t column = 0; column < columns; column += Tile::kColumns) {
    const std::size_t width = std::min(Tile::kColumns, columns - column);
    for (std::size_t row = 0; row < rows; row += Tile::kRows) {
      const std::size_t height = std::min(Tile::kRows, rows - row);
      A* corner = sums.elements + row * sums.stride + column;
      const A* a = left + row * depth;
      const A* b = right + column * depth;
      if (width == Tile::kColumns && height == Tile::kRows) {
        Tile::multiply(a, b, depth, corner, sums.stride);
        continue;
      }
      A edge[Tile::kRows * Tile::kColumns] = {};
      for (std::size_t r = 0; r < height; ++r) {
        std::copy_n(corner + r * sums.stride, width, edge + r * Tile::kColumns);
      }
      Tile::multiply(a, b, depth, edge, Tile::kColumns);
      for (std::size_t r = 0; r < height; ++r) {
        std::copy_n(edge + r * Tile::kColumns, width, corner + r * sums.stride);
      }
    }
  }
}

struct Extent {
  std::size_t rows;
  std::size_t columns;
  std::size_t inner;
};

/// Memory for packed blocks of both factors, and for the sums if the output cannot hold sums.
template <class A>
struct Workspace {
  using Tile = MatmulTile<A>;
  // The last group of each block may be padded.
  Workspace(Extent block, std::size_t depth, std::size_t sum_count)
      : left_count((block.rows + Tile::kRows) * depth),
        right_count((block.columns + Tile::kColumns) * depth),
        elements(std::make_unique_for_overwrite<A[]>(left_count + right_count + sum_count)) {}

  A* left() const { return elements.get(); }
  A* right() const { return elements.get() + left_count; }
  A* sums() const { return elements.get() + left_count + right_count; }

  std::size_t left_count;
  std::size_t right_count;
  std::unique_ptr<A[]> elements;
};

// The sums of all rows of a block of columns.
template <class A, class T>
void multiply_block(Factor<T> left, Factor<T> right, Extent extent, Sums<A> sums,
                    const Workspace<A>& workspace) {
  using Tile = MatmulTile<A>;
  for (std::size_t row = 0; row < extent.rows; ++row) {
    std::fill_n(sums.elements + row * sums.stride, extent.columns, A(0));
  }
  for (std::size_t k = 0; k < extent.inner; k += kInnerBlock) {
    const std::size_t depth = std::min(kInnerBlock, extent.inner - k);
    pack<Tile::kColumns>(workspace.right(), right.at(k, 0), right.column_step, right.row_step,
                         extent.columns, depth);
    for (std::size_t row = 0; row < extent.rows; row += kRowBlock) {
      const std::size_t rows = std::min(kRowBlock, extent.rows - row);
      pack<Tile::kRows>(workspace.left(), left.at(row, k), left.row_step, left.column_step, rows,
                        depth);
      multiply_packed(workspace.left(), workspace.right(), depth,
                      Sums<A>{sums.elements + row * sums.stride, sums.stride}, rows,
                      extent.columns);
    }
  }
}

template <class A, class T>
void store_sums(Sums<A> sums, Extent extent, T* out, std::size_t stride) {
  for (std::size_t row = 0; row < extent.rows; ++row) {
    const A* from = sums.elements + row * sums.stride;
    T* to = out + row * stride;
    for (std::size_t c = 0; c < extent.columns; ++c) {
      to[c] = static_cast<T>(element::finish_fold(from[c]));
    }
  }
}

template <class T>
void matmul(const KernelCall& call) {
  using A = Accumulator<T>;
  const KernelParameters& parameters = call.parameters;
  const Extent all{static_cast<std::size_t>(parameters.rows),
                   static_cast<std::size_t>(parameters.columns),
                   static_cast<std::size_t>(parameters.inner)};
  if (all.rows == 0 || all.columns == 0) return;
  const auto* a = elements_of<const T>(call.inputs[0]);
  const auto* b = elements_of<const T>(call.inputs[1]);
  const auto left =
      parameters.transpose_left ? Factor<T>{a, 1, all.rows} : Factor<T>{a, all.inner, 1};
  const auto right =
      parameters.transpose_right ? Factor<T>{b, 1, all.inner} : Factor<T>{b, all.columns, 1};
  auto* const out = elements_of<T>(call.outputs[0]);
  constexpr bool kSumsInOutput = std::is_same_v<A, T>;
  const std::size_t width = std::min(kColumnBlock, all.columns);
  const Workspace<A> workspace({std::min(kRowBlock, all.rows), width, 0},
                               std::min(kInnerBlock, all.inner),
                               kSumsInOutput ? 0 : all.rows * width);
  for (std::size_t column = 0; column < all.columns; column += width) {
    const Extent block{all.rows, std::min(width, all.columns - column), all.inner};
    Sums<A> sums{workspace.sums(), width};
    if constexpr (kSumsInOutput) sums = {out + column, all.columns};
    multiply_block(left, Factor<T>{right.at(0, column), right.row_step, right.column_step}, block,
                   sums, workspace);
    store_sums(sums, block, out + column, all.columns);
  }
}

}  // namespace

void run_matmul(const KernelCall& call) {
  // Sums of products have the same bits whether integers are signed or not.
  visit_number<true>(call.outputs[0].dtype,
                     [&](auto tag) { matmul<typename decltype(tag)::Type>(call); });
}

}  // namespace belfry::kernels
