// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/verdict.h"

#include <string>
#include <string_view>

namespace belfry::sim {

/// The verdict about the program `name` as an object in a line of JSON, without a line break at the
/// end. A file of verdicts has a line for each.
///
/// The members: `name`, `level` as text, `schedules`, `difference`, `notes`, and as lists of
/// objects `outcomes` (`outcome`, `token`, `departures`), `conditions` (`name`, `holds`,
/// `evidence`) and `races` (`subject`, `missing`, `first`, `second`). `first` and `second` have the
/// members of RaceSide; `end` is 0 for all bytes. All members are present, also if empty. Bytes
/// that are no UTF-8 become U+FFFD.
std::string verdict_json(std::string_view name, const Verdict& verdict);

}  // namespace belfry::sim
