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

/// The live objects of one kind. Handles are looked up here before they are used, so that a bad one
/// is an error and no crash; they decide nothing else. May be used by several threads.
template <class Object>
class HandleTable {
 public:
  // Shared by the table and calls in progress.
  using Ptr = std::shared_ptr<Object>;

  /// The object's own address is its handle unless the caller has another.
  void* insert(Ptr object) {
    void* handle = object.get();
    insert_as(handle, std::move(object));
    return handle;
  }
  void insert_as(const void* handle, Ptr object) {
    const std::lock_guard lock(mutex_);
    objects_[handle] = std::move(object);
  }
  /// Null when nothing lives there.
  Ptr find(const void* handle) const {
    const std::lock_guard lock(mutex_);
    const auto place = objects_.find(handle);
    return place == objects_.end() ? nullptr : place->second;
  }
  /// The object with the last handle that is not behind `address`; null if there is none.
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
