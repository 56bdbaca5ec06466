// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "suites/spi/spi_support.h"

#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <string>

namespace belfry::testing::spi {
namespace {

template <class T>
void put(HostArray& array, std::size_t index, T value) {
  std::memcpy(array.bytes.data() + index * sizeof(T), &value, sizeof(T));
}

double any_number(Bits& bits) {
  const std::uint64_t draw = bits.next();
  switch (draw % 16) {
    case 0:
      return 0.0;
    case 1:
      return -0.0;
    case 2:
      return std::numeric_limits<double>::infinity();
    case 3:
      return std::numeric_limits<double>::quiet_NaN();
    default:
      break;
  }
  const double fraction = static_cast<double>(bits.next() >> 11) * 0x1p-53 + 0.5;
  const double magnitude = std::ldexp(fraction, static_cast<int>((draw >> 8) % 20) - 10);
  return (draw >> 7) % 2 == 0 ? magnitude : -magnitude;
}

void put_number(HostArray& array, std::size_t index, double number) {
  switch (array.dtype) {
    case DType::kFloat32:
      return put(array, index, static_cast<float>(number));
    case DType::kFloat64:
      return put(array, index, number);
    case DType::kFloat16:
      return put(array, index, Float16(static_cast<float>(number)));
    default:
      return put(array, index, BFloat16(static_cast<float>(number)));
  }
}

void put_integer(HostArray& array, std::size_t index, std::uint64_t value) {
  std::memcpy(array.bytes.data() + index * size_of(array.dtype), &value, size_of(array.dtype));
}

// The mistake of a backend below all suites; empty without a mistake.
std::string mistake_of(Backend& backend) {
  for (int index = 0; index < backend.device_count(); ++index) {
    Bits bits(static_cast<std::uint64_t>(index));
    const HostArray sent = random_array(DType::kInt32, 8, bits);
    if (download(upload(backend.device(index), sent)) == sent) continue;
    return "bytes that were written to device " + std::to_string(index) + " are read back changed";
  }
  return {};
}

// Judged once for a process, with a backend of the first test.
const std::string& mistake_below_all() {
  static const std::string mistake = [] {
    try {
      return mistake_of(*make_backend(3, 0));
    } catch (const std::exception& error) {
      return describe_exception(error);
    } catch (...) {
      return std::string("an exception that is no std::exception");
    }
  }();
  return mistake;
}

}  // namespace

TEST(SpiBackend, IsMadeAndKeepsBytes) {
  EXPECT_EQ(mistake_below_all(), "") << "broken by " << backend_factory().name();
}

void SpiTest::SetUp() {
  if (mistake_below_all().empty()) return;
  GTEST_SKIP() << "not judged, because SpiBackend.IsMadeAndKeepsBytes is broken by "
               << backend_factory().name();
}

std::uint64_t Bits::next() {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t x = state_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

HostArray random_array(DType dtype, std::size_t count, Bits& bits) {
  HostArray array(dtype, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (is_floating(dtype)) {
      put_number(array, i, any_number(bits));
    } else {
      put_integer(array, i, dtype == DType::kBool ? bits.next() % 2 : bits.next());
    }
  }
  return array;
}

HostArray exact_array(DType dtype, std::size_t count, Bits& bits) {
  HostArray array(dtype, count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t number = bits.next() % 8;
    if (is_floating(dtype)) {
      put_number(array, i, static_cast<double>(number));
    } else {
      put_integer(array, i, number);
    }
  }
  return array;
}

std::unique_ptr<Backend> make_backend(int devices, std::uint64_t seed) {
  BackendRequest request;
  request.devices = devices;
  request.schedule = ScheduleKind::kRandom;
  request.seed = seed;
  return backend_factory().make(request);
}

BufferView upload(Device& device, const HostArray& array) {
  const BufferView view = allocate(device, array.dtype, array.count());
  device.compute_stream().write(view, array.bytes.data());
  return view;
}

BufferView allocate(Device& device, DType dtype, std::size_t count) {
  Stream& stream = device.compute_stream();
  return {device.allocate(count * size_of(dtype), stream), 0, count, dtype};
}

HostArray download(const BufferView& view) {
  HostArray array(view.dtype, view.count);
  view.buffer->device().compute_stream().read(array.bytes.data(), view);
  return array;
}

}  // namespace belfry::testing::spi
