// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/collective.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/kernel.h"
#include "belfry/error.h"
#include "kernels/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
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
  void check_counts() const;
  void check_view(int rank, const BufferView& view, std::size_t count, DType dtype) const;
  void check_transfers() const;
  void check_bounds(int rank, const BufferView& view) const;
  void check_overlaps() const;
  bool has_foreign_memory() const;
  bool few_overlap() const;
  bool many_overlap() const;
  void add_input(int rank, std::vector<BufferView>& inputs) const;
  void check_reduction() const;

  const CollectivePart& part(int rank) const {
    return collective_.parts[static_cast<std::size_t>(rank)];
  }
  bool is(CollectiveKind kind) const { return collective_.kind == kind; }
  bool has_root() const { return is(CollectiveKind::kBroadcast); }
  std::span<const std::size_t> counts() const {
    const bool has_counts = is(CollectiveKind::kAllGather) || is(CollectiveKind::kReduceScatter);
    return has_counts ? collective_.counts : std::span<const std::size_t>();
  }
  int ranks() const { return collective_.ranks == 0 ? members_ : collective_.ranks; }
  bool is_rank(int rank) const { return rank >= 0 && rank < ranks(); }
  bool is_here(int rank) const {
    return rank >= collective_.first && rank < collective_.first + members_;
  }
  // The view with the elements of a member: the output, if the root is in another process.
  const BufferView& model() const {
    const int root = collective_.root - collective_.first;
    if (is(CollectiveKind::kReduceScatter)) return part(0).output;
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
  if (is(CollectiveKind::kExchange)) {
    check_transfers();
  } else {
    check_counts();
    check_views();
  }
  check_overlaps();
  check_reduction();
}

void CollectiveValidator::check_members() const {
  if (collective_.parts.size() != static_cast<std::size_t>(members_)) {
    mismatch(fmt::format("{} parts for {} members", collective_.parts.size(), members_));
  }
  if (has_root() && !is_rank(collective_.root)) {
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

void CollectiveValidator::check_counts() const {
  const std::size_t counts = this->counts().size();
  if (counts == 0 || counts == static_cast<std::size_t>(ranks())) return;
  mismatch(fmt::format("{} counts for {} ranks", counts, ranks()));
}

// A rank has its own elements, and gathers or reduces the elements of all ranks.
void CollectiveValidator::check_views() const {
  const bool gathers = is(CollectiveKind::kAllGather);
  const bool scatters = is(CollectiveKind::kReduceScatter);
  const DType dtype = model().dtype;
  const std::span<const std::size_t> counts = this->counts();
  std::size_t own = model().count;
  const std::size_t all = counts.empty()
                              ? own * static_cast<std::size_t>(ranks())
                              : std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  for (int rank = 0; rank < members_; ++rank) {
    if (!counts.empty()) own = counts[static_cast<std::size_t>(collective_.first + rank)];
    if (collective_.reads_input_of(rank)) {
      check_view(rank, part(rank).input, scatters ? all : own, dtype);
    }
    check_view(rank, part(rank).output, gathers ? all : own, dtype);
  }
}

void CollectiveValidator::check_transfers() const {
  for (std::size_t i = 0; i < collective_.transfers.size(); ++i) {
    const Transfer& one = collective_.transfers[i];
    for (const int rank : {one.from, one.to}) {
      if (is_rank(rank)) continue;
      fail(ErrorCode::kInvalidArgument,
           fmt::format("transfer {} is of rank {} of {} ranks", i, rank, ranks()),
           "a rank is a position in the communicator, not a device");
    }
    const bool sends = is_here(one.from);
    const bool receives = is_here(one.to);
    const bool differ = one.input.count != one.output.count || one.input.dtype != one.output.dtype;
    if (sends && receives && differ) {
      mismatch(fmt::format("transfer {} has {} elements of {} for {} of {}", i, one.input.count,
                           to_string(one.input.dtype), one.output.count,
                           to_string(one.output.dtype)));
    }
    if (sends) check_bounds(one.from - collective_.first, one.input);
    if (receives) check_bounds(one.to - collective_.first, one.output);
  }
}

void CollectiveValidator::check_view(int rank, const BufferView& view, std::size_t count,
                                     DType dtype) const {
  if (view.count != count || view.dtype != dtype) {
    mismatch(fmt::format("rank {} has {} elements of {} where {} of {} are expected",
                         collective_.first + rank, view.count, to_string(view.dtype), count,
                         to_string(dtype)));
  }
  check_bounds(rank, view);
}

void CollectiveValidator::check_bounds(int rank, const BufferView& view) const {
  if (const auto fault = kernels::fault_of(view)) {
    fail(fault->code, fmt::format("a view of rank {} {}", collective_.first + rank, fault->text));
  }
}

// In place, only a rank's own input, or its slice of the input, may be its output. Inputs may
// overlap one another.
void CollectiveValidator::check_overlaps() const {
  constexpr int kFew = 16;
  const bool is_simple = !is(CollectiveKind::kReduceScatter) && !is(CollectiveKind::kExchange);
  if (!(is_simple && members_ <= kFew ? few_overlap() : many_overlap())) return;
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
  if (is(CollectiveKind::kExchange)) {
    for (const Transfer& one : collective_.transfers) {
      const bool in_place = kernels::same_view(one.input, one.output) && one.from == one.to;
      if (is_here(one.to)) kernel.outputs.push_back(one.output);
      if (is_here(one.from) && !in_place) kernel.inputs.push_back(one.input);
    }
  } else {
    for (int rank = 0; rank < members_; ++rank) {
      kernel.outputs.push_back(part(rank).output);
      if (collective_.reads_input_of(rank)) add_input(rank, kernel.inputs);
    }
  }
  return kernels::find_overlap(kernel, false).has_value();
}

// The elements of an input that are no output in place.
void CollectiveValidator::add_input(int rank, std::vector<BufferView>& inputs) const {
  const CollectivePart& own = part(rank);
  if (!is(CollectiveKind::kReduceScatter)) {
    if (!kernels::same_view(own.input, own.output)) inputs.push_back(own.input);
    return;
  }
  Collective placed = collective_;
  placed.ranks = ranks();
  const BufferView slice = placed.slice(own.input, collective_.first + rank);
  if (!kernels::same_view(slice, own.output)) return inputs.push_back(own.input);
  std::array<BufferView, 2> rest{own.input, own.input};
  rest[0].count = (slice.offset - own.input.offset) / size_of(slice.dtype);
  rest[1].offset = slice.offset + slice.bytes();
  rest[1].count = own.input.count - rest[0].count - slice.count;
  inputs.insert(inputs.end(), rest.begin(), rest.end());
}

// The kernel decides which types can be added and divided. Floats can: the first test is the
// quicker one.
void CollectiveValidator::check_reduction() const {
  if (!is(CollectiveKind::kAllReduce) && !is(CollectiveKind::kReduceScatter)) return;
  if (is_floating(part(0).input.dtype) && collective_.op <= ReduceOp::kProd) return;
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = collective_.op;
  kernel.inputs = {part(0).output};
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
      return "all_gather";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kExchange:
      break;
  }
  return "exchange";
}

bool Collective::involves(int member) const {
  if (kind != CollectiveKind::kExchange) return true;
  const int rank = first + member;
  return std::ranges::any_of(
      transfers, [rank](const Transfer& one) { return one.from == rank || one.to == rank; });
}

BufferView Collective::slice(const BufferView& whole, int rank) const {
  BufferView own = whole;
  const auto place = static_cast<std::size_t>(rank);
  std::size_t before = 0;
  if (counts.empty()) {
    own.count = whole.count / static_cast<std::size_t>(ranks);
    before = own.count * place;
  } else {
    own.count = counts[place];
    before = std::accumulate(counts.begin(), counts.begin() + rank, before);
  }
  own.offset += before * size_of(whole.dtype);
  return own;
}

std::uint64_t Collective::bytes() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (reads_input_of(static_cast<int>(i))) sum += parts[i].input.bytes();
  }
  if (kind != CollectiveKind::kExchange) return sum;
  for (const Transfer& one : transfers) {
    const bool is_here = one.from >= first && one.from < first + static_cast<int>(parts.size());
    if (is_here) sum += one.input.bytes();
  }
  return sum;
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
