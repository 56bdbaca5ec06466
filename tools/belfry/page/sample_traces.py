# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Traces for the test of the page: a training, a failed run, names with HTML, and many steps."""

import json


class Sample:
    """Writes the lines of a trace: replicas with a mirrored weight, and merges by all_reduce.

    replicas  The number of replicas. Each has a stream for computation and one for communication.
    weight    The name of the mirrored variable.
    """

    def __init__(self, replicas=2, weight="weight", program="training", process=0, processes=1):
        self.lines, self.steps, self.items, self.version = [], 0, {}, 1
        self.replicas, self.weight = replicas, weight
        self.add(belfry_trace=1, backend="sim", process=process, processes=processes,
                 hosts=1, replicas=replicas, devices=replicas, values=True, program=program,
                 options=f"{{.devices = {replicas}, .seed = 1}}")
        self.add(agent="H0", kind="host", index=0, host=0, name="host")
        for i in range(replicas):
            self.add(agent=f"R{i}", kind="replica", index=i, host=0, name=f"replica {i}")
        self.add(agent="M0", kind="merge", index=0, host=0, name="merges")
        for i in range(replicas):
            for j, role in enumerate(("compute", "communication")):
                self.add(agent=f"S{16 * i + j}", kind="stream", index=16 * i + j, host=0, device=i,
                         replica=i, role=role, name=f"{role} of replica {i}")
        self.add(variable=0, name=weight, kind="mirrored", type="float32", shape=[2])
        self.add(variable=1, name="images seen", kind="replica_local", type="int32", shape=[])
        self.value = [1.0, 1.0]

    def add(self, **line):
        self.lines.append(json.dumps(line, separators=(",", ":")))

    def step(self, kind, agent, **more):
        self.add(step=self.steps, kind=kind, agent=agent, **more)
        self.steps += 1
        return self.steps - 1

    @staticmethod
    def tensor(values=None):
        known = {} if values is None else {"first": values, "digest": f"{hash(tuple(values)):x}"}
        return {"type": "float32", "shape": [2], "count": 2, **known}

    def run(self, merges, differ_at=None, stuck=None):
        """Returns the trace of a run.

        differ_at  In this merge the last replica gets and writes another value.
        stuck      Before this merge the last replica returns, and the run fails.
        """
        self.step("run_begin", "H0", run=1, replicas=self.replicas, line="train.cpp:8")
        for i in range(self.replicas):
            self.step("start", f"R{i}", run=1)
        for merge in range(1, merges + 1):
            self.train(merge, differ_at == merge, stuck == merge)
            if stuck == merge:
                self.step("run_end", "H0", run=1, failed={"code": "BF-010"})
                return self.text()
        ends = [self.step("end", f"R{i}", run=1) for i in range(self.replicas)]
        self.step("run_end", "H0", run=1, after=ends)
        return self.text()

    def train(self, merge, differs, stuck):
        scaled, arrivals = [], []
        for i in range(self.replicas):
            if stuck and i == self.replicas - 1:
                self.step("end", f"R{i}", run=1)
                return
            self.items[i] = self.items.get(i, 0) + 1
            queued = self.step("enqueue", f"R{i}", run=1, name="gradient", stream=f"S{16 * i}",
                               item=self.items[i], line="train.cpp:12")
            arrivals.append(self.step("arrive", f"R{i}", run=1, round=merge, name="all_reduce",
                                      op="sum", line="train.cpp:13", brings=[self.tensor()]))
            scaled.append(queued)
        begun = self.step("merge", "M0", run=1, round=merge, name="all_reduce", op="sum",
                          line="train.cpp:13", after=arrivals)
        queued = [self.step("enqueue", "M0", run=1, name="all_reduce", op="sum",
                            stream=f"S{16 * i + 1}", item=merge, line="train.cpp:13")
                  for i in range(self.replicas)]
        resumed = [self.step("resume", f"R{i}", run=1, round=merge, after=[begun],
                             gets=[self.tensor()]) for i in range(self.replicas)]
        done, total = [], [0.0, 0.0]
        for i in range(self.replicas):
            mine = [0.125 * (i + 1), 0.0625 * merge]
            total = [total[0] + mine[0], total[1] + mine[1]]
            done.append(self.step("execute", f"S{16 * i}", item=merge, name="gradient",
                                  line="train.cpp:12", after=[scaled[i]],
                                  writes=[self.tensor(mine)]))
            self.known(arrivals[i], "brings", mine)
        for i in range(self.replicas):
            got = [total[0] + 1, total[1]] if differs and i == self.replicas - 1 else total
            self.step("collective", f"S{16 * i + 1}", item=merge, name="all_reduce", op="sum",
                      members=self.replicas, line="train.cpp:13", after=[queued[i], *done],
                      reads=[self.tensor([0.125 * (i + 1), 0.0625 * merge])],
                      writes=[self.tensor(got)])
            self.known(resumed[i], "gets", got)
        self.version += 1
        self.value = [self.value[0] - total[0] / 8, self.value[1] - total[1] / 8]
        for i in range(self.replicas):
            value = [self.value[0] + 1, self.value[1]] if differs and i else self.value
            self.step("variable_write", "M0", run=1, replica=i, variable=0, version=self.version,
                      line="train.cpp:14", writes=[self.tensor(value)])
            self.step("variable_write", "M0", run=1, replica=i, variable=1, version=self.version,
                      line="train.cpp:15", bookkeeping=i > 0,
                      writes=[{"type": "int32", "shape": [], "count": 1,
                               "first": [merge * 8 - i], "digest": str(merge * 8 - i)}])

    def known(self, step, name, values):
        self.add(value_of=step, list=name, index=0, first=values,
                 digest=f"{hash(tuple(values)):x}")

    def text(self):
        self.add(end=True, steps=self.steps, cut=0, token="bf1.BgEGABXioNk", hash="0x1234")
        return "\n".join([*self.lines, ""])
