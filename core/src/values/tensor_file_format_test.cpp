// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-139: files are read and written as strictly as the format says, no more and no less.
#include "belfry/error.h"
#include "belfry/tensor_file.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>  // before RapidCheck's
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::tensor_file_format_test {
namespace {

using ::testing::HasSubstr;

// A file with this header and `arrays` bytes of arrays. `length`, if given, is the header's length.
std::string file_of(const std::string& header, std::size_t arrays = 0, std::uint64_t length = 0) {
  std::string file;
  if (length == 0) length = header.size();
  for (int shift = 0; shift < 64; shift += 8) file += static_cast<char>(length >> shift & 0xFF);
  return file + header + std::string(arrays, '\x01');
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& place,
                  const std::string& name = "a") {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + place + "}";
}

const std::string kOne = entry("U8", "[4]", "[0,4]");

std::string verdict_on(const std::string& contents) {
  const ErrorReport report = report_of([&] { TensorFile::parse(contents, "w"); });
  if (report.summary == "no error") return "read";
  EXPECT_EQ(report.code, ErrorCode::kFileFormat);
  return report.summary;
}

std::string verdict_on_writing(const TensorFile& file) {
  try {
    return TensorFile::parse(file.contents(), "w") == file ? "written" : "changed";
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
    return error.report().summary;
  }
}

struct Header {
  const char* name;
  std::string text;
  std::size_t arrays;
  const char* verdict;  // Part of it.
};

class TensorFileHeader : public ::testing::TestWithParam<Header> {};

TEST_P(TensorFileHeader, IsJudgedAsTheFormatSays) {
  testing::asserts("SEM-139");
  const Header& header = GetParam();
  EXPECT_THAT(verdict_on(file_of(header.text, header.arrays)), HasSubstr(header.verdict));
}

INSTANTIATE_TEST_SUITE_P(
    Bounds, TensorFileHeader,
    ::testing::Values(Header{"Spaces", "{" + kOne + "}   ", 4, "read"},
                      Header{"BlanksInside", "{ \n\t" + kOne + "\r }", 4, "read"},
                      Header{"BlankFirst", " {" + kOne + "}", 4, "byte 8: expected '{'"},
                      Header{"ByteOrderMark", "\xef\xbb\xbf{}", 0, "byte 8: expected '{'"},
                      Header{"NoHeader", "", 0, "byte 8: expected '{'"},
                      Header{"LineEndLast", "{}\n", 0, "byte 10: text after the end of the header"},
                      Header{"TabLast", "{} \t ", 0, "byte 11: text after the end of the header"},
                      Header{"ZeroLast", std::string("{}\0", 3), 0, "byte 10: text after the end"},
                      Header{"ZeroInside", std::string("{\0}", 3), 0, "byte 9: syntax error"},
                      Header{"TwoObjects", "{}{}", 0, "byte 10: text after the end"},
                      Header{"Open", "{" + kOne, 4, "syntax error"},
                      Header{"CommaLast", "{" + kOne + ",}", 4, "syntax error"},
                      Header{"Comment", "{/**/}", 0, "byte 9: syntax error"},
                      Header{"List", "[]", 0, "byte 8: expected '{'"},
                      Header{"NoColon", "{\"a\" 1}", 0,
                             "byte 13: syntax error while parsing object separator - unexpected "
                             "number literal; expected ':'"},
                      Header{"OpenName", "{\"a", 0, "missing closing quote"},
                      Header{"BadEscape", "{\"a\\x\"", 0, "byte 12: syntax error"},
                      Header{"Deep", "{\"a\":" + std::string(100'000, '['), 0,
                             "byte 13: expected an object"}),
    [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Names, TensorFileHeader,
    ::testing::Values(
        Header{"Utf8", "{" + entry("U8", "[4]", "[0,4]", "\xC3\xA9\xF0\x9F\x98\x80") + "}", 4,
               "read"},
        Header{"Escaped", "{" + entry("U8", "[4]", "[0,4]", "\\u00e9\\n\\u0000") + "}", 4, "read"},
        Header{"NotUtf8", "{" + entry("U8", "[4]", "[0,4]", "a\xff") + "}", 4,
               "byte 11: syntax error"},
        Header{"CutUtf8", "{" + entry("U8", "[4]", "[0,4]", "a\xC3") + "}", 4, "syntax error"},
        Header{"LongUtf8", "{" + entry("U8", "[4]", "[0,4]", "\xC0\x80") + "}", 4, "syntax error"},
        Header{"SurrogateUtf8", "{" + entry("U8", "[4]", "[0,4]", "\xED\xA0\x80") + "}", 4,
               "syntax error"},
        Header{"HalfSurrogate", "{" + entry("U8", "[4]", "[0,4]", "\\ud800") + "}", 4,
               "syntax error"},
        Header{"ControlCharacter", "{" + entry("U8", "[4]", "[0,4]", "a\x01") + "}", 4,
               "syntax error"},
        Header{"Twice", "{" + entry("U8", "[0]", "[0,0]") + "," + entry("U8", "[0]", "[0,0]") + "}",
               0, "byte 61: \"a\" is there twice"},
        Header{
            "TwiceInOtherSpelling",
            "{" + entry("U8", "[0]", "[0,0]") + "," + entry("U8", "[0]", "[0,0]", "\\u0061") + "}",
            0, "byte 61: \"a\" is there twice"}),
    [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Notes, TensorFileHeader,
    ::testing::Values(
        Header{"Last", "{" + kOne + ",\"__metadata__\":{\"k\":\"v\",\"l\":\"\"}}", 4, "read"},
        Header{"Empty", "{\"__metadata__\":{}}", 0, "read"},
        Header{"Null", "{\"__metadata__\":null}", 0, "byte 24: expected an object"},
        Header{"List", "{\"__metadata__\":[]}", 0, "byte 24: expected an object"},
        Header{"Number", "{\"__metadata__\":{\"k\":1}}", 0, "byte 29: a note is a string"},
        Header{"Object", "{\"__metadata__\":{\"k\":{}}}", 0, "byte 29: a note is a string"},
        Header{"Null2", "{\"__metadata__\":{\"k\":null}}", 0, "byte 29: a note is a string"},
        Header{"Array", "{" + entry("U8", "[4]", "[0,4]", "__metadata__") + "}", 4,
               "a note is a string"},
        Header{"KeyTwice", "{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, "a note is there"},
        Header{"Twice", "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "is there twice"}),
    [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Arrays, TensorFileHeader,
    ::testing::Values(
        Header{"NoObject", "{\"a\":1}", 0, "byte 13: expected an object"},
        Header{"NoDType", "{\"a\":{\"shape\":[4],\"data_offsets\":[0,4]}}", 4, "lacks its dtype"},
        Header{"DTypeTwice", "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 0, "is there twice"},
        Header{"NumberAsDType", "{\"a\":{\"dtype\":8}}", 0, "byte 22: a dtype is a string"},
        Header{"UnknownDType", "{" + entry("u8", "[4]", "[0,4]") + "}", 4, "no element type"},
        Header{"TextInShape", "{" + entry("U8", "[\"4\"]", "[0,4]") + "}", 4, "a whole number"},
        Header{"ShapeInShape", "{" + entry("U8", "[[4]]", "[0,4]") + "}", 4, "a whole number"},
        Header{"NumberAsShape", "{" + entry("U8", "4", "[0,4]") + "}", 4, "a list of numbers"},
        Header{"Fraction", "{" + entry("U8", "[4.0]", "[0,4]") + "}", 4, "a whole number"},
        Header{"Exponent", "{" + entry("U8", "[4e0]", "[0,4]") + "}", 4, "a whole number"},
        Header{"NoDouble", "{" + entry("U8", "[1e999]", "[0,4]") + "}", 4, "too large"},
        Header{"ZeroInFront", "{" + entry("U8", "[04]", "[0,4]") + "}", 4, "syntax error"},
        Header{"OtherMember", "{\"a\":{\"type\":\"U8\"}}", 0, "an array has no \"type\""},
        Header{"Negative", "{" + entry("U8", "[-4]", "[0,4]") + "}", 4, "not below 0"},
        Header{"MinusZero", "{" + entry("U8", "[-0]", "[0,0]") + "}", 0, "not below 0"},
        Header{"Large", "{" + entry("U8", "[9223372036854775808]", "[0,0]") + "}", 0, "too large"},
        Header{"Larger", "{" + entry("U8", "[99999999999999999999]", "[0,0]") + "}", 0,
               "too large"},
        Header{"LargeProduct", "{" + entry("U8", "[4294967296,4294967296]", "[0,0]") + "}", 0,
               "too many elements"},
        Header{"BytesThatWrap", "{" + entry("F64", "[2305843009213693952]", "[0,0]") + "}", 0,
               "0 bytes for float64[2305843009213693952]"},
        Header{"Zero", "{" + entry("F64", "[0,5]", "[0,0]") + "}", 0, "read"},
        Header{"ZeroBeforeLarge", "{" + entry("U8", "[0,4294967296,4294967296]", "[0,0]") + "}", 0,
               "read"},
        Header{"ZeroAfterLarge", "{" + entry("U8", "[4294967296,4294967296,0]", "[0,0]") + "}", 0,
               "0 bytes for uint8"},
        Header{"PartOfAnElement", "{" + entry("F32", "[1]", "[0,5]") + "}", 5,
               "5 bytes for float32[1]"},
        Header{"ThreeOffsets", "{" + entry("U8", "[4]", "[0,4,4]") + "}", 4, "two numbers"},
        Header{"OneOffset", "{" + entry("U8", "[4]", "[4]") + "}", 4, "two numbers"},
        Header{"Backwards", "{" + entry("U8", "[4]", "[4,0]") + "}", 4, "lies at 4 to 0"},
        Header{"Overlap", "{" + kOne + "," + entry("U8", "[2]", "[3,5]", "b") + "}", 5, "overlap"},
        Header{"Hole", "{" + kOne + "," + entry("U8", "[2]", "[5,7]", "b") + "}", 7, "a hole"},
        Header{"Rest", "{" + kOne + "}", 5, "bytes that belong to no array"},
        Header{"OtherOrder", "{" + entry("U8", "[2]", "[4,6]", "b") + "," + kOne + "}", 6, "read"},
        Header{"Unaligned",
               "{" + entry("U8", "[1]", "[0,1]") + "," + entry("F32", "[1]", "[1,5]", "b") + "}", 5,
               "read"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(TensorFileFormat, LimitsTheHeaderInBothDirections) {
  constexpr std::size_t kMost = 100'000'000;
  EXPECT_EQ(verdict_on(file_of("{}", 0, kMost + 1)),
            "w, byte 0: a header of 100000001 bytes; the format allows 100000000");
  EXPECT_EQ(verdict_on(file_of("{}", 0, std::numeric_limits<std::uint64_t>::max())),
            "w, byte 0: a header of 18446744073709551615 bytes; the format allows 100000000");
  EXPECT_EQ(verdict_on(file_of("{}", 0, kMost)),
            "w, byte 0: a header of 100000000 bytes in a file of 10");
  // {"__metadata__":{"k":"..."}} has 25 characters but for the text.
  TensorFile file;
  file.notes["k"] = std::string(kMost - 25, 'x');
  EXPECT_EQ(file.contents().size(), 8 + kMost);
  file.notes["k"] += 'x';
  EXPECT_EQ(verdict_on_writing(file), "a header of 100000008 bytes; the format allows 100000000");
}

TEST(TensorFileFormat, RefusesToWriteWhatCouldNotBeRead) {
  testing::asserts("SEM-139");
  const FileTensor good{DType::kUInt8, Shape({1}), std::vector<std::byte>(1)};
  const auto verdict = [](const std::string& name, const FileTensor& tensor) {
    TensorFile file;
    file.tensors[name] = tensor;
    return verdict_on_writing(file);
  };
  EXPECT_EQ(verdict("a", good), "written");
  EXPECT_EQ(verdict(std::string("\0\"\\\n\x7f", 5), good), "written");
  EXPECT_THAT(verdict("__metadata__", good), HasSubstr("the name of the notes"));
  for (const char* name : {"a\xff", "a\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    EXPECT_THAT(verdict(name, good), HasSubstr("is no UTF-8"));
    TensorFile noted;
    noted.notes["k"] = name;
    EXPECT_THAT(verdict_on_writing(noted), HasSubstr("is no UTF-8"));
    noted.notes = {{name, "v"}};
    EXPECT_THAT(verdict_on_writing(noted), HasSubstr("is no UTF-8"));
  }
  EXPECT_THAT(verdict("a", {DType::kFloat32, Shape({2}), std::vector<std::byte>(1)}),
              HasSubstr("\"a\" cannot be an array of float32[2] with 1 bytes"));
  // 2^61 elements of 8 bytes are 2^64 bytes, which is 0 in 64 bits.
  EXPECT_THAT(verdict("a", {DType::kFloat64, Shape({std::int64_t{1} << 61}), {}}),
              HasSubstr("cannot be an array of float64[2305843009213693952] with 0 bytes"));
  const Shape late_zero({std::int64_t{1} << 32, std::int64_t{1} << 32, 0});
  EXPECT_THAT(verdict("a", {DType::kUInt8, late_zero, {}}), HasSubstr("cannot be an array"));
  EXPECT_THAT(verdict("a", {static_cast<DType>(kNumDTypes), Shape({1}), std::vector<std::byte>(1)}),
              HasSubstr("dtype(13) that cannot be written"));
}

TEST(TensorFileFormat, KeepsArraysOfTypesThatBelfryLacks) {
  testing::asserts("SEM-139");
  const std::string header =
      "{" + entry("F8_E4M3", "[2,2]", "[0,4]", "f8") + "," + entry("F4", "[3,2]", "[4,7]", "f4") +
      "," + entry("F6_E2M3", "[4]", "[7,10]", "f6") + "," + entry("U8", "[1]", "[10,11]", "ours") +
      "," + entry("C64", "[1]", "[11,19]", "c64") + "}";
  const TensorFile file = TensorFile::parse(file_of(header, 19), "w");
  ASSERT_EQ(file.tensors.size(), 1U);
  EXPECT_EQ(file.tensors.at("ours").bytes, std::vector<std::byte>(1, std::byte{1}));
  ASSERT_EQ(file.unsupported.size(), 4U);
  EXPECT_EQ(file.unsupported.at("f8").dtype, "F8_E4M3");
  EXPECT_EQ(file.unsupported.at("f8").shape, Shape({2, 2}));
  EXPECT_EQ(file.unsupported.at("f4").bytes.size(), 3U);
  EXPECT_EQ(verdict_on_writing(file), "written");
}

TEST(TensorFileFormat, ChecksTheSpansOfTypesThatBelfryLacks) {
  const auto verdict = [](const std::string& dtype, const std::string& shape, std::size_t bytes) {
    return verdict_on(
        file_of("{" + entry(dtype, shape, "[0," + std::to_string(bytes) + "]") + "}", bytes));
  };
  for (const char* dtype :
       {"F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64", "F4", "F6_E3M2"}) {
    EXPECT_EQ(verdict(dtype, "[0]", 0), "read");
    EXPECT_THAT(verdict(dtype, "[8]", 1), HasSubstr(std::string("1 bytes for ") + dtype + "[8]"));
  }
  EXPECT_EQ(verdict("F4", "[3,2]", 3), "read");
  EXPECT_THAT(verdict("F4", "[5]", 3), HasSubstr("3 bytes for F4[5]"));
  EXPECT_THAT(verdict("F6_E2M3", "[3]", 3), HasSubstr("3 bytes for F6_E2M3[3]"));
  EXPECT_THAT(verdict_on(file_of("{" + entry("F8_E4M3", "[4]", "[0,4]") + "}", 3)),
              HasSubstr("lies at 0 to 4 of 3 bytes"));
}

TEST(TensorFileFormat, RefusesToWriteTypesThatTheFormatLacks) {
  const auto verdict = [](const UnsupportedTensor& tensor, const std::string& name = "a") {
    TensorFile file;
    file.tensors["mine"] = {DType::kUInt8, Shape({1}), std::vector<std::byte>(1)};
    file.unsupported[name] = tensor;
    return verdict_on_writing(file);
  };
  const UnsupportedTensor good{"F8_E5M2", Shape({2}), std::vector<std::byte>(2)};
  EXPECT_EQ(verdict(good), "written");
  EXPECT_THAT(verdict(good, "mine"), HasSubstr("\"mine\" names two arrays"));
  EXPECT_THAT(verdict(good, "__metadata__"), HasSubstr("the name of the notes"));
  EXPECT_THAT(verdict({"F8\"", Shape({2}), good.bytes}), HasSubstr("cannot be written"));
  // Belfry has the type U8.
  EXPECT_THAT(verdict({"U8", Shape({2}), good.bytes}), HasSubstr("cannot be written"));
  EXPECT_THAT(verdict({"F8_E5M2", Shape({3}), good.bytes}), HasSubstr("with 2 bytes"));
}

// The file of the same arrays as version 0.8.0 of the format's own library writes.
TEST(TensorFileFormat, WritesTheFileOfTheReferenceLibrary) {
  TensorFile file;
  const auto add = [&](const char* name, DType dtype, std::int64_t count = 1) {
    const auto bytes = static_cast<std::size_t>(count) * size_of(dtype);
    file.tensors[name] = {dtype, Shape({count}), std::vector<std::byte>(bytes)};
  };
  add("b8", DType::kUInt8, 3);
  add("a16", DType::kFloat16);
  add("z64", DType::kFloat64);
  add("i64", DType::kInt64);
  add("f32", DType::kFloat32);
  add("u32", DType::kUInt32);
  add("bo", DType::kBool);
  file.notes["k"] = "v";
  const std::string header =
      R"({"__metadata__":{"k":"v"},"i64":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
      R"("z64":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},)"
      R"("f32":{"dtype":"F32","shape":[1],"data_offsets":[16,20]},)"
      R"("u32":{"dtype":"U32","shape":[1],"data_offsets":[20,24]},)"
      R"("a16":{"dtype":"F16","shape":[1],"data_offsets":[24,26]},)"
      R"("b8":{"dtype":"U8","shape":[3],"data_offsets":[26,29]},)"
      R"("bo":{"dtype":"BOOL","shape":[1],"data_offsets":[29,30]}}    )";
  EXPECT_EQ(file.contents(), file_of(header) + std::string(30, '\0'));
}

TEST(TensorFile, IsReadWhateverTheOrderBlanksAndEscapes) {
  const TensorFile file = TensorFile::parse(
      file_of(
          "{ \"x\\u00e9\\ud83d\\ude00\" : {\"data_offsets\":[2,4],\n\t\"shape\":[ 1 , 2 ],"
          "\"dtype\":\"I8\"}, \"\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]} }  ",
          4),
      "w");
  ASSERT_EQ(file.tensors.size(), 2U);
  EXPECT_EQ(file.tensors.at("x\xC3\xA9\xF0\x9F\x98\x80").shape, Shape({1, 2}));
  EXPECT_EQ(file.tensors.at("").dtype, DType::kBool);
  EXPECT_TRUE(TensorFile::parse(file_of("{}"), "w").tensors.empty());
}

// The odd byte is at each place in turn.
TEST(TensorFile, TakesNoBoolThatIsNeitherFalseNorTrue) {
  const std::string header = "{" + entry("BOOL", "[3]", "[0,3]") + "}";
  for (std::size_t odd = 0; odd <= 3; ++odd) {
    std::string bools("\1\0\1", 3);
    if (odd < 3) bools[odd] = odd == 1 ? '\xFF' : '\2';
    TensorFile file;
    file.tensors["a"] = {DType::kBool, Shape({3}), {}};
    for (const char byte : bools) file.tensors["a"].bytes.push_back(static_cast<std::byte>(byte));
    const std::string refusal = verdict_on(file_of(header) + bools);
    if (odd == 3) {
      EXPECT_EQ(refusal, "read");
      EXPECT_EQ(verdict_on_writing(file), "written");
      continue;
    }
    EXPECT_EQ(refusal, "w, byte " + std::to_string(8 + header.size() + odd) +
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

// The place of an array, read from the text of the header by hand.
std::size_t place_of(const std::string& contents, const std::string& name) {
  std::size_t header = 0;
  for (std::size_t i = 8; i-- > 0;) header = header << 8 | static_cast<unsigned char>(contents[i]);
  const std::string mark = "\"data_offsets\":[";
  const std::size_t entry = contents.find("\"" + name + "\":{");
  return 8 + header + std::stoul(contents.substr(contents.find(mark, entry) + mark.size()));
}

RC_GTEST_PROP(TensorFilesOnDisk, HaveEveryArrayAtAMultipleOfItsElementsSize, ()) {
  TensorFile file;
  const auto drawn = *rc::gen::container<std::vector<std::pair<std::uint8_t, std::uint8_t>>>(
      rc::gen::arbitrary<std::pair<std::uint8_t, std::uint8_t>>());
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto dtype = static_cast<DType>(drawn[i].first % kNumDTypes);
    const std::int64_t count = drawn[i].second % 8;
    file.tensors["a" + std::to_string(i)] = {
        dtype, Shape({count}),
        std::vector<std::byte>(static_cast<std::size_t>(count) * size_of(dtype))};
  }
  // 3 bytes, for which no alignment of other arrays fits.
  if (*rc::gen::arbitrary<bool>()) {
    file.unsupported["odd"] = {"F8_E4M3", Shape({3}), std::vector<std::byte>(3)};
  }
  const std::string contents = file.contents();
  for (const auto& [name, tensor] : file.tensors) {
    RC_ASSERT(place_of(contents, name) % size_of(tensor.dtype) == 0U);
  }
  RC_ASSERT(TensorFile::parse(contents, "w") == file);
}

// Work that grows with the square of the number would not end within the time limit of the test.
TEST(TensorFileFormat, MayHaveHundredsOfThousandsOfArrays) {
  constexpr int kArrays = 300'000;
  std::string header = "{";
  for (int i = 0; i < kArrays; ++i) {
    header += entry("U8", "[0]", "[0,0]", "n" + std::to_string(i)) + ",";
  }
  const TensorFile file =
      TensorFile::parse(file_of(header + "\"__metadata__\":{\"k\":\"v\"}}"), "w");
  EXPECT_EQ(file.tensors.size(), std::size_t{kArrays});
  EXPECT_EQ(file.tensors.count("n299999"), 1U);
  EXPECT_THAT(verdict_on(file_of(header + entry("U8", "[0]", "[0,0]", "n0") + "}")),
              HasSubstr("\"n0\" is there twice"));
  EXPECT_EQ(verdict_on_writing(file), "written");
}

}  // namespace
}  // namespace belfry::tensor_file_format_test
