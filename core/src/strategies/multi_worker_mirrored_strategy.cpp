// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/process_exchange.h"
#include "belfry/strategies.h"
#include "strategies/option_words.h"

#include <memory>
#include <string>

namespace belfry {

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(Backend& backend, ProcessGroup& group,
                                                         const StrategyOptions& options,
                                                         CallSite site)
    : Strategy(backend, options, site) {
  if (group.size() == 1) return;
  detail::StrategyCore& core = cross_replica().core();
  const std::string words =
      detail::option_words(options, core.reductions().algorithm_name(), backend);
  exchange_ = std::make_unique<detail::ProcessExchange>(group, core.size(), words, site);
  core.join(*exchange_);
}

MultiWorkerMirroredStrategy::~MultiWorkerMirroredStrategy() = default;

}  // namespace belfry
