"""PyTorch's own estimate of FSDP2's memory, for tests/strategy/test_fsdp2_tracker.c: FSDPMemTracker beside our plans.

    pip install -r tests/oracle/requirements.txt
    python tests/oracle/fsdp2_tracker.py        (from the top folder; a quarter of an hour; no GPU, and little memory)

Writes tests/golden/fsdp2_tracker.csv. FakeTensorMode computes shapes and no numbers, and a fake process group stands for
the other ranks, so that a model of 70 billion parameters on 64 ranks is tracked in one process. The blocks are those of
GPT-2 and Llama in plain modules (nn.Linear, nn.LayerNorm, nn.RMSNorm, scaled_dot_product_attention), fully_shard of each
block and of the whole; fp32, AdamW, a sample a rank. Bytes:

    sharded_parameters, optimizer     what rank 0 keeps; AdamW's state with its step counters, of 4 bytes a tensor
    sharded_gradients                 after the backward pass
    forward.unsharded, .activations   when the forward pass has ended and the logits have gone: what autograd keeps
    peak.KIND, peak.total             the largest total of a step, and what it is made of, as the tracker names it

A size is its options: layers, width, heads, tokens, vocabulary, and of Llama heads of keys, size of a head, hidden.
"""

import argparse
import csv
import multiprocessing
import pathlib

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {
    "gpt2-124m": (12, 768, 12, 1024, 50257),
    "gpt2-355m": (24, 1024, 16, 1024, 50257),
    "gpt2-774m": (36, 1280, 20, 1024, 50257),
    "gpt2-1558m": (48, 1600, 25, 1024, 50257),
    "llama 1b": (16, 2048, 32, 2048, 128256, 8, 64, 8192),
    "llama 3b": (28, 3072, 24, 2048, 128256, 8, 128, 8192),
    "llama 8b": (32, 4096, 32, 4096, 128256, 8, 128, 14336),
    "llama 70b": (80, 8192, 64, 4096, 32000, 8, 128, 28672),
}
RANKS = (8, 64)
EPSILON = 1e-5
KINDS = ("Sharded Param", "Unsharded Param", "Sharded Grad", "Unsharded Grad", "Activation", "Temp", "All Gather",
         "Reduce Scatter", "OptState", "Inputs")


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        samples, tokens, width = x.shape
        q, k, v = (part.view(samples, tokens, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.ln_1(x)).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(samples, tokens, width))
        return x + self.out(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, tokens, vocabulary):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(GptBlock(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


def turn(x, cosine, sine):
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, keys, size, hidden):
        super().__init__()
        self.size = size
        self.input_norm, self.post_norm = nn.RMSNorm(width, eps=EPSILON), nn.RMSNorm(width, eps=EPSILON)
        self.q, self.o = nn.Linear(width, heads * size, bias=False), nn.Linear(heads * size, width, bias=False)
        self.k, self.v = (nn.Linear(width, keys * size, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, cosine, sine):
        samples, tokens, _ = x.shape
        y = self.input_norm(x)
        q, k, v = (layer(y).view(samples, tokens, -1, self.size) for layer in (self.q, self.k, self.v))
        q, k = turn(q, cosine, sine), turn(k, cosine, sine)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True,
                                           enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(samples, tokens, -1))
        y = self.post_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers, width, heads, tokens, vocabulary, keys, size, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, keys, size, hidden) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=EPSILON)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.size = size

    def forward(self, tokens):
        x = self.embedding(tokens)
        frequency = 1e4 ** (-torch.arange(0, self.size, 2, dtype=torch.float32) / self.size)
        angle = torch.outer(torch.arange(tokens.shape[1], dtype=torch.float32), frequency)
        angle = torch.cat((angle, angle), dim=-1)[None, :, None]
        cosine, sine = angle.cos(), angle.sin()
        for block in self.blocks:
            x = block(x, cosine, sine)
        return self.head(self.norm(x))


def bytes_of(snapshot):
    """Bytes by kind; the tracker's kinds are words of its own enumeration."""
    (device,) = [kinds for kinds in snapshot.values() if kinds.get("Total")]
    return {getattr(kind, "value", kind): count for kind, count in device.items()}


def give_optimizer_its_state(model, optimizer):
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    optimizer.zero_grad()


def track(name, ranks):
    import torch.distributed as dist
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.testing._internal.distributed.fake_pg import FakeStore
    size = SIZES[name]
    tokens, vocabulary = size[3], size[4]
    dist.init_process_group("fake", rank=0, world_size=ranks, store=FakeStore())
    mesh = init_device_mesh("cpu", (ranks,))
    with FakeTensorMode():
        model = Gpt(*size) if name.startswith("gpt2") else Llama(*size)
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        give_optimizer_its_state(model, optimizer)
        inputs, targets = (torch.randint(0, vocabulary, (1, tokens)) for _ in range(2))
        tracker = FSDPMemTracker(model, optimizer)
        tracker.track_inputs((inputs, targets))
        with tracker:
            logits = model(inputs)
            loss = F.cross_entropy(logits.view(-1, vocabulary), targets.view(-1))
            del logits
            forward = bytes_of(tracker.get_tracker_snapshot("current"))
            loss.backward()
            backward = bytes_of(tracker.get_tracker_snapshot("current"))
        peak = bytes_of(tracker.get_tracker_snapshot("peak"))
    rows = {"sharded_parameters": backward["Sharded Param"], "sharded_gradients": backward["Sharded Grad"],
            "optimizer": backward["OptState"], "forward.unsharded": forward["Unsharded Param"],
            "forward.activations": forward["Activation"]}
    rows |= {"peak." + kind.lower().replace(" ", "_"): peak.get(kind, 0) for kind in KINDS}
    rows["peak.total"] = peak["Total"]
    assert sum(peak.get(kind, 0) for kind in KINDS) == peak["Total"], "a kind is missing"
    return [(name, ranks, quantity, count) for quantity, count in rows.items()]


def main():
    top = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Writes what FSDPMemTracker says of GPT-2 and Llama blocks.")
    parser.add_argument("--out", type=pathlib.Path, default=top / "golden/fsdp2_tracker.csv", help="file to write")
    arguments = parser.parse_args()
    cases = [(name, ranks) for name in SIZES for ranks in RANKS]
    # A process each: a process group lives as long as its process.
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        results = pool.starmap(track, cases, chunksize=1)
    with arguments.out.open("w", newline="") as out:
        out.write(f"# Made by tests/oracle/fsdp2_tracker.py with torch {torch.__version__.split('+')[0]}\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("model", "ranks", "quantity", "bytes"))
        writer.writerows(row for rows in results for row in rows)


if __name__ == "__main__":
    main()
