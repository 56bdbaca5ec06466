// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace belfry::driver {

/// Declarations of headers: the value of each constant, the layout of each structure and the type
/// of each function, by name.
using Surface = std::map<std::string, std::string>;

/// Of the driver's own headers.
Surface own_surface();
/// Of the toolkit's.
Surface real_surface();

}  // namespace belfry::driver
