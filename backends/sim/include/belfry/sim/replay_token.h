// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/schedule.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::sim {

/// Choices as one printable word of letters, digits, `-` and `_`, and one dot. The word has `bf1.`,
/// then the choices as variable-length numbers, and a checksum: about three characters for each
/// choice.
std::string encode_choices(std::span<const Choice> choices);

/// The choices in `token`; any text is a valid argument.
/// Throws: InvalidArgumentError (kReplay) with the fault in the token.
std::vector<Choice> decode_choices(std::string_view token, CallSite site = CallSite::here());

}  // namespace belfry::sim
