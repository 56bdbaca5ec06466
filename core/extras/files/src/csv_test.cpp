// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/files/csv.h"

#include "belfry/error.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <ios>
#include <istream>
#include <limits>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <tuple>
#include <vector>

namespace belfry::csv_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CsvTable parse(const std::string& text, CsvOptions options = {}) {
  std::istringstream in(text);
  return parse_csv(in, "x.csv", options);
}

std::vector<std::vector<std::string>> fields_of(const CsvTable& table) {
  std::vector<std::vector<std::string>> rows;
  for (std::int64_t row = 0; row < table.num_rows(); ++row) {
    rows.emplace_back();
    for (std::int64_t column = 0; column < table.num_columns(); ++column) {
      rows.back().emplace_back(table.text(row, column));
    }
  }
  return rows;
}

// The message of a file that cannot be read.
std::string message_of(const auto& body) {
  const ErrorReport report = report_of(body);
  EXPECT_EQ(report.code, ErrorCode::kFileFormat);
  return report.summary;
}

// The message of a refused call.
std::string refusal_of(const auto& body) {
  const ErrorReport report = report_of(body);
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
  return report.summary;
}

TEST(Csv, HasFieldsInLines) {
  EXPECT_THAT(fields_of(parse("a,b\nc,d\n")),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d")));
  EXPECT_THAT(fields_of(parse("a,b\r\nc,d\r\n")),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d")));
  EXPECT_THAT(fields_of(parse("a,b\nc,d")),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d")));
  EXPECT_THAT(fields_of(parse("a,\n,d")), ElementsAre(ElementsAre("a", ""), ElementsAre("", "d")));
  EXPECT_THAT(fields_of(parse("a,")), ElementsAre(ElementsAre("a", "")));
  EXPECT_THAT(fields_of(parse("\n\n")), ElementsAre(ElementsAre(""), ElementsAre("")));
  EXPECT_THAT(fields_of(parse(" a , b \n")), ElementsAre(ElementsAre(" a ", " b ")));
  EXPECT_THAT(fields_of(parse("a;b,c\n", {.separator = ';'})),
              ElementsAre(ElementsAre("a", "b,c")));
  EXPECT_THAT(fields_of(parse("\xef\xbb\xbf"
                              "a,b\n")),
              ElementsAre(ElementsAre("a", "b")));
  EXPECT_THAT(fields_of(parse("\xef\xbb,b\n")), ElementsAre(ElementsAre("\xef\xbb", "b")));
}

TEST(Csv, EndsLinesWithCrAlone) {
  const auto rows = ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d"));
  EXPECT_THAT(fields_of(parse("a,b\rc,d\r")), rows);
  EXPECT_THAT(fields_of(parse("a,b\rc,d")), rows);
  EXPECT_THAT(fields_of(parse("a,b\r\nc,d\r")), rows);
  EXPECT_THAT(fields_of(parse("\"a\",\"b\"\rc,d\n")), rows);
  EXPECT_THAT(fields_of(parse("\"a\rb\",c\r")), ElementsAre(ElementsAre("a\rb", "c")));
}

TEST(Csv, LeavesOutBlankLinesAtTheEnd) {
  const auto rows = ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d"));
  for (const char* end : {"\n\n", "\r\n\r\n", "\n\n\n", "\n  \t\n", "\n ", "\r\r"}) {
    EXPECT_THAT(fields_of(parse(std::string("a,b\nc,d") + end)), rows)
        << ::testing::PrintToString(end);
  }
  // In a single column, a blank line is an empty field.
  EXPECT_THAT(fields_of(parse("a\n\n")), ElementsAre(ElementsAre("a"), ElementsAre("")));
}

TEST(Csv, SkipsLinesBeforeTheTable) {
  const std::string text = "# \"measured,\n2019;\rx,y\n1,2\n";
  const CsvTable table = parse(text, {.has_header = true, .skip_lines = 2});
  EXPECT_THAT(table.header(), ElementsAre("x", "y"));
  EXPECT_THAT(fields_of(table), ElementsAre(ElementsAre("1", "2")));
  EXPECT_THAT(fields_of(parse(text, {.skip_lines = 3})), ElementsAre(ElementsAre("1", "2")));
  EXPECT_EQ(message_of([&] { parse(text, {.skip_lines = 4}); }),
            "x.csv:5:1: the file has no line after the skipped lines");
  // Places count the skipped lines.
  EXPECT_EQ(message_of([&] { parse("a\nb\n1,x\n", {.skip_lines = 2}).numbers<int>(); }),
            "x.csv:3:3: 'x' is no number (int32)");
  EXPECT_THROW(parse(text, {.skip_lines = -1}), InvalidArgumentError);
}

TEST(Csv, NamesItsColumns) {
  const CsvTable table = parse("x,\"the y\"\n1,2\n", {.has_header = true});
  EXPECT_THAT(table.header(), ElementsAre("x", "the y"));
  EXPECT_EQ(table.num_rows(), 1);
  EXPECT_EQ(table.column("the y"), 1);
  EXPECT_THROW(std::ignore = table.column("z"), InvalidArgumentError);
  EXPECT_EQ(parse("x,y\n", {.has_header = true}).numbers<float>().shape(), (Shape{0, 2}));
  EXPECT_THAT(parse("1,2\n").header(), ElementsAre("", ""));
}

TEST(Csv, ChoosesColumnsByName) {
  const CsvTable table = parse("x,y,z,y\n1,2,3,4\n5,6,7,8\n", {.has_header = true});
  const HostArray chosen = table.columns<int>({"z", "x"});
  EXPECT_EQ(chosen.shape(), (Shape{2, 2}));
  EXPECT_THAT(chosen.values<int>(), ElementsAre(3, 1, 7, 5));
  EXPECT_THAT(table.numbers_of<int>("z").values<int>(), ElementsAre(3, 7));
  EXPECT_THAT(table.numbers_of<int>(3).values<int>(), ElementsAre(4, 8));
  EXPECT_EQ(refusal_of([&] { table.columns<int>({"x", "y"}); }),
            "x.csv has several columns \"y\": 1 and 3");
  EXPECT_EQ(refusal_of([&] { table.columns<int>({"x", "z", "x"}); }),
            "column \"x\" is named twice");
  EXPECT_EQ(refusal_of([&] { table.columns<int>({"x", "w"}); }), "x.csv has no column \"w\"");
  EXPECT_EQ(refusal_of([&] { table.columns<int>({}); }), "no columns are named");
}

TEST(Csv, GivesEmptyFieldsTheStatedNumber) {
  const std::string text = "a,b\n1,\n ,2\n";
  const CsvTable zero = parse(text, {.has_header = true, .missing = -1});
  EXPECT_THAT(zero.numbers<std::int8_t>().values<std::int8_t>(), ElementsAre(1, -1, -1, 2));
  EXPECT_THAT(zero.numbers<double>().values<double>(), ElementsAre(1, -1, -1, 2));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const CsvTable holes = parse(text, {.has_header = true, .missing = nan});
  EXPECT_TRUE(std::isnan(holes.numbers<float>().at<float>(1)));
  EXPECT_EQ(refusal_of([&] { holes.numbers<int>(); }), "CsvOptions::missing, nan, is no int32");
  EXPECT_EQ(refusal_of([&] { zero.numbers<std::uint8_t>(); }),
            "CsvOptions::missing, -1, is no uint8");
  EXPECT_EQ(refusal_of([&] { parse(text, {.missing = 0.5}).numbers<bool>(); }),
            "CsvOptions::missing, 0.5, is no bool");
  EXPECT_EQ(message_of([&] { parse(text, {.has_header = true}).numbers<int>(); }),
            "x.csv:2:3: row 0 has no number in column 1 \"b\" (int32)");
  EXPECT_TRUE(std::signbit(parse("1,\n", {.missing = -0.0}).numbers<float>().at<float>(1)));
}

TEST(Csv, TakesBlanksAroundNumbersAndAPlus) {
  const CsvTable table = parse(" 1 ,\t+2\n\" -3 \",+4e1 \n");
  EXPECT_THAT(table.numbers<double>().values<double>(), ElementsAre(1, 2, -3, 40));
  EXPECT_THAT(parse("+7, 1\n").numbers<std::uint8_t>().values<std::uint8_t>(), ElementsAre(7, 1));
  EXPECT_THAT(parse(" true , 0\n").numbers<bool>().values<bool>(), ElementsAre(true, false));
}

TEST(Csv, HasNumbersOfEveryType) {
  const CsvTable table = parse("0,1,-0.5\n7,0,1e3\n");
  EXPECT_EQ(table.numbers<double>().shape(), (Shape{2, 3}));
  EXPECT_THAT(table.numbers<double>().values<double>(), ElementsAre(0, 1, -0.5, 7, 0, 1000));
  EXPECT_THAT(table.numbers<std::uint8_t>(0, 2).values<std::uint8_t>(), ElementsAre(0, 1, 7, 0));
  EXPECT_THAT(table.numbers_of<int>(0).values<int>(), ElementsAre(0, 7));
  EXPECT_EQ(table.numbers_of<int>(0).shape(), (Shape{2}));
  EXPECT_THAT(table.numbers_of<bool>(1).values<bool>(), ElementsAre(true, false));
  EXPECT_EQ(float(table.numbers_of<Float16>(2).at<Float16>(1)), 1000);
  EXPECT_EQ(float(table.numbers_of<BFloat16>(2).at<BFloat16>(0)), -0.5F);
  const CsvTable extremes = parse("-9223372036854775808,18446744073709551615,inf,-128,true\n");
  EXPECT_EQ(extremes.numbers_of<std::int64_t>(0).at<std::int64_t>(0),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(extremes.numbers_of<std::uint64_t>(1).at<std::uint64_t>(0),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(extremes.numbers_of<float>(2).at<float>(0), std::numeric_limits<float>::infinity());
  EXPECT_EQ(extremes.numbers_of<std::int8_t>(3).at<std::int8_t>(0), -128);
  EXPECT_EQ(extremes.numbers_of<bool>(4).at<bool>(0), true);
}

// Fields of the characters that matter, in quotes if necessary, and sometimes if not.
RC_GTEST_PROP(Csv, AnyFieldsComeBack, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(1, 5);
  const auto field =
      rc::gen::container<std::string>(rc::gen::element('a', ',', '"', '\n', '\r', ' '));
  const auto rows = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::container<std::vector<std::string>>(width, field)));
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      const bool plain = row[i].find_first_of(",\"\n\r") == std::string::npos;
      if (plain && *rc::gen::arbitrary<bool>()) {
        text += row[i];
        continue;
      }
      text += '"';
      for (const char c : row[i]) text.append(c == '"' ? 2 : 1, c);
      text += '"';
    }
    text += *rc::gen::element(std::string("\n"), std::string("\r\n"));
  }
  RC_ASSERT(fields_of(parse(text)) == rows);
}

struct BadText {
  const char* name;
  std::string text;
  std::string message;  // After the file's name.

  friend void PrintTo(const BadText& bad, std::ostream* out) { *out << bad.name; }
};

class MalformedCsv : public ::testing::TestWithParam<BadText> {};

TEST_P(MalformedCsv, IsNamedByLineAndColumn) {
  EXPECT_EQ(message_of([] { parse(GetParam().text).numbers<std::uint8_t>(); }),
            "x.csv:" + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, MalformedCsv,
    ::testing::Values(
        BadText{"Empty", "", "1:1: the file is empty"},
        BadText{"TooFew", "1,2\n3\n", "2:1: the line has 1 of 2 fields"},
        BadText{"BlankLine", "1,2\n\n3,4\n", "2:1: the line has 1 of 2 fields"},
        BadText{"TooMany", "1,2\n3,4,5\n", "2:5: the line has more than 2 fields"},
        BadText{"QuoteInside", "1,a\"b\"\n",
                "1:4: a quote inside a field that does not begin with one"},
        BadText{"AfterQuote", "1,\"2\"3\n", "1:6: the field goes on after its closing quote"},
        BadText{"OpenQuote", "1,2\n3,\"4\n5,6\n",
                "2:3: the quote that begins this field has no end"},
        BadText{"BlankLines", "1,2\n \n\n3,4\n", "2:1: the line has 1 of 2 fields"},
        BadText{"QuotedBlankLine", "1,2\n\"\"\n", "2:1: the line has 1 of 2 fields"},
        BadText{"BehindCr", "1,2\r3,x\r", "2:3: 'x' is no number (uint8)"},
        BadText{"LongField", "1," + std::string(1100000, '2'),
                "1:3: a field has more than a million characters"},
        BadText{"Word", "1,2\n3,four\n", "2:3: 'four' is no number (uint8)"},
        BadText{"EmptyField", "1,2\n3,\n", "2:3: row 1 has no number in column 1 (uint8)"},
        BadText{"BlankField", "1, \t\n", "1:3: row 0 has no number in column 1 (uint8)"},
        BadText{"BlankInside", "1,2 3\n", "1:3: '2 3' is no number (uint8)"},
        BadText{"PlusAlone", "1,+\n", "1:3: '+' is no number (uint8)"},
        BadText{"TwoPlus", "1,++2\n", "1:3: '++2' is no number (uint8)"},
        BadText{"PlusMinus", "1,+-2\n", "1:3: '+-2' is no number (uint8)"},
        BadText{"Fraction", "1,2.5\n", "1:3: '2.5' is no number (uint8)"},
        BadText{"Negative", "1,-2\n", "1:3: '-2' is no number (uint8)"},
        BadText{"TooLarge", "1,256\n", "1:3: '256' does not fit uint8"},
        BadText{"AfterQuotedLines", "\"1\",\"2\n\"\n", "1:5: '2?' is no number (uint8)"},
        BadText{"BehindMark",
                "\xef\xbb\xbf"
                "1,x\n",
                "1:3: 'x' is no number (uint8)"}),
    [](const auto& info) { return std::string(info.param.name); });

// Below the smallest number of the type, as strtof and numpy read them; the smallest is 2^-149.
TEST(Csv, ReadsNumbersNearZeroAsZero) {
  const CsvTable table =
      parse("1e-50,-1e-5000,1.4e-45," + ("0." + std::string(60, '0') + "1e5") + ",1e-9\n");
  EXPECT_EQ(table.numbers_of<float>(0).at<float>(0), 0.0F);
  EXPECT_TRUE(std::signbit(table.numbers_of<double>(1).at<double>(0)));
  EXPECT_EQ(table.numbers_of<double>(1).at<double>(0), 0.0);
  EXPECT_EQ(table.numbers_of<float>(2).at<float>(0), 0x1p-149F);
  EXPECT_EQ(table.numbers_of<float>(3).at<float>(0), 0.0F);
  EXPECT_EQ(static_cast<float>(table.numbers_of<Float16>(4).at<Float16>(0)), 0.0F);
}

TEST(Csv, SaysWhatDoesNotFitAFloat) {
  const CsvTable table = parse("1e39,70000,1e999,0x10\n");
  EXPECT_EQ(message_of([&] { table.numbers_of<float>(0); }),
            "x.csv:1:1: '1e39' does not fit float32");
  EXPECT_EQ(message_of([&] { table.numbers_of<Float16>(1); }),
            "x.csv:1:6: '70000' does not fit float16");
  EXPECT_EQ(message_of([&] { table.numbers_of<double>(2); }),
            "x.csv:1:12: '1e999' does not fit float64");
  EXPECT_EQ(message_of([&] { table.numbers_of<double>(3); }),
            "x.csv:1:18: '0x10' is no number (float64)");
  EXPECT_EQ(message_of([&] { table.numbers_of<bool>(1); }),
            "x.csv:1:6: '70000' is no number (bool)");
}

TEST(Csv, RefusesMissingFields) {
  const CsvTable table = parse("1,2\n");
  EXPECT_THROW(std::ignore = table.text(1, 0), InvalidArgumentError);
  EXPECT_THROW(std::ignore = table.text(0, 2), InvalidArgumentError);
  EXPECT_THROW(std::ignore = table.text(-1, 0), InvalidArgumentError);
  EXPECT_THROW(table.numbers<int>(1, 3), InvalidArgumentError);
  EXPECT_THROW(table.numbers<int>(1, 1), InvalidArgumentError);
  EXPECT_THROW(table.numbers_of<int>(-1), InvalidArgumentError);
  EXPECT_THROW(parse("1", {.separator = '"'}), InvalidArgumentError);
}

// Has three characters before the device fails; an exception reports the failure.
template <class Failure>
class FailingBuffer final : public std::streambuf {
 public:
  FailingBuffer() { setg(text_, text_, text_ + 3); }

 private:
  int_type underflow() override { throw Failure("no device"); }
  char text_[3] = {'1', ',', '2'};
};

TEST(Csv, NamesThePlaceAtWhichADeviceFails) {
  FailingBuffer<std::ios_base::failure> buffer;
  std::istream in(&buffer);
  // The fourth character is read when the second is taken.
  EXPECT_EQ(message_of([&] { parse_csv(in, "x.csv"); }), "x.csv:1:3: the device reported an error");
  FailingBuffer<std::runtime_error> own;
  std::istream other(&own);
  EXPECT_THROW(parse_csv(other, "x.csv"), std::runtime_error);
}

TEST(Csv, PrintsItsNameAndSize) {
  EXPECT_EQ(::testing::PrintToString(parse("a,b\nc,d\ne,f\n")), "x.csv: 3 rows of 2 columns");
  EXPECT_EQ(::testing::PrintToString(CsvOptions{}), "{}");
  EXPECT_EQ(::testing::PrintToString(
                CsvOptions{.separator = '\t', .has_header = true, .skip_lines = 2, .missing = 0.5}),
            R"({.separator = '\011', .has_header = true, .skip_lines = 2, .missing = 0.5})");
}

TEST(Csv, ReadsFiles) {
  const std::string path = ::testing::TempDir() + "belfry_csv_test.csv";
  std::ofstream(path, std::ios::binary) << "1,2\r\n3,4\r\n";
  EXPECT_THAT(read_csv(path).numbers<int>().values<int>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(message_of([] { read_csv("no/such/file.csv"); }), HasSubstr("No such file"));
  EXPECT_THAT(message_of([] { read_csv(::testing::TempDir()); }), HasSubstr("Is a directory"));
  EXPECT_THAT(message_of([] { read_csv("/dev/zero"); }), HasSubstr("more than a million"));
}

}  // namespace
}  // namespace belfry::csv_test
