// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <map>
#include <string>

namespace belfry {

/// The variables of an environment, by name. The library reads the maps that a program passes, and
/// changes none. In one place it reads the environment of the process: an mpi::Group compares the
/// variables of launchers with the numbers of MPI (SEM-204), unless
/// mpi::GroupOptions::check_launcher is false or a map is given.
using Environment = std::map<std::string, std::string>;

/// The variables in a list of `NAME=value`, such as `environ` of POSIX: null ends the list. The
/// first entry of a name counts, as for `getenv`; entries without `=` are left out.
Environment environment_from(const char* const* entries);

}  // namespace belfry
