// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Files of sharded variables, also of several pieces.
#include "belfry/belfry.h"
#include "belfry/checkpoint.h"
#include "belfry/detail/sharded_array.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "sharded/array_bytes.h"
#include "words/temporary_folder_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::Contains;
using ::testing::StartsWith;

ShardedVariable<std::int32_t> table_of(Strategy& strategy, const Shape& shape, int axis,
                                       const Integers& elements) {
  return strategy.sharded_variable([&] { return Tensor<std::int32_t>::from(shape, elements); },
                                   Axis(axis), {.name = "table"});
}

// Saves an array on some replicas, looks at the file, and restores the array on others.
void goes_through_a_file(const Shape& shape, int axis, int from, int to) {
  SCOPED_TRACE(to_string(shape) + " along " + std::to_string(axis) + ", from " +
               std::to_string(from) + " to " + std::to_string(to));
  const TemporaryFolder folder;
  const Integers elements = counted(shape);
  {
    sim::Backend backend{{.devices = from}};
    MirroredStrategy strategy{backend};
    const auto table = table_of(strategy, shape, axis, elements);
    const auto step = strategy.mirrored_variable(std::int64_t{3}, {.name = "step"});
    Checkpoint(strategy).add(step).add(table).save(folder / "file");
  }
  EXPECT_EQ(array_in(folder / "file", "table", shape), elements);
  sim::Backend backend{{.devices = to}};
  MirroredStrategy strategy{backend};
  const auto table = table_of(strategy, shape, axis, Integers(elements.size()));
  const auto step = strategy.mirrored_variable(std::int64_t{0}, {.name = "step"});
  Checkpoint checkpoint(strategy);
  checkpoint.add(table).add(step).restore(folder / "file");
  EXPECT_EQ(strategy.read(table).to_host(), elements);
  EXPECT_EQ(strategy.read(step), 3);
}

// 2.6 MB: three pieces. The ends of the pieces are inside parts, inside rows, and between parts.
TEST(ShardedFiles, AreOneArrayInPieces) {
  testing::asserts("SEM-283");
  for (const int axis : {0, 1, 2}) goes_through_a_file({130, 50, 100}, axis, 3, 7);
  goes_through_a_file({130, 50, 100}, 1, 9, 1);
  // A line is longer than a piece; and elements are lines.
  goes_through_a_file({3, 300'000}, 0, 2, 5);
  goes_through_a_file({2, 300'000}, 1, 2, 3);
}

TEST(ShardedFiles, OfArraysWithoutElements) {
  testing::asserts("SEM-283");
  goes_through_a_file({0, 3}, 0, 2, 3);
  goes_through_a_file({4, 0}, 0, 2, 3);
  goes_through_a_file({0, 4}, 1, 3, 2);
}

// A program without the sharded variable reads the array like any other, and the other way round.
TEST(ShardedFiles, AreThoseOfOtherVariables) {
  testing::asserts("SEM-283");
  const TemporaryFolder folder;
  const Integers elements = counted({5, 2});
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  const auto plain = strategy.mirrored_variable(
      [&] { return Tensor<std::int32_t>::from({5, 2}, elements); }, {.name = "table"});
  Checkpoint(strategy).add(plain).save(folder / "plain");
  const auto table = table_of(strategy, {5, 2}, 0, Integers(10));
  Checkpoint checkpoint(strategy);
  checkpoint.add(table).restore(folder / "plain");
  EXPECT_EQ(strategy.read(table).to_host(), elements);
  checkpoint.save(folder / "sharded");
  EXPECT_EQ(folder.text("sharded"), folder.text("plain"));
}

// The id of the owner is beside the file; a second job is noticed, and a restore permits saves.
TEST(ShardedFiles, HaveTheOwnersOfFiles) {
  testing::asserts("SEM-138", "SEM-283");
  const TemporaryFolder folder;
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  const auto table = table_of(strategy, {5, 2}, 0, counted({5, 2}));
  Checkpoint checkpoint(strategy);
  checkpoint.add(table).save(folder / "file");
  EXPECT_THAT(folder.names(), Contains(StartsWith(".file.belfry-owner-")));
  for (const std::string& name : folder.names()) {
    if (name != "file") std::filesystem::remove(folder / name);
  }
  folder.file(".file.belfry-owner-other", "");
  EXPECT_EQ(code_of([&] { checkpoint.save(folder / "file"); }), ErrorCode::kFile);
  EXPECT_EQ(array_in(folder / "file", "table", {5, 2}), counted({5, 2}));
  checkpoint.restore(folder / "file");
  checkpoint.save(folder / "file");
  EXPECT_EQ(folder.names().size(), 2U);
}

TEST(ShardedFiles, ThatAreCutOffAreRefusedBeforeAnyChange) {
  testing::asserts("SEM-283");
  const TemporaryFolder folder;
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  const auto table = table_of(strategy, {5, 2}, 0, counted({5, 2}));
  Checkpoint checkpoint(strategy);
  checkpoint.add(table).save(folder / "file");
  const std::string contents = folder.text("file");
  folder.file("short", contents.substr(0, contents.size() - 1));
  folder.file("long", contents + "1");
  for (const char* name : {"short", "long", "missing"}) {
    EXPECT_EQ(code_of([&] { checkpoint.restore(folder / name); }), ErrorCode::kFileFormat);
  }
  EXPECT_EQ(strategy.read(table).to_host(), counted({5, 2}));
}

TEST(ShardedFiles, OfBooleansHaveOnlyZerosAndOnes) {
  testing::asserts("SEM-283");
  const TemporaryFolder folder;
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  const auto flags = strategy.sharded_variable(
      [] { return Tensor<bool>::from({3}, {true, false, true}); }, Axis(0), {.name = "flags"});
  Checkpoint checkpoint(strategy);
  checkpoint.add(flags).save(folder / "file");
  checkpoint.restore(folder / "file");
  EXPECT_EQ(strategy.read(flags).to_host(), (std::vector<std::uint8_t>{1, 0, 1}));
  std::string contents = folder.text("file");
  contents.back() = 2;
  folder.file("odd", contents);
  EXPECT_EQ(code_of([&] { checkpoint.restore(folder / "odd"); }), ErrorCode::kFileFormat);
  EXPECT_EQ(strategy.read(flags).to_host(), (std::vector<std::uint8_t>{1, 0, 1}));
}

// A failure after the checks leaves no value. A further restore gives a value.
TEST(ShardedFiles, ThatFailLateLeaveNoValue) {
  testing::asserts("SEM-283");
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  const auto table = table_of(strategy, {5, 2}, 0, counted({5, 2}));
  Checkpoint checkpoint(strategy);
  const TensorFile file = checkpoint.add(table).contents();
  const auto array = detail::sharded_array(table, CallSite::here());
  const auto fails = [](std::uint64_t, std::span<std::byte>) {
    throw std::runtime_error("the disk is gone");
  };
  EXPECT_THROW(array->write(fails, CallSite::here()), std::runtime_error);
  EXPECT_THROW(strategy.read(table), std::runtime_error);
  EXPECT_THROW(checkpoint.contents(), std::runtime_error);
  checkpoint.restore(file);
  EXPECT_EQ(strategy.read(table).to_host(), counted({5, 2}));
}

}  // namespace
}  // namespace belfry::testing
