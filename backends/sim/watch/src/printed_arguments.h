// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdarg>

namespace belfry::sim::watch {

/// Notes the accesses of a print at `pc`: reads of the format and of the texts of `%s`, and writes
/// of the numbers of `%n`. A wide text, and an argument by its position, is noted as unseen. The
/// caller still owns `arguments`, and may use the list afterwards.
void touch_arguments(const char* format, std::va_list arguments, const void* pc);

}  // namespace belfry::sim::watch
