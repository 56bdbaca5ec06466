// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Objects of streams, on the simulated driver and on a GPU.
#include "belfry/cuda/per_stream.h"

#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "body_for_gpus_test.h"
#include "support_test.h"

#include <gtest/gtest.h>
#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace belfry::cuda::per_stream_test {
namespace {

using test::call_on_cuda;
using test::code_of;
using test::compute_stream;

int current_gpu() {
  int gpu = -1;
  EXPECT_EQ(cudaGetDevice(&gpu), cudaSuccess);
  return gpu;
}

// A moment in the life of a Handle. The constructor of an object of a stream has no parameter for
// the place of its records.
struct Moment {
  cudaStream_t stream;
  int gpu;
  bool idle;  // Whether all work of the stream is done.
};
std::vector<Moment> made;
std::vector<Moment> ended;

struct Handle {
  explicit Handle(cudaStream_t of) : stream(of) { made.push_back(now()); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { ended.push_back(now()); }
  Moment now() const { return {stream, current_gpu(), cudaStreamQuery(stream) == cudaSuccess}; }

  cudaStream_t stream;
};

struct Count {
  int calls = 0;
};

struct GetsHandle {
  Handle** handle;
  void on_cuda(cudaStream_t stream) const {
    *handle = &per_stream<Handle>(stream);
    EXPECT_EQ(&per_stream<Handle>(stream), *handle);
  }
};

Handle* handle_of(Stream& stream) {
  Handle* handle = nullptr;
  call_on_cuda(stream, GetsHandle{&handle});
  return handle;
}

// Two devices, on two GPUs if the machine has two.
class PerStream : public ::testing::Test {
 protected:
  PerStream() {
    made.clear();
    ended.clear();
    int gpus = 0;
    EXPECT_EQ(cudaGetDeviceCount(&gpus), cudaSuccess);
    backend_ = std::make_unique<Backend>(Options{.devices = {0, gpus > 1 ? 1 : 0}});
  }
  Stream& stream(int device) { return compute_stream(*backend_, device); }

  std::unique_ptr<Backend> backend_;
};

TEST_F(PerStream, MakesAnObjectForEachStreamWithTheGpuCurrent) {
  auto& other = static_cast<Stream&>(backend_->device(0).communication_stream());
  Handle* const first = handle_of(stream(0));
  EXPECT_EQ(handle_of(stream(0)), first);
  EXPECT_NE(handle_of(stream(1)), first);
  EXPECT_NE(handle_of(other), first);
  ASSERT_EQ(made.size(), 3U);
  EXPECT_EQ(made[0].stream, stream(0).get());
  EXPECT_EQ(made[1].stream, stream(1).get());
  EXPECT_EQ(made[2].stream, other.get());
  EXPECT_EQ(made[0].gpu, backend_->gpu(0));
  EXPECT_EQ(made[1].gpu, backend_->gpu(1));
}

struct MakesAnotherGpuCurrent {
  void on_cuda(cudaStream_t stream) const {
    const CurrentGpu other(0);
    per_stream<Handle>(stream);
    EXPECT_EQ(current_gpu(), 0);
  }
};

TEST_F(PerStream, MakesTheGpuOfTheStreamCurrent) {
  call_on_cuda(stream(1), MakesAnotherGpuCurrent());
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].gpu, backend_->gpu(1));
}

struct Counts {
  int* calls;
  void on_cuda(cudaStream_t stream) const {
    per_stream<Handle>(stream);
    *calls = ++per_stream<Count>(stream).calls;
  }
};

TEST_F(PerStream, KeepsObjectsOfEachTypeBetweenBodies) {
  int calls = 0;
  for (int time = 1; time <= 3; ++time) {
    call_on_cuda(stream(0), Counts{&calls});
    EXPECT_EQ(calls, time);
  }
  call_on_cuda(stream(1), Counts{&calls});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(made.size(), 2U);
}

TEST_F(PerStream, EndsObjectsAfterTheWorkOfTheStream) {
  auto made_stream = backend_->device(1).create_stream();
  auto& own = static_cast<Stream&>(*made_stream);
  cudaStream_t const of = handle_of(own)->stream;
  Kernel fill;
  fill.outputs = {view_of(backend_->device(1).allocate(4, own), DType::kFloat32)};
  for (int time = 0; time < 100; ++time) own.launch(fill);
  const int before = current_gpu();
  made_stream.reset();
  EXPECT_EQ(current_gpu(), before);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].stream, of);
  EXPECT_EQ(ended[0].gpu, backend_->gpu(1));
  EXPECT_TRUE(ended[0].idle);
}

TEST_F(PerStream, EndsObjectsWithTheBackendAlthoughMemoryOfTheStreamLives) {
  handle_of(stream(0));
  const BufferPtr memory = backend_->device(0).allocate(4, stream(0));
  backend_.reset();
  EXPECT_EQ(ended.size(), 1U);
}

// Asks for another object, and uses the object until the end.
struct Outer {
  explicit Outer(cudaStream_t stream) : inner(per_stream<Handle>(stream)) {}
  Outer(const Outer&) = delete;
  Outer& operator=(const Outer&) = delete;
  ~Outer() { EXPECT_TRUE(ended.empty()) << "the object that was made first has ended"; }

  Handle& inner;
};
struct GetsOuter {
  void on_cuda(cudaStream_t stream) const {
    EXPECT_EQ(&per_stream<Outer>(stream).inner, &per_stream<Handle>(stream));
  }
};

TEST_F(PerStream, EndsTheLastObjectFirst) {
  call_on_cuda(stream(0), GetsOuter());
  backend_.reset();
  EXPECT_EQ(made.size(), 1U);
  EXPECT_EQ(ended.size(), 1U);
}

bool is_refused = false;
struct Refused {
  Refused() {
    if (is_refused) throw std::runtime_error("no licence");
  }
};
struct GetsRefused {
  void on_cuda(cudaStream_t stream) const { per_stream<Refused>(stream); }
};

TEST_F(PerStream, MakesAnObjectAfterAnExceptionOfTheConstructor) {
  is_refused = true;
  EXPECT_THROW(call_on_cuda(stream(0), GetsRefused()), std::runtime_error);
  EXPECT_THROW(call_on_cuda(stream(0), GetsRefused()), std::runtime_error);
  is_refused = false;
  EXPECT_NO_THROW(call_on_cuda(stream(0), GetsRefused()));
  EXPECT_NE(handle_of(stream(0)), nullptr);
}

struct GetsHandleOf {
  cudaStream_t other;
  void on_cuda(cudaStream_t) const { per_stream<Handle>(other); }
};

TEST_F(PerStream, IsForTheStreamOfTheBody) {
  EXPECT_EQ(code_of([&] { per_stream<Handle>(stream(0).get()); }), ErrorCode::kWrongContext);
  EXPECT_EQ(code_of([&] { call_on_cuda(stream(0), GetsHandleOf{stream(1).get()}); }),
            ErrorCode::kForeignObject);
  EXPECT_EQ(code_of([&] { per_stream<Handle>(stream(0).get()); }), ErrorCode::kWrongContext)
      << "the body has ended";
  EXPECT_TRUE(made.empty());
}

// Counts without a lock of its own.
struct CountsSlowly {
  void on_cuda(cudaStream_t stream) const {
    Count& count = per_stream<Count>(stream);
    const int before = count.calls;
    std::this_thread::yield();
    count.calls = before + 1;
  }
};

TEST_F(PerStream, GivesObjectsToASingleBodyAtATime) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 50;
  Stream& shared = stream(0);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int call = 0; call < kCalls; ++call) call_on_cuda(shared, CountsSlowly());
    });
  }
  for (std::thread& thread : threads) thread.join();
  int calls = 0;
  call_on_cuda(shared, Counts{&calls});
  EXPECT_EQ(calls, kThreads * kCalls + 1);
}

}  // namespace
}  // namespace belfry::cuda::per_stream_test
