// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "watch/run_time.h"

#include <string>
#include <vector>

namespace belfry::sim::testing {

/// Stands for watched code: reports what a test has written down, and keeps the calls.
class HostMemory final : public watch::RunTime {
 public:
  void start() override {
    calls.clear();
    ++watches;
  }
  void enter(const Actor& actor, const void*) override { calls.push_back(to_string(actor)); }
  void leave() override { calls.emplace_back("-"); }
  void begin_phase() override { calls.emplace_back("phase"); }
  void make_variable(std::uint32_t number) override {
    calls.push_back("makes " + std::to_string(number));
  }
  void take_variable(std::uint32_t number) override {
    calls.push_back("takes " + std::to_string(number));
  }
  watch::HostReport stop() override { return report; }
  CallSite source_site(const void*) override { return {"user.cpp", 5}; }

  /// The instance of the program, which is attached at the first call.
  static HostMemory& attached() {
    static HostMemory memory;
    static const bool is_attached = (watch::attach(memory), true);
    (void)is_attached;
    return memory;
  }

  /// Nothing unusual in watched code of replicas.
  void reset() {
    report = {};
    report.accesses = 1;
  }

  watch::HostReport report;
  std::vector<std::string> calls;  ///< Of the last watch.
  int watches = 0;
};

}  // namespace belfry::sim::testing
