// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/operation.h"
#include "belfry/call_site.h"
#include "belfry/dtype.h"
#include "belfry/error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

/// A look at the run around the calling code, for sinks of operations. A run that is not looked at
/// does nothing for these functions.
namespace belfry::detail {

/// A leaf of a value, or a value that is no nest.
struct ShownValue {
  std::string_view leaf = {};                  ///< The path from the value; empty for the value.
  std::string_view type = {};                  ///< Of a value without `dtype`.
  const DType* dtype = nullptr;                ///< Of the elements.
  std::span<const std::int64_t> extents = {};  ///< Empty: a scalar.
  std::size_t count = 1;                       ///< The number of elements.
  const void* data = nullptr;                  ///< Elements on the host, or null.
  const BufferView* view = nullptr;            ///< Elements on a device, or null.
  std::string_view text = {};                  ///< Of a value with ElementTraits.
};

/// Takes the values of a merge.
class ValueVisitor {
 public:
  virtual ~ValueVisitor() = default;
  virtual void value(const ShownValue& value) = 0;
  /// The verb and tag of the merge.
  virtual void verb(std::string_view name) = 0;
  /// The operator of a reduction.
  virtual void op(std::string_view name) = 0;
};

/// The properties of a variable, apart from its values.
struct ShownVariable {
  const void* owner = nullptr;  ///< The strategy.
  std::uint64_t number = 0;     ///< Among the variables of the strategy.
  std::string_view name = {};
  std::string_view kind = {};                ///< `mirrored`, `replica_local`, `sharded`.
  CallSite site = {};                        ///< The last change, or the making.
  int components = 0;                        ///< The number of components.
  std::span<const int> component_seen = {};  ///< By replica of this process; -1: none.
};

/// A variable, for a VariableTap.
class VariableView {
 public:
  virtual ~VariableView() = default;
  virtual ShownVariable about() const = 0;
  /// Shows the leaves of a component.
  virtual void show(int component, ValueVisitor& visitor) const = 0;
};

/// Hears of the values of the variables of a backend.
class VariableTap {
 public:
  virtual ~VariableTap() = default;
  /// The components have their first values.
  virtual void made(const std::shared_ptr<const VariableView>& variable) noexcept = 0;
  /// The components have new values.
  virtual void changed(const VariableView& variable) noexcept = 0;
};

/// On a replica at a merge: shows the values that the replica brings, or, with `results`, gets.
void show_merge_values(bool results, ValueVisitor& visitor);
/// The replica, merge or host that the calling code is of, and its strategy, or null.
AgentId agent_here();
const void* strategy_here();
/// The report of the failed run that ends; null if there is none.
const ErrorReport* failure_of_run();
/// The replica, counted in this process, of the strategy around the calling code that has the
/// device alone; -1: none.
int replica_on_device(int device);

}  // namespace belfry::detail
