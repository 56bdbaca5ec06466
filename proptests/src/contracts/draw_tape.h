// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidcheck.h>
#include <rapidcheck/gen/detail/GenerationHandler.h>

#include <cstddef>
#include <vector>

namespace belfry::testing {

/// Draws for several hosts on a single thread: all hosts draw the same values, in the order of
/// draws, and a failing case shrinks the values of all hosts together. A host draws everything
/// before the first call of the group. Context: in a property of RapidCheck, on the same thread.
class DrawTape final : public rc::gen::detail::GenerationHandler {
 public:
  DrawTape();
  /// Starts the draws of the next host.
  void rewind() { next_ = 0; }
  rc::detail::Any onGenerate(const rc::Gen<rc::detail::Any>& gen) override;

 private:
  rc::gen::detail::GenerationHandler& property_;  // Draws from the property.
  rc::detail::ImplicitParam<rc::gen::detail::param::CurrentHandler> current_;
  std::vector<rc::Shrinkable<rc::detail::Any>> drawn_;
  std::size_t next_ = 0;
};

}  // namespace belfry::testing
