// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/user_kernel.h"
#include "belfry/detail/kernel_body.h"
#include "belfry/dtype.h"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// A weight with its slots and its gradient, for a kernel of the program's own that changes all
/// weights of FusedUpdate::kernel in one launch.
template <class T, std::size_t kSlots>
struct UpdatedTensors {
  std::span<T> weight;                     ///< Changed.
  std::array<std::span<T>, kSlots> slots;  ///< Changed.
  std::span<const T> gradient;             ///< Read.
};

/// The parts of FusedUpdate::kernel.
namespace detail {

template <class T, std::size_t kCount>
struct UpdateSignature {
  using Element = T;
  static constexpr std::size_t kSlots = kCount;
};
template <class K, class T, class... S>
  requires(sizeof...(S) > 0)
UpdateSignature<T, sizeof...(S) - 1> update_signature(void (K::*)(std::span<T>, S...) const);

template <class K>
using SignatureOf = decltype(update_signature(&K::on_host));

/// Whether a kernel can be called with a weight, slots and a gradient.
template <class K, class T, std::size_t... s>
constexpr bool takes_tensors(std::index_sequence<s...>) {
  return requires(const K& kernel, std::span<T> changed, std::span<const T> read) {
    kernel.on_host(changed, (static_cast<void>(s), changed)..., read);
  };
}
template <class K, class T, std::size_t... s>
constexpr bool enqueues_tensors(std::index_sequence<s...>) {
  return requires(const K& kernel, NativeStream stream, std::span<T> changed,
                  std::span<const T> read) {
    kernel.on_cuda(stream, changed, (static_cast<void>(s), changed)..., read);
  };
}
template <class K>
constexpr bool updates_tensors() {
  if constexpr (requires { typename SignatureOf<K>; }) {
    using Signature = SignatureOf<K>;
    return std::is_trivially_copyable_v<K> && Element<typename Signature::Element> &&
           takes_tensors<K, typename Signature::Element>(
               std::make_index_sequence<Signature::kSlots>());
  } else {
    return false;
  }
}
template <class K>
inline constexpr bool kUpdatesTensors = updates_tensors<K>();

/// A kernel of the program's own as a rule, without its type.
class OwnUpdate {
 public:
  virtual ~OwnUpdate() = default;
  virtual std::string_view name() const = 0;
  virtual DType dtype() const = 0;
  virtual std::size_t slots() const = 0;
  /// The body for a number of weights, at least 1.
  virtual std::shared_ptr<const UserKernel> body(std::size_t weights) const = 0;
};

/// The traits of a body: the tensors that are changed, then the gradients.
struct UpdateTraits {
  UpdateTraits(std::string_view name, DType dtype, std::size_t changed, std::size_t read,
               bool on_cuda)
      : modes(changed + read, OperandMode::kUpdates), dtypes(changed + read, dtype) {
    for (std::size_t i = changed; i < modes.size(); ++i) modes[i] = OperandMode::kReads;
    traits = {name, modes, dtypes, true, on_cuda};
  }

  std::vector<OperandMode> modes;
  std::vector<DType> dtypes;
  UserKernelTraits traits{};
};

/// A kernel for a number of weights. The traits come first among the bases: the second keeps their
/// address.
template <class K>
class UpdateBody final : UpdateTraits, public UserKernel {
  using Own = typename SignatureOf<K>::Element;
  static constexpr std::size_t kSlots = SignatureOf<K>::kSlots;
  using Slots = std::make_index_sequence<kSlots>;
  using Tensors = UpdatedTensors<Own, kSlots>;
  static constexpr bool kOnCudaForAll =
      requires(const K& kernel, NativeStream stream, std::span<const Tensors> all) {
        kernel.on_cuda(stream, all);
      };
  static constexpr bool kOnCudaForEach = enqueues_tensors<K, Own>(Slots());

 public:
  UpdateBody(const K& kernel, std::size_t weights)
      : UpdateTraits(kernel_name<K>(), dtype_of<Own>(), weights * (1 + kSlots), weights,
                     kOnCudaForAll || kOnCudaForEach),
        UserKernel(UpdateTraits::traits),
        kernel_(kernel) {}

  void on_host(const KernelCall& call) const override {
    for (std::size_t k = 0; k < call.inputs.size(); ++k) {
      with_spans(tensors_of(call, k), Slots(),
                 [this](const auto&... spans) { kernel_.on_host(spans...); });
    }
  }
  void on_cuda([[maybe_unused]] NativeStream stream,
               [[maybe_unused]] const KernelCall& call) const override {
    if constexpr (kOnCudaForAll) {
      std::vector<Tensors> all;
      for (std::size_t k = 0; k < call.inputs.size(); ++k) all.push_back(tensors_of(call, k));
      kernel_.on_cuda(stream, std::span<const Tensors>(all));
    } else if constexpr (kOnCudaForEach) {
      for (std::size_t k = 0; k < call.inputs.size(); ++k) {
        with_spans(tensors_of(call, k), Slots(),
                   [&](const auto&... spans) { kernel_.on_cuda(stream, spans...); });
      }
    }
  }

 private:
  static std::span<Own> changed_span(const KernelOperand& operand) {
    return {static_cast<Own*>(operand.data), operand.count};
  }
  static Tensors tensors_of(const KernelCall& call, std::size_t k) {
    const KernelOperand* const changed = &call.outputs[k * (1 + kSlots)];
    Tensors tensors{
        .weight = changed_span(changed[0]), .slots = {}, .gradient = changed_span(call.inputs[k])};
    for (std::size_t s = 0; s < kSlots; ++s) tensors.slots[s] = changed_span(changed[1 + s]);
    return tensors;
  }
  template <std::size_t... s, class F>
  static void with_spans(const Tensors& tensors, std::index_sequence<s...>, const F& fn) {
    fn(tensors.weight, std::get<s>(tensors.slots)..., tensors.gradient);
  }

  K kernel_;
};

template <class K>
class UpdateOfKernel final : public OwnUpdate {
 public:
  explicit UpdateOfKernel(const K& kernel) : kernel_(kernel) {}

  std::string_view name() const override { return kernel_name<K>(); }
  DType dtype() const override { return dtype_of<typename SignatureOf<K>::Element>(); }
  std::size_t slots() const override { return SignatureOf<K>::kSlots; }
  std::shared_ptr<const UserKernel> body(std::size_t weights) const override {
    return std::make_shared<const UpdateBody<K>>(kernel_, weights);
  }

 private:
  K kernel_;
};

}  // namespace detail
}  // namespace belfry
