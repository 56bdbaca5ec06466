// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/process_exchange.h"
#include "belfry/strategies.h"

#include <memory>
#include <string>

namespace belfry {
namespace {

// The common options of all processes.
std::string text_of(const StrategyOptions& options, const Backend& backend) {
  const std::string order = options.order ? to_string(*options.order) : "default";
  return "order " + order + ", names " + (options.require_names ? "required" : "free") +
         (options.report_overflow ? ", overflow reported" : "") +
         (backend.verifies_mirrored() ? ", mirrored values compared" : "");
}

}  // namespace

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(Backend& backend, ProcessGroup& group,
                                                         const StrategyOptions& options,
                                                         CallSite site)
    : Strategy(backend, options, site) {
  if (group.size() == 1) return;
  detail::StrategyCore& core = cross_replica().core();
  exchange_ = std::make_unique<detail::ProcessExchange>(group, core.size(),
                                                        text_of(options, backend), site);
  core.join(*exchange_);
}

MultiWorkerMirroredStrategy::~MultiWorkerMirroredStrategy() = default;

}  // namespace belfry
