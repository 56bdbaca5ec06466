// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace belfry::driver {

/// The live objects of a kind. Handles are looked up before use: a bad handle is an error and no
/// crash. Addresses decide nothing else. Several threads may use a table.
template <class Object>
class HandleTable {
 public:
  // Shared by the table and calls in progress.
  using Ptr = std::shared_ptr<Object>;

  /// The object's own address is its handle, unless the caller has a handle.
  void* insert(Ptr object) {
    void* handle = object.get();
    insert_as(handle, std::move(object));
    return handle;
  }
  void insert_as(const void* handle, Ptr object) {
    const std::lock_guard lock(mutex_);
    objects_[handle] = std::move(object);
  }
  /// Null if no object has the handle.
  Ptr find(const void* handle) const {
    const std::lock_guard lock(mutex_);
    const auto place = objects_.find(handle);
    return place == objects_.end() ? nullptr : place->second;
  }
  /// The object with the greatest handle not above `address`; null without such an object.
  Ptr find_before(const void* address) const {
    const std::lock_guard lock(mutex_);
    const auto place = objects_.upper_bound(address);
    return place == objects_.begin() ? nullptr : std::prev(place)->second;
  }
  Ptr erase(const void* handle) {
    const std::lock_guard lock(mutex_);
    const auto place = objects_.find(handle);
    if (place == objects_.end()) return nullptr;
    Ptr object = std::move(place->second);
    objects_.erase(place);
    return object;
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return objects_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<const void*, Ptr> objects_;
};

}  // namespace belfry::driver
