// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <cstddef>
#include <memory>
#include <utility>

namespace belfry::detail {

/// A contiguous array filled once, element by element. Unlike std::vector, ReplicaArray has no
/// special case for bool, and T needs only the functions that are called.
template <class T>
class ReplicaArray {
 public:
  ReplicaArray() = default;
  explicit ReplicaArray(int capacity)
      : data_(capacity > 0 ? std::allocator<T>().allocate(static_cast<std::size_t>(capacity))
                           : nullptr),
        capacity_(capacity) {}
  /// In `storage`, with room for `capacity` elements. The storage outlives the array, and every
  /// array to which it is moved; copies have storage of their own.
  ReplicaArray(std::byte* storage, int capacity)
      : data_(reinterpret_cast<T*>(storage)), capacity_(-capacity) {}
  ReplicaArray(const ReplicaArray& other) : ReplicaArray(other.size_) {
    for (const T& value : other) emplace_back(value);
  }
  ReplicaArray(ReplicaArray&& other) noexcept { swap(other); }
  ReplicaArray& operator=(ReplicaArray other) noexcept {
    swap(other);
    return *this;
  }
  ~ReplicaArray() {
    std::destroy_n(data_, size_);
    if (capacity_ > 0) {
      std::allocator<T>().deallocate(data_, static_cast<std::size_t>(capacity_));
    }
  }

  template <class... Args>
  T& emplace_back(Args&&... args) {
    T* place = std::construct_at(data_ + size_, std::forward<Args>(args)...);
    ++size_;
    return *place;
  }

  int size() const { return size_; }
  T& operator[](int index) { return data_[index]; }
  const T& operator[](int index) const { return data_[index]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  void swap(ReplicaArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
  }

 private:
  T* data_ = nullptr;
  int capacity_ = 0;  // Negative where the storage is another's.
  int size_ = 0;
};

}  // namespace belfry::detail
