// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace belfry::sim::races {

/// A pointer to an object with several owners, which the pointers count in the object's member
/// `owners`, at first 0. A single thread at a time uses the pointers to an object.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { ++object_->owners; }
  Ref(const Ref& from) : object_(from.object_) {
    if (object_ != nullptr) ++object_->owners;
  }
  Ref(Ref&& from) noexcept : object_(std::exchange(from.object_, nullptr)) {}
  Ref& operator=(Ref from) noexcept {
    std::swap(object_, from.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr && --object_->owners == 0) delete object_;
  }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  /// Whether the pointer is not null, and no second pointer has the object.
  bool is_alone() const { return object_ != nullptr && object_->owners == 1; }

 private:
  T* object_ = nullptr;
};

}  // namespace belfry::sim::races
