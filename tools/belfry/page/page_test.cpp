// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "page/page.h"

#include "belfry/error.h"
#include "exit_code.h"
#include "page/packed_text.h"
#include "page/source_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace belfry::tool::page_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kFirst = R"({"belfry_trace":1,"replicas":2}
{"agent":"R0","kind":"replica"})";
const std::string kEnd = R"({"end":true,"steps":4})";
// The way back, written anew: a reference copies one character at a time.
std::string unpacked(const std::string& packed) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    if (packed[i] != '~') {
      text += packed[i];
      continue;
    }
    const std::size_t length = digits.find(packed[i + 1]) + 6;
    const std::size_t distance = digits.find(packed[i + 2]) * 4096 +
                                 digits.find(packed[i + 3]) * 64 + digits.find(packed[i + 4]);
    for (std::size_t left = length; left > 0; --left) text += text[text.size() - distance];
    i += 4;
  }
  return text;
}

std::string step(int number) {
  return R"({"step":)" + std::to_string(number) +
         R"(,"kind":"resume","agent":"R0","line":"a.cpp:)" + std::to_string(number + 1) +
         R"(","gets":[{}]})";
}

std::string value_of(int number) {
  return R"({"value_of":)" + std::to_string(number) + R"(,"list":"gets","index":0,"first":[1]})";
}

std::string joined(std::initializer_list<std::string> lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

PageLines read(const std::string& text, const PageBounds& bounds = {}) {
  std::istringstream trace(text);
  return read_page_lines(trace, "run.jsonl", bounds);
}

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::path(::testing::TempDir()) / ("belfry_page_" + name);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "src");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return path(name);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string page_of(const std::string& trace, const std::string& sources = "") const {
    write_page({.traces = {write("run.jsonl", trace)},
                .page = path("run.html"),
                .source_folder = sources});
    std::ostringstream text;
    text << std::ifstream(path("run.html")).rdbuf();
    return text.str();
  }

  std::filesystem::path folder_;
};

using Page = Folder;
using SourceLines = Folder;

TEST(PackedText, AsciiHasNoSignsOfHtml) {
  EXPECT_EQ(ascii_json("\"</b> ~ \xC3\xA9 \xE2\x86\x92 \xF0\x9F\x98\x80\""),
            R"("\u003c/b> \u007e \u00e9 \u2192 \ud83d\ude00")");
}

TEST(PackedText, RefersToEarlierText) {
  PackedText text;
  text.add("abcdefabcdef");  // Six again (A), from six back (0, 0, 6: AAG).
  EXPECT_EQ(text.packed(), "abcdef~AAAG\n");
}

TEST(PackedText, IsTheSameUnpacked) {
  PackedText text;
  std::string all;
  for (int i = 0; i < 20'000; ++i) {  // Longer than the farthest distance.
    const std::string line = step(i * 7919) + std::string(static_cast<std::size_t>(i % 200), 'x');
    text.add(line);
    all += line + "\n";
  }
  EXPECT_EQ(unpacked(text.packed()), all);
  EXPECT_LT(text.packed().size() * 4, all.size());
}

TEST(PageLines, CutsStepsAndTheirValues) {
  const std::string text = joined(
      {kFirst, step(0), step(1), value_of(0), step(2), value_of(1), step(3), value_of(3), kEnd});
  const PageLines lines = read(text, {.from = 1, .steps = 2});
  EXPECT_EQ(unpacked(lines.packed), joined({kFirst, step(1), step(2), value_of(1), kEnd,
                                            R"({"page":{"left_out":2,"total":4,"notes":[]}})"}));
  ASSERT_EQ(lines.trace.steps.size(), 2u);
  EXPECT_EQ(lines.trace.steps[1].line, "a.cpp:3");
  const PageLines few = read(text, {.packed_bytes = kFirst.size() + 2});
  EXPECT_EQ(few.trace.steps.size(), 1u);
  EXPECT_EQ(few.trace.total, 4);
}

TEST(PageLines, HaveTheNotesOfTheReader) {
  const std::string note =
      "the trace has no end: the program was killed, is still running, or did "
      "not close it";
  EXPECT_EQ(unpacked(read(joined({kFirst})).packed),
            joined({kFirst, R"({"page":{"left_out":0,"total":0,"notes":[")" + note + R"("]}})"}));
}

TEST(PageLines, EndWithTheWordsOfExplain) {
  const std::string begun = R"({"belfry_trace":1,"process":)";
  const std::string agent = R"(,"processes":2}
{"agent":"R0","kind":"replica","index":0,"name":"replica 0"}
{"step":0,"kind":"start","agent":"R0"}
)";
  const std::string failed = R"({"failure":{"text":"stuck"}})";
  const TraceJob job =
      make_job({read(begun + "1" + agent + failed).trace, read(begun + "0" + agent).trace});
  EXPECT_EQ(unpacked(packed_words(job)),
            R"({"failures":["process 1: stuck"],"order":[0,1],)"
            R"("words":["replica 0 of process 0 starts","replica 0 of process 1 starts"]})"
            "\n");
}

TEST_F(SourceLines, AreThoseAroundThePlace) {
  write("src/a.cpp", "one\ntwo\n<three>\nfour\nfive\nsix\n");
  const std::string sources =
      source_lines_json({"/build/src/a.cpp:1", "a.cpp:9", "b.cpp:1", "src/a.cpp:4"}, path(""));
  EXPECT_EQ(sources,
            R"({"/build/src/a.cpp:1":[[1,"one"],[2,"two"],[3,"\u003cthree>"]],)"
            R"("src/a.cpp:4":[[2,"two"],[3,"\u003cthree>"],[4,"four"],[5,"five"],[6,"six"]]})");
  EXPECT_EQ(source_lines_json({"src/a.cpp:4"}, ""), "{}");
  // No path leads out of the folder.
  EXPECT_EQ(
      source_lines_json({"../outside.cpp:1", write("outside.cpp", "out") + ":1"}, path("src")),
      "{}");
}

TEST_F(Page, IsSmallAndNeedsNoNetwork) {
  const std::string page = page_of(joined({kFirst, step(0), kEnd}));
  EXPECT_LT(page.size(), 150'000U);
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const std::string sign :
       {"@STYLE@", "@TRACE@", "@SOURCES@", "@SCRIPT@", " src=", "@import"}) {
    EXPECT_THAT(page, Not(HasSubstr(sign)));
  }
}

TEST_F(Page, KeepsNamesOutOfTheHtml) {
  const std::string name = "</script><script>alert(1)</script><!--";
  const std::string page = page_of(
      joined({kFirst, R"({"step":0,"kind":"start","agent":"R0","name":")" + name + "\"}", kEnd}));
  EXPECT_THAT(page, Not(HasSubstr(name)));
  EXPECT_THAT(page, HasSubstr(R"(\u003c/script>)"));
  const std::string without = page_of(joined({kFirst, kEnd}));
  const auto scripts = [](const std::string& text) {
    std::size_t found = 0;
    for (std::size_t at = text.find("<script"); at != text.npos;
         at = text.find("<script", at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(scripts(page), scripts(without));
}

TEST_F(Page, NamesTheFileThatFails) {
  EXPECT_THROW(write_page({.traces = {path("none")}, .page = path("run.html")}), UnreadableFile);
  EXPECT_THROW(write_page({.traces = {path("src")}, .page = path("run.html")}), UnreadableFile);
  const std::string trace = write("run.jsonl", joined({kFirst, kEnd}));
  EXPECT_THROW(write_page({.traces = {trace}, .page = trace}), InvalidArgumentError);
  EXPECT_THROW(write_page({.traces = {trace}, .page = path("no/run.html")}), InvalidArgumentError);
  EXPECT_THROW(write_page({.traces = {trace}, .page = path("run.html"), .bounds = {.from = 1}}),
               UsageError);
  const std::string word = write("word.jsonl", "word");
  EXPECT_THROW(write_page({.traces = {word}, .page = path("run.html")}), InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::tool::page_test
