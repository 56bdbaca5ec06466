// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "engine/allocation.h"

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace belfry::engine {

/// Work on a queue. Before `run`, every byte of `reads` must have been written by somebody; after
/// it, every byte of `writes` has been. Both lists keep their allocations alive until the command
/// is done or dropped.
struct Command {
  std::string_view name = "command";  ///< For messages; must outlive the command (a literal).
  std::vector<Access> reads;
  std::vector<Access> writes;
  /// Does the work on the host addresses that the accesses have then. Gets the command itself; runs
  /// with the engine locked: it must not call the engine. What it throws becomes the queue's
  /// failure, but for std::bad_alloc, after which it is called again: it throws that before it has
  /// changed anything it reads. May be empty.
  std::function<void(const Command&)> run;
  /// Whether all that `run` does is to copy reads[0] to every one of `writes`. Where those are
  /// whole allocations that can, they share the bytes instead.
  bool copies = false;
  std::vector<std::shared_ptr<const void>> held;  ///< What else must live as long.
  CallSite site{};
};

}  // namespace belfry::engine
