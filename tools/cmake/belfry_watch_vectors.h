// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The first include of files of belfry_watch() with clang. clang leaves accesses of 32 bytes and
// more without instrumentation: belfry_watch_objects.sh looks for these in objects with the symbol.
#ifdef __AVX__
__asm__(".set belfry_watch_wide, 1");
#endif
