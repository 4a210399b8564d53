"""A trace as PyTorch's profiler writes it, of two steps of a small network on the CPU: tests/golden/torch_cpu_trace.json.

    python3 tests/oracle/torch_trace.py tests/golden/torch_cpu_trace.json

Events of kinds that say nothing of the steps, and the machine's names, are left out; what stays is as it was written.
"""
import json
import sys

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, schedule


def keep(trace):
    with open(trace, encoding="utf-8") as f:
        recorded = json.load(f)
    events = [e for e in recorded["traceEvents"] if e.get("cat") in ("cpu_op", "user_annotation", "fwdbwd")]
    with open(trace, "w", encoding="utf-8") as f:
        f.write('{"schemaVersion": %d, "displayTimeUnit": "ms", "traceEvents": [\n' % recorded["schemaVersion"])
        f.write(",\n".join(json.dumps(e) for e in events) + "\n]}\n")


def main(out):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 8))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=2),
                 on_trace_ready=lambda p: p.export_chrome_trace(out)) as p:
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(net(torch.randn(4, 16)), torch.randint(8, (4,))).backward()
            optimizer.step()
            p.step()
    keep(out)


if __name__ == "__main__":
    main(sys.argv[1])
