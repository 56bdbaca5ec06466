// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// The calls of NVTX, in the domain "belfry". Without the toolkit's header the calls do nothing.
namespace belfry::cuda::nvtx {

/// Whether the library was compiled with NVTX.
bool is_compiled();

/// Begins a range that may end on another thread. Returns its number.
std::uint64_t begin(const std::string& text);
void end(std::uint64_t range);

/// Ranges of the calling thread, which nest.
void push(const std::string& text);
void pop();

void mark(const std::string& text);

}  // namespace belfry::cuda::nvtx
