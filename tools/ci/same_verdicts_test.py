#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the comparison of verdicts from two compilers."""

import copy
import json
import unittest

import same_verdicts

HOST_RACE = {"subject": "8 bytes of host memory", "missing": "no merge is between",
             "first": {"agent": "R0", "operation": "the code", "writes": True, "begin": 0,
                       "end": 8, "place": "a.cpp:5"},
             "second": {"agent": "R1", "operation": "the code", "writes": False, "begin": 0,
                        "end": 8, "place": "a.cpp:5"}}
VERDICT = {"name": "1 mutant", "level": "REFUTED", "schedules": 3,
           "outcomes": [{"outcome": "1", "token": "bf1.A", "departures": []},
                        {"outcome": "2", "token": "bf1.B", "departures": ["R1 before R0"]}],
           "conditions": [{"name": same_verdicts.HOST_BYTES, "holds": False,
                           "evidence": "2 pairs"},
                          {"name": "device bytes have an order", "holds": True,
                           "evidence": "3 pieces of work"}],
           "races": [HOST_RACE]}


class SameVerdicts(unittest.TestCase):
    def found(self, change):
        """Returns the differences between the verdict and a changed copy."""
        other = copy.deepcopy(VERDICT)
        change(other)
        return same_verdicts.differences(json.dumps(VERDICT), json.dumps(other))

    def test_choices_of_a_compiler_are_equal(self):
        def change(verdict):
            verdict["conditions"][0]["evidence"] = "1 pair"
            race = verdict["races"][0]
            verdict["races"].append(copy.deepcopy(race))
            race["second"] |= {"writes": True, "place": "a.cpp:6", "end": 4}
            race["subject"] = "4 bytes of host memory"
        self.assertEqual(self.found(change), [])

    def test_levels_tokens_and_departures_differ(self):
        self.assertEqual(len(self.found(lambda v: v.update(level="RACY"))), 1)
        self.assertEqual(len(self.found(lambda v: v["outcomes"][1].update(token="bf1.C"))), 1)
        self.assertEqual(len(self.found(lambda v: v["outcomes"][1].update(departures=[]))), 1)

    def test_conditions_differ(self):
        self.assertEqual(len(self.found(lambda v: v["conditions"][0].update(holds=True))), 1)
        self.assertEqual(len(self.found(lambda v: v["conditions"][1].update(evidence="2"))), 1)

    def test_agents_files_and_lost_races_differ(self):
        self.assertEqual(len(self.found(lambda v: v["races"][0]["first"].update(agent="R2"))), 1)
        self.assertEqual(len(self.found(lambda v: v["races"][0]["first"].update(place="b.h:5"))), 1)
        self.assertEqual(len(self.found(lambda v: v["races"].clear())), 1)

    def test_accesses_of_device_memory_differ(self):
        race = HOST_RACE | {"subject": "buffer 1 of H0"}
        verdict = json.dumps(VERDICT | {"races": [race]})
        moved = json.dumps(VERDICT | {"races": [race | {"second": race["first"]}]})
        self.assertEqual(len(same_verdicts.differences(verdict, moved)), 1)

    def test_missing_lines_differ(self):
        line = json.dumps(VERDICT)
        self.assertEqual(same_verdicts.differences(line + "\n" + line, line),
                         ["2 verdicts and 1"])


if __name__ == "__main__":
    unittest.main()
