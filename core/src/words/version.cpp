// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/version.h"

namespace belfry {

std::string_view version() { return BELFRY_VERSION; }

}  // namespace belfry
