// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/make_variable.h"
#include "belfry/detail/split_total.h"
#include "belfry/detail/variable/sum_split.h"
#include "belfry/tensor_file.h"
#include "belfry/variable.h"

#include <memory>
#include <optional>
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
  std::string found;   ///< `the file has no "w"`.
  std::string wanted;  ///< `float32[2]`.
  const VariableInfo* info;
};

/// The mismatch of the file and the leaf; nothing if the file has the leaf.
std::optional<LeafMismatch> mismatch_of(const TensorFile& file, const SavedLeaf& leaf,
                                        const VariableInfo& info);
/// Throws VariableMismatchError (kVariableMismatch) with all mismatches, at least 1.
[[noreturn]] void throw_mismatches(const std::vector<LeafMismatch>& mismatches, CallSite site);
/// Gives a leaf the elements that a file has under its name. The file has the leaf.
void load_leaf(const TensorFile& file, const SavedLeaf& leaf, CallSite site);

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
  /// Appends the leaves missing in the file, or present with a different type or shape.
  virtual void compare(const TensorFile& file, std::vector<LeafMismatch>& mismatches) = 0;
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
    if (const auto& reader = variable_.state(site).reader) value = reader->on_save(value);
    for (const SavedLeaf& leaf : saved_leaves(info().name, value)) {
      add_to(file, leaf.name, file_tensor(leaf, site), site);
    }
  }

  void compare(const TensorFile& file, std::vector<LeafMismatch>& mismatches) override {
    for (const SavedLeaf& leaf :
         saved_leaves(info().name, variable_.state({}).components[0].value)) {
      if (auto mismatch = mismatch_of(file, leaf, info())) {
        mismatches.push_back(*std::move(mismatch));
      }
    }
  }

  void stage(const TensorFile& file, SumSplit sums, CallSite site) override {
    T value = variable_.state(site).components[0].value;
    for (const SavedLeaf& leaf : saved_leaves(info().name, value)) load_leaf(file, leaf, site);
    const bool total = info().synchronization == Synchronization::kOnRead &&
                       info().aggregation == Aggregation::kSum;
    ReplicaArray<T> values = total ? split_total(core_, info(), value, sums, site)
                                   : value_for_each(core_, info(), value);
    if (const auto& reader = variable_.state(site).reader) {
      for (int i = 0; i < values.size(); ++i) {
        values[i] = reader->on_restore(std::move(values[i]),
                                       number_of_component(info(), info().first_replica + i),
                                       components_of_all(core_, info()));
      }
    }
    staged_ = Replacement<T>(core_, info(), std::move(values), site);
    if (has_listeners(core_)) message_ = message_about(value, sums, site);
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
  Bytes message_about(const T& value, SumSplit sums, CallSite site) {
    if (info().synchronization == Synchronization::kOnWrite) {
      return new_value_message(core_, info(), value, site);
    }
    const auto value_of = [&](int replica) { return component_of(value, sums, replica, site); };
    return new_components_message<T>(core_, info(), site, FunctionRef<T(int)>(value_of));
  }
  // The component of a replica, from the saved value (SEM-56).
  T component_of(const T& value, SumSplit sums, int replica, CallSite site) {
    if (info().aggregation == Aggregation::kSum) {
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
