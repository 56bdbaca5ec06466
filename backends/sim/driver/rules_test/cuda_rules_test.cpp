// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "calls_test.h"
#include "rig.h"

#include <string>
#include <thread>

// The rules of CUDA that the backend relies on. The same source runs on the simulated driver in
// every build, and on a GPU if available: the simulated driver is known to behave like CUDA.
namespace belfry::driver::test::cuda_rules_test {
namespace {

int first_of(const int* data, cudaStream_t stream) {
  std::vector<int> found(1);
  EXPECT_EQ(read(found, data, stream), cudaSuccess);
  return found[0];
}

TEST(CudaRules, WorkIsNotReadyUntilItIsDone) {
  Rig rig;
  cudaStream_t stream = make_stream();
  cudaEvent_t event = make_event();
  rig.hold(stream);
  ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an answer is no error";
  rig.release();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
}

TEST(CudaRules, PageableMemoryIsTakenInByTheCall) {
  Rig rig;
  cudaStream_t stream = make_stream();
  int* data = allocate(make_pool(), stream, 1);
  rig.hold(stream);
  std::vector<int> source{7};
  ASSERT_EQ(write(data, source, stream), cudaSuccess);
  source[0] = 8;
  rig.release();
  EXPECT_EQ(first_of(data, stream), 7);
}

TEST(CudaRules, AReadIntoPageableMemoryEndsBeforeItReturns) {
  const Rig rig;
  cudaStream_t stream = make_stream();
  int* data = allocate(make_pool(), stream, 1);
  ASSERT_EQ(write(data, {5}, stream), cudaSuccess);
  EXPECT_EQ(first_of(data, stream), 5) << "without another wait";
}

TEST(CudaRules, WaitsKeepTheRecordOfTheirCall) {
  Rig rig;
  cudaStream_t first = make_stream();
  cudaStream_t second = make_stream();
  cudaEvent_t event = make_event();
  ASSERT_EQ(cudaEventRecord(event, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
  rig.hold(first);
  ASSERT_EQ(cudaEventRecord(event, first), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess) << "does not wait for the later record";
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  rig.release();
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
}

TEST(CudaRules, AWaitHoldsItsStream) {
  Rig rig;
  cudaStream_t first = make_stream();
  cudaStream_t second = make_stream();
  cudaEvent_t event = make_event();
  rig.hold(first);
  ASSERT_EQ(cudaEventRecord(event, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
  ASSERT_EQ(cudaEventDestroy(event), cudaSuccess) << "the wait stays";
  EXPECT_EQ(cudaStreamQuery(second), cudaErrorNotReady);
  rig.release();
  EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
}

TEST(CudaRules, UnrecordedEventsBlockNoWait) {
  const Rig rig;
  cudaStream_t stream = make_stream();
  cudaEvent_t event = make_event();
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST(CudaRules, AStreamThatIsDestroyedEndsItsWork) {
  Rig rig;
  cudaStream_t stream = make_stream();
  int* data = allocate(make_pool(), stream, 1);
  rig.hold(stream);
  ASSERT_EQ(write(data, {3}, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  rig.release();
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(first_of(data, make_stream()), 3);
}

TEST(CudaRules, AnErrorIsKeptUntilItIsAskedFor) {
  const Rig rig;
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaStreamSynchronize(make_stream()), cudaSuccess) << "others succeed";
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "of the thread"; }).join();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(CudaRules, AHandleOfNothingIsAnError) {
  const Rig rig;
  cudaStream_t stream = make_stream();
  EXPECT_EQ(cudaEventDestroy(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventSynchronize(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(nullptr, stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamWaitEvent(stream, nullptr, 0), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaMemPoolDestroy(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeAsync(nullptr, stream), cudaSuccess) << "but freeing nothing is none";
}

TEST(CudaRules, AllocationsBeyondTheMemoryAreRefused) {
  const Rig rig;
  cudaStream_t stream = make_stream();
  cudaMemPool_t pool = make_pool();
  std::size_t available = 0;
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&available, &total), cudaSuccess);
  void* address = &total;
  EXPECT_EQ(cudaMallocFromPoolAsync(&address, total + 1, pool, stream), cudaErrorMemoryAllocation);
  EXPECT_EQ(address, nullptr);
  int* data = allocate(pool, stream, 1);
  ASSERT_EQ(write(data, {4}, stream), cudaSuccess);
  EXPECT_EQ(first_of(data, stream), 4) << "there is memory as before";
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
}

TEST(CudaRules, FreedMemoryIsReused) {
  const Rig rig;
  cudaStream_t stream = make_stream();
  cudaMemPool_t pool = make_pool();
  std::size_t available = 0;
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&available, &total), cudaSuccess);
  for (int i = 0; i < 10; ++i) {
    int* data = allocate(pool, stream, available / sizeof(int) / 10 * 6);
    ASSERT_NE(data, nullptr);
    ASSERT_EQ(cudaFreeAsync(data, stream), cudaSuccess);
  }
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST(CudaRules, APoolOutlivesItsHandle) {
  const Rig rig;
  cudaStream_t stream = make_stream();
  cudaMemPool_t pool = make_pool();
  int* data = allocate(pool, stream, 1);
  ASSERT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  ASSERT_EQ(write(data, {6}, stream), cudaSuccess);
  EXPECT_EQ(first_of(data, stream), 6);
  EXPECT_EQ(cudaFreeAsync(data, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST(CudaRules, NoBytesAreNothing) {
  const Rig rig;
  cudaStream_t stream = make_stream();
  void* address = &stream;
  EXPECT_EQ(cudaMallocFromPoolAsync(&address, 0, make_pool(), stream), cudaSuccess);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyHostToDevice, stream), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyDeviceToHost, stream), cudaSuccess);
}

TEST(CudaRules, AddressesAreCheckedAtTheCall) {
  const Rig rig;
  cudaStream_t stream = make_stream();
  int* data = allocate(make_pool(), stream, 200);
  const std::vector<int> two_hundred_and_one(201);
  EXPECT_EQ(write(data, two_hundred_and_one, stream), cudaErrorInvalidValue) << "too long";
  int here = 0;
  EXPECT_EQ(write(&here, {1}, stream), cudaErrorInvalidValue) << "memory of the host";
  EXPECT_EQ(cudaMemcpyAsync(data, &here, sizeof here, cudaMemcpyDeviceToDevice, stream),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeAsync(&here, stream), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeAsync(data + 64, stream), cudaErrorInvalidValue) << "not where it begins";
  ASSERT_EQ(cudaFreeAsync(data, stream), cudaSuccess);
  EXPECT_EQ(write(data, {1}, stream), cudaErrorInvalidValue) << "freed";
  EXPECT_EQ(cudaFreeAsync(data, stream), cudaErrorInvalidValue) << "freed twice";
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << "nothing of it was done";
}

TEST(CudaRules, PointersSayWhereTheyAre) {
  const Rig rig;
  int* data = allocate(make_pool(), make_stream(), 4);
  cudaPointerAttributes attributes{};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, data), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  int here = 0;
  for (const void* address : {static_cast<const void*>(&here), static_cast<const void*>(nullptr)}) {
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, address), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
    EXPECT_EQ(attributes.device, -2);
  }
}

TEST(CudaRules, AGpuIsNoPeerOfItself) {
  const Rig rig;
  int can = 1;
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 0), cudaSuccess);
  EXPECT_EQ(can, 0);
  const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
  EXPECT_EQ(cudaMemPoolSetAccess(make_pool(), &access, 1), cudaSuccess) << "yet this is allowed";
}

TEST(CudaRules, PrioritiesBeyondTheRangeAreTaken) {
  const Rig rig;
  int least = 0;
  int greatest = 0;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_LE(greatest, least) << "lower numbers come first";
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest - 100),
            cudaSuccess);
  EXPECT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, least + 100), cudaSuccess);
}

TEST(CudaRules, ErrorsHaveNames) {
  EXPECT_EQ(std::string(cudaGetErrorName(cudaErrorMemoryAllocation)), "cudaErrorMemoryAllocation");
  EXPECT_EQ(std::string(cudaGetErrorName(cudaErrorNotReady)), "cudaErrorNotReady");
}

}  // namespace
}  // namespace belfry::driver::test::cuda_rules_test
