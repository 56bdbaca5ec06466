// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/user_kernel.h"
#include "belfry/error.h"
#include "belfry/launch.h"
#include "belfry/testing/code_of.h"
#include "suites/spi/spi_board.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Kernels of users in streams: order, operands, lifetimes and exceptions. Bodies are for the host;
// a device of type GPU may refuse such kernels, and the tests of this backend then have bodies of
// their own.
namespace belfry::testing::spi::spi_user_kernel_props {
namespace {

/// A body as a function.
class Body final : public UserKernel {
 public:
  using Function = std::function<void(const KernelCall&)>;
  Body(const UserKernelTraits& traits, Function function)
      : UserKernel(traits), function_(std::move(function)) {}

  void on_host(const KernelCall& call) const override { function_(call); }
  void on_cuda(NativeStream, const KernelCall&) const override {}

 private:
  Function function_;
};

constexpr OperandMode kUpdatesModes[] = {OperandMode::kUpdates};
constexpr OperandMode kAddModes[] = {OperandMode::kUpdates, OperandMode::kReads};
constexpr OperandMode kReverseModes[] = {OperandMode::kWrites, OperandMode::kScratch,
                                         OperandMode::kReads};
constexpr OperandMode kMixedModes[] = {OperandMode::kReads, OperandMode::kScratch,
                                       OperandMode::kWrites, OperandMode::kReads,
                                       OperandMode::kUpdates};
constexpr DType kTwoWords[] = {DType::kInt32, DType::kInt32};
constexpr DType kReverseTypes[] = {DType::kInt32, DType::kUInt8, DType::kInt32};
constexpr DType kMixedTypes[] = {DType::kInt32, DType::kUInt8, DType::kFloat64, DType::kUInt8,
                                 DType::kInt32};
constexpr UserKernelTraits kOne{"One", kUpdatesModes, std::span(kTwoWords, 1), true, false};
constexpr UserKernelTraits kBodiless{"Bodiless", kUpdatesModes, std::span(kTwoWords, 1), false,
                                     false};
constexpr UserKernelTraits kAdd{"Add", kAddModes, kTwoWords, true, false};
constexpr UserKernelTraits kReverse{"Reverse", kReverseModes, kReverseTypes, true, false};
constexpr UserKernelTraits kMixed{"Mixed", kMixedModes, kMixedTypes, true, false};

template <class T>
std::span<T> span_of(const KernelOperand& operand) {
  return {static_cast<T*>(operand.data), operand.count};
}

Kernel kernel_of(const UserKernelTraits& traits, std::vector<BufferView> outputs,
                 std::vector<BufferView> inputs, Body::Function function) {
  Kernel kernel;
  kernel.kind = KernelKind::kUser;
  kernel.outputs = std::move(outputs);
  kernel.inputs = std::move(inputs);
  kernel.user = std::make_shared<const Body>(traits, std::move(function));
  return kernel;
}

// The kernel of one output, with the launch that a backend may refuse.
void launch_one(Stream& stream, const BufferView& view, Body::Function function,
                const UserKernelTraits& traits = kOne) {
  stream.launch(kernel_of(traits, {view}, {}, std::move(function)));
}

class SpiUserKernels : public SpiTest {
 protected:
  void SetUp() override {
    SpiTest::SetUp();
    if (IsSkipped()) return;
    const auto backend = make_backend(1, 0);
    Device& device = backend->device(0);
    const BufferView view = upload(device, words({1}));
    try {
      launch_one(device.compute_stream(), view, [](const KernelCall&) {});
    } catch (const UnsupportedError& error) {
      ASSERT_EQ(device.spec().type, "GPU") << error.what();
      GTEST_SKIP() << backend_factory().name() << " runs bodies for GPUs alone";
    }
    device.compute_stream().synchronize();
  }
};

// Bodies use memory of their own device.
bool are_on(Stream& stream, const Board::Cell& to, const Board::Cell& from) {
  return &to.view.buffer->device() == &stream.device() &&
         &from.view.buffer->device() == &stream.device();
}

// to = scale * to + from, with arithmetic that wraps.
void add(Stream& stream, Board::Cell& to, Board::Cell& from, Bits& bits) {
  if (!are_on(stream, to, from)) return;
  const auto sum = [scale = static_cast<std::uint32_t>(bits.below(7))](std::uint32_t a,
                                                                       std::uint32_t b) {
    return static_cast<std::int32_t>(scale * a + b);
  };
  stream.launch(kernel_of(kAdd, {to.view}, {from.view}, [sum](const KernelCall& call) {
    const auto y = span_of<std::int32_t>(call.outputs[0]);
    std::ranges::transform(y, span_of<const std::int32_t>(call.inputs[0]), y.begin(), sum);
  }));
  std::ranges::transform(to.words, from.words, to.words.begin(), sum);
}

void reverse(Stream& stream, Board::Cell& to, Board::Cell& from, Bits&) {
  if (&to == &from || !are_on(stream, to, from)) return;
  const std::size_t bytes = from.view.bytes();
  const BufferView scratch{stream.device().allocate(bytes, stream), 0, bytes, DType::kUInt8};
  stream.launch(kernel_of(kReverse, {to.view, scratch}, {from.view}, [](const KernelCall& call) {
    const auto x = span_of<const std::int32_t>(call.inputs[0]);
    const std::span copy(static_cast<std::int32_t*>(call.outputs[1].data), x.size());
    std::ranges::copy(x, copy.begin());
    std::ranges::reverse_copy(copy, span_of<std::int32_t>(call.outputs[0]).begin());
  }));
  to.words.assign(from.words.rbegin(), from.words.rend());
}

TEST_F(SpiUserKernels, RunInOrderWithTheWorkOfBelfry) {
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    const auto backend = make_backend(static_cast<int>(bits.below(2)) + 1, schedule);
    constexpr Board::Step kSteps[] = {Board::fill, Board::copy, add, reverse};
    Board(*backend).play(kSteps, bits);
  });
}

using Signature = std::vector<std::pair<std::size_t, DType>>;

// The operands as a body gets them: inputs, then outputs.
Signature signature_of(const KernelCall& call) {
  Signature all;
  for (const auto* operands : {&call.inputs, &call.outputs}) {
    for (const KernelOperand& one : *operands) all.emplace_back(one.count, one.dtype);
  }
  return all;
}

// The body of Mixed: z[i] = half of i, and y[i] += the sums of both inputs. Scratch memory has
// any contents and is overwritten.
void run_mixed(const KernelCall& call) {
  const auto z = span_of<double>(call.outputs[0]);
  const auto y = span_of<std::int32_t>(call.outputs[1]);
  std::int32_t sum = 0;
  for (const std::int32_t x : span_of<const std::int32_t>(call.inputs[0])) sum += x;
  for (const std::uint8_t x : span_of<const std::uint8_t>(call.inputs[1])) sum += x;
  for (std::byte& byte : span_of<std::byte>(call.outputs[2])) byte = std::byte{0x5a};
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = 0.5 * static_cast<double>(i);
  for (std::int32_t& element : y) element += sum;
}

// Operands without elements stand beside operands with elements.
TEST_F(SpiUserKernels, GetInputsThenOutputsThenScratchMemory) {
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    const auto backend = make_backend(1, schedule);
    Device& device = backend->device(0);
    Words integers(bits.below(6));
    for (std::int32_t& x : integers) x = static_cast<std::int32_t>(bits.below(1000));
    HostArray bytes(DType::kUInt8, bits.below(6));
    std::int32_t sum = 0;
    for (const std::int32_t x : integers) sum += x;
    for (std::byte& byte : bytes.bytes) {
      byte = static_cast<std::byte>(bits.below(256));
      sum += std::to_integer<std::int32_t>(byte);
    }
    const BufferView z = allocate(device, DType::kFloat64, bits.below(6));
    const BufferView y = upload(device, words(Words(bits.below(6), 11)));
    const BufferView scratch = allocate(device, DType::kUInt8, bits.below(100));
    const auto seen = std::make_shared<Signature>();
    device.compute_stream().launch(
        kernel_of(kMixed, {z, y, scratch}, {upload(device, words(integers)), upload(device, bytes)},
                  [seen](const KernelCall& call) {
                    *seen = signature_of(call);
                    run_mixed(call);
                  }));
    RC_ASSERT(words_on(y) == Words(y.count, 11 + sum));
    const HostArray halves = download(z);
    for (std::size_t i = 0; i < z.count; ++i) {
      RC_ASSERT(reinterpret_cast<const double*>(halves.bytes.data())[i] ==
                0.5 * static_cast<double>(i));
    }
    const Signature expected{{integers.size(), DType::kInt32},
                             {bytes.count(), DType::kUInt8},
                             {z.count, DType::kFloat64},
                             {y.count, DType::kInt32},
                             {scratch.count, DType::kUInt8}};
    RC_ASSERT(*seen == expected);
  });
}

TEST_F(SpiUserKernels, KeepTheirBodyAndTheirBuffersUntilTheWorkIsDone) {
  const auto backend = make_backend(1, 0);
  Device& device = backend->device(0);
  const MemoryUse before = device.memory();
  const BufferView kept = upload(device, words({1, 2}));
  const auto captured = std::make_shared<const std::int32_t>(5);
  {
    const BufferView dropped = upload(device, words({10, 20}));
    Kernel kernel = kernel_of(kAdd, {kept}, {dropped}, [captured](const KernelCall& call) {
      const auto y = span_of<std::int32_t>(call.outputs[0]);
      const auto x = span_of<const std::int32_t>(call.inputs[0]);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += *captured * x[i];
    });
    device.compute_stream().launch(std::move(kernel));
  }
  // The device's next memory might be the same bytes.
  for (int i = 0; i < 4; ++i) static_cast<void>(upload(device, words({0, 0})));
  EXPECT_EQ(words_on(kept), (Words{51, 102}));
  device.compute_stream().synchronize();
  EXPECT_EQ(captured.use_count(), 1) << "the body outlives its work";
  EXPECT_EQ(device.memory().live_buffers, before.live_buffers + 1);
}

// The exception of `thrower`, which the launch does not throw and the next host wait throws once.
// Afterwards the stream works, and memory that is no operand has its value.
template <class E>
void expect_at_the_host_wait(const std::function<void()>& thrower,
                             const std::function<void(const E&)>& inspect) {
  const auto backend = make_backend(1, 0);
  Device& device = backend->device(0);
  Stream& stream = device.compute_stream();
  const BufferView bystander = upload(device, words({7}));
  const BufferView spoilt = upload(device, words({1}));
  launch_one(stream, spoilt, [thrower](const KernelCall&) { thrower(); });
  try {
    stream.synchronize();
    ADD_FAILURE() << "the host wait threw nothing";
  } catch (const E& error) {
    inspect(error);
  }
  stream.synchronize();
  EXPECT_EQ(words_on(bystander), Words{7});
  stream.write(spoilt, words({3}).bytes.data());
  launch_one(stream, spoilt,
             [](const KernelCall& call) { span_of<std::int32_t>(call.outputs[0])[0] += 1; });
  EXPECT_EQ(words_on(spoilt), Words{4});
}

struct OwnException {
  int number = 0;
};

TEST_F(SpiUserKernels, ThrowAtTheHostWaitAndKeepTheType) {
  expect_at_the_host_wait<OwnException>([] { throw OwnException{3}; },
                                        [](const auto& error) { EXPECT_EQ(error.number, 3); });
  expect_at_the_host_wait<std::domain_error>(
      [] { throw std::domain_error("no root"); },
      [](const auto& error) { EXPECT_STREQ(error.what(), "no root"); });
  expect_at_the_host_wait<InvalidArgumentError>(
      [] { throw InvalidArgumentError(ErrorCode::kShape, "a bad row"); },
      [](const auto& error) {
        EXPECT_EQ(error.code(), ErrorCode::kShape);
        EXPECT_EQ(error.report().summary, "kernel One: a bad row");
      });
}

TEST_F(SpiUserKernels, MayNotCallTheirBackend) {
  const auto backend = make_backend(1, 0);
  Device& device = backend->device(0);
  const BufferView view = upload(device, words({1}));
  const auto tensor = Tensor<float>::full({1}, 1, Placement{backend.get(), 0});
  const std::function<void()> calls[] = {[&] { static_cast<void>(backend->device(0)); },
                                         [&] { tensor.to_host(); }};
  for (const auto& call : calls) {
    launch_one(device.compute_stream(), view, [&](const KernelCall&) { call(); });
    EXPECT_EQ(code_of([&] { device.compute_stream().synchronize(); }), ErrorCode::kWrongContext);
    device.compute_stream().write(view, words({1}).bytes.data());
  }
}

struct Counts {
  int* calls;
  void on_host(std::span<float>, std::span<const float>) const { *calls += 1; }
};

TEST_F(SpiUserKernels, WithoutElementsCallNoBody) {
  const auto backend = make_backend(1, 0);
  const Placement on{backend.get(), 0};
  int calls = 0;
  auto none = Tensor<float>::full({0, 3}, 1, on);
  launch(Counts{&calls}, updates(none), reads(Tensor<float>::full({0}, 1, on)));
  backend->device(0).compute_stream().synchronize();
  EXPECT_EQ(calls, 0);
  launch(Counts{&calls}, updates(none), reads(Tensor<float>::full({1}, 1, on)));
  backend->device(0).compute_stream().synchronize();
  EXPECT_GT(calls, 0) << "an operand has an element";
}

class SpiMissingBodies : public SpiTest {};

TEST_F(SpiMissingBodies, AreRefusedByTheLaunch) {
  const auto backend = make_backend(1, 0);
  Device& device = backend->device(0);
  const BufferView view = upload(device, words({6}));
  try {
    launch_one(device.compute_stream(), view, [](const KernelCall&) {}, kBodiless);
    ADD_FAILURE() << "the launch was not refused";
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
    EXPECT_NE(error.report().summary.find("kernel Bodiless has no body"), std::string::npos);
  }
  EXPECT_EQ(words_on(view), Words{6});
}

}  // namespace
}  // namespace belfry::testing::spi::spi_user_kernel_props
