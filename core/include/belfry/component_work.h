// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/variable_places.h"

namespace belfry {

/// Work that gives every component of a variable a value: its first one, or that of an update. A
/// strategy decides for which components the work is done and which ones get a copy (SEM-112,
/// SEM-113).
class ComponentWork {
 public:
  ComponentWork() = default;
  ComponentWork(const ComponentWork&) = delete;
  ComponentWork& operator=(const ComponentWork&) = delete;

  virtual const VariablePlaces& places() const = 0;
  /// Whether all components end with the same value. Those of an update of a replica-local variable
  /// do not, and cannot be copied.
  virtual bool ends_equal() const = 0;
  /// Calls the initialiser, or the function of `update`, for one component, on its device.
  /// Throws: StrategyError (kStrategyContract) when there is no such component or it has its value
  /// already; what the user's code throws.
  virtual void compute(int component) = 0;
  /// Gives every component that has no value yet a copy of that of component `from`.
  /// Order: copies of tensors are enqueued. Throws: StrategyError (kStrategyContract) when that has
  /// none either, or components do not end equal; DeviceError (kOutOfMemory).
  virtual void copy_from(int from) = 0;

  int size() const { return places().size(); }

 protected:
  ~ComponentWork() = default;
};

}  // namespace belfry
