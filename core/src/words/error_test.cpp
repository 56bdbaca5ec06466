// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"

#include "words/report_of_test.h"
#include "words/with_report.h"

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <type_traits>
#include <typeinfo>

namespace belfry::error_test {
namespace {

TEST(ErrorCode, PrintsThreeDigits) {
  EXPECT_EQ(to_string(ErrorCode::kWrongContext), "BF-001");
  EXPECT_EQ(to_string(ErrorCode::kMergeMissing), "BF-010");
  EXPECT_EQ(to_string(ErrorCode::kInternal), "BF-099");
}

ReplicaReport waits(int replica, CallSite site, std::string what) {
  return {.replica_id = replica, .site = site, .what = std::move(what), .exception = {}};
}

TEST(Error, SaysCodeSummaryReplicasExpectedAndHint) {
  ErrorReport report{.code = ErrorCode::kMergeMissing,
                     .summary = "2 of 3 replicas wait in a merge that 1 never reaches",
                     .site = {},
                     .replicas = {waits(0, {"src/train.cc", 88}, "waits in merge_call #1"),
                                  waits(1, {"src/train.cc", 95}, "ended after 1 merge"),
                                  waits(2, {"src/train.cc", 90}, "waits in merge_call #1")},
                     .expected = "every replica reaches every merge",
                     .hint = "call merge_call unconditionally"};
  EXPECT_EQ(to_string(report),
            "BF-010 2 of 3 replicas wait in a merge that 1 never reaches\n"
            "  replica 0  train.cc:88  waits in merge_call #1\n"
            "  replica 1  train.cc:95  ended after 1 merge\n"
            "  replica 2  train.cc:90  waits in merge_call #1\n"
            "  expected: every replica reaches every merge\n"
            "  hint: call merge_call unconditionally");
}

TEST(Error, ReplicasThatDidTheSameShareALine) {
  const CallSite here{"train.cc", 88};
  const CallSite there{"train.cc", 90};
  ErrorReport report{
      .code = ErrorCode::kMergePlaces,
      .summary = "replicas wait at different places",
      .site = {"train.cc", 5},
      .replicas = {waits(0, here, "waits"), waits(1, there, "waits"), waits(2, here, "waits"),
                   waits(3, here, "waits"), waits(4, here, "waits"), waits(5, here, "throws"),
                   waits(6, there, "waits"), waits(7, {}, "")},
      .expected = {},
      .hint = {}};
  EXPECT_EQ(to_string(report),
            "BF-011 replicas wait at different places\n"
            "  at train.cc:5\n"
            "  replicas 0,2-4  train.cc:88  waits\n"
            "  replicas 1,6  train.cc:90  waits\n"
            "  replica 5  train.cc:88  throws\n"
            "  replica 7");
}

TEST(Error, TwoNeighboursAreListedNotRanged) {
  const CallSite site{"a.cc", 1};
  ErrorReport report{.code = ErrorCode::kMergeKinds,
                     .summary = "s",
                     .site = {},
                     .replicas = {waits(3, site, "w"), waits(4, site, "w")},
                     .expected = {},
                     .hint = {}};
  EXPECT_EQ(to_string(report), "BF-012 s\n  replicas 3,4  a.cc:1  w");
}

TEST(Error, CopiesShareTheReport) {
  const InvalidArgumentError error(ErrorCode::kIntegerMean, "MEAN of int32", "name a policy",
                                   {"x.cc", 3});
  const Error copy = error;
  EXPECT_EQ(copy.what(), error.what());
  EXPECT_STREQ(copy.what(), "BF-035 MEAN of int32\n  at x.cc:3\n  hint: name a policy");
  EXPECT_EQ(copy.code(), ErrorCode::kIntegerMean);
  EXPECT_EQ(&copy.report(), &error.report());
  EXPECT_TRUE(std::is_nothrow_copy_constructible_v<Error>);
}

template <class Child>
void expect_thrown_as(ErrorCode code) {
  try {
    throw_error(
        {.code = code, .summary = "s", .site = {}, .replicas = {}, .expected = {}, .hint = {}});
  } catch (const Child& error) {
    EXPECT_EQ(error.code(), code);
    return;
  } catch (...) {
  }
  ADD_FAILURE() << to_string(code) << " came as another child";
}

TEST(Error, EachFamilyOfCodesHasItsChild) {
  for (const int code : {1, 2, 3, 4, 14, 72}) expect_thrown_as<ContextError>(ErrorCode{code});
  for (const int code : {10, 11, 12, 13}) expect_thrown_as<MergeMismatchError>(ErrorCode{code});
  expect_thrown_as<StructureMismatchError>(ErrorCode::kStructure);
  for (const int code : {21, 22, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 52, 61, 66, 81, 82}) {
    expect_thrown_as<InvalidArgumentError>(ErrorCode{code});
  }
  for (const int code : {50, 51, 53, 54}) {
    expect_thrown_as<VariableMismatchError>(ErrorCode{code});
  }
  for (const int code : {60, 62, 63, 64, 65, 67, 68}) {
    expect_thrown_as<DeviceError>(ErrorCode{code});
  }
  expect_thrown_as<UnsupportedError>(ErrorCode::kUnsupported);
  expect_thrown_as<InternalError>(ErrorCode::kInternal);
}

// Each class that is thrown for a code can also get another report.
TEST(Error, OfEveryCodeTakesAnotherReport) {
  ErrorReport report;
  for (int code = 0; code <= 100; ++code) {
    report.code = ErrorCode{code};
    report.summary = "before";
    std::exception_ptr thrown;
    try {
      throw_error(report);
    } catch (const Error&) {
      thrown = std::current_exception();
    }
    report.summary = "after";
    try {
      std::rethrow_exception(detail::with_report(thrown, report));
    } catch (const Error& changed) {
      EXPECT_EQ(changed.report().summary, "after") << code;
      try {
        std::rethrow_exception(thrown);
      } catch (const Error& first) {
        EXPECT_TRUE(typeid(changed) == typeid(first)) << code;
      }
    }
  }
}

TEST(Error, TheDescriptionEndsWithTheSchedule) {
  ErrorReport report{.code = ErrorCode::kShape,
                     .summary = "s",
                     .site = {},
                     .replicas = {},
                     .expected = {},
                     .hint = "h"};
  EXPECT_EQ(describe(report), "BF-021 s\n  hint: h");
  report.schedule = ScheduleReport{.seed = 18446744073709551615U};
  EXPECT_EQ(describe(report), "BF-021 s\n  hint: h\n  seed: 18446744073709551615");
  report.schedule->token = "bf1.x";
  EXPECT_EQ(describe(report), "BF-021 s\n  hint: h\n  seed: 18446744073709551615\n  replay: bf1.x");
  EXPECT_EQ(to_string(report), "BF-021 s\n  hint: h");
}

TEST(Error, CheckThrowsWhenItsConditionIsFalse) {
  EXPECT_NO_THROW(check(true, "fine"));
  const ErrorReport report = report_of([] { check(false, "the round is negative"); });
  EXPECT_EQ(report.code, ErrorCode::kInternal);
  EXPECT_EQ(report.summary, "the round is negative");
  EXPECT_EQ(report.site.line, __LINE__ - 3);
}

TEST(ReplicaCancelled, IsNoStdException) {
  EXPECT_FALSE((std::is_base_of_v<std::exception, ReplicaCancelled>));
}

}  // namespace
}  // namespace belfry::error_test
