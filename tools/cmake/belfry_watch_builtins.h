// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The first include of files of belfry_watch() with GCC. GCC replaces calls of built-in
// functions with few bytes by instructions, without instrumentation. Here the built-in names stand
// for functions of belfry::watch; belfry_watch() turns the ordinary names into ordinary functions.

// An option may come after those of belfry_watch().
#undef _FORTIFY_SOURCE

#define BELFRY_BUILTIN(type, name, ...) \
  type belfry_watch_##name(__VA_ARGS__) __asm__("belfry_watch." #name)

#ifdef __cplusplus
extern "C" {
#endif

BELFRY_BUILTIN(void*, memcpy, void*, const void*, __SIZE_TYPE__);
BELFRY_BUILTIN(void*, memmove, void*, const void*, __SIZE_TYPE__);
BELFRY_BUILTIN(void*, memset, void*, int, __SIZE_TYPE__);
BELFRY_BUILTIN(void*, mempcpy, void*, const void*, __SIZE_TYPE__);
BELFRY_BUILTIN(void, bzero, void*, __SIZE_TYPE__);
BELFRY_BUILTIN(int, memcmp, const void*, const void*, __SIZE_TYPE__);
BELFRY_BUILTIN(void*, memchr, const void*, int, __SIZE_TYPE__);
BELFRY_BUILTIN(__SIZE_TYPE__, strlen, const char*);
BELFRY_BUILTIN(int, strcmp, const char*, const char*);
BELFRY_BUILTIN(int, strncmp, const char*, const char*, __SIZE_TYPE__);
BELFRY_BUILTIN(char*, strcpy, char*, const char*);
BELFRY_BUILTIN(char*, stpcpy, char*, const char*);
BELFRY_BUILTIN(char*, strncpy, char*, const char*, __SIZE_TYPE__);
BELFRY_BUILTIN(char*, strcat, char*, const char*);
BELFRY_BUILTIN(char*, strchr, const char*, int);
BELFRY_BUILTIN(char*, strrchr, const char*, int);
BELFRY_BUILTIN(char*, strstr, const char*, const char*);
BELFRY_BUILTIN(int, snprintf, char*, __SIZE_TYPE__, const char*, ...);
BELFRY_BUILTIN(int, sprintf, char*, const char*, ...);
BELFRY_BUILTIN(int, vsprintf, char*, const char*, __builtin_va_list);
BELFRY_BUILTIN(int, vsnprintf, char*, __SIZE_TYPE__, const char*, __builtin_va_list);
void belfry_watch_writes(void*, __SIZE_TYPE__) __asm__("__tsan_write_range");

#ifdef __cplusplus
}
#endif
#undef BELFRY_BUILTIN

// Instructions by name with a result in memory.
#define BELFRY_WRITES(to) belfry_watch_writes(to, sizeof *(to))
#define __builtin_ia32_addcarryx_u32(c, a, b, to) \
  (BELFRY_WRITES(to), __builtin_ia32_addcarryx_u32(c, a, b, to))
#define __builtin_ia32_addcarryx_u64(c, a, b, to) \
  (BELFRY_WRITES(to), __builtin_ia32_addcarryx_u64(c, a, b, to))
#define __builtin_ia32_sbb_u32(c, a, b, to) (BELFRY_WRITES(to), __builtin_ia32_sbb_u32(c, a, b, to))
#define __builtin_ia32_sbb_u64(c, a, b, to) (BELFRY_WRITES(to), __builtin_ia32_sbb_u64(c, a, b, to))
#define __builtin_ia32_rdrand16_step(to) (BELFRY_WRITES(to), __builtin_ia32_rdrand16_step(to))
#define __builtin_ia32_rdrand32_step(to) (BELFRY_WRITES(to), __builtin_ia32_rdrand32_step(to))
#define __builtin_ia32_rdrand64_step(to) (BELFRY_WRITES(to), __builtin_ia32_rdrand64_step(to))

#define __builtin_memcpy belfry_watch_memcpy
#define __builtin_memmove belfry_watch_memmove
#define __builtin_memset belfry_watch_memset
#define __builtin_mempcpy belfry_watch_mempcpy
#define __builtin_bzero belfry_watch_bzero
#define __builtin_memcmp belfry_watch_memcmp
#define __builtin_memchr belfry_watch_memchr
#define __builtin_strlen belfry_watch_strlen
#define __builtin_strcmp belfry_watch_strcmp
#define __builtin_strncmp belfry_watch_strncmp
#define __builtin_strcpy belfry_watch_strcpy
#define __builtin_stpcpy belfry_watch_stpcpy
#define __builtin_strncpy belfry_watch_strncpy
#define __builtin_strcat belfry_watch_strcat
#define __builtin_strchr belfry_watch_strchr
#define __builtin_strrchr belfry_watch_strrchr
#define __builtin_strstr belfry_watch_strstr
#define __builtin_snprintf belfry_watch_snprintf
#define __builtin_sprintf belfry_watch_sprintf
#define __builtin_vsprintf belfry_watch_vsprintf
#define __builtin_vsnprintf belfry_watch_vsnprintf
