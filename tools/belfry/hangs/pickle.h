// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/json_value.h"

#include <string_view>

namespace belfry::tool::hangs {

/// Reads a pickle of Python as a value of JSON; tuples become arrays. The known operations are the
/// operations for plain data in protocols 2 to 5, as written by PyTorch's recorder and by Python:
/// nothing is imported or called. Throws: detail::JsonError, also for further operations, more than
/// 32 levels, over 256 MiB of text, and a list, tuple or object with a second occurrence.
detail::JsonValue parse_pickle(std::string_view bytes);

}  // namespace belfry::tool::hangs
