// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/tensor_file.h"

#include "belfry/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>  // before RapidCheck's
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace belfry::tensor_file_test {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// A file with this header and `arrays` bytes of arrays.
std::string file_of(const std::string& header, std::size_t arrays = 0, char fill = 'x') {
  std::string file;
  for (int shift = 0; shift < 64; shift += 8) {
    file += static_cast<char>(std::uint64_t{header.size()} >> shift & 0xFF);
  }
  return file + header + std::string(arrays, fill);
}

std::string refusal_of(const std::string& contents) {
  try {
    TensorFile::parse(contents, "w.safetensors");
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFileFormat);
    return error.report().summary;
  }
  return "read";
}

TEST(TensorFile, IsWrittenByteForByteAsTheFormatSays) {
  TensorFile file;
  file.tensors["b"] = {DType::kUInt8, Shape({3}), bytes_of({1, 2, 3})};
  file.tensors["a"] = {DType::kFloat32, Shape{}, bytes_of({0, 0, 128, 63})};
  file.notes["by"] = "a \"test\"";
  const std::string header =
      "{\"__metadata__\":{\"by\":\"a \\\"test\\\"\"},"
      "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[4,7]}}";
  const std::string contents = file.contents();
  const std::size_t padded = (header.size() + 7) / 8 * 8;
  EXPECT_EQ(static_cast<unsigned char>(contents[0]), padded);
  EXPECT_EQ(contents.substr(8, header.size()), header);
  EXPECT_EQ(contents.substr(8 + header.size(), padded - header.size()),
            std::string(padded - header.size(), ' '));
  EXPECT_EQ(contents.substr(8 + padded), std::string("\0\0\x80\x3f\1\2\3", 7));
  EXPECT_EQ(TensorFile::parse(contents, "w"), file);
}

TEST(TensorFile, IsReadWhateverTheOrderBlanksAndEscapes) {
  const TensorFile file = TensorFile::parse(
      file_of(
          "{ \"x\\u00e9\\ud83d\\ude00\" : {\"data_offsets\":[2,4],\n\t\"shape\":[ 1 , 2 ],"
          "\"dtype\":\"I8\"}, \"\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]} }  ",
          4, '\1'),
      "w");
  ASSERT_EQ(file.tensors.size(), 2U);
  EXPECT_EQ(file.tensors.at("x\xC3\xA9\xF0\x9F\x98\x80").shape, Shape({1, 2}));
  EXPECT_EQ(file.tensors.at("").dtype, DType::kBool);
  EXPECT_TRUE(TensorFile::parse(file_of("{}"), "w").tensors.empty());
}

TEST(TensorFile, NamesTheByteWhereItStopsMakingSense) {
  EXPECT_EQ(refusal_of("abc"),
            "w.safetensors, byte 3: the file ends inside the length of its header");
  EXPECT_EQ(refusal_of(file_of("{}").substr(0, 9)),
            "w.safetensors, byte 0: a header of 2 bytes in a file of 9");
  EXPECT_EQ(refusal_of(file_of("[]")), "w.safetensors, byte 8: expected '{'");
  EXPECT_EQ(
      refusal_of(file_of("{\"a\" 1}")),
      "w.safetensors, byte 13: syntax error while parsing object separator - unexpected number "
      "literal; expected ':'");
  EXPECT_EQ(refusal_of(file_of("{} x")),
            "w.safetensors, byte 11: text after the end of the header");
  EXPECT_EQ(refusal_of(file_of("{}", 3)), "w.safetensors, byte 10: bytes that belong to no array");
  EXPECT_THAT(refusal_of(file_of("{\"a")), HasSubstr("byte 11: syntax error"));
  EXPECT_THAT(refusal_of(file_of("{\"a")), HasSubstr("missing closing quote"));
  EXPECT_THAT(refusal_of(file_of("{\"a\\x\"")), HasSubstr("byte 12: syntax error"));
  EXPECT_THAT(refusal_of(file_of("{\"\\ud800\"")), HasSubstr("U+D800"));
}

// The entry of an array in a header; `%` marks the part that a case replaces.
std::string entry(const std::string& dtype, const std::string& shape, const std::string& place) {
  return "{\"a\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + place + "}}";
}

TEST(TensorFile, RefusesArraysThatCannotBe) {
  const auto refused = [](const std::string& header, std::size_t arrays = 4) {
    return refusal_of(file_of(header, arrays));
  };
  EXPECT_EQ(refused(entry("\"F32\"", "[1]", "[0,4]")), "read");
  EXPECT_THAT(refused(entry("\"F8\"", "[1]", "[0,4]")), HasSubstr("\"F8\" is no element type"));
  EXPECT_THAT(refused(entry("\"F32\"", "[2]", "[0,4]")), HasSubstr("4 bytes for float32[2]"));
  EXPECT_THAT(refused(entry("\"U8\"", "[5]", "[0,5]")), HasSubstr("at 0 to 5 of 4 bytes"));
  EXPECT_THAT(refused(entry("\"F32\"", "[1]", "[4,0]")), HasSubstr("at 4 to 0"));
  EXPECT_THAT(refused(entry("\"F32\"", "[-1]", "[0,4]")), HasSubstr("expected a whole number"));
  EXPECT_THAT(refused(entry("\"F32\"", "[01]", "[0,4]")), HasSubstr("syntax error"));
  EXPECT_THAT(refused(entry("\"F32\"", "[1.0]", "[0,4]")), HasSubstr("expected a whole number"));
  EXPECT_THAT(refused(entry("\"U8\"", "[99999999999999999999]", "[0,4]")),
              HasSubstr("a number that is too large"));
  EXPECT_THAT(refused(entry("\"U8\"", "[4611686018427387904,8]", "[0,4]")),
              HasSubstr("a shape with too many elements"));
  EXPECT_THAT(refused(entry("\"U8\"", "[2]", "[1,3]"), 3), HasSubstr("leave a hole before \"a\""));
  EXPECT_THAT(refused("{\"a\":{\"dtype\":\"U8\"}}", 0), HasSubstr("lacks its dtype, shape"));
  EXPECT_THAT(refused("{\"a\":{\"type\":\"U8\"}}", 0), HasSubstr("an array has no \"type\""));
  const std::string one = "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}";
  EXPECT_THAT(refused("{" + one + "," + one + "}"), HasSubstr("\"a\" is there twice"));
}

// The odd byte is at each place in turn.
TEST(TensorFile, TakesNoBoolThatIsNeitherFalseNorTrue) {
  const std::string header = entry("\"BOOL\"", "[3]", "[0,3]");
  for (std::size_t odd = 0; odd <= 3; ++odd) {
    std::string bools("\1\0\1", 3);
    if (odd < 3) bools[odd] = odd == 1 ? '\xFF' : '\2';
    const std::string refusal = refusal_of(file_of(header) + bools);
    FileTensor tensor{DType::kBool, Shape({3}), {}};
    for (const char byte : bools) tensor.bytes.push_back(static_cast<std::byte>(byte));
    TensorFile file;
    file.tensors["a"] = tensor;
    if (odd == 3) {
      EXPECT_EQ(refusal, "read");
      EXPECT_EQ(TensorFile::parse(file.contents(), "w"), file);
      continue;
    }
    const std::size_t place = 8 + header.size() + odd;
    EXPECT_EQ(refusal, "w.safetensors, byte " + std::to_string(place) +
                           ": a bool of \"a\" is the byte " + (odd == 1 ? "255" : "2"));
    EXPECT_THROW(file.contents(), InvalidArgumentError);
  }
}

rc::Gen<FileTensor> file_tensor() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, kNumDTypes),
                     rc::gen::resize(3, rc::gen::container<std::vector<std::int64_t>>(
                                            rc::gen::inRange<std::int64_t>(0, 4))),
                     rc::gen::arbitrary<std::uint8_t>()),
      [](const std::tuple<int, std::vector<std::int64_t>, std::uint8_t>& drawn) {
        const auto& [dtype, extents, any] = drawn;
        FileTensor tensor{static_cast<DType>(dtype), Shape(extents), {}};
        const int fill = tensor.dtype == DType::kBool ? any % 2 : any;
        tensor.bytes.assign(static_cast<std::size_t>(tensor.shape.count()) * size_of(tensor.dtype),
                            static_cast<std::byte>(fill));
        return tensor;
      });
}

// Any text of one-byte characters, and some longer ones.
rc::Gen<std::string> utf8() {
  return rc::gen::map(rc::gen::arbitrary<std::string>(), [](std::string text) {
    std::string valid;
    for (const char c : text) {
      const bool one_byte = static_cast<unsigned char>(c) < 0x80;
      valid += one_byte ? std::string(1, c) : c % 2 == 0 ? "\xC3\xA9" : "\xF0\x9F\x98\x80";
    }
    return valid;
  });
}

RC_GTEST_PROP(TensorFiles, AreReadAsTheyWereWritten, ()) {
  TensorFile file;
  for (const auto& name : *rc::gen::container<std::vector<std::string>>(utf8())) {
    file.tensors[name] = *file_tensor();
  }
  file.notes = *rc::gen::container<std::map<std::string, std::string>>(utf8(), utf8());
  RC_ASSERT(TensorFile::parse(file.contents(), "w") == file);
}

RC_GTEST_PROP(TensorFiles, DamagedFilesAreRefusedOrRead, (std::uint16_t where, char with)) {
  TensorFile file;
  file.tensors["a"] = *file_tensor();
  file.tensors["b"] = *file_tensor();
  std::string contents = file.contents();
  contents[where % contents.size()] = with;
  try {
    const TensorFile again = TensorFile::parse(contents, "w");
    RC_ASSERT(TensorFile::parse(again.contents(), "w") == again);
  } catch (const InvalidArgumentError& error) {
    RC_ASSERT(error.code() == ErrorCode::kFileFormat);
  }
  contents.resize(where % contents.size());
  RC_ASSERT_THROWS_AS(TensorFile::parse(contents, "w"), InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::tensor_file_test
