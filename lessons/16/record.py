"""Trains a small GPT under DistributedDataParallel on two ranks of this machine, and records three steps of each with
torch.profiler. Needs PyTorch; no GPU.

    python record.py FOLDER        # writes FOLDER/rank0.json.gz and rank1.json.gz

The model is shardlab's gpt:layers=2,width=256,heads=4,vocabulary=1024. Of ten times three steps the shortest are kept,
since other programs of the machine make some longer. What a step is, prof.step() says: without it a trace has no steps.
"""
import gzip
import json
import os
import sys

import torch
import torch.distributed as distributed
import torch.multiprocessing as processes
import torch.nn.functional as functional
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

LAYERS, WIDTH, HEADS, VOCABULARY, SEQUENCE, MICRO_BATCH = 2, 256, 4, 1024, 128, 4
RANKS, STEPS, TIMES = 2, 3, 10


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(SEQUENCE, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(SEQUENCE))
        return functional.linear(self.norm(self.blocks(x)), self.tokens.weight)


def kept(event):
    """Calls, ranges and names, each with the arguments that a reader needs: a tenth of the file."""
    if event["ph"] == "M":
        return event
    if event["ph"] != "X" or event.get("cat") not in ("cpu_op", "user_annotation"):
        return None
    few = {key: event[key] for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur")}
    arguments = event["args"] if event["name"].startswith("gloo:") else {}
    few["args"] = {key: arguments[key] for key in ("Input Dims", "Input type") if key in arguments}
    return few


def write(path, raw):
    with open(raw) as file:
        trace = json.load(file)
    os.remove(raw)
    events = [few for few in map(kept, trace["traceEvents"]) if few]
    small = {"schemaVersion": trace["schemaVersion"], "distributedInfo": trace["distributedInfo"], "traceEvents": events}
    with open(path, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(json.dumps(small, separators=(",", ":")).encode())


def run(rank, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = DistributedDataParallel(GPT())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    shortest = [float("inf")]

    def ready(prof):
        steps = [event.device_time_total + event.cpu_time_total for event in prof.events() if "ProfilerStep" in event.name]
        longest = torch.tensor(max(steps))
        distributed.all_reduce(longest, distributed.ReduceOp.MAX)
        if longest < shortest[0]:
            shortest[0] = longest
            prof.export_chrome_trace(f"{folder}/rank{rank}.raw")
            write(f"{folder}/rank{rank}.json.gz", f"{folder}/rank{rank}.raw")

    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=TIMES),
                 record_shapes=True, on_trace_ready=ready) as prof:
        for _ in range((1 + STEPS) * TIMES):
            ids = torch.randint(VOCABULARY, (MICRO_BATCH, SEQUENCE + 1))
            logits = model(ids[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            prof.step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: record.py FOLDER")
    processes.spawn(run, (sys.argv[1],), RANKS)
