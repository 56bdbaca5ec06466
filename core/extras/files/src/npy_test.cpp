// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/files/npy.h"

#include "belfry/error.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry::npy_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file by hand: the length is little-endian, of 2 bytes in version 1 and 4 in the others.
std::string npy(const std::string& header, const std::string& elements, int version = 1) {
  std::string file = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  const std::size_t size = header.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>((size >> (8 * i)) & 0xff);
  }
  return file + header + elements;
}

std::string dictionary(const std::string& type, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }      \n";
}

HostArray parse(const std::string& file) {
  return parse_npy(std::as_bytes(std::span(file)), "x.npy");
}

std::string bytes_of(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

TEST(Npy, ReadsAllVersions) {
  const std::string elements = bytes_of({1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff});
  for (const int version : {1, 2, 3}) {
    const HostArray array = parse(npy(dictionary("<i4", "(2,)"), elements, version));
    EXPECT_EQ(array.dtype(), DType::kInt32);
    EXPECT_EQ(array.shape(), (Shape{2}));
    EXPECT_THAT(array.values<std::int32_t>(), ElementsAre(1, -2));
  }
}

TEST(Npy, ReadsEveryElementType) {
  struct Row {
    const char* type;
    DType dtype;
    std::string one;  // The number 1, little-endian.
  };
  const std::string none(6, '\0');
  const Row rows[] = {{"<f4", DType::kFloat32, bytes_of({0, 0, 0x80, 0x3f})},
                      {"<f8", DType::kFloat64, none + bytes_of({0xf0, 0x3f})},
                      {"<f2", DType::kFloat16, bytes_of({0, 0x3c})},
                      {"|i1", DType::kInt8, bytes_of({1})},
                      {"<i1", DType::kInt8, bytes_of({1})},
                      {"<i2", DType::kInt16, bytes_of({1, 0})},
                      {"<i4", DType::kInt32, bytes_of({1, 0, 0, 0})},
                      {"<i8", DType::kInt64, bytes_of({1, 0}) + none},
                      {"|u1", DType::kUInt8, bytes_of({1})},
                      {"<u2", DType::kUInt16, bytes_of({1, 0})},
                      {"<u4", DType::kUInt32, bytes_of({1, 0, 0, 0})},
                      {"<u8", DType::kUInt64, bytes_of({1, 0}) + none},
                      {"|b1", DType::kBool, bytes_of({1})}};
  for (const Row& row : rows) {
    const HostArray array = parse(npy(dictionary(row.type, "(1,)"), row.one));
    EXPECT_EQ(array.dtype(), row.dtype) << row.type;
    EXPECT_EQ(array.bytes().size(), row.one.size());
  }
  EXPECT_EQ(parse(npy(dictionary("<f4", "(1,)"), rows[0].one)).at<float>(0), 1);
  EXPECT_EQ(parse(npy(dictionary("<f8", "(1,)"), rows[1].one)).at<double>(0), 1);
  EXPECT_EQ(float(parse(npy(dictionary("<f2", "(1,)"), rows[2].one)).at<Float16>(0)), 1);
  EXPECT_TRUE(parse(npy(dictionary("|b1", "(1,)"), rows[12].one)).at<bool>(0));
}

TEST(Npy, ReadsAnyShape) {
  EXPECT_EQ(parse(npy(dictionary("|u1", "()"), "a")).shape(), Shape{});
  EXPECT_EQ(parse(npy(dictionary("|u1", "(0,)"), "")).shape(), (Shape{0}));
  EXPECT_EQ(parse(npy(dictionary("|u1", "(0, 9223372036854775807, 4)"), "")).shape().count(), 0);
  EXPECT_EQ(parse(npy(dictionary("|u1", "(2, 3)"), "abcdef")).shape(), (Shape{2, 3}));
  EXPECT_EQ(parse(npy(dictionary("|u1", "(2L, 3L)"), "abcdef")).shape(), (Shape{2, 3}));
  EXPECT_EQ(parse(npy(dictionary("|u1", "(2,3,)"), "abcdef")).shape(), (Shape{2, 3}));
}

// `=` is the order of the machine, here that of `<`.
TEST(Npy, ReadsTheOrderOfTheMachine) {
  EXPECT_THAT(parse(npy(dictionary("=i2", "(2,)"), bytes_of({1, 0, 0, 1}))).values<std::int16_t>(),
              ElementsAre(1, 256));
}

TEST(Npy, ReadsHeadersAsPythonMayWriteThem) {
  EXPECT_EQ(parse(npy("{\"shape\":(1,),\"fortran_order\":False,\"descr\":\"|u1\"}", "a")).shape(),
            (Shape{1}));
  EXPECT_EQ(
      parse(npy("  { 'shape' : ( 1 , ) ,\n'fortran_order' : False , 'descr' : '|u1' }\n", "a"))
          .shape(),
      (Shape{1}));
}

// Element number i in row-major order is i; written in the order asked for, index by index.
RC_GTEST_PROP(Npy, ReadsAnyArrayInEitherOrder, (bool fortran)) {
  const auto extents =
      *rc::gen::resize(4, rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5)));
  int count = 1;
  std::string shape = "(";
  for (const int extent : extents) {
    count *= extent;
    shape += std::to_string(extent) + ",";
  }
  std::string elements;
  for (int position = 0; position < count; ++position) {
    // The indices of the position, then the number of the element with these indices.
    std::vector<int> index(extents.size());
    int rest = position;
    for (std::size_t k = 0; k < extents.size(); ++k) {
      const std::size_t axis = fortran ? k : extents.size() - 1 - k;
      index[axis] = rest % extents[axis];
      rest /= extents[axis];
    }
    int number = 0;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      number = number * extents[axis] + index[axis];
    }
    elements += bytes_of({number % 256, number / 256});
  }
  const HostArray array = parse(npy(dictionary("<u2", shape + ")", fortran), elements));
  RC_ASSERT(array.shape().rank() == static_cast<int>(extents.size()));
  const auto values = array.values<std::uint16_t>();
  RC_ASSERT(static_cast<int>(values.size()) == count);
  for (int i = 0; i < count; ++i) RC_ASSERT(values[static_cast<std::size_t>(i)] == i);
}

RC_GTEST_PROP(Npy, DamagedFilesAreRefusedOrRead, ()) {
  std::string file = npy(dictionary("<i2", "(2, 3)"), "abcdefghijkl");
  const auto place = *rc::gen::inRange<std::size_t>(0, file.size());
  if (*rc::gen::arbitrary<bool>()) file.resize(place);
  if (place < file.size()) file[place] = *rc::gen::arbitrary<char>();
  try {
    const HostArray array = parse(file);
    RC_ASSERT(array.bytes().size() ==
              static_cast<std::size_t>(array.shape().count()) * size_of(array.dtype()));
  } catch (const InvalidArgumentError& error) {
    RC_ASSERT(error.code() == ErrorCode::kFileFormat);
  }
}

struct BadFile {
  const char* name;
  std::string file;
  std::string message;  // After the file's name.

  friend void PrintTo(const BadFile& bad, std::ostream* out) { *out << bad.name; }
};

class MalformedNpy : public ::testing::TestWithParam<BadFile> {};

TEST_P(MalformedNpy, IsNamedByItsByte) {
  const ErrorReport report = report_of([] { parse(GetParam().file); });
  EXPECT_EQ(report.code, ErrorCode::kFileFormat);
  EXPECT_EQ(report.summary, "x.npy: byte " + GetParam().message);
}

std::string cut(std::string file, std::size_t size) { return file.substr(0, size); }

const std::string kGood = npy(dictionary("|u1", "(2, 3)"), "abcdef");

INSTANTIATE_TEST_SUITE_P(
    Table, MalformedNpy,
    ::testing::Values(
        BadFile{"Empty", "", "0: the file ends within the magic string, after 0 of 6 bytes"},
        BadFile{"OtherFile", "PK\3\4 something else", "0: this is no npy file"},
        BadFile{"Magic", "\x93NUMPX\1", "5: this is no npy file"},
        BadFile{"NoVersion", cut(kGood, 7),
                "7: the file ends within the version, after 1 of 2 bytes"},
        BadFile{"Version", npy("", "", 4), "6: version 4.0 is unknown: 1.0 to 3.0 can be read"},
        BadFile{"NoLength", cut(kGood, 9),
                "9: the file ends within the header's length, after 1 of 2 bytes"},
        BadFile{"CutHeader", cut(kGood, 20),
                "20: the file ends within the header, after 10 of 66 bytes"},
        BadFile{"HugeHeader", std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12),
                "8: the header has 4294967295 bytes"},
        BadFile{"CutElements", cut(kGood, 80),
                "80: the file ends within elements, after 4 of 6 bytes"},
        BadFile{"MoreElements", kGood + "g", "82: the file goes on after its 6 bytes of elements"},
        BadFile{"NoDictionary", npy("[]", ""), "10: a '{' is missing"},
        BadFile{"NoEnd", npy("{'descr': '|u1'", ""), "25: a '}' is missing"},
        BadFile{"NoColon", npy("{'descr' '|u1'}", ""), "19: a ':' is missing"},
        BadFile{"NoDescr", npy("{'fortran_order': False, 'shape': ()}", ""),
                "47: the header has no 'descr'"},
        BadFile{"NoOrder", npy("{'descr': '|u1', 'shape': ()}", ""),
                "39: the header has no 'fortran_order'"},
        BadFile{"NoShape", npy("{'descr': '|u1', 'fortran_order': False}", ""),
                "50: the header has no 'shape'"},
        BadFile{"Twice", npy("{'descr': '|u1', 'descr': '|u1'}", ""), "27: 'descr' is there twice"},
        BadFile{"OtherKey", npy("{'colour': 'red'}", ""), "11: 'colour' does not belong here"},
        BadFile{"Rest", npy("{'descr': '|u1', 'fortran_order': False, 'shape': ()} x", "a"),
                "64: the header goes on after its dictionary"},
        BadFile{"BigEndian", npy(dictionary(">f4", "()"), ""),
                "20: elements are big-endian ('>f4')"},
        BadFile{"Objects", npy(dictionary("|O", "()"), ""),
                "20: '|O' is no element type that can be read"},
        BadFile{"Complex", npy(dictionary("<c8", "()"), ""),
                "20: '<c8' is no element type that can be read"},
        BadFile{"OrderMissing", npy(dictionary("|f4", "()"), ""),
                "20: '|f4' is no element type that can be read"},
        BadFile{"Fields", npy("{'descr': [('a', '<f4')]}", ""),
                "20: elements with fields cannot be read"},
        BadFile{"Order", npy("{'fortran_order': 0}", ""), "28: True or False is missing"},
        BadFile{"NumberAsShape", npy(dictionary("|u1", "3"), ""), "60: a '(' is missing"},
        BadFile{"ShapeInParentheses", npy(dictionary("|u1", "(3)"), ""),
                "62: (n) is a number; an array of one axis has the shape (n,)"},
        BadFile{"Negative", npy(dictionary("|u1", "(-1,)"), ""), "61: an extent is missing"},
        BadFile{"Fraction", npy(dictionary("|u1", "(1.5, 2)"), ""),
                "62: (n) is a number; an array of one axis has the shape (n,)"},
        BadFile{"HugeExtent", npy(dictionary("|u1", "(9223372036854775808, 1)"), ""),
                "61: an extent is too large"},
        BadFile{"HugeShape", npy(dictionary("<f8", "(4294967296, 4294967296)"), ""),
                "60: the shape has too many elements"},
        BadFile{"Promise", npy(dictionary("<f8", "(1152921504606846975,)"), "abc"),
                "95: the file ends within elements, after 3 of 9223372036854775800 bytes"},
        BadFile{"OpenString", npy("{'descr': '|u1", ""), "20: a string has no end"},
        BadFile{"NoString", npy("{descr: '|u1'}", ""), "11: a string in quotes is missing"},
        BadFile{"Boolean", npy(dictionary("|b1", "(3,)"), bytes_of({0, 1, 2})),
                "76: a boolean is 2"}),
    [](const auto& info) { return std::string(info.param.name); });

std::string hint_of(const std::string& file) {
  return report_of([&] { parse(file); }).hint;
}

// Files of numpy.save: a second numpy.save would not help.
TEST(Npy, TellsAReaderHowToConvertFilesOfNumpy) {
  EXPECT_THAT(hint_of(npy("{'descr': [('a', '<f4')]}", "")), HasSubstr("each field"));
  EXPECT_THAT(hint_of(npy(dictionary(">f4", "()"), "")), HasSubstr("newbyteorder('<')"));
  EXPECT_THAT(hint_of(npy(dictionary("<c8", "()"), "")), HasSubstr("astype"));
  EXPECT_THAT(hint_of(npy(dictionary("|b1", "(1,)"), bytes_of({2}))), HasSubstr("numpy.uint8"));
  EXPECT_THAT(hint_of(kGood + kGood), HasSubstr("a file of its own"));
  EXPECT_THAT(hint_of(cut(kGood, 80)), HasSubstr("cut off"));
  EXPECT_THAT(hint_of("PK\3\4 something else"), HasSubstr("numpy.savez"));
}

TEST(Npy, ReadsFiles) {
  const std::string path = ::testing::TempDir() + "belfry_npy_test.npy";
  std::ofstream(path, std::ios::binary) << kGood;
  EXPECT_THAT(read_npy(path).values<std::uint8_t>(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  for (const auto& [bad, why] : {std::pair{std::string("no/such/file.npy"), "No such file"},
                                 std::pair{::testing::TempDir(), "Is a directory"},
                                 std::pair{std::string("/dev/zero"), "this is no npy file"}}) {
    const ErrorReport report = report_of([path = bad] { read_npy(path); });
    EXPECT_EQ(report.code, ErrorCode::kFileFormat);
    EXPECT_THAT(to_string(report), AllOf(HasSubstr(why), HasSubstr(bad)));
  }
}

// 2^26 bytes and a few: an element of 1 byte each, and elements of a large row each.
TEST(Npy, ReadsLargeArrays) {
  constexpr std::size_t kCount = (std::size_t{1} << 26) + 5;
  std::string elements(kCount, '\0');
  for (std::size_t i = 0; i < kCount; ++i) elements[i] = static_cast<char>(i * 31);
  const std::string extent = std::to_string(kCount);
  const HostArray flat = parse(npy(dictionary("|u1", "(" + extent + ",)"), elements));
  ASSERT_EQ(flat.bytes().size(), kCount);
  EXPECT_EQ(std::memcmp(flat.bytes().data(), elements.data(), kCount), 0);
  const HostArray row = parse(npy(dictionary("|u1", "(1, " + extent + ")"), elements));
  int rows = 0;
  for (const std::vector<std::uint8_t>& only : row.rows<std::uint8_t>()) {
    ++rows;
    ASSERT_EQ(only.size(), kCount);
    EXPECT_EQ(std::memcmp(only.data(), elements.data(), kCount), 0);
  }
  EXPECT_EQ(rows, 1);
}

}  // namespace
}  // namespace belfry::npy_test
