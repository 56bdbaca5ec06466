// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Mistakes in kernels of users. The first error says what to write, and the output is short. Each
// section fails; the rest compiles.
#include "belfry/belfry.h"
#include "belfry/launch.h"

#include <span>
#include <vector>

namespace belfry {

struct Fits {
  float scale = 1;
  bool check(const Shape& y, const Shape& x) const { return y == x; }
  void on_host(std::span<float> y, std::span<const float> x) const { y[0] += scale * x[0]; }
  void on_cuda(void*, std::span<float>, std::span<const float>) const {}
};

void kernels_fit_their_launch(Tensor<float>& y, const Tensor<float>& x) {
  launch(Fits(), updates(y), reads(x));
#ifdef LAUNCH_A_TENSOR
  // FIRST: write launch\(kernel, updates\(y\), reads\(x\)\): operands are reads\(tensor\)
  struct Plain {
    void on_host(std::span<float>, std::span<const float>) const {}
  };
  launch(Plain(), y, x);
#endif
#ifdef LAUNCH_WITHOUT_OPERANDS
  // FIRST: write launch\(kernel, updates\(y\), reads\(x\)\): operands are reads\(tensor\)
  struct Alone {
    void on_host() const {}
  };
  launch(Alone());
#endif
#ifdef LAUNCH_A_VECTOR
  // FIRST: write a trivially copyable struct, with numbers, arrays of fixed size and pointers
  struct Owns {
    std::vector<float> scales;
    void on_host(std::span<float>) const {}
  };
  launch(Owns(), updates(y));
#endif
#ifdef LAUNCH_A_LAMBDA
  // FIRST: the kernel has no body: write void on_host\(std::span<T> y, std::span<const T> x\) const
  launch([](std::span<float>) {}, updates(y));
#endif
}

void bodies_fit_the_operands(Tensor<float>& y, const Tensor<float>& x) {
  launch(Fits(), updates(y), reads(x));
#ifdef BODY_WITH_OPERANDS_IN_ANOTHER_ORDER
  // FIRST: on_host does not fit the launch: write void on_host\(...\) const with, in the order
  launch(Fits(), reads(x), updates(y));
#endif
#ifdef BODY_WITHOUT_AN_OPERAND
  // FIRST: on_host does not fit the launch: write void on_host\(...\) const with, in the order
  struct Short {
    void on_host(std::span<float>) const {}
  };
  launch(Short(), updates(y), reads(x));
#endif
#ifdef BODY_THAT_CHANGES_THE_KERNEL
  // FIRST: on_host does not fit the launch: write void on_host\(...\) const with, in the order
  struct Counts {
    int calls = 0;
    void on_host(std::span<float>) { ++calls; }
  };
  launch(Counts(), updates(y));
#endif
#ifdef BODY_THAT_WRITES_WHAT_IT_READS
  // FIRST: on_host does not fit the launch: write void on_host\(...\) const with, in the order
  struct Writes {
    void on_host(std::span<float>) const {}
  };
  launch(Writes(), reads(x));
#endif
#ifdef BODY_FOR_GPUS_WITHOUT_A_STREAM
  // FIRST: on_cuda does not fit the launch: write void on_cuda\(cudaStream_t stream, ...\) const
  struct NoStream {
    void on_host(std::span<float>) const {}
    void on_cuda(std::span<float>) const {}
  };
  launch(NoStream(), updates(y));
#endif
#ifdef CHECK_WITH_TOO_FEW_SHAPES
  // FIRST: check does not fit the launch: write void check\(const Shape&...\) const, with a
  struct Few {
    void check(const Shape&) const {}
    void on_host(std::span<float>, std::span<const float>) const {}
  };
  launch(Few(), updates(y), reads(x));
#endif
}

void kernels_fit_an_update() {
  FusedUpdate::kernel(Fits());
#ifdef KERNEL_OF_AN_UPDATE_WITHOUT_A_GRADIENT
  // FIRST: a kernel for update_all is a trivially copyable struct with void on_host\(std::span<T>
  struct Alone {
    void on_host(std::span<float>) const {}
  };
  FusedUpdate::kernel(Alone());
#endif
#ifdef KERNEL_OF_AN_UPDATE_THAT_OWNS_MEMORY
  // FIRST: a kernel for update_all is a trivially copyable struct with void on_host\(std::span<T>
  struct Owns {
    std::vector<float> rates;
    void on_host(std::span<float>, std::span<const float>) const {}
  };
  FusedUpdate::kernel(Owns());
#endif
}

void lists_have_mirrored_variables(const MirroredVariable<Tensor<float>>& weight,
                                   const ReplicaLocalVariable<Tensor<float>>& own,
                                   const MirroredVariable<float>& number) {
  TensorVariables{weight};
  static_cast<void>(own), static_cast<void>(number);
#ifdef LIST_WITH_A_REPLICA_LOCAL_VARIABLE
  // FIRST: update_all changes mirrored variables: write update for each replica-local variable
  TensorVariables{own};
#endif
#ifdef LIST_WITH_A_NUMBER
  // FIRST: update_all changes variables of tensors: write update for all others
  TensorVariables{number};
#endif
}

}  // namespace belfry
