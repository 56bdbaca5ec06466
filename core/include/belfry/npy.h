// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/host_array.h"

#include <cstddef>
#include <span>
#include <string>

namespace belfry {

/// Reads the file of one array that numpy.save writes: format versions 1 to 3, C or Fortran order
/// (the result is row-major), little-endian elements of any type belfry has but bfloat16, which the
/// format cannot name.
/// Throws: InvalidArgumentError (kFileFormat) with the file, and the byte at which it is not as it
/// should be; for a file that cannot be read, with the reason.
HostArray read_npy(const std::string& path, CallSite site = CallSite::here());
/// The same of the bytes of such a file; `name` stands for it in messages.
HostArray parse_npy(std::span<const std::byte> bytes, const std::string& name,
                    CallSite site = CallSite::here());

}  // namespace belfry
