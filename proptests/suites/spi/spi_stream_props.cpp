// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/testing/code_of.h"
#include "suites/spi/spi_board.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <string>
#include <vector>

// Streams, events and memory: programs with events between conflicting operations end as if every
// operation had run when enqueued.
namespace belfry::testing::spi::spi_stream_props {
namespace {

class SpiStreams : public SpiTest {};

void write(Stream& stream, Board::Cell& to, Board::Cell&, Bits& bits) {
  to.words.assign(to.words.size(), static_cast<std::int32_t>(bits.below(100)));
  Words temporary = to.words;
  stream.write(to.view, temporary.data());
  std::ranges::fill(temporary, -1);  // The call has read the memory.
}

// In place: to = to + from, with arithmetic that wraps.
void add(Stream& stream, Board::Cell& to, Board::Cell& from, Bits&) {
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.outputs = {to.view};
  kernel.inputs = {to.view, from.view};
  stream.launch(kernel);
  std::ranges::transform(to.words, from.words, to.words.begin(), wrapping_sum);
}

TEST_F(SpiStreams, OrderedProgramsEndAsIfTheyHadRunAtOnce) {
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    const auto backend = make_backend(static_cast<int>(bits.below(4)) + 1, schedule);
    constexpr Board::Step kSteps[] = {Board::fill, Board::copy, write, add};
    Board(*backend).play(kSteps, bits);
  });
}

TEST_F(SpiStreams, MemoryIsCountedAndComesBack) {
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    const auto backend = make_backend(1, schedule);
    Device& device = backend->device(0);
    const MemoryUse empty = device.memory();
    std::vector<BufferPtr> buffers;
    std::size_t bytes = 0;
    std::size_t most = 0;
    for (int step = 0; step < 20; ++step) {
      if (!buffers.empty() && bits.below(3) == 0) {
        bytes -= buffers.back()->bytes();
        buffers.pop_back();
      } else {
        buffers.push_back(device.allocate(bits.below(5000), device.compute_stream()));
        bytes += buffers.back()->bytes();
      }
      most = std::max(most, bytes);
      RC_ASSERT(device.memory().live_bytes == empty.live_bytes + bytes);
      RC_ASSERT(device.memory().live_buffers == empty.live_buffers + buffers.size());
    }
    RC_ASSERT(device.memory().peak_bytes >= empty.live_bytes + most);
  });
}

TEST_F(SpiStreams, HoldBuffersUntilTheirWorkIsDone) {
  const auto backend = make_backend(2, 0);
  Device& first = backend->device(0);
  Device& second = backend->device(1);
  HostArray array(DType::kInt32, 100);
  reinterpret_cast<std::int32_t*>(array.bytes.data())[99] = 5;
  const BufferView kept = allocate(second, DType::kInt32, 100);
  const auto ready = first.create_event();
  {
    const BufferView dropped = upload(first, array);
    first.compute_stream().record(*ready);
    second.compute_stream().wait(*ready);
    second.compute_stream().copy(kept, dropped);
  }
  // The first device's next memory might be the same bytes.
  for (int i = 0; i < 4; ++i) static_cast<void>(upload(first, HostArray(DType::kInt32, 100)));
  first.compute_stream().synchronize();
  EXPECT_EQ(download(kept), array);
}

// The work is under way, and nobody has waited for it.
TEST_F(SpiStreams, BuffersStreamsAndEventsOutliveTheBackend) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    std::vector<BufferPtr> buffers;
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<std::unique_ptr<Event>> events;
    {
      const auto backend = make_backend(2, seed);
      std::vector<int> places{0, 1};
      if (const auto host = backend->connections().host) places.push_back(*host);
      for (const int place : places) {
        Device& device = backend->device(place);
        streams.push_back(device.create_stream());
        events.push_back(device.create_event());
        buffers.push_back(device.allocate(4, *streams.back()));
        Kernel fill;
        fill.outputs = {view_of(buffers.back(), DType::kInt32)};
        streams.back()->launch(fill);
        fill.outputs = {allocate(device, DType::kInt32, 1)};  // Dropped at once.
        device.compute_stream().launch(fill);
        streams.back()->record(*events.back());
      }
    }
    for (const BufferPtr& buffer : buffers) EXPECT_EQ(buffer->bytes(), 4U);
  }
}

TEST_F(SpiStreams, AnEventIsASnapshot) {
  const auto backend = make_backend(1, 0);
  Device& device = backend->device(0);
  Stream& other = device.communication_stream();
  const auto event = device.create_event();
  EXPECT_TRUE(event->query()) << "never recorded: nothing to wait for";
  event->synchronize();
  other.wait(*event);
  const BufferView view = upload(device, HostArray(DType::kInt32, 8));
  device.compute_stream().record(*event);
  other.wait(*event);
  Kernel fill;
  fill.parameters.integer_scalar = 9;
  fill.outputs = {view};
  other.launch(fill);
  other.record(*event);
  event->synchronize();
  EXPECT_TRUE(event->query());
  EXPECT_EQ(reinterpret_cast<const std::int32_t*>(download(view).bytes.data())[7], 9);
}

TEST_F(SpiStreams, EmptyRangesAreFine) {
  const auto backend = make_backend(2, 0);
  const BufferView none = allocate(backend->device(0), DType::kFloat64, 0);
  const BufferView other = allocate(backend->device(1), DType::kFloat64, 0);
  Stream& stream = backend->device(0).compute_stream();
  stream.write(none, nullptr);
  stream.copy(other, none);
  Kernel fill;
  fill.outputs = {none};
  stream.launch(fill);
  stream.read(nullptr, none);
}

TEST_F(SpiStreams, RefuseWhatIsOutOfBounds) {
  const auto backend = make_backend(1, 0);
  Device& device = backend->device(0);
  Stream& stream = device.compute_stream();
  const BufferView view = upload(device, HostArray(DType::kInt32, 4));
  std::int32_t words[8] = {};
  BufferView longer = view;
  longer.count = 5;
  EXPECT_EQ(code_of([&] { stream.write(longer, words); }), ErrorCode::kOutOfBounds);
  EXPECT_EQ(code_of([&] { stream.read(words, longer); }), ErrorCode::kOutOfBounds);
  BufferView later = view;
  later.offset = 4;
  EXPECT_EQ(code_of([&] { stream.copy(later, later); }), ErrorCode::kOutOfBounds);
  Kernel fill;
  fill.outputs = {longer};
  EXPECT_EQ(code_of([&] { stream.launch(fill); }), ErrorCode::kOutOfBounds);
  BufferView shorter = view;
  shorter.count = 3;
  EXPECT_EQ(code_of([&] { stream.copy(view, shorter); }), ErrorCode::kShape);
  longer.count = SIZE_MAX / 4 + 2;  // Its bytes wrap around to 4.
  EXPECT_EQ(code_of([&] { stream.read(words, longer); }), ErrorCode::kOutOfBounds);
  fill.outputs = {BufferView{}};
  EXPECT_EQ(code_of([&] { stream.launch(fill); }), ErrorCode::kInvalidArgument);
}

// The word from byte 2 on lies in a buffer of four: the start is the mistake.
TEST_F(SpiStreams, RefuseOffsetsWithinAnElement) {
  const auto backend = make_backend(1, 0);
  Device& device = backend->device(0);
  Stream& stream = device.compute_stream();
  const BufferView view = upload(device, HostArray(DType::kInt32, 4));
  std::int32_t words[4] = {};
  BufferView first = view;
  first.count = 1;
  BufferView odd = first;
  odd.offset = 2;
  const auto expect_refusal = [](auto&& call) {
    try {
      call();
      ADD_FAILURE() << "nothing was refused";
    } catch (const InvalidArgumentError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
      EXPECT_NE(std::string(error.what()).find("starts at byte 2, which is not a multiple of"),
                std::string::npos)
          << error.what();
    }
  };
  expect_refusal([&] { stream.write(odd, words); });
  expect_refusal([&] { stream.read(words, odd); });
  expect_refusal([&] { stream.copy(odd, first); });
  expect_refusal([&] { stream.copy(first, odd); });
  Kernel fill;
  fill.outputs = {odd};
  expect_refusal([&] { stream.launch(fill); });
  const int devices[] = {0};
  const auto alone = backend->communicator(devices);
  const CollectivePart part[] = {{odd, odd, &device.communication_stream()}};
  expect_refusal([&] { alone->run({.kind = CollectiveKind::kAllReduce, .parts = part}); });
  stream.synchronize();
}

TEST_F(SpiStreams, RefuseWhatAnotherBackendMade) {
  const auto backend = make_backend(1, 0);
  const auto another = make_backend(1, 1);
  Stream& stream = backend->device(0).compute_stream();
  const BufferView foreign = upload(another->device(0), HostArray(DType::kInt32, 4));
  const auto event = another->device(0).create_event();
  std::int32_t words[4] = {};
  EXPECT_EQ(code_of([&] { stream.write(foreign, words); }), ErrorCode::kForeignObject);
  EXPECT_EQ(code_of([&] { stream.record(*event); }), ErrorCode::kForeignObject);
  EXPECT_EQ(code_of([&] { stream.wait(*event); }), ErrorCode::kForeignObject);
  Kernel fill;
  fill.outputs = {foreign};
  EXPECT_EQ(code_of([&] { stream.launch(fill); }), ErrorCode::kForeignObject);
  EXPECT_EQ(
      code_of([&] {
        static_cast<void>(backend->device(0).allocate(4, another->device(0).compute_stream()));
      }),
      ErrorCode::kForeignObject);
}

TEST_F(SpiStreams, DevicesAreNamedInOrder) {
  const auto backend = make_backend(3, 0);
  EXPECT_EQ(backend->device_count(), 3);
  for (int index = 0; index < 3; ++index) {
    EXPECT_EQ(backend->device_spec(index).index, index);
    EXPECT_EQ(backend->device(index).index(), index);
    EXPECT_EQ(backend->device(index).spec(), backend->device_spec(index));
    EXPECT_EQ(backend->index_of(backend->device_spec(index)), index);
  }
  EXPECT_EQ(code_of([&] { static_cast<void>(backend->device(-1)); }), ErrorCode::kUnknownDevice);
  const int next = backend->connections().host == 3 ? 4 : 3;
  EXPECT_EQ(code_of([&] { static_cast<void>(backend->device(next)); }), ErrorCode::kUnknownDevice);
}

TEST_F(SpiStreams, LinksAreOfDevices) {
  const auto backend = make_backend(3, 0);
  const auto& links = backend->connections().links;
  EXPECT_TRUE(links.empty() || links.size() == 3) << links.size() << " lists for 3 devices";
  for (const std::vector<int>& linked : links) {
    for (const int device : linked) {
      EXPECT_GE(device, 0);
      EXPECT_LT(device, 3);
    }
  }
}

// A backend may be without the host. Programs on all devices use its memory.
TEST_F(SpiStreams, TheHostIsADeviceLikeTheOthers) {
  const auto backend = make_backend(2, 0);
  const std::optional<int> index = backend->connections().host;
  if (!index) {
    EXPECT_FALSE(backend->has_device(2));
    return;
  }
  ASSERT_GE(*index, 0);
  ASSERT_LE(*index, 2);
  Device& host = backend->device(*index);
  EXPECT_EQ(host.index(), *index);
  EXPECT_EQ(host.spec(), backend->device_spec(*index));
  EXPECT_EQ(host.spec().type, "CPU");
  EXPECT_EQ(backend->index_of(host.spec()), *index);
}

}  // namespace
}  // namespace belfry::testing::spi::spi_stream_props
