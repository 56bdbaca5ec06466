// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Files on a disk, with other savers, readers and neighbours.
#include "belfry/error.h"
#include "belfry/tensor_file.h"
#include "words/report_of_test.h"
#include "words/temporary_folder_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace belfry::tensor_file_saving_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An array of equal bytes.
TensorFile file_of(std::int64_t bytes, int value) {
  TensorFile file;
  file.tensors["a"] = {
      DType::kUInt8, Shape({bytes}),
      std::vector<std::byte>(static_cast<std::size_t>(bytes), static_cast<std::byte>(value))};
  return file;
}

template <class F>
std::string refusal_of(ErrorCode code, const F& call) {
  const ErrorReport report = report_of(call);
  EXPECT_EQ(report.code, code) << report.summary;
  return report.summary;
}

// Saves a file repeatedly in a process; the exit status is 0 if every save succeeds.
pid_t saver(const fs::path& path, const TensorFile& file, int saves) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int status = 0;
  for (int i = 0; i < saves; ++i) {
    try {
      file.write(path);
    } catch (...) {
      status = 1;
    }
  }
  ::_exit(status);
}

TEST(TensorFileSaving, ShowsReadersOneOfTwoSaversFilesWhole) {
  const TemporaryFolder folder;
  const fs::path path = folder / "model";
  const std::array<TensorFile, 2> files = {file_of(400'000, 1), file_of(250'000, 2)};
  files[0].write(path);
  const std::array<pid_t, 2> savers = {saver(path, files[0], 60), saver(path, files[1], 60)};
  ASSERT_GT(savers[0], 0);
  ASSERT_GT(savers[1], 0);
  int reads = 0;
  int broken = 0;
  for (const pid_t child : savers) {
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      ++reads;
      try {
        const TensorFile found = TensorFile::read(path);
        if (found != files[0] && found != files[1]) ++broken;
      } catch (const Error&) {
        ++broken;
      }
    }
    EXPECT_EQ(status, 0) << "a save failed";
  }
  EXPECT_EQ(broken, 0) << "of " << reads << " reads";
  EXPECT_THAT(folder.names(), ElementsAre("model"));
}

TEST(TensorFileSaving, TouchesNothingIfTheContentsCannotBe) {
  const TemporaryFolder folder;
  file_of(1, 1).write(folder / "model");
  TensorFile bad = file_of(1, 2);
  bad.tensors["bad\xff"] = bad.tensors["a"];
  EXPECT_THAT(refusal_of(ErrorCode::kInvalidArgument, [&] { bad.write(folder / "model"); }),
              HasSubstr("no UTF-8"));
  EXPECT_THAT(refusal_of(ErrorCode::kInvalidArgument, [&] { bad.write(folder / "fresh"); }),
              HasSubstr("no UTF-8"));
  EXPECT_EQ(TensorFile::read(folder / "model"), file_of(1, 1));
  EXPECT_THAT(folder.names(), ElementsAre("model"));
}

TEST(TensorFileReading, NamesWhatCannotBeRead) {
  const TemporaryFolder folder;
  const std::string name = folder.file("a", "").string();
  const auto message = [](const fs::path& path) {
    return refusal_of(ErrorCode::kFileFormat, [&] { TensorFile::read(path); });
  };
  EXPECT_THAT(message(folder / "none"), HasSubstr("No such file"));
  EXPECT_THAT(message(folder / ""), HasSubstr("Is a directory"));
  EXPECT_THAT(message(name), HasSubstr("byte 0: the file ends inside the length of its header"));
  EXPECT_THAT(message(name + std::string("\0more", 5)), HasSubstr("Invalid argument"));
  // The endless file begins with eight zeros: the length of an empty header.
  EXPECT_THAT(message("/dev/zero"), HasSubstr("byte 8: expected '{'"));
  // The first page of a process cannot be read.
  EXPECT_THAT(message("/proc/self/mem"), HasSubstr("cannot read /proc/self/mem: Input/output"));
}

// Contents from a pipe, and files with a byte too many or too few.
TEST(TensorFileReading, TakesPipesAndStopsAtTheEnd) {
  const TemporaryFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string contents = file_of(3'000'000, 7).contents();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::ofstream(pipe, std::ios::binary) << contents;
    ::_exit(0);
  }
  EXPECT_EQ(TensorFile::read(pipe), file_of(3'000'000, 7));
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  folder.file("long", contents + "x");
  EXPECT_THAT(
      refusal_of(ErrorCode::kFileFormat, [&] { TensorFile::read(folder / "long"); }),
      HasSubstr("byte " + std::to_string(contents.size()) + ": bytes that belong to no array"));
  folder.file("short", contents.substr(0, contents.size() - 1));
  EXPECT_THAT(refusal_of(ErrorCode::kFileFormat, [&] { TensorFile::read(folder / "short"); }),
              HasSubstr("\"a\" lies at 0 to 3000000 of 2999999 bytes"));
}

// The header may list the arrays in a different order from their bytes.
TEST(TensorFileReading, FindsTheEndOfTheArraysInAnyOrder) {
  const std::string header =
      "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[4,7]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}";
  ASSERT_LT(header.size(), 256U);  // One byte of the length is enough.
  const TemporaryFolder folder;
  folder.file("model",
              static_cast<char>(header.size()) + std::string(7, '\0') + header + "0123456");
  const TensorFile file = TensorFile::read(folder / "model");
  const auto text_of = [&](const char* name) {
    const std::vector<std::byte>& bytes = file.tensors.at(name).bytes;
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  EXPECT_EQ(text_of("a"), "456");
  EXPECT_EQ(text_of("b"), "0123");
}

}  // namespace
}  // namespace belfry::tensor_file_saving_test
