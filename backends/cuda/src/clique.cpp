// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "clique.h"

#include "belfry/error.h"
#include "ownership.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string>

namespace belfry::cuda {
namespace {

std::string describe(const BufferView& view) {
  return std::to_string(view.count) + " " + to_string(view.dtype);
}

[[noreturn]] void throw_different(int rank, const BufferView& view, const std::string& expected) {
  throw StructureMismatchError(
      ErrorReport{.code = ErrorCode::kStructure,
                  .summary = "the parts of a collective differ: rank " + std::to_string(rank) +
                             " has " + describe(view),
                  .site = {},
                  .replicas = {},
                  .expected = expected,
                  .hint = "every member passes equally many elements of one type"});
}

bool is_read(const PartShape& shape, int rank) {
  return shape.reading_rank < 0 || shape.reading_rank == rank;
}

bool is_written(const PartShape& shape, int rank) {
  return shape.writing_rank < 0 || shape.writing_rank == rank;
}

}  // namespace

Clique::Clique(std::shared_ptr<SharedState> shared, std::vector<Device*> devices)
    : shared_(std::move(shared)), devices_(std::move(devices)), ranks_(devices_.size()) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
}

void Clique::all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  require_parts(parts, {});
  require_reducible(op, parts, {});
  do_all_reduce(op, parts);
}

void Clique::reduce(ReduceOp op, int root, std::span<const CollectivePart> parts) {
  require_rank(root);
  const PartShape shape{.writing_rank = root};
  require_parts(parts, shape);
  require_reducible(op, parts, shape);
  do_reduce(op, root, parts);
}

void Clique::broadcast(int root, std::span<const CollectivePart> parts) {
  require_rank(root);
  const PartShape shape{.reading_rank = root};
  require_parts(parts, shape);
  require_disjoint(parts, shape);
  do_broadcast(root, parts);
}

void Clique::all_gather(std::span<const CollectivePart> parts) {
  const PartShape shape{.output_factor = parts.size()};
  require_parts(parts, shape);
  require_disjoint(parts, shape);
  do_all_gather(parts);
}

void Clique::check_health() {
  for (Device* device : devices_) device->check_health();
}

Stream& Clique::stream(const CollectivePart& part) const { return own(*shared_, *part.stream); }

void* Clique::address(const BufferView& view) const { return address_of(*shared_, view); }

std::vector<BufferPtr> Clique::buffers_of(std::span<const CollectivePart> parts) {
  std::vector<BufferPtr> buffers;
  for (const CollectivePart& part : parts) {
    if (part.input.buffer != nullptr) buffers.push_back(part.input.buffer);
    if (part.output.buffer != nullptr) buffers.push_back(part.output.buffer);
  }
  return buffers;
}

void Clique::require_rank(int rank) const {
  if (rank >= 0 && rank < size()) return;
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      "rank " + std::to_string(rank) + " of a communicator of " + std::to_string(size()));
}

void Clique::require_parts(std::span<const CollectivePart> parts, const PartShape& shape) const {
  if (parts.size() != devices_.size()) {
    throw StructureMismatchError(
        ErrorCode::kStructure,
        std::to_string(parts.size()) + " parts for a communicator of " + std::to_string(size()));
  }
  const int reference = shape.reading_rank < 0 ? 0 : shape.reading_rank;
  const BufferView& model = parts[static_cast<std::size_t>(reference)].input;
  const BufferView result{nullptr, 0, model.count * shape.output_factor, model.dtype};
  for (int rank = 0; rank < size(); ++rank) {
    const CollectivePart& part = parts[static_cast<std::size_t>(rank)];
    if (part.stream == nullptr || &own(*shared_, *part.stream).state() != &device(rank).state()) {
      throw InvalidArgumentError(
          ErrorCode::kInvalidArgument,
          "the stream of rank " + std::to_string(rank) + " is not of the device of that rank");
    }
    const auto require_view = [&](const BufferView& view, const BufferView& expected) {
      const int gpu = own(*shared_, view).state().gpu();
      if (view.count != expected.count || view.dtype != expected.dtype) {
        throw_different(rank, view, describe(expected));
      }
      if (gpu != device(rank).gpu()) {
        throw InvalidArgumentError(
            ErrorCode::kInvalidArgument,
            "a buffer of rank " + std::to_string(rank) + " is not on the device of that rank");
      }
    };
    if (is_read(shape, rank)) require_view(part.input, model);
    if (is_written(shape, rank)) require_view(part.output, result);
  }
}

// Of what is read and written no two share bytes, but for an output that is its input's very view.
void Clique::require_disjoint(std::span<const CollectivePart> parts, const PartShape& shape) const {
  struct Range {
    const std::byte* begin;
    const std::byte* end;
  };
  std::vector<Range> ranges;
  const auto add = [&](const BufferView& view) {
    const auto* begin = static_cast<const std::byte*>(address(view));
    if (view.bytes() > 0) ranges.push_back({begin, begin + view.bytes()});
  };
  for (int rank = 0; rank < size(); ++rank) {
    const auto& [input, output, stream] = parts[static_cast<std::size_t>(rank)];
    const bool in_place = input.buffer == output.buffer && input.offset == output.offset &&
                          input.count == output.count && input.dtype == output.dtype;
    add(output);
    if (is_read(shape, rank) && !in_place) add(input);
  }
  std::ranges::sort(ranges, std::less<>{}, &Range::begin);
  const auto overlap = [](const Range& a, const Range& b) { return b.begin < a.end; };
  if (std::ranges::adjacent_find(ranges, overlap) == ranges.end()) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "the memory of two parts of a collective overlaps",
                             "in place means that input and output are the very same view");
}

// Asks the rules of the reduction kernel, so that every backend refuses the same reductions.
void Clique::require_reducible(ReduceOp op, std::span<const CollectivePart> parts,
                               const PartShape& shape) const {
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = op;
  for (int rank = 0; rank < size(); ++rank) {
    kernel.inputs.push_back(parts[static_cast<std::size_t>(rank)].input);
    if (is_written(shape, rank)) {
      kernel.outputs.push_back(parts[static_cast<std::size_t>(rank)].output);
    }
  }
  validate(kernel);
}

}  // namespace belfry::cuda
