"""Trains the product's models in PyTorch on the CPU and writes the golden files that the tests compare with.

    pip install -r tests/oracle/requirements.txt
    python tests/oracle/golden_training.py            (from the top folder; half a minute; writes tests/golden/)

The same initial weights and the same samples as the product, from counter_random.py. AdamW with betas 0.9 and 0.999,
eps 1e-8, weight decay 0.01 on every tensor; the loss is the mean over samples (and tokens). The MLPs learn at 1e-3. The
GPTs learn at 3e-4: at 1e-3 the large one's loss leaps at the sixth step, and from there on rounding decides (fp32 and
double are 1e-4 apart), so that no other program could be held to these losses.
mlp_norm_tiny learns with SGD at 0.1: where all images of a batch have one value in a pixel, normalization
makes the gradient of that pixel's weights 0 but for rounding, which AdamW would turn into steps of full size (fp32 and
double are then 3e-4 apart after 20 steps).
The images are those of Debian's package dataset-fashion-mnist; the text is tests/golden/text.txt.

tests/golden/NAME.json, for NAME = mlp, mlp_tiny, mlp_norm_tiny (batch normalization), gpt, gpt_tiny:

    model, batch, seed, optimizer   what was trained; step s takes samples [s·batch, (s+1)·batch)
    sample_places                   of the first batch: numbers of the images, or bytes where the samples begin
    first_inputs_checksum           of the first batch's inputs: as weights_checksum, int32 taken as bits for text
    losses                          of each step, before its update, in fp32
    losses_float64                  the same run with everything in double: how far apart rounding alone puts them
    initial_checksum                of all weights before the first step
    tensors                         in model order: name, shape, init, scale, initial_checksum (of this tensor alone);
                                    gradient: of the first step: norm, sum, samples [[element, value], …];
                                    final: the weights after the last step, likewise
    buffers (mlp_norm_tiny)     running mean and variance after the last step: name and all values; and `evaluation`:
                                the mean loss of the first validation samples with them, in eval mode
    clipped (gpt only)              max_norm, losses, norms (before clipping, each step): the run with
                                    torch.nn.utils.clip_grad_norm_

torch.nn.SyncBatchNorm works on CUDA devices alone. Over ranks it is defined to be torch.nn.BatchNorm1d over the samples
of all ranks, and that in one process is what mlp_norm_tiny is: runs over several ranks are compared with it.

Two places where a right program may differ: the middle third of c_attn.bias (the keys') has a gradient of 0 but for
rounding, since softmax does not see a constant, and AdamW turns that noise into steps of full size, which in turn
change nothing; and sums of gradients that cancel (wte, wpe) are noise. Compare these by absolute size, or not at all.

tests/golden/NAME_gradients.safetensors, for the tiny ones: the first step's gradients, whole.
"""

import argparse
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

import counter_random as cr

STEPS, SEED = 20, 1
ADAMW = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}
CLIP = 0.5


class Mlp:
    """Linear layers, weights [out, in] as torch.nn.Linear has them, GELU (tanh form) between them. With norm a hidden
    layer is Linear(bias=False), BatchNorm1d, GELU."""

    def __init__(self, sizes, norm=False):
        self.sizes, self.norm = sizes, norm
        self.config = {"kind": "mlp", "sizes": sizes, **({"norm": "batch"} if norm else {})}
        self.buffers, self.training = {}, True

    def tensors(self):
        for i, (n_in, n_out) in enumerate(zip(self.sizes, self.sizes[1:])):
            bound = 1 / math.sqrt(n_in)  # torch.nn.Linear's default, for both
            norm = self.norm and i + 2 < len(self.sizes)
            yield f"{i}.weight", (n_out, n_in), "uniform", bound
            if not norm:
                yield f"{i}.bias", (n_out,), "uniform", bound
            else:
                yield f"{i}.norm.weight", (n_out,), "ones", 0.0
                yield f"{i}.norm.bias", (n_out,), "zeros", 0.0

    def start(self, dtype):
        """BatchNorm1d's buffers as they are at first."""
        hidden = list(enumerate(self.sizes[1:-1])) if self.norm else []
        self.buffers = {f"{i}.norm.{name}": make(n, dtype=dtype) for i, n in hidden
                        for name, make in [("running_mean", torch.zeros), ("running_var", torch.ones)]}

    def loss(self, w, inputs, targets):
        x = inputs
        layers = len(self.sizes) - 1
        for i in range(layers):
            x = F.linear(x, w[f"{i}.weight"], w.get(f"{i}.bias"))
            if f"{i}.norm.weight" in w:  # torch.nn.BatchNorm1d with its defaults
                x = F.batch_norm(x, self.buffers[f"{i}.norm.running_mean"], self.buffers[f"{i}.norm.running_var"],
                                 w[f"{i}.norm.weight"], w[f"{i}.norm.bias"], training=self.training, momentum=0.1,
                                 eps=1e-5)
            if i + 1 < layers:
                x = F.gelu(x, approximate="tanh")
        return F.cross_entropy(x, targets)


class Gpt:
    """GPT-2: Radford and others 2019; names and layouts as in Hugging Face's GPT2Model (Conv1D: [in, out])."""

    def __init__(self, layers, width, heads, context, vocabulary=256):
        self.layers, self.width, self.heads, self.context, self.vocabulary = layers, width, heads, context, vocabulary
        self.config = {"kind": "gpt", "layers": layers, "width": width, "heads": heads, "context": context,
                       "vocabulary": vocabulary}

    def tensors(self):
        w, std = self.width, 0.02
        residual = std / math.sqrt(2 * self.layers)
        yield "wte.weight", (self.vocabulary, w), "normal", std
        yield "wpe.weight", (self.context, w), "normal", std
        for i in range(self.layers):
            yield f"h.{i}.ln_1.weight", (w,), "ones", 0.0
            yield f"h.{i}.ln_1.bias", (w,), "zeros", 0.0
            yield f"h.{i}.attn.c_attn.weight", (w, 3 * w), "normal", std
            yield f"h.{i}.attn.c_attn.bias", (3 * w,), "zeros", 0.0
            yield f"h.{i}.attn.c_proj.weight", (w, w), "normal", residual
            yield f"h.{i}.attn.c_proj.bias", (w,), "zeros", 0.0
            yield f"h.{i}.ln_2.weight", (w,), "ones", 0.0
            yield f"h.{i}.ln_2.bias", (w,), "zeros", 0.0
            yield f"h.{i}.mlp.c_fc.weight", (w, 4 * w), "normal", std
            yield f"h.{i}.mlp.c_fc.bias", (4 * w,), "zeros", 0.0
            yield f"h.{i}.mlp.c_proj.weight", (4 * w, w), "normal", residual
            yield f"h.{i}.mlp.c_proj.bias", (w,), "zeros", 0.0
        yield "ln_f.weight", (w,), "ones", 0.0
        yield "ln_f.bias", (w,), "zeros", 0.0

    def loss(self, w, inputs, targets):
        samples, tokens = inputs.shape
        size = self.width // self.heads
        future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        x = w["wte.weight"][inputs] + w["wpe.weight"][:tokens]
        for i in range(self.layers):
            def p(name):
                return w[f"h.{i}.{name}.weight"], w[f"h.{i}.{name}.bias"]

            def conv1d(y, name):
                weight, bias = p(name)
                return y @ weight + bias

            y = conv1d(F.layer_norm(x, (self.width,), *p("ln_1"), eps=1e-5), "attn.c_attn")
            q, k, v = (t.view(samples, tokens, self.heads, size).transpose(1, 2) for t in y.split(self.width, dim=2))
            scores = (q @ k.transpose(2, 3) / math.sqrt(size)).masked_fill(future, -math.inf)
            y = (scores.softmax(dim=3) @ v).transpose(1, 2).reshape(samples, tokens, self.width)
            x = x + conv1d(y, "attn.c_proj")
            y = F.gelu(conv1d(F.layer_norm(x, (self.width,), *p("ln_2"), eps=1e-5), "mlp.c_fc"), approximate="tanh")
            x = x + conv1d(y, "mlp.c_proj")
        x = F.layer_norm(x, (self.width,), w["ln_f.weight"], w["ln_f.bias"], eps=1e-5)
        logits = x @ w["wte.weight"].T
        return F.cross_entropy(logits.view(-1, self.vocabulary), targets.reshape(-1))


def initial_weights(model):
    return {name: cr.weights(SEED, i, shape, init, scale)
            for i, (name, shape, init, scale) in enumerate(model.tensors())}


def make_optimizer(model, w, learning_rate):
    if getattr(model, "norm", False):
        return torch.optim.SGD(w.values(), lr=learning_rate, foreach=False, fused=False)
    return torch.optim.AdamW(w.values(), lr=learning_rate, foreach=False, fused=False, **ADAMW)


def train(model, data, batch, learning_rate, dtype, max_norm=None):
    """Returns losses, gradient norms, the first step's gradients and the final weights."""
    w = {name: torch.tensor(value, dtype=dtype, requires_grad=True) for name, value in initial_weights(model).items()}
    if isinstance(model, Mlp):
        model.start(dtype)
    optimizer = make_optimizer(model, w, learning_rate)
    losses, norms, gradients = [], [], None
    for step in range(STEPS):
        inputs, targets = data.batch(SEED, step * batch, batch)
        inputs = torch.from_numpy(inputs)
        loss = model.loss(w, inputs.to(dtype) if inputs.is_floating_point() else inputs, torch.from_numpy(targets))
        optimizer.zero_grad()
        loss.backward()
        if gradients is None:
            gradients = {name: t.grad.clone() for name, t in w.items()}
        norms.append(torch.nn.utils.clip_grad_norm_(w.values(), max_norm or math.inf, foreach=False).item())
        optimizer.step()
        losses.append(loss.item())
    return losses, norms, gradients, {name: t.detach() for name, t in w.items()}


def summary(tensor):
    """Norm and sum in double, and eight elements spread over the tensor, the first and the last among them."""
    flat = tensor.reshape(-1).double()
    places = sorted({round(k * (flat.numel() - 1) / 7) for k in range(8)})
    return {"norm": flat.norm().item(), "sum": flat.sum().item(),
            "samples": [[place, flat[place].item()] for place in places]}


def trained_buffers(model, data, batch, final):
    """The model's buffers after training, and a loss that shows that they are used."""
    if not getattr(model, "norm", False):
        return {}
    model.training = False
    inputs, targets = data.validation(0, batch)
    with torch.no_grad():
        loss = model.loss(final, torch.from_numpy(inputs), torch.from_numpy(targets))
    model.training = True
    return {"buffers": [{"name": name, "values": t.tolist()} for name, t in model.buffers.items()],
            "evaluation": {"samples": batch, "loss": loss.item()}}


def golden(name, model, data, batch, learning_rate, clipped):
    losses, norms, gradients, final = train(model, data, batch, learning_rate, torch.float32)
    buffers = trained_buffers(model, data, batch, final)
    initial = initial_weights(model)
    inputs, _ = data.batch(SEED, 0, batch)
    bits = inputs if inputs.dtype == np.float32 else inputs.astype(np.int32).view(np.float32)
    result = {
        "model": model.config, "batch": batch, "seed": SEED,
        "optimizer": {"name": "sgd", "lr": learning_rate} if getattr(model, "norm", False)
        else {"name": "adamw", "lr": learning_rate, **ADAMW},
        "torch": torch.__version__.split("+")[0],
        "sample_places": data.places(SEED, 0, batch),
        "first_inputs_checksum": cr.checksum([bits]),
        "losses": losses,
        "losses_float64": train(model, data, batch, learning_rate, torch.float64)[0],
        "initial_checksum": cr.checksum(initial.values()),
        "tensors": [{"name": n, "shape": list(shape), "init": init, "scale": scale,
                     "initial_checksum": cr.checksum([initial[n]]),
                     "gradient": summary(gradients[n]), "final": summary(final[n])}
                    for n, shape, init, scale in model.tensors()],
    }
    result.update(buffers)
    if clipped:
        clip_losses, clip_norms, _, _ = train(model, data, batch, learning_rate, torch.float32, CLIP)
        result["clipped"] = {"max_norm": CLIP, "losses": clip_losses, "norms": clip_norms}
    apart = max(abs(a - b) / b for a, b in zip(losses, result["losses_float64"]))
    print(f"{name}: loss {losses[0]:.6f} .. {losses[-1]:.6f}, first norm {norms[0]:.4f}, "
          f"fp32 and double at most {apart:.1e} of the loss apart")
    assert apart < 1e-5, "rounding decides: take a smaller learning rate"
    return result, gradients


def as_text(result):
    """JSON with a line for each key and each tensor, so that a difference between two versions can be read."""
    tensors = ",\n  ".join(json.dumps(t) for t in result["tensors"])
    lines = [f" {json.dumps(k)}: " + (f"[\n  {tensors}\n ]" if k == "tensors" else json.dumps(v))
             for k, v in result.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    top = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Writes the golden files of the training tests.")
    parser.add_argument("--out", type=pathlib.Path, default=top / "golden", help="folder to write to")
    parser.add_argument("--only", help="the NAME of one file; without: all")
    arguments = parser.parse_args()
    out = arguments.out

    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    text = top / "golden" / "text.txt"
    images = cr.Images()
    for name, model, data, batch, learning_rate in [
            ("mlp", Mlp([784, 1024, 1024, 10]), images, 16, 1e-3),
            ("mlp_tiny", Mlp([784, 32, 10]), images, 16, 1e-3),
            ("mlp_norm_tiny", Mlp([784, 32, 10], norm=True), images, 16, 0.1),
            ("gpt", Gpt(6, 256, 8, 128), cr.Text(text, 128), 4, 3e-4),
            ("gpt_tiny", Gpt(2, 32, 2, 16), cr.Text(text, 16), 4, 3e-4)]:
        if arguments.only not in (None, name):
            continue
        result, gradients = golden(name, model, data, batch, learning_rate, clipped=isinstance(model, Gpt))
        (out / f"{name}.json").write_text(as_text(result))
        if name.endswith("_tiny"):
            save_file({n: g.contiguous() for n, g in gradients.items()}, out / f"{name}_gradients.safetensors",
                      metadata={"format": "pt"})


if __name__ == "__main__":
    main()
