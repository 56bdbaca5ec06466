// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The comparison of the arrays of a file with the variables of a checkpoint.
#include "belfry/detail/fit_to_file.h"
#include "belfry/detail/saved_variable.h"
#include "belfry/error.h"
#include "values/bool_bytes.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

constexpr std::size_t kMostNames = 10;

bool has_odd_boolean(const FileTensor& tensor) {
  return tensor.dtype == DType::kBool && first_other_than_bool(tensor.bytes) < tensor.bytes.size();
}

std::string type_of(const SavedLeaf& saved) {
  return saved.leaf.own == nullptr ? to_string(saved.leaf.dtype) : name_of(*saved.leaf.own);
}

// The first names, in quotes.
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += (i == 0 ? "\"" : ", \"") + names[i] + "\"";
  }
  if (names.size() > kMostNames) {
    text += " and " + std::to_string(names.size() - kMostNames) + " more";
  }
  return text;
}

// The prefix of all `names` in `longer`, a sorted list; nothing without a common prefix.
std::optional<std::string> prefix_of(const std::vector<std::string>& names,
                                     const std::vector<std::string>& longer) {
  for (const std::string& candidate : longer) {
    if (candidate.size() <= names.front().size() || !candidate.ends_with(names.front())) continue;
    const std::string prefix = candidate.substr(0, candidate.size() - names.front().size());
    const auto is_there = [&](const std::string& name) {
      return std::ranges::binary_search(longer, prefix + name);
    };
    if (std::ranges::all_of(names, is_there)) return prefix;
  }
  return std::nullopt;
}

// The prefix of all `names` that `shorter`, a sorted list, has without the prefix.
std::optional<std::string> surplus_prefix_of(const std::vector<std::string>& names,
                                             const std::vector<std::string>& shorter) {
  for (const std::string& candidate : shorter) {
    if (candidate.size() >= names.front().size() || !names.front().ends_with(candidate)) continue;
    const std::string prefix = names.front().substr(0, names.front().size() - candidate.size());
    const auto is_there = [&](const std::string& name) {
      return name.starts_with(prefix) &&
             std::ranges::binary_search(shorter, name.substr(prefix.size()));
    };
    if (std::ranges::all_of(names, is_there)) return prefix;
  }
  return std::nullopt;
}

// Calls `visit` for each name of an array with this beginning, until `visit` returns true.
template <class Arrays, class F>
bool any_below(const Arrays& arrays, const std::string& beginning, const F& visit) {
  for (auto at = arrays.lower_bound(beginning); at != arrays.end(); ++at) {
    if (!at->first.starts_with(beginning)) return false;
    if (visit(at->first)) return true;
  }
  return false;
}

}  // namespace

bool has_array(const TensorFile& file, const std::string& name) {
  return file.tensors.contains(name) || file.unsupported.contains(name);
}

bool has_arrays_below(const TensorFile& file, const std::string& beginning) {
  const auto any = [](const std::string&) { return true; };
  return any_below(file.tensors, beginning, any) || any_below(file.unsupported, beginning, any);
}

bool has_leaves_of(const TensorFile& file, const std::string& name) {
  return has_array(file, name) || has_arrays_below(file, name + "[") ||
         has_arrays_below(file, name + "{");
}

std::vector<std::string> keys_of_map(const TensorFile& file, const std::string& name) {
  std::vector<std::string> keys;
  const std::string beginning = name + "{";
  const auto note = [&](const std::string& array) {
    const std::size_t end = array.find('}', beginning.size());
    if (end == std::string::npos) return false;
    keys.push_back(array.substr(beginning.size(), end - beginning.size()));
    return false;
  };
  any_below(file.tensors, beginning, note);
  any_below(file.unsupported, beginning, note);
  return keys;
}

std::optional<std::size_t> length_of_row(const TensorFile& file, const std::string& name) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end() || found->second.shape.rank() != 1) return std::nullopt;
  return static_cast<std::size_t>(found->second.shape.extents().front());
}

bool FileComparison::compare(const SavedLeaf& leaf, bool any_shape, const VariableInfo& info,
                             const char* owner) {
  requested_.insert(leaf.name);
  const std::string name = "\"" + leaf.name + "\"";
  const auto refuse_as = [&](bool is_missing, std::string text) {
    refuse({leaf.name, is_missing, std::move(text), type_of(leaf) + to_string(leaf.shape), &info,
            owner});
    return false;
  };
  if (const auto other = file_.unsupported.find(leaf.name); other != file_.unsupported.end()) {
    return refuse_as(false, name + " is " + other->second.dtype + to_string(other->second.shape) +
                                " in the file, an element type that is not supported");
  }
  const auto found = file_.tensors.find(leaf.name);
  if (found == file_.tensors.end()) return refuse_as(true, "the file has no " + name);
  const FileTensor& array = found->second;
  const bool fits = leaf.leaf.own == nullptr && array.dtype == leaf.leaf.dtype &&
                    (array.shape == leaf.shape || (any_shape && leaf.leaf.tensor != nullptr));
  if (!fits) {
    return refuse_as(
        false, name + " is " + to_string(array.dtype) + to_string(array.shape) + " in the file");
  }
  if (!has_odd_boolean(array)) return true;
  return refuse_as(false, name + " has a boolean that is neither 0 nor 1 in the file");
}

std::vector<std::string> FileComparison::unrequested() const {
  std::vector<std::string> names;
  for (const auto& member : file_.tensors) names.push_back(member.first);
  for (const auto& member : file_.unsupported) names.push_back(member.first);
  std::erase_if(names, [&](const std::string& name) { return requested_.contains(name); });
  std::ranges::sort(names);
  return names;
}

std::string FileComparison::hint(const std::vector<std::string>& missing,
                                 const std::vector<std::string>& unrequested) const {
  if (!missing.empty()) {
    if (const auto prefix = prefix_of(missing, unrequested)) {
      return "the file has all missing names behind \"" + *prefix +
             "\": give the variables these names, or rename the arrays of the TensorFile";
    }
    if (const auto prefix = surplus_prefix_of(missing, unrequested)) {
      return "the file has all missing names without \"" + *prefix +
             "\" in front: give the variables these names, or rename the arrays of the TensorFile";
    }
  }
  if (mismatches_.size() == 1) {
    return std::string("the ") + mismatches_.front().owner + " was made at " +
           to_string(mismatches_.front().info->created);
  }
  return "make the variables of the program that saved the file, or restore a checkpoint of fewer "
         "variables";
}

void FileComparison::require_all(CallSite site) const {
  if (mismatches_.empty()) return;
  ErrorReport report;
  report.code = ErrorCode::kVariableMismatch;
  report.site = site;
  if (mismatches_.size() == 1) {
    report.summary = mismatches_.front().found;
    report.expected = mismatches_.front().wanted;
  } else {
    report.summary = std::to_string(mismatches_.size()) + " arrays of the file do not fit:";
    for (const LeafMismatch& mismatch : mismatches_) {
      report.summary += "\n  " + mismatch.found + "; expected " + mismatch.wanted + ", of the " +
                        mismatch.owner + " made at " + to_string(mismatch.info->created);
    }
  }
  std::vector<std::string> missing;
  for (const LeafMismatch& mismatch : mismatches_) {
    if (mismatch.is_missing) missing.push_back(mismatch.name);
  }
  const std::vector<std::string> others = unrequested();
  if (!missing.empty() && !others.empty()) {
    report.summary += "\n  no variable asks for the file's " + listed(others);
  }
  report.hint = hint(missing, others);
  throw VariableMismatchError(std::move(report));
}

void require_restorable(const std::vector<SavedLeaf>& saved,
                        const std::vector<SavedLeaf>& components, const VariableInfo& info,
                        CallSite site) {
  const auto same = [](const SavedLeaf& a, const SavedLeaf& b) {
    return a.name == b.name && a.shape == b.shape;
  };
  if (std::ranges::equal(saved, components, same)) return;
  const auto text_of = [](const std::vector<SavedLeaf>& leaves) {
    std::string text;
    for (const SavedLeaf& leaf : leaves) {
      text += (text.empty() ? "" : ", ") + leaf.name + " " + type_of(leaf) + to_string(leaf.shape);
    }
    return text.empty() ? "nothing" : text;
  };
  ErrorReport report;
  report.code = ErrorCode::kVariableMismatch;
  report.site = site;
  report.summary = "the saved value of \"" + info.name + "\" would be " + text_of(saved) +
                   "; a component is " + text_of(components);
  report.expected = "a value that a restore can give to every component";
  report.hint =
      "add on_restore, which returns the part of a component, to the reduction of the "
      "variable made at " +
      to_string(info.created);
  throw VariableMismatchError(std::move(report));
}

}  // namespace belfry::detail
