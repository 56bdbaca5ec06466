// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "watch/host_watch.h"

namespace belfry::sim::watch {

/// The run time of watched code, as the simulator sees it. The functions are those of host_watch.h.
class RunTime {
 public:
  virtual ~RunTime() = default;
  virtual void start() = 0;
  virtual void start_audit() {}
  /// `frame`: an address on the agent's stack, above the frames of the agent's function.
  virtual void enter(const Actor& actor, const void* frame) = 0;
  /// A run time without bodies of kernels, or without shared memory, leaves out both.
  virtual void enter_body(const KernelBody&, const void* /*frame*/) {}
  virtual LaunchFacts launch_of(const Actor&, const void* /*kernel*/) { return {}; }
  virtual void leave() = 0;
  virtual void begin_phase() = 0;
  virtual void begin_merge(bool /*is_verb*/) {}
  virtual void make_variable(std::uint32_t number) = 0;
  virtual void take_variable(std::uint32_t number) = 0;
  virtual bool share(const std::byte* /*memory*/, std::size_t /*bytes*/, const Actor&) {
    return false;
  }
  virtual std::vector<SharedAccess> take_shared() { return {}; }
  virtual HostReport stop() = 0;
  virtual CallSite source_site(const void* pc) = 0;
};

/// Called by belfry::watch before main, once watched code is known to be in the program. `run_time`
/// lives as long as the process.
void attach(RunTime& run_time);

}  // namespace belfry::sim::watch
