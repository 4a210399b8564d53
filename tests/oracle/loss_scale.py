"""Lets DeepSpeed's and PyTorch's own loss scalers see steps that overflow and steps that do not, and writes what became of
the scale: tests/golden/loss_scale.json, which tests/strategy/test_loss_scale.c replays.

    pip install -r tests/oracle/requirements.txt
    python tests/oracle/loss_scale.py                 (from the top folder; writes tests/golden/loss_scale.json)

A list of runs, each with rule, initial, window; steps: a letter a step, "." good, "o" overflowed; scales: the scale after
each step; raises: whether the rule gives up at the last step (DeepSpeed's, at its minimum).
"""

import json
import logging
import pathlib
import random

import torch
from deepspeed import comm
from deepspeed.runtime.fp16.loss_scaler import DynamicLossScaler

logging.disable(logging.INFO)
comm.get_rank = lambda: 0  # it only says whether to log


def deepspeed(initial, window, steps):
    # The defaults of DeepSpeed's "fp16" section, but for scale and window.
    scaler = DynamicLossScaler(
        init_scale=initial, scale_window=window, min_scale=1, delayed_shift=2, consecutive_hysteresis=False
    )
    scales = []
    for step in steps:
        try:
            scaler.update_scale(step == "o")
        except Exception as e:
            assert "already at minimum" in str(e)
            return scales, True
        scales.append(scaler.loss_scale)
    return scales, False


def pytorch(initial, window, steps):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=initial, growth_interval=window)
    scales = []
    for step in steps:
        scaler.scale(torch.ones(1))
        parameter.grad = torch.tensor([float("inf") if step == "o" else 1.0])
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales, False


def run(rule, initial, window, steps):
    scales, raises = {"deepspeed": deepspeed, "pytorch": pytorch}[rule](initial, window, steps)
    steps = steps[: len(scales) + raises]
    return {"rule": rule, "initial": initial, "window": window, "steps": steps, "scales": scales, "raises": raises}


def main():
    chance = random.Random(1)
    by_hand = ["." * 20, "o" * 20, "oo" + "." * 12 + "o" + "." * 9, ".o" * 10, "o....o...o..o.o" * 2]
    runs = []
    for rule in ("deepspeed", "pytorch"):
        for steps in by_hand:
            for window in (1, 2, 3, 5):
                runs.append(run(rule, 65536, window, steps))
        # DeepSpeed's scale is a double: past fp32, in which the product keeps it, no gradient would be finite.
        for initial in (1.0, 3.0, 2.0**16, 2.0**60, 2.0**127 if rule == "pytorch" else 2.0**40):
            for likely in (0.02, 0.2, 0.6):
                steps = "".join("o" if chance.random() < likely else "." for _ in range(200))
                runs.append(run(rule, initial, chance.randint(4, 12), steps))
        # The rules' own windows.
        runs.append(run(rule, 65536, {"deepspeed": 1000, "pytorch": 2000}[rule], "o" + "." * 4100))
    out = pathlib.Path("tests/golden/loss_scale.json")
    out.write_text("[\n" + ",\n".join(json.dumps(shorten(r)) for r in runs) + "\n]\n")
    print(f"{out}: {len(runs)} runs, {sum(r['raises'] for r in runs)} raise")


def shorten(r):
    """Scales as [scale, how often] pairs: they change seldom."""
    pairs = []
    for scale in r["scales"]:
        if pairs and pairs[-1][0] == scale:
            pairs[-1][1] += 1
        else:
            pairs.append([scale, 1])
    return {**r, "scales": pairs}


if __name__ == "__main__":
    main()
