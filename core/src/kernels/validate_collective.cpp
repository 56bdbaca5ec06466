// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/collective.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/kernel.h"
#include "belfry/error.h"
#include "kernels/views.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

namespace belfry {
namespace {

// Whether views of buffers that are not foreign have a byte in common. Two such buffers have no
// common memory.
bool share_bytes(const BufferView& a, const BufferView& b) {
  return a.buffer == b.buffer && a.count > 0 && b.count > 0 && a.offset < b.offset + b.bytes() &&
         b.offset < a.offset + a.bytes();
}

/// The checks of a collective, with the data for their messages.
class CollectiveValidator {
 public:
  CollectiveValidator(const Collective& collective, int members)
      : collective_(collective), members_(members) {}

  void run() const;

 private:
  void check_members() const;
  void check_views() const;
  void check_view(int rank, const BufferView& view, std::size_t count, DType dtype) const;
  void check_overlaps() const;
  bool has_foreign_memory() const;
  bool few_overlap() const;
  bool many_overlap() const;
  void check_reduction() const;

  const CollectivePart& part(int rank) const {
    return collective_.parts[static_cast<std::size_t>(rank)];
  }
  bool has_root() const { return collective_.kind == CollectiveKind::kBroadcast; }
  int ranks() const { return collective_.ranks == 0 ? members_ : collective_.ranks; }
  // The view with the elements of a member: the output, if the root is in another process.
  const BufferView& model() const {
    const int root = collective_.root - collective_.first;
    if (!has_root()) return part(0).input;
    return root >= 0 && root < members_ ? part(root).input : part(0).output;
  }
  std::string named(const std::string& text) const {
    return fmt::format("{}: {}", to_string(collective_.kind), text);
  }
  [[noreturn]] void mismatch(const std::string& text) const {
    throw StructureMismatchError(ErrorCode::kStructure, named(text), "", detail::submitting_site());
  }
  [[noreturn]] void fail(ErrorCode code, const std::string& text, const char* hint = "") const {
    throw InvalidArgumentError(code, named(text), hint, detail::submitting_site());
  }

  const Collective& collective_;
  int members_;
};

void CollectiveValidator::run() const {
  check_members();
  check_views();
  check_overlaps();
  check_reduction();
}

void CollectiveValidator::check_members() const {
  if (collective_.parts.size() != static_cast<std::size_t>(members_)) {
    mismatch(fmt::format("{} parts for {} members", collective_.parts.size(), members_));
  }
  if (has_root() && (collective_.root < 0 || collective_.root >= ranks())) {
    fail(ErrorCode::kInvalidArgument, fmt::format("root {} of {} ranks", collective_.root, ranks()),
         "a root is a position in the communicator, not a device");
  }
  for (int rank = 0; rank < members_; ++rank) {
    if (part(rank).stream == nullptr) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("rank {} has no stream", collective_.first + rank));
    }
  }
}

void CollectiveValidator::check_views() const {
  const bool gathers = collective_.kind == CollectiveKind::kAllGather;
  const std::size_t count = model().count;
  const DType dtype = model().dtype;
  const std::size_t output_count = count * (gathers ? static_cast<std::size_t>(ranks()) : 1);
  for (int rank = 0; rank < members_; ++rank) {
    if (collective_.reads_input_of(rank)) check_view(rank, part(rank).input, count, dtype);
    check_view(rank, part(rank).output, output_count, dtype);
  }
}

void CollectiveValidator::check_view(int rank, const BufferView& view, std::size_t count,
                                     DType dtype) const {
  if (view.count != count || view.dtype != dtype) {
    mismatch(fmt::format("rank {} has {} elements of {} where {} of {} are expected",
                         collective_.first + rank, view.count, to_string(view.dtype), count,
                         to_string(dtype)));
  }
  if (const auto fault = kernels::fault_of(view)) {
    fail(fault->code, fmt::format("a view of rank {} {}", collective_.first + rank, fault->text));
  }
}

// In place, only a rank's own input may be its output. Inputs may overlap one another.
void CollectiveValidator::check_overlaps() const {
  constexpr int kFew = 16;
  if (!(members_ <= kFew ? few_overlap() : many_overlap())) return;
  fail(ErrorCode::kInvalidArgument, "the memory of two parts overlaps",
       "in place means that input and output are the very same view");
}

bool CollectiveValidator::has_foreign_memory() const {
  for (int rank = 0; rank < members_; ++rank) {
    const CollectivePart& own = part(rank);
    if (own.output.buffer->is_foreign()) return true;
    if (collective_.reads_input_of(rank) && own.input.buffer->is_foreign()) return true;
  }
  return false;
}

// Compares all pairs, without a list of the views: a call may have many small tensors.
bool CollectiveValidator::few_overlap() const {
  const bool by_address = has_foreign_memory();
  const auto share = [&](const BufferView& a, const BufferView& b) {
    return by_address ? kernels::share_memory(a, b) : share_bytes(a, b);
  };
  for (int rank = 0; rank < members_; ++rank) {
    const BufferView& output = part(rank).output;
    for (int other = 0; other < members_; ++other) {
      const CollectivePart& own = part(other);
      if (other < rank && share(output, own.output)) return true;
      if (!collective_.reads_input_of(other) || !share(output, own.input)) continue;
      // An input in place is an output, whose overlaps are found as such.
      if (!kernels::same_view(own.input, own.output)) return true;
    }
  }
  return false;
}

bool CollectiveValidator::many_overlap() const {
  Kernel kernel;
  kernel.inputs.reserve(collective_.parts.size());
  kernel.outputs.reserve(collective_.parts.size());
  for (int rank = 0; rank < members_; ++rank) {
    const CollectivePart& own = part(rank);
    const bool in_place = kernels::same_view(own.input, own.output);
    kernel.outputs.push_back(own.output);
    if (collective_.reads_input_of(rank) && !in_place) kernel.inputs.push_back(own.input);
  }
  return kernels::find_overlap(kernel, false).has_value();
}

// The kernel decides which types can be added and divided. Floats can: the first test is the
// quicker one.
void CollectiveValidator::check_reduction() const {
  if (collective_.kind != CollectiveKind::kAllReduce) return;
  if (is_floating(part(0).input.dtype) && collective_.op <= ReduceOp::kProd) return;
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = collective_.op;
  kernel.inputs = {part(0).input};
  kernel.outputs = kernel.inputs;
  validate(kernel, detail::submitting_site());
}

}  // namespace

std::string_view to_string(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kAllGather:
      break;
  }
  return "all_gather";
}

void validate(const Collective& collective, int members) {
  CollectiveValidator(collective, members).run();
}

std::vector<std::span<const CollectivePart>> collectives_of(std::span<const CollectivePart> parts,
                                                            int members) {
  const auto each = static_cast<std::size_t>(members);
  const auto reject = [](const std::string& text) {
    throw StructureMismatchError(ErrorCode::kStructure, "all_reduce: " + text, "",
                                 detail::submitting_site());
  };
  if (parts.empty() || parts.size() % each != 0) {
    reject(fmt::format("{} parts for {} members", parts.size(), members));
  }
  std::vector<std::span<const CollectivePart>> collectives;
  collectives.reserve(parts.size() / each);
  const DType dtype = parts.front().input.dtype;
  for (std::size_t first = 0; first < parts.size(); first += each) {
    const DType own = parts[first].input.dtype;
    if (own != dtype) {
      reject(fmt::format("{} and {} in one call", to_string(dtype), to_string(own)));
    }
    collectives.push_back(parts.subspan(first, each));
    for (std::size_t rank = 0; rank < each; ++rank) {
      if (parts[first + rank].stream == parts[rank].stream) continue;
      throw InvalidArgumentError(
          ErrorCode::kInvalidArgument,
          fmt::format("all_reduce: rank {} has several streams in one call", rank),
          "reduce all tensors of a call on the same streams");
    }
  }
  return collectives;
}

}  // namespace belfry
