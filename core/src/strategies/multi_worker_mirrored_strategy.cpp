// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/trace_writer.h"
#include "belfry/error.h"
#include "belfry/strategies.h"
#include "run/processes/group_members.h"
#include "strategies/option_words.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace belfry {
namespace {

// In a process without devices the host holds the values of variables.
StrategyOptions options_of_process(const Backend& backend, const ProcessGroup& group,
                                   StrategyOptions options) {
  const std::optional<int> host = backend.connections().host;
  const bool stands_in = group.size() > 1 && options.devices.empty() &&
                         backend.device_count() == 0 && host.has_value();
  if (stands_in) options.devices = {backend.device_spec(*host)};
  return options;
}

}  // namespace

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(Backend& backend, ProcessGroup& group,
                                                         const StrategyOptions& options,
                                                         CallSite site)
    : Strategy(backend, options_of_process(backend, group, options), site) {
  if (group.size() == 1) return;
  const bool has_devices = !options.devices.empty() || backend.device_count() > 0;
  detail::StrategyCore& core = cross_replica().core();
  const std::string words =
      detail::option_words(options, core.reductions().algorithm_name(), backend);
  auto members =
      std::make_unique<detail::GroupMembers>(group, has_devices ? core.size() : 0, words, site);
  if (members->replicas() == 0) {
    throw InvalidArgumentError(ErrorCode::kNoDevices, "no process of the strategy has a device",
                               "give at least one process a device", site);
  }
  core.join(std::move(members));
  if (TraceFile* const trace = backend.run_settings().trace) {
    trace->writer().join(group.rank(), group.size());
  }
}

}  // namespace belfry
