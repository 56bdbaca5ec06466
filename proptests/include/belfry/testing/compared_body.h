// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/host_values.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/value_text.h"

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>

namespace belfry::testing {

/// A body whose runs are compared, with the results of the first run and of the last.
class ComparedBody {
 public:
  virtual ~ComparedBody() = default;
  /// Runs the body and keeps its result. Throws: exceptions of the body.
  virtual void run(sim::Backend& backend) = 0;
  /// Whether the first and the last result are equal.
  virtual bool returned_the_same() const = 0;
  /// The result as text; empty if its type cannot be printed.
  virtual std::string first_text() const = 0;
  /// The last result as text, as first_text.
  virtual std::string last_text() const = 0;
};

/// Whether two nests have the same structure and host leaves with the same bits. A NaN equals
/// itself here.
template <class T>
bool same_bits(const T& first, const T& last) {
  if constexpr (Nest<T>) {
    detail::HostDigest first_digest;
    detail::HostDigest last_digest;
    first_digest.add(first);
    last_digest.add(last);
    return detail::same_tree(first, last) && first_digest.value() == last_digest.value();
  } else {
    return false;
  }
}

/// Whether two results are equal; components of a PerReplica one by one.
template <class T>
bool same_result(const T& first, const T& last) {
  if constexpr (detail::IsPerReplica<T>::value) {
    if (first.present() != last.present()) return false;
    auto at = last.begin();
    for (const auto& component : first) {
      if (!same_result(component, *at++)) return false;
    }
    return true;
  } else {
    return first == last || same_bits(first, last);
  }
}

/// A body that takes a backend. `body` outlives the object.
template <class Body>
class BodyOf final : public ComparedBody {
 public:
  /// Keeps a reference.
  explicit BodyOf(const Body& body) : body_(body) {}

  void run(sim::Backend& backend) override {
    if constexpr (kVoid) {
      body_(backend);
    } else {
      std::optional<Result>& kept = first_ ? last_ : first_;
      kept.reset();
      kept.emplace(body_(backend));
    }
  }
  bool returned_the_same() const override {
    if constexpr (kVoid) {
      return true;
    } else {
      return !last_ || same_result(*first_, *last_);
    }
  }
  std::string first_text() const override { return text_of(first_); }
  std::string last_text() const override { return text_of(last_); }

 private:
  using Returned = std::invoke_result_t<const Body&, sim::Backend&>;
  static constexpr bool kVoid = std::is_void_v<Returned>;
  using Result = std::conditional_t<kVoid, bool, std::remove_cvref_t<Returned>>;
  static_assert(std::equality_comparable<Result>,
                "the body returns nothing, or values that == compares; of tensors their to_host()");

  static std::string text_of(const std::optional<Result>& kept) {
    if constexpr (kVoid) {
      return {};
    } else {
      return kept ? value_text(*kept) : std::string();
    }
  }

  const Body& body_;
  std::optional<Result> first_;
  std::optional<Result> last_;
};

}  // namespace belfry::testing
