// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/mirror.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/error.h"
#include "belfry/tensor.h"
#include "kernels/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace belfry::detail {
namespace {

using Words = std::vector<LeafDescription>;
using ElementBytes = std::span<const std::byte>;

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

// Values with equal texts, such as NaNs, are told apart by their bits.
struct ElementTexts {
  std::string reference;
  std::string other;
};

template <class E>
std::string element_text(const std::byte* at) {
  E element;
  std::memcpy(&element, at, sizeof(E));
  if constexpr (std::is_same_v<E, element::BoolByte>) {
    return *at == std::byte{0} ? "false" : "true";
  } else if constexpr (std::is_same_v<E, Float16> || std::is_same_v<E, BFloat16>) {
    return fmt::format("{}", static_cast<float>(element));
  } else if constexpr (sizeof(E) == 1) {
    return std::to_string(static_cast<int>(element));
  } else {
    return fmt::format("{}", element);
  }
}

std::string bits_text(const std::byte* at, std::size_t size) {
  std::string text = " (bits ";
  for (std::size_t i = size; i > 0; --i) {
    text += fmt::format("{:02x}", std::to_integer<unsigned>(at[i - 1]));
  }
  return text + ")";
}

ElementTexts texts_of(DType dtype, const std::byte* reference, const std::byte* other) {
  ElementTexts texts;
  kernels::visit_type(kernels::AllTypes{}, dtype, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    texts = {element_text<E>(reference), element_text<E>(other)};
  });
  if (texts.reference == texts.other) {
    texts.reference += bits_text(reference, size_of(dtype));
    texts.other += bits_text(other, size_of(dtype));
  }
  return texts;
}

// The divergence of the value `index` at `leaf`, with the first different element.
Divergence bits_differ(const ComparedValues& values, std::size_t index, std::size_t leaf,
                       ElementBytes reference, ElementBytes other) {
  const DType dtype = values.leaves[0][leaf].dtype;
  const std::size_t size = size_of(dtype);
  const auto differs = std::ranges::mismatch(reference, other);
  const auto element = static_cast<std::size_t>(differs.in1 - reference.begin()) / size;
  const ElementTexts texts =
      texts_of(dtype, reference.data() + element * size, other.data() + element * size);
  const std::string where = reference.size() > size ? " at element " + std::to_string(element) : "";
  const Words words = values.describe(0);
  return {index, "bits" + place_text(words, word_of_leaf(words, leaf)),
          "has " + texts.reference + where, "has " + texts.other + where};
}

// In a comparison after a change, components have the place of the change; in a comparison during
// an update, the place of the update.
struct Change {
  CallSite site;
  std::string text;
};

Change change_of(Compared what, const VariableInfo& info, CallSite site) {
  if (what != Compared::kAllLeaves) return {site, ""};
  if (!info.changed.empty()) return {info.changed, "was changed here, and "};
  return {info.created, "was made here, and "};
}

// The first replica of a component. Components without a replica are numbered as if every replica
// had a component.
int replica_of(const VariableInfo& info, std::size_t component) {
  const std::vector<int>& seen = info.places.component;
  const auto found = std::ranges::find(seen, static_cast<int>(component));
  const std::size_t position =
      found == seen.end() ? component : static_cast<std::size_t>(found - seen.begin());
  return info.first_replica + static_cast<int>(position);
}

[[noreturn]] void throw_diverged(const Divergence& found, Compared what, const VariableInfo& info,
                                 CallSite site) {
  const bool results = what == Compared::kResults;
  const Change change = change_of(what, info, site);
  ErrorReport report;
  report.code = ErrorCode::kMirroredDiverged;
  report.summary =
      (results ? "what an update of mirrored " + info.name + " returned for its components differs"
               : "the components of mirrored " + info.name + " differ") +
      " in " + found.in;
  report.site = site;
  report.replicas.push_back({replica_of(info, 0), change.site, change.text + found.reference});
  report.replicas.push_back(
      {replica_of(info, found.index), change.site, change.text + found.other});
  report.expected = "an update that does the same on every device";
  report.hint = (results ? "take results that differ between components from update_each"
                         : "compute the value once, before the update, or all_reduce the values of "
                           "the replicas first; use a replica-local variable only if each replica "
                           "is to have its own value") +
                ("; " + info.name + " was made at " + to_string(info.created));
  throw VariableMismatchError(std::move(report));
}

std::vector<std::byte> bytes_of(const LeafRef& leaf, CallSite site) {
  std::vector<std::byte> bytes(leaf.bytes());
  if (bytes.empty()) return bytes;
  if (leaf.tensor != nullptr) {
    leaf.tensor->read(bytes.data(), site);
  } else {
    std::memcpy(bytes.data(), leaf.data, bytes.size());
  }
  return bytes;
}

// Leaves in host memory are compared without a copy.
bool differs_on_host(const LeafRef& first, const LeafRef& own) {
  return first.bytes() != 0 && std::memcmp(own.data, first.data, first.bytes()) != 0;
}

// Values of a type with ElementTraits differ if their texts do: the bytes between the members of
// such a type have no value.
std::optional<Divergence> other_text(const ComparedValues& values, std::size_t leaf) {
  const LeafRef& first = values.leaves[0][leaf];
  const std::string reference = first.own->text(first.data);
  for (std::size_t index = 1; index < values.leaves.size(); ++index) {
    const LeafRef& own = values.leaves[index][leaf];
    if (!differs_on_host(first, own)) continue;
    const std::string other = own.own->text(own.data);
    if (other == reference) continue;
    const Words words = values.describe(0);
    return Divergence{index, "value" + place_text(words, word_of_leaf(words, leaf)),
                      "has " + reference, "has " + other};
  }
  return std::nullopt;
}

// The first value with different bits from the first value.
std::optional<Divergence> other_bits(const ComparedValues& values, std::size_t leaf,
                                     CallSite site) {
  const std::vector<std::vector<LeafRef>>& each = values.leaves;
  if (each[0][leaf].own != nullptr) return other_text(values, leaf);
  const bool on_host = each[0][leaf].tensor == nullptr;
  std::vector<std::byte> reference;
  if (!on_host) reference = bytes_of(each[0][leaf], site);
  for (std::size_t index = 1; index < each.size(); ++index) {
    if (on_host && !differs_on_host(each[0][leaf], each[index][leaf])) continue;
    if (on_host) reference = bytes_of(each[0][leaf], site);
    const std::vector<std::byte> own = bytes_of(each[index][leaf], site);
    if (own != reference) return bits_differ(values, index, leaf, reference, own);
  }
  return std::nullopt;
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
    if (each[0][leaf].tensor != nullptr && what != Compared::kAllLeaves) continue;
    if (const auto found = other_bits(values, leaf, site)) throw_diverged(*found, what, info, site);
  }
}

}  // namespace belfry::detail
