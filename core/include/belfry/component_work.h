// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/variable_places.h"

namespace belfry {

/// Work that gives every component of a variable a value: the first value, or the value of an
/// update. The strategy chooses the components to compute and the components to copy (SEM-112,
/// SEM-113).
class ComponentWork {
 public:
  ComponentWork() = default;
  ComponentWork(const ComponentWork&) = delete;
  ComponentWork& operator=(const ComponentWork&) = delete;

  virtual const VariablePlaces& places() const = 0;
  /// Whether all components end with the same value. False for updates of replica-local variables:
  /// their components cannot be copied.
  virtual bool ends_equal() const = 0;
  /// Calls the initialiser, or the function of `update`, for `component`, on the component's
  /// device.
  /// Throws: StrategyError (kStrategyContract) for a missing component, or a component that has its
  /// value already; exceptions of the user's code.
  virtual void compute(int component) = 0;
  /// Copies the value of component `from` to every component without a value.
  /// Order: copies of tensors are enqueued. Throws: StrategyError (kStrategyContract) if component
  /// `from` has no value, or if ends_equal() is false; DeviceError (kOutOfMemory).
  virtual void copy_from(int from) = 0;

  int size() const { return places().size(); }

 protected:
  ~ComponentWork() = default;
};

}  // namespace belfry
