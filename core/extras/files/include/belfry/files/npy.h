// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/files/host_array.h"

#include <cstddef>
#include <span>
#include <string>

namespace belfry {

/// Reads a file written by numpy.save, with a single array: format versions 1 to 3, C or Fortran
/// order (the result is row-major), little-endian elements of any belfry type but bfloat16, for
/// which the format has no name.
/// Throws: InvalidArgumentError (kFileFormat) with the file and the byte at fault, or with the
/// reason for a file that cannot be read.
HostArray read_npy(const std::string& path, CallSite site = CallSite::here());
/// read_npy for the bytes of a file; `name` stands for the file in messages.
HostArray parse_npy(std::span<const std::byte> bytes, const std::string& name,
                    CallSite site = CallSite::here());

}  // namespace belfry
