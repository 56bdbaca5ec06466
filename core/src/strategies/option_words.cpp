// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "strategies/option_words.h"

#include "belfry/cross_device_ops.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/error.h"

#include <vector>

namespace belfry::detail {

std::string option_words(const StrategyOptions& options, std::string_view algorithm,
                         const Backend& backend) {
  const std::string order = options.order ? to_string(*options.order) : "default";
  return "order " + order + ", algorithm " + std::string(algorithm) + ", names " +
         (options.require_names ? "required" : "free") +
         (options.report_overflow ? ", overflow reported" : "") +
         (backend.verifies_mirrored() ? ", mirrored values compared" : "");
}

void require_equal_options(StrategyCore& core, const StrategyOptions& options, CallSite site) {
  const auto write = [&](ByteWriter& out) {
    const CrossDeviceOps* const algorithm = options.cross_device_ops.get();
    out.text(
        option_words(options, algorithm == nullptr ? "native" : algorithm->name(), core.backend()));
  };
  const std::vector<Bytes> all = core.members().exchange_to_compare("configure", site, write);
  if (all.empty()) return;
  std::string found;
  for (std::size_t process = 0; process < all.size(); ++process) {
    found += (process == 0 ? "" : ", ") + ("(" + ByteReader(all[process]).text()) +
             ") in process " + std::to_string(process);
  }
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "processes configure a strategy with different options: " + found,
                             "give all processes the same options, apart from devices", site);
}

}  // namespace belfry::detail
