// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/user_kernel.h"
#include "belfry/dtype.h"

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

/// The typed body of a user's kernel. `O` is an operand of the launch: it has an element type
/// `Element`, a mode `kMode` and the type `Span` of the argument that the body gets.
namespace belfry::detail {

template <class K>
constexpr const char* spelled_kernel() {
  return __PRETTY_FUNCTION__;
}

/// `Scale` of `models::Scale<float>` as a compiler spells it: without namespaces, functions and
/// template arguments, whose spelling differs between compilers.
constexpr std::string_view unqualified_name(std::string_view spelled) {
  spelled = spelled.substr(spelled.find("K = ") + 4);
  spelled = spelled.substr(0, spelled.rfind(']'));
  std::size_t begin = 0;
  std::size_t end = spelled.size();
  int depth = 0;
  for (std::size_t i = 0; i < spelled.size(); ++i) {
    const char c = spelled[i];
    if (c == '<' && depth == 0) end = i;
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
    if (depth != 0 || c != ':') continue;
    begin = i + 1;
    end = spelled.size();
  }
  return spelled.substr(begin, end - begin);
}

/// The name of a kernel in messages and logs: `K::kName` if there is one, else the type's.
template <class K>
constexpr std::string_view kernel_name() {
  if constexpr (requires { std::string_view(K::kName); }) {
    return K::kName;
  } else {
    return unqualified_name(spelled_kernel<K>());
  }
}

// Whether a class has a member of the name, whatever its type: a second base with the name makes
// the name ambiguous.
struct NamesOnHost {
  int on_host;
};
struct NamesOnCuda {
  int on_cuda;
};
struct NamesCheck {
  int check;
};
template <class K, class Name>
struct WithName : K, Name {};

template <class K>
concept Derivable = std::is_class_v<K> && !std::is_final_v<K>;
template <class K>
constexpr bool has_on_host() {
  if constexpr (Derivable<K>) {
    return !requires { &WithName<K, NamesOnHost>::on_host; };
  } else {
    return requires { &K::on_host; };
  }
}
template <class K>
constexpr bool has_on_cuda() {
  if constexpr (Derivable<K>) {
    return !requires { &WithName<K, NamesOnCuda>::on_cuda; };
  } else {
    return requires { &K::on_cuda; };
  }
}
template <class K>
constexpr bool has_check() {
  if constexpr (Derivable<K>) {
    return !requires { &WithName<K, NamesCheck>::check; };
  } else {
    return requires { &K::check; };
  }
}

template <class K, class... O>
concept RunsOnHost =
    requires(const K& kernel, typename O::Span... spans) { kernel.on_host(spans...); };
template <class K, class... O>
concept RunsOnCuda = requires(const K& kernel, NativeStream stream, typename O::Span... spans) {
  kernel.on_cuda(stream, spans...);
};

/// A copy of a kernel, with the modes of its operands.
template <class K, class... O>
class KernelBody final : public UserKernel {
 public:
  explicit KernelBody(const K& kernel) : UserKernel(kTraits), kernel_(kernel) {}

  void on_host(const KernelCall& call) const override {
    if constexpr (RunsOnHost<K, O...>) {
      with_spans(call, [&](const auto&... spans) { kernel_.on_host(spans...); });
    }
  }
  void on_cuda(NativeStream stream, const KernelCall& call) const override {
    if constexpr (RunsOnCuda<K, O...>) {
      with_spans(call, [&](const auto&... spans) { kernel_.on_cuda(stream, spans...); });
    }
  }

 private:
  static constexpr std::array<OperandMode, sizeof...(O)> kModes{O::kMode...};
  static constexpr std::array<DType, sizeof...(O)> kDTypes{O::kDType...};
  static constexpr UserKernelTraits kTraits{kernel_name<K>(), kModes, kDTypes, RunsOnHost<K, O...>,
                                            RunsOnCuda<K, O...>};

  // The place of an operand among the inputs, or among the outputs.
  static constexpr std::size_t place_of(std::size_t operand) {
    const OperandMode mode = kModes[operand];
    std::size_t place = 0;
    for (std::size_t i = 0; i < kModes.size(); ++i) {
      const bool is_input = kModes[i] == OperandMode::kReads;
      const bool is_scratch = kModes[i] == OperandMode::kScratch;
      if (mode == OperandMode::kReads) {
        place += is_input && i < operand ? 1 : 0;
      } else if (mode == OperandMode::kScratch) {
        place += !is_input && (!is_scratch || i < operand) ? 1 : 0;
      } else {
        place += !is_input && !is_scratch && i < operand ? 1 : 0;
      }
    }
    return place;
  }

  template <class F>
  static void with_spans(const KernelCall& call, const F& fn) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      fn(span_of<O>(O::kMode == OperandMode::kReads ? call.inputs[place_of(i)]
                                                    : call.outputs[place_of(i)])...);
    }(std::index_sequence_for<O...>());
  }

  template <class One>
  static typename One::Span span_of(const KernelOperand& operand) {
    return {static_cast<typename One::Span::pointer>(operand.data), operand.count};
  }

  K kernel_;
};

}  // namespace belfry::detail
