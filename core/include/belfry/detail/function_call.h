// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <exception>
#include <type_traits>
#include <utility>

/// Tests of a user's function that a verb is about to call. A function with an error inside, for
/// example a misspelt name, has no result type, and is no function with wrong parameters: the
/// compiler has reported the error, and the verb reports nothing.
namespace belfry::detail {

/// The answer of the test of a call.
enum class CallFit {
  kCalls,    ///< The parameters take the arguments.
  kRefuses,  ///< The parameters do not take the arguments.
  kBroken,   ///< The compiler has found an error in the function.
};

/// The result of the fallbacks below.
struct Fallback {};

/// Has a call operator that takes any arguments, next to those of F. On an object that is not
/// constant, the fallback is better for the object, and the operator of F for the arguments. A call
/// is ambiguous if F takes the arguments, and gives a Fallback if not. The compiler decides this
/// without the body of F's operator.
template <class F>
struct BesideFallback : F {
  using F::operator();
  Fallback operator()(...);
};

/// The fallback for calls without arguments. The operator of F is as good as the fallback, or
/// better.
struct EmptyFallback {
  template <class... A>
  Fallback operator()(A...) const;
};
template <class F>
struct BesideEmptyFallback : F, EmptyFallback {
  using F::operator();
  using EmptyFallback::operator();
};

struct HasCallOperator {
  void operator()();
};
template <class F>
struct BesideCallOperator : F, HasCallOperator {};

/// Whether F is a class whose call operators can be tested: &operator() of a class with two bases
/// is ambiguous if both bases have one.
template <class F>
concept CallableClass =
    std::is_class_v<F> && !std::is_final_v<F> && !requires { &BesideCallOperator<F>::operator(); };
/// Whether the operator of a callable class is a template, overloaded, or without a type because of
/// an error.
template <class F>
concept CallableInManyWays = CallableClass<F> && !requires { &F::operator(); };

/// The choice of the compiler for a call next to a fallback.
enum class Selected { kNeither, kFallback, kOperator };

/// Selects between the call operators of F and the fallback. Neither: the call is ambiguous, and F
/// takes the arguments. The operator: it is for objects that are not constant, or there are no
/// arguments.
template <class F, class... A>
constexpr Selected select_beside_fallback() {
  using Beside =
      std::conditional_t<sizeof...(A) == 0, const BesideEmptyFallback<F>, BesideFallback<F>>;
  if constexpr (requires(Beside& fn) { fn(std::declval<A>()...); }) {
    using Result = decltype(std::declval<Beside&>()(std::declval<A>()...));
    return std::is_same_v<Result, Fallback> ? Selected::kFallback : Selected::kOperator;
  } else {
    return Selected::kNeither;
  }
}

/// An argument for any parameter.
struct AnyArgument {
  template <class T>
  operator T&() const;  // NOLINT: implicit on purpose.
  template <class T>
  operator T&&() const;  // NOLINT: implicit on purpose.
};

/// Whether F takes any number of arguments up to 12. If not, its operator has an error: clang
/// leaves an operator without a type out of the candidates.
template <class F, class... A>
constexpr bool takes_anything() {
  if constexpr (select_beside_fallback<F, A...>() != Selected::kFallback) {
    return true;
  } else if constexpr (sizeof...(A) < 12) {
    return takes_anything<F, A..., AnyArgument&>();
  } else {
    return false;
  }
}

#ifdef __clang__
inline constexpr bool kTakesUnknownTypesForInt = false;
#else
inline constexpr bool kTakesUnknownTypesForInt = true;
#endif

/// Whether the compiler may have taken the unknown type of a context for int: GCC gives an int& to
/// [](ReplicaContxt& replica) {...}. A context cannot be copied. A function that takes an
/// int by value has no such type.
template <class F, class Context = int, class... A>
constexpr bool has_unknown_type() {
  using Class = std::remove_const_t<F>;
  if constexpr (!kTakesUnknownTypesForInt ||
                std::is_copy_constructible_v<std::remove_reference_t<Context>>) {
    return false;
  } else if constexpr (CallableInManyWays<Class>) {
    return select_beside_fallback<Class, Context, A...>() == Selected::kFallback &&
           select_beside_fallback<Class, int&, A...>() == Selected::kNeither &&
           select_beside_fallback<Class, int, A...>() == Selected::kFallback;
  } else {
    return requires(F& fn) { fn(std::declval<int&>(), std::declval<A>()...); } &&
           !requires(F& fn) { fn(std::declval<int>(), std::declval<A>()...); };
  }
}

/// Does not compile, unless there is another error.
[[gnu::error("the first parameter is an int&, in place of a context")]] void take_context();

/// The result of a refused call; converts to any type.
struct Refused {
  template <class T>
  operator T() const;  // NOLINT: implicit on purpose.
};

/// An argument of a call that is never made.
template <class T>
[[noreturn]] T&& no_argument() {
  std::terminate();
}

template <class F, class... A>
constexpr CallFit fit_of_call();

/// A call of a function of type F with arguments of these types. F is constant if the verb calls a
/// constant function.
template <class F, class... A>
struct FunctionCall {
  static constexpr bool fits() { return fit_of_call<F, A...>() == CallFit::kCalls; }
  /// Whether the function takes other arguments: the verb then says how to write the function.
  static constexpr bool refuses() { return fit_of_call<F, A...>() == CallFit::kRefuses; }
  static constexpr bool is_broken() { return fit_of_call<F, A...>() == CallFit::kBroken; }
  /// The call. If the function is broken, the compiler reports the error once, here or earlier.
  static decltype(auto) call(F& fn, A&&... arguments) { return fn(static_cast<A&&>(arguments)...); }
  /// A call that is never made. Gives the result type of a call that fits. Of a broken function the
  /// expression is an error that has been reported: a verb returns this in place of a result, and
  /// the compiler reports nothing about the uses of the result.
  static decltype(auto) unmade() {
    if constexpr (fits() || !has_unknown_type<F, A...>()) {
      return call(no_argument<F&>(), no_argument<A>()...);
    } else {
      take_context();
      return Refused();
    }
  }
  /// For a verb that makes no call.
  static decltype(auto) no_result() {
    if constexpr (is_broken()) {
      return unmade();
    } else {
      return Refused();
    }
  }
};

/// The result type of a call that fits.
template <class Call>
using ResultOf = decltype(Call::unmade());
/// Whether a call fits and returns something.
template <class Call>
constexpr bool gives_value() {
  if constexpr (Call::fits()) {
    return !std::is_void_v<ResultOf<Call>>;
  } else {
    return false;
  }
}
/// Whether a call fits, and its result converts to T.
template <class Call, class T>
constexpr bool gives() {
  if constexpr (Call::fits()) {
    return std::is_convertible_v<ResultOf<Call>, T>;
  } else {
    return false;
  }
}

template <class F, class... A>
constexpr CallFit fit_of_call() {
  using Class = std::remove_const_t<F>;
  if constexpr (CallableInManyWays<Class>) {
    constexpr Selected kSelected = select_beside_fallback<Class, A...>();
    if constexpr (kSelected == Selected::kNeither) {
      constexpr bool kCalls =
          requires(F& fn) { FunctionCall<F, A...>::call(fn, std::declval<A>()...); };
      return kCalls ? CallFit::kCalls : CallFit::kBroken;
    } else if constexpr (kSelected == Selected::kFallback) {
      constexpr bool kRefuses = takes_anything<Class>() && !has_unknown_type<F, A...>();
      return kRefuses ? CallFit::kRefuses : CallFit::kBroken;
    }
  }
  if constexpr (requires(F& fn) { fn(std::declval<A>()...); }) {
    return CallFit::kCalls;
  } else {
    constexpr bool kBroken = !CallableInManyWays<Class> && has_unknown_type<F, A...>();
    return kBroken ? CallFit::kBroken : CallFit::kRefuses;
  }
}

}  // namespace belfry::detail
