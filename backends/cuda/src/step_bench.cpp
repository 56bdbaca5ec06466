// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The end of a step of training on the CUDA backend over the simulated driver: 300 gradients are
// reduced, and momentum changes 300 variables. Three ways, in rounds of one run:
//
//   fused      GradientBuckets and update_all
//   apart      a reduction and an update by functions of tensors for each variable
//   by hand    the calls of CUDA and NCCL that a program of its own would make: a pack, a
//              collective and an update for each GPU, with the events between streams
//
// Counters: calls of the driver, launches, allocations and allocated bytes of a step, and ratios of
// processor time. `valgrind --tool=callgrind` with a filter of one way counts its instructions.
#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/fused_update.h"
#include "belfry/gradient_buckets.h"
#include "belfry/sim/driver.h"
#include "belfry/tensor_ops.h"
#include "kernel_launch.h"
#include "kernels/paired_bench.h"

#include <benchmark/benchmark.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry {
namespace {

constexpr int kGpus = 2;
constexpr std::size_t kParameters = 300;
constexpr std::size_t kCount = 256;  // Elements of each parameter.

class CountedCalls final : public sim::CallObserver {
 public:
  void enter() noexcept override { ++calls; }
  void leave() noexcept override {}
  std::uint64_t calls = 0;
};

// Ends the program for a code that is not 0.
void require(int code) {
  if (code != 0) throw std::runtime_error("a call by hand failed with " + std::to_string(code));
}

// The step by hand: all memory, streams and events are made before.
class ByHand {
 public:
  ByHand() {
    std::array<ncclComm_t, kGpus> made{};
    std::array<int, kGpus> gpus{};
    for (int g = 0; g < kGpus; ++g) gpus[static_cast<std::size_t>(g)] = g;
    require(ncclCommInitAll(made.data(), kGpus, gpus.data()));
    for (int g = 0; g < kGpus; ++g) {
      Gpu& gpu = gpus_[static_cast<std::size_t>(g)];
      gpu.communicator = made[static_cast<std::size_t>(g)];
      require(cudaSetDevice(g));
      require(cudaStreamCreateWithFlags(&gpu.compute, cudaStreamNonBlocking));
      require(cudaStreamCreateWithFlags(&gpu.communication, cudaStreamNonBlocking));
      require(cudaEventCreateWithFlags(&gpu.packed, cudaEventDisableTiming));
      require(cudaEventCreateWithFlags(&gpu.reduced, cudaEventDisableTiming));
      for (float** memory : {&gpu.weights, &gpu.velocities, &gpu.gradients, &gpu.bucket}) {
        require(cudaMalloc(reinterpret_cast<void**>(memory), kBytes));
        require(cudaMemsetAsync(*memory, 0, kBytes, gpu.compute));
      }
      gpu.pack.kind = KernelKind::kCopyEach;
      gpu.update.kind = KernelKind::kFusedUpdate;
      gpu.update.parameters.update = UpdateRule::kMomentum;
      gpu.update.parameters.scalar = 0.25;
      gpu.update.parameters.decay = 0.5;
      for (std::size_t p = 0; p < kParameters; ++p) {
        const auto part = [p](float* all) {
          return KernelOperand{all + p * kCount, kCount, DType::kFloat32};
        };
        gpu.pack.inputs.push_back(part(gpu.gradients));
        gpu.pack.outputs.push_back(part(gpu.bucket));
        gpu.update.inputs.push_back(part(gpu.bucket));
        gpu.update.outputs.push_back(part(gpu.weights));
        gpu.update.outputs.push_back(part(gpu.velocities));
      }
      require(cudaStreamSynchronize(gpu.compute));
    }
  }
  ~ByHand() {
    for (int g = 0; g < kGpus; ++g) {
      Gpu& gpu = gpus_[static_cast<std::size_t>(g)];
      cudaSetDevice(g);
      cudaStreamSynchronize(gpu.compute);
      ncclCommDestroy(gpu.communicator);
      for (float* memory : {gpu.weights, gpu.velocities, gpu.gradients, gpu.bucket}) {
        cudaFree(memory);
      }
      cudaEventDestroy(gpu.packed);
      cudaEventDestroy(gpu.reduced);
      cudaStreamDestroy(gpu.compute);
      cudaStreamDestroy(gpu.communication);
    }
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  void step() {
    for (int g = 0; g < kGpus; ++g) {
      Gpu& gpu = gpus_[static_cast<std::size_t>(g)];
      require(cudaSetDevice(g));
      cuda::launch(gpu.pack, gpu.compute);
      require(cudaEventRecord(gpu.packed, gpu.compute));
      require(cudaStreamWaitEvent(gpu.communication, gpu.packed, 0));
    }
    require(ncclGroupStart());
    for (Gpu& gpu : gpus_) {
      require(ncclAllReduce(gpu.bucket, gpu.bucket, kParameters * kCount, ncclFloat, ncclSum,
                            gpu.communicator, gpu.communication));
    }
    require(ncclGroupEnd());
    for (int g = 0; g < kGpus; ++g) {
      Gpu& gpu = gpus_[static_cast<std::size_t>(g)];
      require(cudaSetDevice(g));
      require(cudaEventRecord(gpu.reduced, gpu.communication));
      require(cudaStreamWaitEvent(gpu.compute, gpu.reduced, 0));
      cuda::launch(gpu.update, gpu.compute);
    }
  }
  void wait() {
    for (int g = 0; g < kGpus; ++g) {
      require(cudaSetDevice(g));
      require(cudaStreamSynchronize(gpus_[static_cast<std::size_t>(g)].compute));
    }
  }

 private:
  static constexpr std::size_t kBytes = kParameters * kCount * sizeof(float);
  struct Gpu {
    ncclComm_t communicator = nullptr;
    cudaStream_t compute = nullptr;
    cudaStream_t communication = nullptr;
    cudaEvent_t packed = nullptr;
    cudaEvent_t reduced = nullptr;
    float* weights = nullptr;
    float* velocities = nullptr;
    float* gradients = nullptr;
    float* bucket = nullptr;
    KernelCall pack{};
    KernelCall update{};
  };
  std::array<Gpu, kGpus> gpus_{};
};

// The step by belfry.
class ByBelfry {
 public:
  ByBelfry() {
    for (std::size_t p = 0; p < kParameters; ++p) {
      const auto zeros = [] { return Tensor<float>::zeros({kCount}); };
      weights_.push_back(strategy_.mirrored_variable(zeros));
      velocities_.push_back(strategy_.mirrored_variable(zeros));
      gradients_.push_back(
          strategy_.run([](ReplicaContext&) { return Tensor<float>::full({kCount}, 1.0F); }));
    }
  }

  void fused() {
    strategy_.run([&](ReplicaContext& replica) {
      for (std::size_t p = 0; p < kParameters; ++p) {
        buckets_.add(replica, names_[p], gradients_[p][replica.replica_id()]);
      }
      buckets_.finish(replica, [&](CrossReplicaContext& cross, const TensorValues& sums) {
        cross.update_all(weights_, FusedUpdate::momentum(0.25, 0.5), velocities_, sums);
      });
    });
  }
  void apart() {
    CrossReplicaContext& cross = strategy_.cross_replica();
    for (std::size_t p = 0; p < kParameters; ++p) {
      const auto sum = cross.reduce(ReduceOp::kSum, gradients_[p]);
      cross.update(
          velocities_[p],
          [](Tensor<float>& velocity, const Tensor<float>& gradient) {
            scale(velocity, 0.5F);
            add_to(velocity, gradient);
          },
          sum);
      cross.update(
          weights_[p],
          [](Tensor<float>& weight, const Tensor<float>& velocity) {
            subtract_scaled(weight, 0.25F, velocity);
          },
          velocities_[p]);
    }
  }
  void wait() {
    for (int g = 0; g < kGpus; ++g) backend_.device(g).compute_stream().synchronize();
  }
  cuda::Statistics statistics() { return backend_.statistics(); }

 private:
  static cuda::Options options() {
    cuda::Options options;
    options.devices = {0, 1};
    options.carrier = cuda::Carrier::kFiber;  // All work is of the measured thread.
    return options;
  }

  cuda::Backend backend_{options()};
  MirroredStrategy strategy_{backend_};
  const std::vector<std::string> names_ = [] {
    std::vector<std::string> names;
    for (std::size_t p = 0; p < kParameters; ++p) names.push_back("p" + std::to_string(p));
    return names;
  }();
  std::vector<MirroredVariable<Tensor<float>>> weights_;
  std::vector<MirroredVariable<Tensor<float>>> velocities_;
  std::vector<PerReplica<Tensor<float>>> gradients_;
  GradientBuckets buckets_{strategy_, names_, {.op = ReduceOp::kSum}};
};

struct Rig {
  CountedCalls calls;
  sim::SimulatedDriver driver{{.gpus = kGpus, .observer = &calls}};
  ByHand hand;
  ByBelfry belfry;
};

// The calls of a step whose work ends before the next step, without the calls that wait for the
// work. The first steps find memory and events.
template <class Step>
double calls_of(Rig& rig, const Step& step) {
  constexpr int kSteps = 16;
  std::uint64_t calls = 0;
  for (int i = 0; i < 2 * kSteps; ++i) {
    const std::uint64_t before = rig.calls.calls;
    step();
    if (i >= kSteps) calls += rig.calls.calls - before;
    for (int g = 0; g < kGpus; ++g) {
      require(cudaSetDevice(g));
      require(cudaDeviceSynchronize());
    }
    require(cudaSetDevice(0));
  }
  return static_cast<double>(calls) / kSteps;
}

void count_work(benchmark::State& state, Rig& rig, const std::string& way,
                void (ByBelfry::*step)()) {
  const cuda::Statistics before = rig.belfry.statistics();
  (rig.belfry.*step)();
  const cuda::Statistics after = rig.belfry.statistics();
  state.counters[way + "_launches"] =
      static_cast<double>(after.kernel_launches - before.kernel_launches);
  state.counters[way + "_allocations"] =
      static_cast<double>(after.allocations - before.allocations);
  state.counters[way + "_collectives"] =
      static_cast<double>(after.collectives() - before.collectives());
}

void BM_Step(benchmark::State& state) {
  Rig rig;
  const auto fused = [&] { rig.belfry.fused(); };
  const auto apart = [&] { rig.belfry.apart(); };
  const auto by_hand = [&] { rig.hand.step(); };
  const double fused_calls = calls_of(rig, fused);
  const double apart_calls = calls_of(rig, apart);
  const double hand_calls = calls_of(rig, by_hand);
  state.counters["fused_calls"] = fused_calls;
  state.counters["apart_calls_ratio"] = apart_calls / fused_calls;
  state.counters["fused_calls_over_by_hand"] = fused_calls / hand_calls;
  count_work(state, rig, "fused", &ByBelfry::fused);
  count_work(state, rig, "apart", &ByBelfry::apart);
  rig.belfry.wait();
  rig.hand.wait();
  const bench::Comparison comparison(state, {[&] {
                                               fused();
                                               rig.belfry.wait();
                                             },
                                             [&] {
                                               apart();
                                               rig.belfry.wait();
                                             },
                                             [&] {
                                               by_hand();
                                               rig.hand.wait();
                                             }});
  comparison.report("apart_time_ratio", {1});
  comparison.report("by_hand_time_ratio", {2});
}
BENCHMARK(BM_Step)->UseManualTime()->Iterations(30)->Unit(benchmark::kMicrosecond);

// For counts of instructions, each way alone.
template <class Step, class Wait>
void repeat(benchmark::State& state, const Step& step, const Wait& wait) {
  for ([[maybe_unused]] auto _ : state) {
    step();
    wait();
  }
}
void BM_FusedAlone(benchmark::State& state) {
  Rig rig;
  repeat(state, [&] { rig.belfry.fused(); }, [&] { rig.belfry.wait(); });
}
BENCHMARK(BM_FusedAlone)->Iterations(100);
void BM_ByHandAlone(benchmark::State& state) {
  Rig rig;
  repeat(state, [&] { rig.hand.step(); }, [&] { rig.hand.wait(); });
}
BENCHMARK(BM_ByHandAlone)->Iterations(100);

}  // namespace
}  // namespace belfry
