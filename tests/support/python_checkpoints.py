"""Checkpoints of a model's weights as PyTorch and DeepSpeed lay them out, for tests/cli/cli_import.sh:

    python_checkpoints.py MODEL.safetensors FOLDER      makes FOLDER/file.pt, FOLDER/dcp, FOLDER/universal
"""
import json
import os
import struct
import sys

import torch
import torch.distributed.checkpoint as dcp


def read(path):
    with open(path, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(size)), f.read()
    header.pop("__metadata__", None)
    for name, row in header.items():
        assert row["dtype"] == "F32"
        begin, end = row["data_offsets"]
        yield name, torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32).reshape(row["shape"])


weights, to = dict(read(sys.argv[1])), sys.argv[2]
momentum = {name: torch.zeros_like(w) for name, w in weights.items()}
torch.save({"model": {f"module._orig_mod.{k}": v for k, v in weights.items()}, "optimizer": momentum, "step": 3},
           f"{to}/file.pt")
dcp.save({"model": {f"_fsdp_wrapped_module.{k}": v for k, v in weights.items()}, "optim": momentum},
         storage_writer=dcp.FileSystemWriter(f"{to}/dcp"), no_dist=True)
for name, weight in weights.items():
    folder = f"{to}/universal/global_step3_universal/zero/{name}"
    os.makedirs(folder)
    torch.save({"param": weight, "cat_dim": 0}, f"{folder}/fp32.pt")
    torch.save({"param": momentum[name]}, f"{folder}/exp_avg.pt")
with open(f"{to}/universal/latest_universal", "w", encoding="utf-8") as f:
    f.write("global_step3_universal")
