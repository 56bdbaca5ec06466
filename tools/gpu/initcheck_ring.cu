// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A ring of additions on one GPU without belfry, for compute-sanitizer's initcheck: four members,
// each with two streams and a memory pool, as belfry's replicas that share a GPU. Every access is
// ordered by events, and launches do not block.
//
//   initcheck_ring right       every byte is written before a read
//   initcheck_ring unwritten   member 1 writes a quarter of its input, and a neighbour reads more
//
// Reports about `right` are mistakes of the tool; no report about `unwritten` is one, too. Exit
// code: 0 if the sums are right; those of `unwritten` are not compared. 1: wrong sums, 2: usage,
// 3: a call of CUDA failed.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kMembers = 4;
constexpr std::size_t kChunk = 1 << 12;  // Elements.
constexpr std::size_t kCount = kMembers * kChunk;
constexpr int kSteps = 50;

void ok(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "initcheck_ring: %s\n", cudaGetErrorString(code));
  std::exit(3);
}

__global__ void fill(float* x, float value, std::size_t count) {
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) x[i] = value;
}

__global__ void add(const float* left, const float* own, float* sum, std::size_t count) {
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) sum[i] = left[i] + own[i];
}

struct Member {
  Member() {
    ok(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&transfer, cudaStreamNonBlocking));
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    ok(cudaMemPoolCreate(&pool, &properties));
    ok(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  }
  float* allocate() const {
    void* memory = nullptr;
    ok(cudaMallocFromPoolAsync(&memory, kCount * sizeof(float), pool, compute));
    return static_cast<float*>(memory);
  }
  void record(cudaStream_t stream) const { ok(cudaEventRecord(done, stream)); }

  cudaStream_t compute = nullptr;
  cudaStream_t transfer = nullptr;
  cudaMemPool_t pool = nullptr;
  cudaEvent_t done = nullptr;
  float* input = nullptr;
  float* sum = nullptr;
};

using Ring = std::array<Member, kMembers>;

// The transfer streams of all members wait for the last records of all members.
void meet(const Ring& ring) {
  for (const Member& waiting : ring) {
    for (const Member& member : ring) ok(cudaStreamWaitEvent(waiting.transfer, member.done, 0));
  }
}

void begin(Ring& ring, bool is_right) {
  for (std::size_t m = 0; m < kMembers; ++m) {
    Member& member = ring[m];
    member.input = member.allocate();
    member.sum = member.allocate();
    const std::size_t count = is_right || m != 1 ? kCount : kChunk;
    fill<<<1, 256, 0, member.compute>>>(member.input, static_cast<float>(m + 1), count);
    ok(cudaGetLastError());
    member.record(member.compute);
  }
}

// In step k member m gets chunk m - k - 1 of its left neighbour: the partial sum, in the first step
// the input. After the last step member m has the whole sum of chunk m + 1.
void add_up(const Ring& ring) {
  for (std::size_t step = 0; step + 1 < kMembers; ++step) {
    meet(ring);
    for (std::size_t m = 0; m < kMembers; ++m) {
      const Member& left = ring[(m + kMembers - 1) % kMembers];
      const std::size_t at = (m + 2 * kMembers - step - 1) % kMembers * kChunk;
      add<<<1, 256, 0, ring[m].transfer>>>((step == 0 ? left.input : left.sum) + at,
                                           ring[m].input + at, ring[m].sum + at, kChunk);
      ok(cudaGetLastError());
    }
    for (const Member& member : ring) member.record(member.transfer);
  }
}

// In step k member m copies chunk m - k of its left neighbour.
void copy_around(const Ring& ring) {
  for (std::size_t step = 0; step + 1 < kMembers; ++step) {
    meet(ring);
    for (std::size_t m = 0; m < kMembers; ++m) {
      const Member& left = ring[(m + kMembers - 1) % kMembers];
      const std::size_t at = (m + kMembers - step) % kMembers * kChunk;
      ok(cudaMemcpyAsync(ring[m].sum + at, left.sum + at, kChunk * sizeof(float),
                         cudaMemcpyDeviceToDevice, ring[m].transfer));
    }
    for (const Member& member : ring) member.record(member.transfer);
  }
}

// Frees the memory of the ring. Returns the number of wrong sums.
std::size_t end(Ring& ring) {
  std::size_t wrong = 0;
  std::vector<float> found(kCount);
  for (Member& member : ring) {
    for (const Member& other : ring) ok(cudaStreamWaitEvent(member.compute, other.done, 0));
    ok(cudaMemcpyAsync(found.data(), member.sum, kCount * sizeof(float), cudaMemcpyDeviceToHost,
                       member.compute));
    ok(cudaFreeAsync(member.input, member.compute));
    ok(cudaFreeAsync(member.sum, member.compute));
    ok(cudaStreamSynchronize(member.compute));
    for (const float sum : found) wrong += sum != 1 + 2 + 3 + 4;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc == 2 ? argv[1] : "";
  const bool is_right = kind == "right";
  if (!is_right && kind != "unwritten") {
    std::fprintf(stderr, "usage: initcheck_ring right|unwritten\n");
    return 2;
  }
  Ring ring;
  std::size_t wrong = 0;
  for (int step = 0; step < kSteps; ++step) {
    begin(ring, is_right);
    add_up(ring);
    copy_around(ring);
    wrong += end(ring);
  }
  if (is_right && wrong > 0) std::fprintf(stderr, "initcheck_ring: %zu wrong sums\n", wrong);
  return is_right && wrong > 0 ? 1 : 0;
}
