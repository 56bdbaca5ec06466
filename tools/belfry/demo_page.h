// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "console.h"
#include "demo.h"

#include <string>

namespace belfry::tool {

/// Repeats the first step of the demo's training on the simulator, writes its trace beside `page`,
/// with the suffix .jsonl, and the trace as a page. Throws: errors of reading the images;
/// InvalidArgumentError (kFile) if a file cannot be written.
void write_demo_page(const demo::DemoOptions& options, const std::string& page, Console& console);

}  // namespace belfry::tool
