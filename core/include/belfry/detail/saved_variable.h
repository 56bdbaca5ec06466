// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/fit_to_file.h"
#include "belfry/detail/make_variable.h"
#include "belfry/detail/split_total.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/tensor_file.h"
#include "belfry/variable.h"

#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// A leaf in a file: its name, and its place.
struct SavedLeaf {
  std::string name;
  Shape shape;
  LeafRef leaf;
};

/// Copies the elements of a leaf. Order: blocks the host. Throws: UnsupportedError for a leaf of a
/// type with ElementTraits, which files do not have.
FileTensor file_tensor(const SavedLeaf& leaf, CallSite site);
/// Throws: InvalidArgumentError (kInvalidArgument) if the file has an array of this name.
void add_to(TensorFile& file, const std::string& name, FileTensor tensor, CallSite site);
/// A leaf missing in a file, or present with a different type or shape.
struct LeafMismatch {
  std::string name;
  bool is_missing;
  std::string found;   ///< `the file has no "w"`.
  std::string wanted;  ///< `float32[2]`.
  const VariableInfo* info;
  const char* owner;  ///< `variable`.
};

/// The comparison of a file with the variables of a checkpoint.
class FileComparison {
 public:
  explicit FileComparison(const TensorFile& file) : file_(file) {}

  const TensorFile& file() const { return file_; }
  /// Compares a leaf, and returns whether the leaf fits. With `any_shape` a tensor has the shape in
  /// the file. `owner` is the kind of the object that is saved.
  bool compare(const SavedLeaf& leaf, bool any_shape, const VariableInfo& info,
               const char* owner = "variable");
  /// Notes an array that fits, and is refused for its elements.
  void refuse(LeafMismatch mismatch) { mismatches_.push_back(std::move(mismatch)); }
  /// Throws VariableMismatchError (kVariableMismatch) with all mismatches, unless there is none. If
  /// arrays are missing, the error names the arrays of the file that no variable has, and a prefix
  /// that tells all missing names from them.
  void require_all(CallSite site) const;

 private:
  std::vector<std::string> unrequested() const;
  std::string hint(const std::vector<std::string>& missing,
                   const std::vector<std::string>& unrequested) const;

  const TensorFile& file_;
  std::set<std::string> requested_;
  std::vector<LeafMismatch> mismatches_;
};

/// Gives a leaf the elements that a file has under its name. The file has the leaf. A tensor
/// without a device comes to `place`.
void load_leaf(const TensorFile& file, const SavedLeaf& leaf, Placement place, CallSite site);
/// Throws VariableMismatchError (kVariableMismatch) if the saved leaves have other lengths than the
/// leaves of a component: no restore could give them to the components.
void require_restorable(const std::vector<SavedLeaf>& saved,
                        const std::vector<SavedLeaf>& components, const VariableInfo& info,
                        CallSite site);

/// The leaves of a variable's value, named by the variable and the path in it.
template <Nest T>
std::vector<SavedLeaf> saved_leaves(const std::string& name, T& value) {
  std::vector<std::string> paths;
  for (const LeafDescription& leaf : describe_leaves(value)) {
    if (is_of_leaf(leaf)) paths.push_back(leaf.path);
  }
  std::vector<SavedLeaf> leaves;
  for_each_leaf(value, [&](auto& leaf) {
    using Leaf = std::remove_cvref_t<decltype(leaf)>;
    Shape shape{};
    if constexpr (IsTensor<Leaf>::value) {
      shape = leaf.shape();
    } else if constexpr (!Element<Leaf> && !UserElement<Leaf>) {
      shape = Shape({static_cast<std::int64_t>(leaf.size())});
    }
    leaves.push_back({name + paths[leaves.size()], std::move(shape), leaf_ref(leaf)});
  });
  return leaves;
}

/// A variable of a checkpoint.
class SavedVariable {
 public:
  SavedVariable() = default;
  SavedVariable(const SavedVariable&) = delete;
  SavedVariable& operator=(const SavedVariable&) = delete;
  virtual ~SavedVariable() = default;

  virtual const VariableInfo& info() const = 0;
  virtual void save(TensorFile& file, CallSite site) = 0;
  virtual void compare(FileComparison& comparison) = 0;
  /// Makes the new components, and changes nothing yet. The file has all leaves.
  virtual void stage(const TensorFile& file, SumSplit sums, CallSite site) = 0;
  /// In a run to which processes listen, after `stage`: the message about their new components.
  virtual const Bytes& message() const = 0;
  /// Puts the new components in place.
  virtual void commit() noexcept = 0;
  virtual void discard() noexcept = 0;
};

template <class T>
class SavedNest final : public SavedVariable {
 public:
  SavedNest(StrategyCore& core, std::shared_ptr<VariableState<T>> state, CallSite site)
      : core_(core), variable_(std::move(state)) {
    require_owner(core, variable_.state(site).info, site);
  }

  const VariableInfo& info() const override { return variable_.state({}).info; }

  void save(TensorFile& file, CallSite site) override {
    T value = read_variable(core_, variable_, site);
    VariableState<T>& state = variable_.state(site);
    if (state.reader) value = state.reader->on_save(value);
    const std::vector<SavedLeaf> leaves = saved_leaves(info().name, value);
    if (state.reader && !has_other_lengths()) {
      require_restorable(leaves, saved_leaves(info().name, state.components[0].value), info(),
                         site);
    }
    for (const SavedLeaf& leaf : leaves) add_to(file, leaf.name, file_tensor(leaf, site), site);
  }

  void compare(FileComparison& comparison) override {
    const bool any_shape = has_other_lengths();
    const auto compare_all = [&](T& value) {
      for (const SavedLeaf& leaf : saved_leaves(info().name, value)) {
        comparison.compare(leaf, any_shape, info());
      }
    };
    if (!any_shape) return compare_all(variable_.state({}).components[0].value);
    T value = fitted(comparison.file());
    compare_all(value);
  }

  void stage(const TensorFile& file, SumSplit sums, CallSite site) override {
    T value = fitted(file);
    const Placement place = core_.placement(core_.first_replica());
    for (const SavedLeaf& leaf : saved_leaves(info().name, value)) {
      load_leaf(file, leaf, place, site);
    }
    if (core_.members().has_listeners()) message_ = message_about(value, sums, site);
    ReplicaArray<T> values = has_shares(info())
                                 ? split_total(core_, info(), std::move(value), sums, site)
                                 : value_for_each(core_, info(), std::move(value));
    if (const auto& reader = variable_.state(site).reader) {
      for (int i = 0; i < values.size(); ++i) {
        values[i] = reader->on_restore(std::move(values[i]),
                                       number_of_component(info(), info().first_replica + i),
                                       components_of_all(core_, info()));
      }
    }
    staged_ = Replacement<T>(core_, info(), std::move(values), site);
  }
  const Bytes& message() const override { return message_; }

  void commit() noexcept override {
    staged_.put(variable_.state({}));
    discard();
  }
  void discard() noexcept override {
    staged_ = {};
    message_.clear();
  }

 private:
  bool has_other_lengths() const {
    const auto& reader = variable_.state({}).reader;
    return reader != nullptr && reader->restores_other_lengths();
  }
  // A component, with the lengths in the file if they may differ.
  T fitted(const TensorFile& file) const {
    T value = variable_.state({}).components[0].value;
    if (has_other_lengths() && has_leaves_of(file, info().name)) {
      fit_to_file(value, info().name, file);
    }
    return value;
  }

  Bytes message_about(const T& value, SumSplit sums, CallSite site) {
    if (info().synchronization == Synchronization::kOnWrite) {
      return new_value_message(core_, info(), value, site);
    }
    const auto value_of = [&](int replica) { return component_of(value, sums, replica, site); };
    return new_components_message<T>(core_, info(), site, FunctionRef<T(int)>(value_of));
  }
  // The component of a replica, from the saved value (SEM-56).
  T component_of(const T& value, SumSplit sums, int replica, CallSite site) {
    if (has_shares(info())) {
      return share_of_total(core_, info(), value, sums, replica, site);
    }
    const auto& reader = variable_.state(site).reader;
    if (reader == nullptr) return value;
    return reader->on_restore(value, number_of_component(info(), replica),
                              components_of_all(core_, info()));
  }

  StrategyCore& core_;
  Variable<T> variable_;
  Replacement<T> staged_{};
  Bytes message_{};  // Empty unless some process listens.
};

}  // namespace belfry::detail
