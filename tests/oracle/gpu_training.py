"""GPT-2 in PyTorch: the speed, the memory and the losses that `shardlab train --device cuda` is held to.

    pip install torch safetensors numpy
    python tests/oracle/gpu_training.py speed --micro-batches 8,16,32,64 > speed.json
    python tests/oracle/gpu_training.py losses --device cpu --no-compile --sequence 256 --batch 2 --micro-batch 2 --lr 1e-4 \
        > tests/golden/gpt2_losses.json

bf16 by autocast over fp32 weights, torch.compile, scaled_dot_product_attention, AdamW with fused=True: what PyTorch's users
take to be fast.

speed     tokens a second, the share of the card's peak (--peak, in TFLOP/s; 6 FLOPs a weight a token and 6·L·T·C of
          causal attention, as the project counts), and torch.cuda.max_memory_allocated, with each of --backends (flash,
          cudnn: whose attention) for each micro-batch that fits; and their attention alone, forward and backward, in
          TFLOP/s, beside the rate of a bf16 product, as PyTorch has it by itself and again told to use deterministic
          algorithms, as shardlab's always are. PyTorch refuses cuDNN then, so its efficient attention, which has a
          deterministic backward pass too, stands beside flash there. A backend that is refused is a row with the reason
losses    of each step, before its update, on the same samples as the product takes of the text (bytes), from the same
          weights: those that `shardlab train --save FILE` wrote (after `--steps 0`, or of any other run), or, without
          --init, those that the product starts with for this --seed. AdamW with betas 0.9 and 0.999, eps 1e-8.
          tests/gpu/losses.py holds the product to the file. The CPU is enough for this

JSON on standard output, what is going on on standard error.
"""

import argparse
import contextlib
import hashlib
import json
import math
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION}

MODELS = {"gpt2-124m": (12, 768, 12), "gpt2-355m": (24, 1024, 16), "gpt2-774m": (36, 1280, 20),
          "gpt2-1558m": (48, 1600, 25)}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp_c_fc, self.mlp_c_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        samples, tokens, width = x.shape
        q, k, v = (t.view(samples, tokens, self.heads, -1).transpose(1, 2)
                   for t in self.c_attn(self.ln_1(x)).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(samples, tokens, width))
        return x + self.mlp_c_proj(F.gelu(self.mlp_c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """GPT-2 with the product's names in tensors(): Conv1D weights are [in, out] there, and Linear's here."""

    def __init__(self, layers, width, heads, context, vocabulary):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.vocabulary = vocabulary

    def forward(self, inputs, targets):
        x = self.wte(inputs) + self.wpe.weight[:inputs.shape[1]]
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, self.vocabulary).float(), targets.reshape(-1))

    def tensors(self):
        """In the product's order: name, parameter, is it stored transposed?, how it starts, standard deviation."""
        residual = 0.02 / math.sqrt(2 * len(self.h))
        yield "wte.weight", self.wte.weight, False, "normal", 0.02
        yield "wpe.weight", self.wpe.weight, False, "normal", 0.02
        for i, block in enumerate(self.h):
            for name, layer, std in [("ln_1", block.ln_1, None), ("attn.c_attn", block.c_attn, 0.02),
                                     ("attn.c_proj", block.c_proj, residual), ("ln_2", block.ln_2, None),
                                     ("mlp.c_fc", block.mlp_c_fc, 0.02), ("mlp.c_proj", block.mlp_c_proj, residual)]:
                yield f"h.{i}.{name}.weight", layer.weight, std is not None, "normal" if std else "ones", std or 0.0
                yield f"h.{i}.{name}.bias", layer.bias, False, "zeros", 0.0
        yield "ln_f.weight", self.ln_f.weight, False, "ones", 0.0
        yield "ln_f.bias", self.ln_f.bias, False, "zeros", 0.0

    @torch.no_grad()
    def start(self, seed, path):
        """The product's initial weights: from a file of its, or made as it makes them."""
        stored = None
        if path:
            from safetensors.torch import load_file
            stored = load_file(path)
        else:
            import counter_random as cr
        for i, (name, parameter, transposed, init, scale) in enumerate(self.tensors()):
            shape = tuple(parameter.shape[::-1] if transposed else parameter.shape)
            value = stored[name] if stored else torch.from_numpy(cr.weights(seed, i, shape, init, scale))
            if tuple(value.shape) != shape:
                raise SystemExit(f"{path}: {name} is {tuple(value.shape)}, not {shape}")
            parameter.copy_(value.T if transposed else value)


def make_model(a):
    layers, width, heads = MODELS[a.model]
    torch.manual_seed(a.seed)
    return Gpt2(layers, width, heads, a.context, a.vocabulary).to(a.device)


def make_step(model, a):
    optimizer = torch.optim.AdamW(model.parameters(), lr=a.lr, betas=(0.9, 0.999), eps=1e-8,
                                  weight_decay=a.weight_decay, fused=True)
    compiled = model if a.no_compile else torch.compile(model)

    def step(batches):
        """One update over micro-batches; their mean loss, still on the GPU."""
        total = torch.zeros((), device=a.device)
        for inputs, targets in batches:
            with torch.autocast(a.device, torch.bfloat16):
                loss = compiled(inputs, targets) / len(batches)
            loss.backward()
            total += loss.detach()
        if a.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), a.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return total

    return step


def seconds_of(run, repeats):
    """The median of `repeats`; runs that take less than a millisecond follow one another, as tests/bench/cuda_bench.h has
    them."""
    def in_a_row(count):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3 / count

    once = [in_a_row(1) for _ in range(3)][-1]
    count = min(50, 1 + int(1e-3 / once))
    return sorted(in_a_row(count) for _ in range(repeats))[repeats // 2]


def product_rate(repeats):
    n = 8192
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    return {"product": n, "tflops": 2e-12 * n**3 / seconds_of(lambda: a @ b, repeats)}


@contextlib.contextmanager
def deterministic_algorithms(wanted):
    """Where wanted: sums in one order, and nothing more; filling new memory, which goes with it, would be timed too."""
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.use_deterministic_algorithms(wanted)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def attention_rate(backend, deterministic, size, tokens, repeats):
    """Causal: half of 4·T²·D products a head forward, and 2.5 times as many backward."""
    samples, heads = 65536 // tokens, 768 // size
    q, k, v = (torch.randn(samples, heads, tokens, size, device="cuda", dtype=torch.bfloat16, requires_grad=True)
               for _ in range(3))
    flops = 2e-12 * samples * heads * tokens**2 * size
    row = {"backend": backend, "deterministic": deterministic, "head_size": size, "tokens": tokens, "samples": samples, "heads": heads}
    try:
        with sdpa_kernel(BACKENDS[backend]), deterministic_algorithms(deterministic):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            dy = torch.randn_like(y)

            def forward():
                with torch.no_grad():
                    F.scaled_dot_product_attention(q, k, v, is_causal=True)

            def backward():
                torch.autograd.grad(y, (q, k, v), dy, retain_graph=True)

            forward(), backward()
            return {**row, "forward_tflops": flops / seconds_of(forward, repeats),
                    "backward_tflops": 2.5 * flops / seconds_of(backward, repeats)}
    except RuntimeError as e:
        return {**row, "refused": str(e).splitlines()[0]}


def attention_rates(a):
    runs = [(b, False) for b in a.backends] + [(b, True) for b in dict.fromkeys([*a.backends, "efficient"])]
    return [product_rate(a.repeats)] + [attention_rate(backend, deterministic, size, tokens, a.repeats)
                                        for backend, deterministic in runs
                                        for size in (64, 128) for tokens in (1024, 4096)]


def training_rate(a, backend, micro):
    layers, width, _ = MODELS[a.model]
    row = {"micro_batch": micro, "backend": backend}
    torch.cuda.empty_cache()
    torch._dynamo.reset()
    try:
        model = make_model(a)
        step = make_step(model, a)
        weights = sum(p.numel() for p in model.parameters())
        data = torch.randint(a.vocabulary, (micro, a.context + 1), device="cuda")
        batches = [(data[:, :-1].contiguous(), data[:, 1:].contiguous())]
        with sdpa_kernel(BACKENDS[backend]):
            for _ in range(5):
                step(batches)
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            seconds = seconds_of(lambda: step(batches), a.repeats)
    except torch.OutOfMemoryError:
        return {**row, "out_of_memory": True}
    except RuntimeError as e:
        return {**row, "refused": str(e).splitlines()[0]}
    rate = micro * a.context / seconds
    flops = rate * (6 * weights + 6 * layers * a.context * width)
    print(f"micro-batch {micro}, {backend}: {rate:.0f} tokens/s", file=sys.stderr)
    return {**row, "step_seconds": seconds, "tokens_per_second": rate, "share_of_peak": flops / (a.peak * 1e12),
            "max_memory_allocated": torch.cuda.max_memory_allocated()}


def speed(a):
    return {"micro_batches": [training_rate(a, backend, int(m)) for m in a.micro_batches.split(",")
                              for backend in a.backends],
            "attention": attention_rates(a)}


def losses(a):
    import counter_random as cr
    text = cr.Text(a.text, a.sequence)
    model = make_model(a)
    model.start(a.seed, a.init)
    step = make_step(model, a)
    result = []
    begin = time.monotonic()
    for i in range(a.steps):
        inputs, targets = (torch.from_numpy(t).to(a.device) for t in text.batch(a.seed, i * a.batch, a.batch))
        result.append(step(list(zip(inputs.split(a.micro_batch), targets.split(a.micro_batch)))))
        if i % 20 == 0:
            print(f"step {i}: loss {result[-1].item():.4f}, {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return {"seed": a.seed, "sequence": a.sequence, "batch": a.batch, "micro_batch": a.micro_batch, "lr": a.lr,
            "weight_decay": a.weight_decay, "clip": a.clip, "text": a.text,
            "text_sha256": hashlib.sha256(text.bytes).hexdigest(), "init": a.init, "steps": a.steps,
            "losses": [round(loss.item(), 6) for loss in result]}


def main():
    parser = argparse.ArgumentParser(description="GPT-2 on one GPU in PyTorch.")
    parser.add_argument("what", choices=["speed", "losses"])
    parser.add_argument("--model", choices=MODELS, default="gpt2-124m")
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--vocabulary", type=int, default=50257)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--weight-decay", type=float, default=0.01)
    parser.add_argument("--clip", type=float, default=0.0)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--micro-batches", default="4,8,16,32,64", help="speed: which, separated by commas")
    parser.add_argument("--backends", default="flash,cudnn", help="speed: whose attention, separated by commas")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--peak", type=float, default=989.0, help="dense bf16 TFLOP/s of the card")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: losses alone")
    parser.add_argument("--sequence", type=int, help="losses: tokens of a sample; --context unless given")
    parser.add_argument("--text", default="/usr/share/dictd/jargon.dict.dz",
                        help="losses: a file of text; Debian's package dict-jargon, the product's own, unless given")
    parser.add_argument("--init", help="losses: weights, a file of `shardlab train --save`")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--micro-batch", type=int, default=16)
    a = parser.parse_args()
    a.sequence = a.sequence or a.context
    a.backends = a.backends.split(",")
    for backend in a.backends:
        if backend not in BACKENDS:
            parser.error(f"--backends: '{backend}' is not one of {', '.join(BACKENDS)}")
    if a.batch % a.micro_batch:
        parser.error("--batch is not a multiple of --micro-batch")
    if a.device == "cpu" and a.what == "speed":
        parser.error("speed is about a GPU")
    if a.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("gpu_training.py: no GPU that PyTorch can use")
    torch.set_float32_matmul_precision("high")
    result = speed(a) if a.what == "speed" else losses(a)
    card = torch.cuda.get_device_name() if a.device == "cuda" else None
    print(json.dumps({"card": card, "torch": torch.__version__, "cuda": torch.version.cuda,
                      "date": time.strftime("%Y-%m-%d"), "command": sys.argv, "model": a.model,
                      "context": a.context, "vocabulary": a.vocabulary, **result}, indent=1))


if __name__ == "__main__":
    main()
