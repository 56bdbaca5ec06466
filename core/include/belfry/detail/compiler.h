// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The compilers and the language that the headers need. Each public header reaches this header
/// before any declaration of belfry: the first error of an older compiler or language is here.
#if defined(__clang__) && __clang_major__ < 14
#error "belfry needs GCC 11 or newer, or clang 14 or newer"
#elif !defined(__clang__) && defined(__GNUC__) && __GNUC__ < 11
#error "belfry needs GCC 11 or newer, or clang 14 or newer"
#elif __cplusplus < 202002L
#error "belfry needs C++20: compile with -std=c++20 or newer"
#endif

namespace belfry::detail {

/// False for all arguments: for the static_assert of a function that takes wrong arguments, so that
/// the first error says what to write.
template <class... Args>
inline constexpr bool kTaken = false;

/// The result of a call that does not compile.
template <class T>
T refused();

}  // namespace belfry::detail
