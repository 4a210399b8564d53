"""Mixed precision in PyTorch on the CPU: bf16 and fp16, autocast and master weights, GradScaler with overflows.

    pip install -r tests/oracle/requirements.txt
    python tests/oracle/golden_precision.py           (from the top folder; a minute; writes tests/golden/precision.json)

The tiny models of golden_training.py, the same weights and samples, 24 steps of AdamW, clipped by global norm or not.
Each run is a row of `runs`:

    model, specification      "gpt_tiny", and as --model has it
    precision                 fp32, bf16, fp16
    how                       "autocast": fp32 parameters and gradients, torch.autocast around the forward pass (matrix
                              products in 16 bits, norms and loss in fp32); "master": parameters, activations and gradients
                              in 16 bits, norms and the loss computed in fp32, and fp32 master weights that AdamW updates,
                              as DeepSpeed's bf16 and fp16, and as ours
    batch, lr, clip           clip 0: none
    losses                    of each step, before its update, without the loss scale
    fp16 only: initial_scale, growth_interval; scales (before each step), skipped (0 or 1): torch.amp.GradScaler's. The
                              initial scale is chosen so that the first steps overflow, and the interval so that the
                              scale grows again.

How far two right programs may be apart: each rounds what it stores in 16 bits (bf16 to 2^-9, fp16 to 2^-12 of the value),
in places and orders of its own, and Adam's early steps, which go by signs, carry that into the weights. The runs
themselves show how far: `master` against `autocast`, and both against fp32, are different roundings of the same thing.
"""

import argparse
import json
import math
import pathlib

import torch
import torch.nn.functional as F

import counter_random as cr
import golden_training as gt

STEPS = 24
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def norm(x, weight, bias):
    return F.layer_norm(x.float(), (x.shape[-1],), weight.float(), bias.float(), eps=1e-5).to(x.dtype)


def gpt_loss(model, w, inputs, targets):
    """golden_training.Gpt.loss, with attention as one kernel and norms and the loss in fp32 whatever the type."""
    samples, tokens = inputs.shape
    size = model.width // model.heads
    x = w["wte.weight"][inputs] + w["wpe.weight"][:tokens]
    for i in range(model.layers):
        def p(name):
            return w[f"h.{i}.{name}.weight"], w[f"h.{i}.{name}.bias"]

        def conv1d(y, name):
            weight, bias = p(name)
            return F.linear(y, weight.T, bias)

        y = conv1d(norm(x, *p("ln_1")), "attn.c_attn")
        q, k, v = (t.view(samples, tokens, model.heads, size).transpose(1, 2) for t in y.split(model.width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + conv1d(y.transpose(1, 2).reshape(samples, tokens, model.width), "attn.c_proj")
        y = F.gelu(conv1d(norm(x, *p("ln_2")), "mlp.c_fc"), approximate="tanh")
        x = x + conv1d(y, "mlp.c_proj")
    x = norm(x, w["ln_f.weight"], w["ln_f.bias"])
    logits = F.linear(x, w["wte.weight"])
    return F.cross_entropy(logits.float().view(-1, model.vocabulary), targets.reshape(-1))


def mlp_loss(model, w, inputs, targets):
    x = inputs
    layers = len(model.sizes) - 1
    for i in range(layers):
        x = F.linear(x, w[f"{i}.weight"], w[f"{i}.bias"])
        if i + 1 < layers:
            x = F.gelu(x, approximate="tanh")
    return F.cross_entropy(x.float(), targets)


def train(model, loss_of, data, run):
    dtype = DTYPES.get(run["precision"], torch.float32)
    master = {name: torch.tensor(v, requires_grad=True) for name, v in gt.initial_weights(model).items()}
    optimizer = torch.optim.AdamW(master.values(), lr=run["lr"], foreach=False, fused=False, **gt.ADAMW)
    fp16 = run["precision"] == "fp16"
    scaler = torch.amp.GradScaler("cpu", init_scale=run.get("initial_scale", 1.0),
                                  growth_interval=run.get("growth_interval", 2000), enabled=fp16)
    losses, scales, skipped = [], [], []
    for step in range(STEPS):
        inputs, targets = (torch.from_numpy(t) for t in data.batch(gt.SEED, step * run["batch"], run["batch"]))
        if run["how"] == "autocast":
            with torch.autocast("cpu", dtype=dtype):
                loss = loss_of(model, master, inputs, targets)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
        else:
            w = {name: t.detach().to(dtype).requires_grad_() for name, t in master.items()}
            loss = loss_of(model, w, inputs.to(dtype) if inputs.is_floating_point() else inputs, targets)
            scaler.scale(loss).backward()
            for name, t in master.items():
                t.grad = w[name].grad.float()
        scale = scaler.get_scale()
        scaler.unscale_(optimizer)
        finite = all(torch.isfinite(t.grad).all() for t in master.values())
        if run["clip"]:
            torch.nn.utils.clip_grad_norm_(master.values(), run["clip"], foreach=False)
        scaler.step(optimizer)  # not at all, if something is not finite
        scaler.update()
        losses.append(loss.item())
        if fp16:
            scales.append(scale)
            skipped.append(0 if finite else 1)
    return {"losses": losses, **({"scales": scales, "skipped": skipped} if fp16 else {})}


def main():
    top = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Writes the golden file of the mixed precision tests.")
    parser.add_argument("--out", type=pathlib.Path, default=top / "golden" / "precision.json")
    out = parser.parse_args().out
    torch.manual_seed(0)
    torch.set_num_threads(1)
    text = top / "golden" / "text.txt"
    runs = []
    for name, specification, model, loss_of, data, batch, lr in [
            ("gpt_tiny", "gpt:layers=2,width=32,heads=2,context=16,vocabulary=256", gt.Gpt(2, 32, 2, 16), gpt_loss,
             cr.Text(text, 16), 4, 3e-4),
            ("mlp_tiny", "mlp:sizes=784-32-10", gt.Mlp([784, 32, 10]), mlp_loss, cr.Images(), 16, 1e-3)]:
        plain = {}
        for precision, how in [("fp32", "master"), ("bf16", "autocast"), ("bf16", "master"), ("fp16", "autocast"),
                               ("fp16", "master")]:
            for clip in [0, 0.5]:
                run = {"model": name, "specification": specification, "precision": precision, "how": how,
                       "batch": batch, "lr": lr, "clip": clip}
                if precision == "fp16":
                    run.update(initial_scale=2.0 ** 24, growth_interval=6)
                run.update(train(model, loss_of, data, run))
                if precision == "fp32":
                    plain[clip] = run["losses"]
                apart = max(abs(a - b) / b for a, b in zip(run["losses"], plain[clip])) if precision != "fp16" else 0
                print(f"{name} {precision} {how} clip {clip}: {run['losses'][0]:.6f} .. {run['losses'][-1]:.6f}, "
                      f"{apart:.1e} from fp32", *([f"scales 2^{[int(math.log2(s)) for s in run['scales']]}",
                                                   f"skipped {sum(run['skipped'])}"] if precision == "fp16" else []))
                assert math.isfinite(run["losses"][-1])
                runs.append(run)
    out.write_text("{\n \"torch\": " + json.dumps(torch.__version__.split("+")[0]) + ",\n \"runs\": [\n  " +
                   ",\n  ".join(json.dumps(r) for r in runs) + "\n ]\n}\n")


if __name__ == "__main__":
    main()
