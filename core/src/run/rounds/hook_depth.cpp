// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/hook_depth.h"

#include "belfry/error.h"

#include <string>
#include <utility>

namespace belfry::detail {
namespace {

const char* name_of(Hook hook) {
  switch (hook) {
    case Hook::kInitialise:
      return "do_initialise";
    case Hook::kUpdate:
      return "do_update";
    case Hook::kReduce:
      return "do_reduce";
    case Hook::kBroadcast:
      return "do_broadcast";
    case Hook::kRun:
      return "do_run";
    case Hook::kMerge:
      return "do_merge";
  }
  return "a hook";
}

}  // namespace

void HookDepth::refuse(Hook hook, CallSite site) {
  const std::string name = name_of(hook);
  ErrorReport report;
  report.code = ErrorCode::kStrategyContract;
  report.summary = name + " of a strategy called itself again, " + std::to_string(kMost) +
                   " calls within one another";
  report.site = site;
  report.expected = "an end: at most " + std::to_string(kMost) + " such calls";
  report.hint = name + " must not start what it carries out unconditionally" +
                (hook == Hook::kRun ? "; StrategyStep::nested() tells a hook's own runs" : "");
  throw StrategyError(std::move(report));
}

}  // namespace belfry::detail
