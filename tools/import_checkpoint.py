#!/usr/bin/env python3
"""Makes a folder that `shardlab train --init` takes of weights that PyTorch or DeepSpeed have checkpointed.

    tools/import_checkpoint.py CHECKPOINT --config MODEL --output FOLDER          needs torch

CHECKPOINT is one of

    a distributed checkpoint of PyTorch (DCP)      a folder with .metadata and *.distcp; FSDP's and torchtitan's are such
    a universal checkpoint of DeepSpeed            a folder with zero/NAME/fp32.pt, as ds_to_universal.py makes it, or
                                                   the folder above it, with latest_universal
    a checkpoint of DeepSpeed's ZeRO               a folder with latest, or with *_optim_states.pt; needs deepspeed
    a file of torch.save                           a state_dict, alone or under "model", "module" or "state_dict"

and MODEL a folder with the model's config.json, as a hub has it; its tokenizer's files come along. Weights alone are
taken, in fp32: shardlab's own checkpoints have the rest (docs/checkpoints.md). Prefixes that wrappers add to names
(module., _orig_mod., _fsdp_wrapped_module., model. before model.) are left out; --prefix NAME. leaves out another one.
Files are read with torch's weights_only, so that no code of theirs runs; those of ZeRO are read by deepspeed, which
trusts them.

Exit status: 0 done; 2 with one line that says what is wrong.
"""
import os
import sys

# tokenize.py, beside this file, has the name of a module of Python's own, which torch imports.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path = [p for p in sys.path if os.path.abspath(p or ".") != HERE]

import argparse  # noqa: E402
import json  # noqa: E402
import shutil  # noqa: E402
import struct  # noqa: E402

WRAPPERS = ("module.", "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")
INSIDE = ("model", "module", "state_dict", "model_state_dict", "app")
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "vocab.json",
             "merges.txt")


def fail(text):
    print(f"fatal: {text}", file=sys.stderr)
    sys.exit(2)


def need(module):
    try:
        return __import__(module, fromlist=["_"])
    except ImportError:
        fail(f"{module.split('.')[0]} is not installed for {sys.executable}; install it there")


def load(path):
    try:
        return need("torch").load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch has no one class for what it refuses
        fail(f"{path}: {str(error).splitlines()[0]}")


def tensors_of(tree, prefix=""):
    """Every tensor of nested dicts, by its names joined with dots; the first of INSIDE that is a dict is gone into."""
    torch = need("torch")
    if not prefix:
        inner = next((tree[k] for k in INSIDE if isinstance(tree, dict) and isinstance(tree.get(k), dict)), None)
        if inner is not None:
            return tensors_of(inner)
    out = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            out.update(tensors_of(value, f"{prefix}{name}."))
        elif isinstance(value, torch.Tensor):
            out[f"{prefix}{name}"] = value
    return out


def read_dcp(folder):
    """Whole tensors of a distributed checkpoint, by one process."""
    torch = need("torch")
    dcp = need("torch.distributed.checkpoint")
    from torch.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
    from torch.distributed.checkpoint.state_dict_loader import _load_state_dict
    tree = {}
    try:
        _load_state_dict(tree, storage_reader=dcp.FileSystemReader(folder), planner=_EmptyStateDictLoadPlanner(),
                         no_dist=True)
    except Exception as error:  # what a folder can lack is told by many classes
        fail(f"{folder}: not read as a distributed checkpoint: {(str(error) or repr(error)).splitlines()[0]}")
    kept = {k: v for k, v in tree.items() if not k.startswith("optim")}
    return tensors_of(kept) if kept else fail(f"{folder}: no weights in it; torch is {torch.__version__}")


def universal_of(folder):
    """The folder with zero/NAME/fp32.pt, or None."""
    latest = os.path.join(folder, "latest_universal")
    if os.path.isfile(latest):
        with open(latest, encoding="utf-8") as f:
            folder = os.path.join(folder, f.read().strip())
    zero = os.path.join(folder, "zero")
    return zero if os.path.isdir(zero) else None


def read_universal(zero):
    out = {}
    for name in sorted(os.listdir(zero)):
        if os.path.isdir(os.path.join(zero, name)):
            tree = load(os.path.join(zero, name, "fp32.pt"))  # a folder without one is of a copy that was cut off
            out[name] = tree["param"] if isinstance(tree, dict) else tree
    return out or fail(f"{zero}: no NAME/fp32.pt in it")


def read_zero(folder):
    module = need("deepspeed.utils.zero_to_fp32")
    tag = None
    if not os.path.isfile(os.path.join(folder, "latest")):
        folder, tag = os.path.split(os.path.abspath(folder))
    try:
        return dict(module.get_fp32_state_dict_from_zero_checkpoint(folder, tag=tag))
    except Exception as error:  # as above
        fail(f"{folder}: not read as a checkpoint of DeepSpeed: {(str(error) or repr(error)).splitlines()[0]}")


def read(path):
    if os.path.isfile(path):
        return tensors_of(load(path))
    if not os.path.isdir(path):
        fail(f"{path}: there is no such file or folder")
    if os.path.isfile(os.path.join(path, ".metadata")):
        return read_dcp(path)
    zero = universal_of(path)
    if zero:
        return read_universal(zero)
    names = os.listdir(path)
    if "latest" in names or any(n.endswith("_optim_states.pt") for n in names):
        return read_zero(path)
    return fail(f"{path}: neither .metadata (PyTorch), nor zero/ or latest_universal (DeepSpeed, universal), nor latest "
                "(DeepSpeed) is in it")


def plain_name(name, prefix):
    if prefix and name.startswith(prefix):
        name = name[len(prefix):]
    for wrapper in WRAPPERS:
        name = name.removeprefix(wrapper).replace(f".{wrapper}", ".")
    return name.removeprefix("model.") if name.startswith("model.model.") else name


def save(tensors, path):
    """Writes .safetensors, in fp32."""
    torch, header, at = need("torch"), {"__metadata__": {"format": "pt"}}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [at, at + 4 * value.numel()]}
        at += 4 * value.numel()
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            f.write(value.detach().to(torch.float32).contiguous().numpy().tobytes())


def write(tensors, config, output):
    if os.path.exists(output) and (not os.path.isdir(output) or os.listdir(output)):
        fail(f"{output}: it is there and not empty; give another --output")
    partial = f"{output.rstrip('/')}.{os.getpid()}.partial"
    os.mkdir(partial)
    try:
        save(tensors, os.path.join(partial, "model.safetensors"))
        for name in ("config.json", *TOKENIZER):
            if os.path.isfile(os.path.join(config, name)):
                shutil.copyfile(os.path.join(config, name), os.path.join(partial, name))
        os.rename(partial, output)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("checkpoint")
    words.add_argument("--config", required=True, metavar="MODEL")
    words.add_argument("--output", required=True, metavar="FOLDER")
    words.add_argument("--prefix", default="")
    given = words.parse_args()
    path = os.path.join(given.config, "config.json")
    try:
        with open(path, encoding="utf-8") as f:
            json.load(f)
    except (OSError, ValueError) as error:
        fail(f"{path}: {error}")
    torch = need("torch")
    weights = {plain_name(k, given.prefix): v for k, v in read(given.checkpoint).items()
               if isinstance(v, torch.Tensor) and v.is_floating_point()}
    if not weights:
        fail(f"{given.checkpoint}: there are no weights in it")
    write(weights, given.config, given.output)
    print(f"{given.output}: {len(weights)} tensors, {sum(v.numel() for v in weights.values()):,} weights")


if __name__ == "__main__":
    main()
