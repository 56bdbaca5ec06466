// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/backend/kernel.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/described.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// Shared by the suites of the backend interface. The suites use devices directly, without a
/// strategy.
namespace belfry::testing::spi {

/// Fixture of the suites. A root cause is reported once: if no backend can be made, or devices lose
/// bytes, the test SpiBackend.IsMadeAndKeepsBytes fails, and every other test is skipped with the
/// name of this test.
class SpiTest : public ::testing::Test {
 protected:
  void SetUp() override;
  /// Checks `property` over random cases.
  template <class F>
  void holds(F&& property) {
    rc::detail::checkGTest(described(std::forward<F>(property)));
  }
};

/// Elements in host memory.
struct HostArray {
  DType dtype = DType::kFloat32;
  std::vector<std::byte> bytes;

  HostArray() = default;
  HostArray(DType type, std::size_t count) : dtype(type), bytes(count * size_of(type)) {}

  std::size_t count() const { return bytes.size() / size_of(dtype); }
  KernelOperand operand() { return {bytes.data(), count(), dtype}; }
  bool operator==(const HostArray&) const = default;
};

/// Random numbers for data, from a drawn seed: SplitMix64.
class Bits {
 public:
  explicit Bits(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// In [0, count).
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }

 private:
  std::uint64_t state_;
};

/// Any values: finite values of many magnitudes, and for floating types zeros of both signs,
/// infinities and NaN; 0 and 1 for bool.
HostArray random_array(DType dtype, std::size_t count, Bits& bits);
/// Small integers, with exact sums in every type and order.
HostArray exact_array(DType dtype, std::size_t count, Bits& bits);

/// A backend of the binary's factory with some devices.
std::unique_ptr<Backend> make_backend(int devices, std::uint64_t seed);

/// Memory on a device with the contents of `array`, written on its compute stream.
BufferView upload(Device& device, const HostArray& array);
/// Memory without contents, ready for any stream.
BufferView allocate(Device& device, DType dtype, std::size_t count);
/// The contents on the device after all commands of its compute stream.
HostArray download(const BufferView& view);

}  // namespace belfry::testing::spi
