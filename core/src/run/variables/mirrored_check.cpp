// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/mirrored_check.h"

#include "belfry/detail/reduce_values.h"
#include "belfry/error.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

using Words = std::vector<LeafDescription>;

/// The first difference of a value from the first value.
struct Divergence {
  std::size_t index = 0;
  std::string in{};
  std::string reference{};
  std::string other{};
};

std::string place_text(const Words& words, std::size_t leaf) {
  return leaf < words.size() ? " at leaf " + std::to_string(leaf) + words[leaf].path : "";
}

Divergence structures_differ(const ComparedValues& values, std::size_t index) {
  const Words first = values.describe(0);
  const Words other = values.describe(index);
  const std::size_t leaf = first_difference({first, other});
  const auto text = [leaf](const Words& words) {
    return "has " + leaf_text(words, leaf) + place_text(words, leaf);
  };
  // Different keys may have equal texts.
  const bool alike = first == other;
  return {index, index == values.other_tree ? "structure" : "shape" + place_text(first, leaf),
          text(first), alike ? "has as many in another structure" : text(other)};
}

// The words have an entry for each empty container, too.
Divergence bits_differ(const ComparedValues& values, std::size_t index, std::size_t leaf) {
  const Words words = values.describe(0);
  std::size_t word = 0;
  for (std::size_t left = leaf; left > 0 || !is_of_leaf(words[word]); ++word) {
    if (is_of_leaf(words[word])) --left;
  }
  return {index, "bits" + place_text(words, word), "has the reference bits", "has other bits"};
}

[[noreturn]] void throw_diverged(const Divergence& found, Compared what, const VariableInfo& info,
                                 CallSite site) {
  const bool results = what == Compared::kResults;
  ErrorReport report;
  report.code = ErrorCode::kMirroredDiverged;
  report.summary =
      (results ? "what an update of mirrored " + info.name + " returned for its components differs"
               : "the components of mirrored " + info.name + " differ") +
      " in " + found.in;
  report.site = site;
  report.replicas.push_back({0, info.created, found.reference});
  report.replicas.push_back({static_cast<int>(found.index), info.created, found.other});
  report.expected = "an update that does the same on every device";
  report.hint = results ? "take what differs between components from update_each"
                        : "use a replica-local variable for state that differs between replicas";
  throw VariableMismatchError(std::move(report));
}

std::vector<std::byte> bytes_of(const AnyTensor& tensor) {
  std::vector<std::byte> bytes(tensor.bytes());
  if (!bytes.empty()) tensor.read(bytes.data());
  return bytes;
}

// The index of the first value whose tensor has different bits; 0 if all bits are equal.
std::size_t other_tensor(const std::vector<std::vector<LeafRef>>& each, std::size_t leaf) {
  const std::vector<std::byte> reference = bytes_of(*each[0][leaf].tensor);
  for (std::size_t index = 1; index < each.size(); ++index) {
    if (bytes_of(*each[index][leaf].tensor) != reference) return index;
  }
  return 0;
}

std::size_t other_host_value(const std::vector<std::vector<LeafRef>>& each, std::size_t leaf) {
  const LeafRef& first = each[0][leaf];
  if (first.bytes() == 0) return 0;
  for (std::size_t index = 1; index < each.size(); ++index) {
    if (std::memcmp(each[index][leaf].data, first.data, first.bytes()) != 0) return index;
  }
  return 0;
}

}  // namespace

void require_equal(const ComparedValues& values, Compared what, const VariableInfo& info,
                   CallSite site) {
  const std::vector<std::vector<LeafRef>>& each = values.leaves;
  if (each.size() < 2) return;  // Nobody waits for a single one.
  for (std::size_t index = 1; index < each.size(); ++index) {
    if (index == values.other_tree || !same_leaves(each[0], each[index])) {
      throw_diverged(structures_differ(values, index), what, info, site);
    }
  }
  for (std::size_t leaf = 0; leaf < each.front().size(); ++leaf) {
    const bool on_host = each[0][leaf].tensor == nullptr;
    if (!on_host && what != Compared::kAllLeaves) continue;
    const std::size_t index = on_host ? other_host_value(each, leaf) : other_tensor(each, leaf);
    if (index > 0) throw_diverged(bits_differ(values, index, leaf), what, info, site);
  }
}

}  // namespace belfry::detail
