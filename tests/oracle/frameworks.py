"""Compares what PyTorch's DDP and FSDP and DeepSpeed's ZeRO send and hold for a small GPT on the CPU with our plans.

    pip install -r tests/oracle/requirements.txt
    python tests/oracle/frameworks.py                 (from the top folder, after make; two minutes; gloo on this machine)

Writes tests/golden/frameworks.csv, a row for each framework, number of ranks and quantity:

    framework, ranks      ddp, fsdp1 (FullyShardedDataParallel), fsdp2 (fully_shard), deepspeed-1 to -3 (ZeRO's stages);
                          "-bf16": bf16 with fp32 master weights; deepspeed-3 with threshold 0, no prefetch and no
                          reuse, which is ZeRO-3 as in the paper, and "-default" with the threshold alone set to 0
    strategy, precision   what of ours it is compared with
    quantity              sent.KIND: bytes that a rank sends a step; calls.KIND; held.CATEGORY: bytes that rank 0 keeps,
                          gradients as they are before the update
    theirs, ours          ours from the plan, by `shardlab sim --json`; tests/strategy/test_frameworks.c makes it again
    why                   the reason where the two differ

How it is measured. Every collective of torch.distributed, from Python or from DDP's C++ reducer, is an operator of the
namespace c10d; a dispatch mode sees them all, in the third step, when buckets have been rebuilt and DeepSpeed has traced
the model. A call's payload is its whole tensor, P bytes; what a rank sends of it is the ring's: 2P(N−1)/N for an
all-reduce, P(N−1)/N for a reduce-scatter and an all-gather, P for a broadcast or a reduce (which a rank passes on). So
the tables compare who asks for what, not how gloo carries it out. Scalars (the loss, a norm, flags: up to 64 bytes) are
left out, as ours are (kind `control`).
What is held is what the framework's own objects keep between steps, each storage once; see `held_…` below.

The model is Hugging Face's GPT2LMHeadModel with a tied head and no dropout; AdamW; fp32 unless said otherwise.
"""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("DS_BUILD_OPS", "0")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

LAYERS, WIDTH, HEADS, TOKENS, VOCABULARY, MICRO_BATCH = 2, 32, 2, 16, 256, 2
MODEL = f"gpt:layers={LAYERS},width={WIDTH},heads={HEADS},context={TOKENS},vocabulary={VOCABULARY}"
SCALAR = 64  # bytes
STEPS = 4    # the last two are counted and must agree

# framework → what of ours stands beside it. Buckets hold the whole model, so that there is one.
OURS = {
    "ddp": ("ddp", "fp32"), "fsdp1": ("fsdp", "fp32"), "fsdp2": ("fsdp", "fp32"),
    "deepspeed-1": ("zero1", "fp32"), "deepspeed-2": ("zero2", "fp32"), "deepspeed-3": ("zero3", "fp32"),
    "deepspeed-3-default": ("zero3", "fp32"),
    "deepspeed-1-bf16": ("zero1", "bf16"), "deepspeed-2-bf16": ("zero2", "bf16"), "deepspeed-3-bf16": ("zero3", "bf16"),
}
KINDS = ["all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all"]
HELD = ["parameters", "gradients", "optimizer"]


# ---- counting (in the ranks; torch is imported there) ----

def operator_kinds():
    return {"allreduce": "all_reduce", "allreduce_coalesced": "all_reduce", "_reduce_scatter_base": "reduce_scatter",
            "reduce_scatter": "reduce_scatter", "reduce_scatter_tensor_coalesced": "reduce_scatter",
            "_allgather_base": "all_gather", "allgather": "all_gather", "allgather_coalesced": "all_gather",
            "allgather_into_tensor_coalesced": "all_gather", "broadcast": "broadcast", "reduce": "reduce",
            "alltoall_base": "all_to_all", "alltoall": "all_to_all"}


def make_counter():
    from torch import Tensor
    from torch.utils._python_dispatch import TorchDispatchMode

    def tensor_bytes(x):
        if isinstance(x, Tensor):
            return x.numel() * x.element_size()
        return sum(tensor_bytes(y) for y in x) if isinstance(x, (list, tuple)) else 0

    class Counter(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.calls = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func.namespace == "c10d":
                name = func._schema.name.split("::")[1].rstrip("_")
                kind = operator_kinds().get(name)
                if kind is None:
                    if name not in ("barrier", "monitored_barrier"):
                        raise NotImplementedError(f"c10d.{name} is not counted")
                else:  # of the two tensors of a scatter or gather, the whole one
                    self.calls.append((kind, max(tensor_bytes(a) for a in args)))
            return func(*args, **(kwargs or {}))

    return Counter()


def sent_by_ring(kind, payload, ranks):
    share = {"all_reduce": 2 * (ranks - 1) / ranks, "reduce_scatter": (ranks - 1) / ranks,
             "all_gather": (ranks - 1) / ranks, "all_to_all": (ranks - 1) / ranks, "broadcast": 1, "reduce": 1}[kind]
    return round(payload * share)


def storages(tensors):
    """Bytes of the tensors' storages, each once."""
    from torch.distributed.tensor import DTensor
    sizes = {}
    for t in tensors:
        t = t.to_local() if isinstance(t, DTensor) else t
        if t is not None and t.numel():
            s = t.untyped_storage()
            sizes[s.data_ptr()] = s.nbytes()
    return sizes


def held_parameters(engine):
    return storages(getattr(p, "ds_tensor", p) if hasattr(p, "ds_id") else p for p in engine.parameters())


def held_optimizer(optimizer, engine):
    """Moments and master weights; the step counters of each tensor, 4 bytes, are left out."""
    base = getattr(optimizer, "optimizer", optimizer)
    moments = [t for state in base.state.values() for t in state.values() if hasattr(t, "numel") and t.numel() > 1]
    masters = [p for group in base.param_groups for p in group["params"]]
    masters += list(getattr(optimizer, "single_partition_of_fp32_groups", []))
    masters += list(getattr(optimizer, "fp32_partitioned_groups_flat", []))
    parameters = held_parameters(engine)
    return {k: v for k, v in storages(moments + masters).items() if k not in parameters}


def held_gradients(optimizer, engine):
    """After the backward pass, before the update."""
    found = [p.grad for p in engine.parameters() if p.grad is not None]
    for group in getattr(optimizer, "averaged_gradients", {}).values():
        found += [g for g in (group if isinstance(group, (list, tuple)) else [group]) if g is not None]
    flat = getattr(optimizer, "grad_partitions_flat_buffer", None)
    return storages(found + ([flat] if flat is not None else []))


# ---- the frameworks ----

def make_model():
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel
    torch.manual_seed(1)
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=TOKENS, n_embd=WIDTH, n_layer=LAYERS,
                                      n_head=HEADS, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False,
                                      bos_token_id=0, eos_token_id=0))


def make_engine(framework, ranks):
    import torch
    model = make_model()
    if framework.startswith("deepspeed"):
        import deepspeed
        zero = {"stage": int(framework.split("-")[1]), "reduce_bucket_size": 1000000}
        if zero["stage"] == 3:
            # All of this model's tensors are under the default threshold and would stay whole on all ranks.
            zero.update(stage3_param_persistence_threshold=0)
            # The defaults fetch 5e7 elements ahead and keep what is used again within 1e9: all of this model.
            if not framework.endswith("default"):
                zero.update(stage3_max_reuse_distance=0, stage3_prefetch_bucket_size=0)
        config = {"train_micro_batch_size_per_gpu": MICRO_BATCH, "gradient_accumulation_steps": 1,
                  "zero_optimization": zero, "zero_allow_untested_optimizer": True, "steps_per_print": 10 ** 9,
                  "bf16": {"enabled": framework.endswith("bf16")}}
        adamw = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
        engine, optimizer, _, _ = deepspeed.initialize(model=model, optimizer=adamw, config=config)
        return engine, optimizer
    if framework == "ddp":
        engine = torch.nn.parallel.DistributedDataParallel(model)
    elif framework == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel
        from torch.distributed.fsdp.wrap import ModuleWrapPolicy
        from transformers.models.gpt2.modeling_gpt2 import GPT2Block
        engine = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({GPT2Block}),
                                          device_id=torch.device("cpu"))
    else:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        mesh = init_device_mesh("cpu", (ranks,))
        for block in model.transformer.h:
            fully_shard(block, mesh=mesh)
        engine = fully_shard(model, mesh=mesh)
    return engine, torch.optim.AdamW(engine.parameters(), lr=1e-3, foreach=False)


def run_steps(framework, rank, ranks):
    import torch
    import torch.nn.functional as F
    engine, optimizer = make_engine(framework, ranks)
    deepspeed = framework.startswith("deepspeed")
    generator = torch.Generator().manual_seed(rank)
    before, held = None, {}
    for step in range(STEPS):
        text = torch.randint(0, VOCABULARY, (MICRO_BATCH, TOKENS + 1), generator=generator)
        with make_counter() as counter:
            logits = engine(input_ids=text[:, :-1]).logits
            loss = F.cross_entropy(logits.float().reshape(-1, VOCABULARY), text[:, 1:].reshape(-1))
            engine.backward(loss) if deepspeed else loss.backward()
            held["gradients"] = sum(held_gradients(optimizer, engine).values())
            if deepspeed:
                engine.step()
            else:
                optimizer.step()
                optimizer.zero_grad()
        held["parameters"] = sum(held_parameters(engine).values())
        held["optimizer"] = sum(held_optimizer(optimizer, engine).values())
        calls = [c for c in counter.calls if c[1] > SCALAR]
        if step == STEPS - 1 and sorted(calls) != sorted(before):
            raise RuntimeError(f"{framework}: the last two steps differ: {before} and {calls}")
        before = calls
    return {"calls": before, "held": held}


def rank_main(rank, ranks, frameworks, folder):
    import traceback
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks))
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous.{ranks}", rank=rank, world_size=ranks)
    if any(f.startswith("deepspeed") for f in frameworks):
        import deepspeed
        import deepspeed.comm.torch
        # DeepSpeed's own all-reduce over shared memory is compiled when it starts, and is for inference.
        deepspeed.comm.torch.build_shm_op = lambda: None
        deepspeed.init_distributed(dist_backend="gloo")
    for framework in frameworks:
        try:
            result = run_steps(framework, rank, ranks)
        except Exception:  # noqa: BLE001: what cannot run is said, with the error
            result = {"error": traceback.format_exc()}
        pathlib.Path(folder, f"{framework}.{ranks}.{rank}.json").write_text(json.dumps(result))
        dist.barrier()
        print(f"rank {rank} of {ranks}: {framework} {'failed' if 'error' in result else 'done'}", flush=True)
    os._exit(0)


def run_all(ranks, frameworks, folder):
    import torch.multiprocessing as mp
    mp.start_processes(rank_main, (ranks, frameworks, folder), nprocs=ranks, start_method="spawn")
    results = {}
    for f in frameworks:
        each = [json.loads(pathlib.Path(folder, f"{f}.{ranks}.{r}.json").read_text()) for r in range(ranks)]
        results[f] = each[0]
        # Every rank asks for the same; slices may differ by padding, and rank 0's are shown.
        assert all(e.get("calls") == each[0].get("calls") for e in each), f
    return results


# ---- the table ----

WHOLE_GRADIENTS = ("once reduced, only the rank's own partition is kept; stage 1 of the paper keeps all gradients. A "
                   "tensor that lies across the border of two partitions is kept whole on both")
STRADDLING = "a tensor that lies across the border of two partitions is kept whole on both ranks"
ALL_REDUCE = ("a bucket is all-reduced and each rank takes its slice of the result (use_multi_rank_bucket_allreduce); "
              "ours is a reduce-scatter")
ROOT = ("the root unit (embeddings, last norm, head) is not resharded after the forward pass, since the backward pass "
        "begins with it; ours gathers it again, as every unit")
MASTER = "a master copy of its partition in fp32 is kept in fp32 training too"
MODULES = ("parameters are gathered module by module, the tied table for the embedding and again for the head; ours by "
           "unit, a transformer block, or embeddings and head together")
BUCKET = "all gradients fit in one reduce bucket and leave together; ours leave by unit"
AHEAD = ("the defaults fetch 50 million elements ahead, which is all of this model in one call, and keep what was fetched "
         "ahead for the backward pass; ours gathers each unit twice")


def reason(framework, quantity):
    """Why theirs is not ours."""
    stage = framework.split("-")[1] if framework.startswith("deepspeed") else None
    fp32 = not framework.endswith("bf16")
    gathers = AHEAD if framework.endswith("default") else MODULES
    reasons = {
        "fsdp1": {"all_gather": ROOT, "total": ROOT}, "fsdp2": {"all_gather": ROOT, "total": ROOT},
        "1": {"all_reduce": ALL_REDUCE, "reduce_scatter": ALL_REDUCE, "gradients": WHOLE_GRADIENTS,
              "total": "3Ψ(N-1)/N instead of the paper's 2Ψ(N-1)/N: " + ALL_REDUCE},
        "2": {"all_reduce": ALL_REDUCE, "reduce_scatter": ALL_REDUCE, "gradients": STRADDLING,
              "total": "3Ψ(N-1)/N instead of the paper's 2Ψ(N-1)/N: " + ALL_REDUCE},
        "3": {"reduce_scatter": BUCKET, "all_gather": gathers, "total": gathers},
    }[stage or framework]
    if stage and fp32:
        reasons["optimizer"] = MASTER
    return reasons[quantity.split(".")[1]]


def our_side(shardlab, strategy, precision, ranks):
    command = [shardlab, "sim", "--json", "--model", MODEL, "--strategy", strategy, "--precision", precision,
               "--ranks", str(ranks), "--micro-batch", str(MICRO_BATCH)]
    role = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["roles"][0]
    kinds = role["communication"]["by_kind"]
    ours = {"sent.total": role["communication"]["sent_bytes"]}
    for kind in KINDS:
        ours[f"calls.{kind}"] = kinds.get(kind, {}).get("calls", 0)
        ours[f"sent.{kind}"] = kinds.get(kind, {}).get("sent_bytes", 0)
    ours.update({f"held.{c}": role["memory"]["device"]["steady"][c] for c in HELD})
    return ours


def their_side(result, ranks):
    theirs = {f"{q}.{kind}": 0 for kind in KINDS for q in ("calls", "sent")}
    for kind, payload in result["calls"]:
        theirs[f"calls.{kind}"] += 1
        theirs[f"sent.{kind}"] += sent_by_ring(kind, payload, ranks)
    theirs["sent.total"] = sum(theirs[f"sent.{kind}"] for kind in KINDS)
    theirs.update({f"held.{c}": result["held"][c] for c in HELD})
    return theirs


def main():
    import deepspeed
    import torch
    import transformers
    top = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Writes the table of what the frameworks send and hold.")
    parser.add_argument("--out", type=pathlib.Path, default=top / "golden" / "frameworks.csv")
    parser.add_argument("--shardlab", default=str(top.parent / "build" / "shardlab"))
    arguments = parser.parse_args()
    rows, failed = [], []
    for ranks in [2, 4]:
        with tempfile.TemporaryDirectory() as folder:
            results = run_all(ranks, list(OURS), folder)
        for framework, result in results.items():
            if "error" in result:
                failed.append(f"# {framework} on {ranks} ranks cannot run on the CPU with gloo: "
                              + result["error"].strip().splitlines()[-1])
                print(result["error"], file=sys.stderr)
                continue
            strategy, precision = OURS[framework]
            ours, theirs = our_side(arguments.shardlab, strategy, precision, ranks), their_side(result, ranks)
            for quantity in sorted(theirs):
                if theirs[quantity] or ours[quantity]:
                    why = reason(framework, quantity) if theirs[quantity] != ours[quantity] else ""
                    rows.append([framework, ranks, strategy, precision, quantity, theirs[quantity], ours[quantity],
                                 why.replace(",", ";")])
    with open(arguments.out, "w", newline="") as f:
        f.write(f"# Made by tests/oracle/frameworks.py with torch {torch.__version__.split('+')[0]}, transformers "
                f"{transformers.__version__}, deepspeed {deepspeed.__version__}; gloo, {MODEL}, "
                f"{MICRO_BATCH} samples a rank.\n")
        f.write("\n".join(failed) + ("\n" if failed else ""))
        writer = csv.writer(f, lineterminator="\n", quoting=csv.QUOTE_NONE)
        writer.writerow(["framework", "ranks", "strategy", "precision", "quantity", "theirs", "ours", "why"])
        writer.writerows(rows)
    print(f"{arguments.out}: {len(rows)} rows, {len(failed)} frameworks that cannot run")


if __name__ == "__main__":
    main()
