// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <ostream>
#include <sstream>
#include <string>

namespace belfry::demo::digits_test {
namespace {

// 64 pixels 0 to 15 in turn and the digit.
std::string line_of(int digit) {
  std::string line;
  for (int i = 0; i < kPixels; ++i) line += std::to_string(i % 16) + ",";
  return line + std::to_string(digit);
}

Digits parse(const std::string& text) {
  std::istringstream in(text);
  return parse_digits(in, "x.csv");
}

TEST(Digits, TheProjectsOwnFileIsComplete) {
  const Digits digits = read_digits(BELFRY_DEMO_DATA);
  EXPECT_EQ(digits.count(), 1797);
  EXPECT_EQ(digits.pixels.size(), 1797U * 64U);
  EXPECT_EQ(*std::max_element(digits.pixels.begin(), digits.pixels.end()), 16);
  for (int digit = 0; digit < 10; ++digit) {
    EXPECT_GT(std::count(digits.labels.begin(), digits.labels.end(), digit), 170) << digit;
  }
  // The first line of the file: 28 in its first eight pixels, 58 in the next.
  EXPECT_EQ(digits.labels[0], 0);
  EXPECT_EQ(std::accumulate(digits.pixels.begin(), digits.pixels.begin() + 16, 0), 86);
}

TEST(Digits, LineEndsMayVary) {
  for (const std::string end : {"\n", "\r\n"}) {
    const Digits digits = parse(line_of(3) + end + line_of(9) + end);
    ASSERT_EQ(digits.count(), 2);
    EXPECT_EQ(digits.labels[0], 3);
    EXPECT_EQ(digits.labels[1], 9);
    EXPECT_EQ(digits.pixels[64 + 15], 15);
  }
  EXPECT_EQ(parse(line_of(3)).count(), 1);           // No end at all.
  EXPECT_EQ(parse(line_of(3) + "\n\n").count(), 1);  // An empty line at the end.
}

struct BadFile {
  const char* name;
  std::string text;
  std::string message;  // After the file's name.

  friend void PrintTo(const BadFile& bad, std::ostream* out) { *out << bad.name; }
};

class MalformedDigits : public ::testing::TestWithParam<BadFile> {};

TEST_P(MalformedDigits, AreNamedByLineAndColumn) {
  try {
    parse(GetParam().text);
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFileFormat);
    EXPECT_EQ(error.report().summary, "x.csv" + GetParam().message);
    EXPECT_NE(error.report().hint.find("64 pixels"), std::string::npos);
  }
}

// A line has 64 pixels in 64 + 64 commas + 24 second digits of the numbers 10 to 15: 152
// characters, then the digit in column 153.
INSTANTIATE_TEST_SUITE_P(
    Table, MalformedDigits,
    ::testing::Values(
        BadFile{"Empty", "", ":1:1: the file has no images"},
        BadFile{"OnlyALineEnd", "\n", ":2:1: the file has no images"},
        BadFile{"EmptyLineInside", line_of(1) + "\n\n" + line_of(2) + "\n",
                ":2:1: pixel 1 is missing"},
        BadFile{"TooFew", "1,2,3\n",
                ":1:6: the line ends after 3 numbers of 65; pixel 4 is missing"},
        BadFile{"NoDigit", line_of(1).substr(0, 151) + "\n",
                ":1:152: the line ends after 64 numbers of 65; the digit is missing"},
        BadFile{"TooMany", line_of(1) + ",7\n", ":1:154: the line goes on after the digit"},
        BadFile{"EmptyField", "1,,3\n", ":1:3: pixel 2 is missing"},
        BadFile{"Word", "1,two,3\n", ":1:3: 'two' is not a number"},
        BadFile{"Negative", "1,-2,3\n", ":1:3: '-2' is not a number"},
        BadFile{"Fraction", "1,2.5,3\n", ":1:3: '2.5' is not a number"},
        BadFile{"Blank", "1, 2,3\n", ":1:3: ' 2' is not a number"},
        BadFile{"Nul", std::string("1,\0,3\n", 6), ":1:3: '?' is not a number"},
        BadFile{"TooDark", line_of(1) + "\n1,17,3\n", ":2:3: pixel 2 is 17; it goes from 0 to 16"},
        BadFile{"Huge", "99999999999999999999,1\n",
                ":1:1: pixel 1 is 99999999999999999999; it goes from 0 to 16"},
        BadFile{"NoSuchDigit", line_of(10) + "\n", ":1:153: the digit is 10; it goes from 0 to 9"},
        BadFile{"Header", "p0,p1\n", ":1:1: 'p0' is not a number"},
        BadFile{"LongLine", std::string(5000, '1') + "\n",
                ":1:1024: the line has more than 1023 characters"},
        BadFile{"LongSecondLine", line_of(1) + "\n" + std::string(5000, ','),
                ":2:1024: the line has more than 1023 characters"},
        BadFile{"LongWord", std::string(100, 'a') + "\n",
                ":1:1: 'aaaaaaaaaaaaaaaaaaaa...' is not a number"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Digits, FilesThatCannotBeReadAreTold) {
  try {
    read_digits("no/such/file.csv");
    FAIL() << "no error";
  } catch (const UnreadableFile& error) {
    EXPECT_EQ(error.report().summary, "cannot read no/such/file.csv: No such file or directory");
    EXPECT_TRUE(error.report().hint.ends_with(" " BELFRY_DEMO_DATA)) << error.report().hint;
  }
  try {
    read_digits(::testing::TempDir());
    FAIL() << "no error";
  } catch (const UnreadableFile& error) {
    EXPECT_NE(error.report().summary.find("Is a directory"), std::string::npos);
  }
}

TEST(Digits, AnEndlessFileIsGivenUp) {
  EXPECT_THROW(read_digits("/dev/zero"), InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::demo::digits_test
