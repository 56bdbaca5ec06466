#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Computes the numbers that the programs of the labs print, by formulas without replicas.

The tests docs.labs.* compare the expected files with the output of the programs. The tests below
compare the same files, and the tables of the pages, with arithmetic: with the mistake, and after a
wrong mend, the numbers are wrong in the way of the page, and in the answer the numbers are right.
"""

import itertools
import math
import pathlib
import re
import struct
import unittest

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
NUMBER = r"(-?\d+(?:\.\d+)?)"


def expected(name, part=None):
    """Returns the output of a program, or the lines below `== part`."""
    text = (PROGRAMS / f"{name}.expected").read_text()
    if part is None:
        return text
    parts = re.split(r"^== (\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))[part]


def cells(page, first):
    """Returns the other cells of the row of a page's table that has this first cell."""
    rows = re.findall(r"^\| " + re.escape(first) + r" \| (.*) \|$",
                      (PROGRAMS.parent / f"{page}.md").read_text(), re.MULTILINE)
    assert len(rows) == 1, f"{page}.md has {len(rows)} rows of {first}"
    return rows[0].split(" | ")


def numbers(pattern, text):
    """Returns the numbers of each line that fits the pattern, in which # stands for a number."""
    line = "^" + re.escape(pattern).replace(r"\#", NUMBER) + "$"
    return [tuple(map(float, found.groups())) for found in re.finditer(line, text, re.MULTILINE)]


def minimal_standard(draws):
    """Returns the first numbers of std::minstd_rand: x becomes 48271 x mod 2^31 - 1, from 1."""
    found, x = [], 1
    for _ in range(draws):
        x = 48271 * x % (2**31 - 1)
        found.append(x)
    return found


class EqualStart(unittest.TestCase):
    """The target is 6, and each step halves the mean error."""
    DRAWN = [x % 8 for x in minimal_standard(2)]
    STEP = "step #: weight #, loss #"

    def weights(self, first):
        """Returns the weights of a replica that starts at `first`, before and after each step."""
        mean = sum(self.DRAWN) / 2
        return [first - (mean - 6) * (1 - 0.5**step) for step in range(5)]

    def test_draws(self):
        self.assertEqual(self.DRAWN, [7, 2])

    def test_with_the_mistake_the_mean_arrives_and_the_loss_stays(self):
        a, b = self.weights(7), self.weights(2)
        wanted = [(step + 1, (a[step] + b[step]) / 2, ((a[step] - 6)**2 + (b[step] - 6)**2) / 2)
                  for step in range(4)]
        self.assertEqual(numbers(self.STEP, expected("loss_stays")), wanted)
        # The weights stay 5 apart: at best, each is 2.5 off.
        self.assertEqual(wanted[0], (1, 4.5, 8.5))
        self.assertLess(abs(wanted[3][1] - 6), 0.2)
        self.assertTrue(all(loss > 2.5**2 for _, _, loss in wanted))

    def test_with_the_mistake_the_schedule_decides_who_gets_which_weight(self):
        rows = numbers(self.STEP + ", then components # and #", expected("loss_stays_components"))
        a, b = self.weights(7), self.weights(2)
        orders = [(rows[4 * run + step][3:] == (a[step + 1], b[step + 1]),
                   rows[4 * run + step][3:] == (b[step + 1], a[step + 1]))
                  for run in range(2) for step in range(4)]
        self.assertEqual(len(rows), 8)
        self.assertIn(orders, ([(True, False)] * 4 + [(False, True)] * 4,
                               [(False, True)] * 4 + [(True, False)] * 4))

    def test_in_the_answer_both_replicas_start_at_the_first_draw(self):
        rows = numbers(self.STEP + ", then components # and #", expected("loss_stays_answer"))
        wanted = [(1, 7, 1, 6.5, 6.5), (2, 6.5, 0.25, 6.25, 6.25),
                  (3, 6.25, 0.0625, 6.125, 6.125), (4, 6.125, 0.015625, 6.0625, 6.0625)]
        self.assertEqual(rows, wanted * 2)

    def test_an_update_with_a_draw_for_each_component_is_reported(self):
        self.assertTrue(expected("loss_stays_attempt").startswith("BF-053 "))

    def test_with_the_mistake_the_loss_is_the_squared_distance_and_6_25(self):
        for _, weight, loss in numbers(self.STEP, expected("loss_stays")):
            self.assertEqual(loss - (weight - 6)**2, 6.25)
        self.assertEqual(round((weight - 6)**2, 4), 0.0352)

    def repair(self, part):
        return numbers(self.STEP + ", then components # and #",
                       expected("loss_stays_repairs", part))

    def own(self, targets, firsts=(2, 7)):
        """Returns the rows of replicas that halve the distance to targets of their own."""
        rows, weights = [], list(firsts)
        for step in range(1, 5):
            mean = sum(weights) / 2
            loss = sum((w - t)**2 for w, t in zip(weights, targets)) / 2
            weights = [(w + t) / 2 for w, t in zip(weights, targets)]
            rows.append((step, mean, loss, *weights))
        return rows

    def test_own_errors_train_a_weight_for_each_replica(self):
        rows = self.repair("own_errors")
        self.assertEqual(rows, self.own((6, 6)))
        self.assertEqual([row[2] for row in rows], [8.5, 2.125, 0.53125, 0.1328125])
        self.assertEqual([row[1] for row in rows],
                         [row[1] for row in numbers(self.STEP, expected("loss_stays"))])

    def test_own_errors_with_two_targets_end_at_two_weights(self):
        rows = self.repair("own_targets")
        self.assertEqual(rows, self.own((5, 7)))
        self.assertEqual(rows[-1][3:], (4.8125, 7))

    def check_stays_apart(self, part, row, steps, distance, loss):
        """Compares a part, and a row of the page, with the distance of the mean at each step."""
        rows = self.repair(part)
        self.assertEqual(len(rows), steps)
        for step, (_, weight, printed, a, b) in enumerate(rows):
            self.assertAlmostEqual(weight, 6 + distance(step), delta=1e-9)
            self.assertAlmostEqual(printed, loss(distance(step)), delta=1e-9)
            self.assertAlmostEqual(abs(a - b), 5, delta=2e-9)
        self.assertEqual(numbers("weight #, loss #", cells("loss_stays", row)[0]),
                         [rows[-1][1:3]])

    def test_other_changes_leave_the_weights_5_apart(self):
        def halved(step):
            return -1.5 * 0.5**step
        self.check_stays_apart("twelve_steps", "12 steps", 12, halved, lambda d: d * d + 6.25)
        self.check_stays_apart("sum", "`kSum` in place of `kMean` in the step", 4,
                               lambda step: -1.5 if step == 0 else 0, lambda d: d * d + 6.25)
        self.check_stays_apart("mean_in_loss", "the mean error also in the loss", 4, halved,
                               lambda d: d * d)

    def test_an_assignment_without_aggregation_is_reported(self):
        text = expected("loss_stays_repairs", "no_aggregation")
        self.assertTrue(text.startswith("BF-036 "))
        self.assertRegex(text, r"(?m)^  hint: .*\.aggregation = ")

    def test_one_draw_for_a_replica_local_weight_prints_the_numbers_of_the_answer(self):
        rows = numbers(self.STEP + ", then components # and #", expected("loss_stays_answer"))
        for part in ("drawn_once", "drawn_on_host"):
            self.assertEqual(self.repair(part), rows[:4])


class SumOrMean(unittest.TestCase):
    """The mean of the examples is 4, and the weight starts at 0 with the error -4."""

    def table(self, *name):
        return numbers("#  #  #  #", re.sub(" +", "  ", expected(*name)).replace("\n  ", "\n"))

    def with_factors(self, *factors):
        """Returns the table if a step multiplies the distance to 4 by these factors."""
        return [(step, *(4 - 4 * factor**step for factor in factors)) for step in range(1, 5)]

    def test_with_the_mistake_the_error_is_multiplied_by_1_minus_three_quarters_of_n(self):
        wanted = [(step, *(4 - 4 * (1 - 0.75 * n)**step for n in (1, 2, 4)))
                  for step in range(1, 5)]
        self.assertEqual(self.table("step_diverges"), wanted)
        self.assertEqual(wanted[0], (1, 3, 6, 12))
        self.assertEqual(wanted[3][3], -60)

    def test_in_the_answer_every_number_of_replicas_has_the_weights_of_one(self):
        self.assertEqual(self.table("step_diverges_answer"),
                         [(1, 3, 3, 3), (2, 3.75, 3.75, 3.75), (3, 3.9375, 3.9375, 3.9375),
                          (4, 3.984375, 3.984375, 3.984375)])

    def test_a_quarter_of_the_step_is_right_on_4_replicas_only(self):
        rows = self.table("step_diverges_repairs", "quarter_step")
        for row, wanted in zip(rows, self.with_factors(0.8125, 0.625, 0.25), strict=True):
            for number, right in zip(row, wanted, strict=True):
                self.assertAlmostEqual(number, right, delta=1e-9)
        self.assertEqual([row[3] for row in rows],
                         [row[1] for row in self.table("step_diverges")])
        self.assertEqual(round(rows[3][1], 2), 2.26)

    def test_sums_over_the_shares_diverge_alike(self):
        rows = self.table("step_diverges_repairs", "sums")
        self.assertEqual(rows, self.with_factors(-5, -5, -5))
        self.assertEqual([row[1] for row in rows], [24, -96, 504, -2496])

    def test_means_of_sums_start_at_24_12_and_6(self):
        rows = self.table("step_diverges_repairs", "means_of_sums")
        self.assertEqual(rows, self.with_factors(-5, -2, -0.5))
        self.assertEqual(rows[0], (1, 24, 12, 6))


class SkippedMerge(unittest.TestCase):
    """The batches are 1, 2, 3, 4 and 5: their means are 2.5 and 5."""

    def test_with_the_mistake_the_second_batch_has_a_report_and_no_mean(self):
        text = expected("last_batch")
        self.assertEqual(numbers("mean #", text), [(2.5,)])
        self.assertRegex(text, r"(?m)^BF-010 ")
        self.assertRegex(text, r"(?m)^  replica 0  last_batch\.cpp:\d+  waits in all_reduce #1$")
        self.assertRegex(text, r"(?m)^  replica 1  returned before its first merge$")

    def test_a_zero_in_place_of_nothing_halves_the_second_mean(self):
        self.assertEqual(numbers("mean #", expected("last_batch_attempt")),
                         [(2.5,), ((5 + 0) / 2,)])

    def test_in_the_answer_the_sum_is_divided_by_the_number_of_examples(self):
        self.assertEqual(numbers("mean #", expected("last_batch_answer")),
                         [((1 + 2 + 3 + 4) / 4,), (5 / 1,)] * 2)

    def test_the_call_of_the_report_is_the_reduction(self):
        line = int(re.search(r"last_batch\.cpp:(\d+)", expected("last_batch"))[1])
        source = (PROGRAMS / "last_batch.cpp").read_text().splitlines()
        self.assertIn("all_reduce", source[line - 1])

    def repair(self, part):
        text = expected("last_batch_repairs", part)
        return [float(mean) for mean in re.findall(r"(?m)^mean (\S+)$", text)]

    def test_two_merges_have_a_report_with_both_lines(self):
        text = expected("last_batch_repairs", "two_merges")
        self.assertRegex(text, r"(?m)^BF-011 ")
        self.assertEqual(self.repair("two_merges"), [2.5])
        places = re.findall(r"(?m)^  replica (\d)  last_batch_repairs\.cpp:(\d+)  waits", text)
        source = (PROGRAMS / "last_batch_repairs.cpp").read_text().splitlines()
        lines = {int(replica): source[int(line) - 1].strip() for replica, line in places}
        self.assertEqual(sorted(lines), [0, 1])
        self.assertTrue(lines[0].startswith("return replica.all_reduce("))
        self.assertTrue(lines[1].startswith("if (share.empty()) return replica.all_reduce("))

    def test_a_mean_of_means_is_wrong_for_shares_of_3_and_2(self):
        self.assertEqual(self.repair("starter_of_5"), [((1 + 2 + 3) / 3 + (4 + 5) / 2) / 2])
        self.assertEqual(self.repair("starter_of_5"), [3.25])
        self.assertEqual(self.repair("answer_of_5"), [(1 + 2 + 3 + 4 + 5) / 5])

    def test_other_changes_print_the_means_of_the_table(self):
        wanted = {
            "no_branch": ("no line `if (share.empty())`", [2.5, math.nan]),
            "dropped": ("`kDropPartialStep`", [2.5]),
            "divided_by_4": ("the sum of all shares, divided by 4", [10 / 4, 5 / 4]),
            "divided_by_share": ("the sum of all shares, divided by the size of the own share",
                                 [10 / 2, 5 / 1]),
            "masked": ("`kMaskReplicas`", [(1.5 + 3.5) / 2, 5 / 1]),
            "masked_of_3": ("`kMaskReplicas` and `batch(3)`", [(1.5 + 3) / 2, (4 + 5) / 2]),
        }
        for part, (change, means) in wanted.items():
            with self.subTest(part):
                printed, right, _ = cells("last_batch", change)
                self.assertEqual(str(self.repair(part)), str(means))
                self.assertEqual(printed, ", ".join(f"{mean:g}" for mean in means))
                self.assertEqual(right, "2, 4.5" if part == "masked_of_3" else "2.5, 5")


def source_line(text, program):
    """Returns the lines of a program that an output names as `program.cpp:N`, in order."""
    source = (PROGRAMS / f"{program}.cpp").read_text().splitlines()
    return [source[int(line) - 1].strip()
            for line in re.findall(re.escape(program) + r"\.cpp:(\d+)", text)]


class MergeOrder(unittest.TestCase):
    """Each of two replicas brings 1 for w and 100 for b."""
    RIGHT, SWAPPED = (1 + 1, 100 + 100), (1 + 100, 100 + 1)

    def sums(self, *name):
        return {seed: sums for seed, *sums in numbers("seed #: w #, b #", expected(*name))}

    def test_with_the_mistake_some_schedules_swap_two_merges(self):
        sums = self.sums("merge_order")
        self.assertEqual(sorted(sums), list(range(1, 9)))
        for seed, of_names in sums.items():
            self.assertEqual(tuple(of_names), self.SWAPPED if seed in (3, 5) else self.RIGHT)

    def test_with_tags_the_report_has_the_line_both_replicas_and_both_names(self):
        text = expected("merge_order_answer", "tags")
        self.assertEqual(self.sums("merge_order_answer", "tags"), {2: list(self.RIGHT)})
        self.assertEqual(re.findall(r"(?m)^seed (\d): BF-011 ", text), ["3", "5"])
        waits = re.findall(r'(?m)^  replica (\d)  \S+  waits in all_reduce "(\w)"$', text)
        self.assertEqual(waits, [("0", "w"), ("1", "b"), ("0", "b"), ("1", "w")])
        for line in source_line(text, "merge_order_answer"):
            self.assertIn("replica.all_reduce(MergeTag{layer}", line)

    def test_in_the_answer_every_schedule_has_the_right_sums(self):
        self.assertEqual(self.sums("merge_order_answer", "answer"),
                         dict.fromkeys((2, 3, 5), list(self.RIGHT)))


def single(number):
    """Rounds to a float of 32 bits."""
    return struct.unpack("f", struct.pack("f", number))[0]


class AdditionOrder(unittest.TestCase):
    """The terms of replicas 0 to 3; the exact sum is 5."""
    TERMS = (1, 1e8, -1e8, 4)

    def added_from(self, start, terms=TERMS, rounded=single):
        total = 0
        for i in range(4):
            total = rounded(total + terms[(start + i) % 4])
        return total

    def test_with_the_mistake_each_replica_begins_with_its_own_term(self):
        rows = re.findall(r"(?m)^replica (\d): (\S+), (.*)$", expected("addition_order"))
        self.assertEqual([(int(i), float(total)) for i, total, _ in rows],
                         list(enumerate(map(self.added_from, range(4)))))
        self.assertEqual([float(total) for _, total, _ in rows], [4, 5, 0, 8])
        for replica, _, additions in rows:
            order = [int(member) for member in re.findall(r"x(\d)", additions)]
            self.assertEqual(order, [(int(replica) + i) % 4 for i in range(4)])
            self.assertTrue(additions.startswith("((("))

    def test_doubles_hide_the_mistake_from_small_terms_alone(self):
        rows = dict(re.findall(r"(?m)^(\S+): (.*)$", expected("addition_order_answer", "doubles")))
        for large in ("1e8", "1e17"):
            terms = (1, float(large), -float(large), 4)
            self.assertEqual([float(total) for total in rows[large].split()],
                             [self.added_from(start, terms, float) for start in range(4)])
        self.assertEqual(set(rows["1e8"].split()), {"5"})

    def test_in_the_answer_all_replicas_have_the_bits_of_one_order(self):
        rows = dict(re.findall(r"(?m)^(.*): (.*)$", expected("addition_order_answer", "answer")))
        a, b, c, d = self.TERMS
        pairs = single(single(a + b) + single(c + d))
        self.assertEqual(pairs, single(single(a + c) + single(b + d)))
        self.assertEqual({name: list(map(float, sums.split())) for name, sums in rows.items()},
                         {"to one device": [self.added_from(0)] * 4,
                          "ring, start 1": [self.added_from(1)] * 4,
                          "halving and doubling": [pairs] * 4})


class SmallBatch(unittest.TestCase):
    """The hits of two models, in batches of four, four and one."""
    HITS = {"A": (1, 1, 1, 1, 1, 1, 0, 1, 0), "B": (1, 0, 1, 0, 1, 1, 0, 1, 1)}

    def check(self, part, accuracy):
        rows = dict(re.findall(r"(?m)^(\w) (\S+)$", expected("small_batch_answer", part)))
        self.assertEqual(rows, {m: f"{accuracy(hits):.6g}" for m, hits in self.HITS.items()})

    def test_with_the_mistake_a_batch_of_one_counts_as_much_as_a_batch_of_four(self):
        models = re.split(r"(?m)^model (\w)\n", expected("small_batch"))[1:]
        led = {}
        for model, text in zip(models[::2], models[1::2], strict=True):
            hits = self.HITS[model]
            means = [sum(hits[i:i + 4]) / len(hits[i:i + 4]) for i in (0, 4, 8)]
            self.assertEqual(re.findall(r"step \d: .* accuracy (\S+)", text),
                             [f"{mean:.6g}" for mean in means])
            led[model] = sum(means) / 3
            self.assertTrue(text.endswith(f"\n  accuracy {led[model]:.6g}\n"))
            # The output names the step and the replica without examples.
            self.assertRegex(text, r"(?m)^  step 3: replica 0 has 1, accuracy ")
            self.assertEqual(text.count("replica 1 has 2"), 2)
        self.assertGreater(led["B"], led["A"])
        self.assertGreater(sum(self.HITS["A"]), sum(self.HITS["B"]))

    def test_without_the_last_batch_eight_examples_are_counted(self):
        self.check("whole_batches", lambda hits: sum(hits[:8]) / 8)

    def test_in_the_answer_hits_are_divided_by_examples(self):
        self.check("answer", lambda hits: sum(hits) / len(hits))


class OneInEight(unittest.TestCase):
    """In each of three rounds either replica is first, and replica 0 reports if it is first."""

    def test_with_the_mistake_one_schedule_in_eight_loses_the_report(self):
        schedules = list(itertools.product((0, 1), repeat=3))
        lost = [firsts for firsts in schedules if 0 not in firsts]
        self.assertEqual((len(schedules), lost), (8, [(1, 1, 1)]))
        reports = expected("one_in_eight", "seeds").split()
        self.assertEqual(len(reports), 16)
        self.assertEqual((reports.count("0"), reports.count("0.5")), (1, 15))
        self.assertEqual(round((7 / 8)**10, 2), 0.26)

    def test_the_verdict_names_the_replica_and_the_line_of_each_departure(self):
        text = expected("one_in_eight", "verdict")
        head, _, departures = text.partition("report 0\n")
        self.assertEqual(head, "REFUTED\nreport 0.5\n")
        lines = departures.splitlines()
        self.assertEqual(lines[0], "replica 1 starts before replica 0")
        self.assertEqual(len(lines), 3)
        for line in lines[1:]:
            self.assertRegex(line, r"^replica 1 goes on from \S+ before replica 0 goes on from ")
        for line in source_line(departures, "one_in_eight"):
            self.assertEqual(line, "replica.all_reduce(ReduceOp::kSum, 1);")

    def test_in_the_answer_no_schedule_loses_the_report(self):
        self.assertRegex(expected("one_in_eight_answer"), r"^SAMPLED\(\d+\)\nreport 0.5\n$")


if __name__ == "__main__":
    unittest.main()
