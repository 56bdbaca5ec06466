// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/machine_uses.h"
#include "explore/present_body.h"

#include <cstdint>
#include <string_view>

namespace belfry::sim {

/// Notices machines that run during the life of the object, besides the backends of the bodies of
/// explorations: backends of further threads, the simulated driver, backends of other libraries.
class UsesBeside {
 public:
  /// A use, in words.
  static constexpr std::string_view kText =
      "a second backend or a driver runs beside the body, and nobody observes its schedule";

  UsesBeside() : before_(belfry::detail::uses_beside_bodies.load()) {
    belfry::detail::at_begin_of_run = &PresentBody::runs;
    ++belfry::detail::bodies_of_explorations;
  }
  ~UsesBeside() { --belfry::detail::bodies_of_explorations; }
  UsesBeside(const UsesBeside&) = delete;
  UsesBeside& operator=(const UsesBeside&) = delete;

  /// Whether a machine has run.
  bool any() const { return belfry::detail::uses_beside_bodies.load() != before_; }

 private:
  std::uint64_t before_;
};

}  // namespace belfry::sim
