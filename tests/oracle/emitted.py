"""The files of tests/golden/recipes/emitted, which `--emit` writes, read by the programs that they are for.

    pip install -r tests/oracle/requirements.txt
    pip install --no-deps torchtitan==0.2.2 && pip install tyro
    python tests/oracle/emitted.py              (from the top folder; half a minute) fails if a program refuses one, or
                                                makes something else of it than was meant

DeepSpeed makes a DeepSpeedConfig of its files, for as many ranks as their batch needs. Accelerate goes as far as
`accelerate launch` does before it starts a rank, and makes the plugins of what that hands to one. Trainer's arguments
are read as HfArgumentParser reads a file; of the section for DeepSpeed Trainer makes its configuration, and DeepSpeed
its own of that. torchtitan's ConfigManager reads its files; its later releases read none. What a program made of a file
is looked up in MEANT, by the first part of the file's name.
"""

import json
import logging
import os
import pathlib
import sys
import types

os.environ["DS_BUILD_OPS"] = "0"
os.environ["DS_ACCELERATOR"] = "cpu"
logging.disable(logging.CRITICAL)

import accelerate  # noqa: E402
import deepspeed  # noqa: E402
import transformers  # noqa: E402
from deepspeed.runtime.config import DeepSpeedConfig  # noqa: E402

VERSIONS = {deepspeed: "0.19.8", accelerate: "1.15", transformers: "5.23"}
FOLDER = pathlib.Path("tests/golden/recipes/emitted")

# ranks, micro-batch, accumulation, precision, ZeRO stage, what FSDP frees after forward, offload
MEANT = {
    "plain": (4, 1, 1, "fp32", 0, None, ""), "alone": (1, 1, 1, "bf16", 0, None, ""),
    "ddp": (8, 1, 1, "bf16", 0, None, ""), "sgd": (4, 1, 1, "fp32", 0, None, ""),
    "zero1": (8, 2, 4, "bf16", 1, None, ""), "zero2": (8, 2, 1, "fp16", 2, None, ""),
    "zero2_offload": (4, 1, 1, "fp32", 2, None, "cpu"), "zero3": (16, 1, 1, "bf16", 3, None, ""),
    "zero3_secondary": (4, 1, 1, "bf16", 3, None, ""), "zero3_unit": (4, 1, 1, "bf16", 3, None, ""), "zero3_disk": (4, 1, 1, "fp32", 3, None, "nvme nvme"),
    "scale": (4, 1, 1, "fp16", 0, None, ""), "fsdp": (8, 2, 1, "bf16", 0, True, ""),
    "fsdp_operations": (4, 1, 1, "fp32", 0, True, ""),
    "fsdp_keep": (8, 1, 2, "fp32", 0, False, ""), "fsdp_sync": (8, 1, 2, "fp32", 0, True, ""),
    "fsdp_offload": (4, 1, 1, "bf16", 0, True, "cpu cpu"), "hybrid": (8, 1, 1, "bf16", 0, True, ""),
    "selective": (4, 1, 1, "fp32", 0, True, ""), "tensor": (4, 2, 1, "bf16", 0, None, ""),
    "pipeline": (4, 1, 8, "fp32", 0, None, ""), "one_in": (4, 1, 1, "bf16", 0, True, ""),
    "llama": (8, 1, 1, "bf16", 0, True, ""), "fsdp_save": (4, 1, 1, "bf16", 0, True, ""),
    "zero3_save": (4, 1, 1, "bf16", 3, None, ""), "fsdp_whole": (4, 1, 1, "fp32", 0, False, ""),
    "hybrid_keep": (8, 1, 1, "fp32", 0, False, ""),
    "zero3_kept": (4, 1, 1, "bf16", 3, None, ""), "zero3_bucket": (4, 1, 1, "bf16", 3, None, ""),
    "zero3_buffers": (4, 1, 1, "bf16", 3, None, "nvme nvme"), "zero3_staged": (4, 1, 1, "bf16", 3, None, "cpu nvme"),
    "fsdp_post": (4, 1, 1, "fp32", 0, True, ""), "fsdp_two": (4, 1, 1, "bf16", 0, False, ""),
    "fsdp_all": (4, 1, 1, "fp32", 0, True, ""), "hybrid_post": (8, 1, 1, "fp32", 0, True, ""),
    "foreach": (4, 1, 1, "fp32", 0, True, ""), "digits": (4, 1, 1, "fp32", 0, None, ""),
}
SECOND_COPY = {"zero3_secondary": 2}  # ranks that keep one between forward and backward
GATHERED = ("fsdp_save", "zero3_save")  # weights are gathered to be saved


def precision_of(bf16, fp16):
    return "bf16" if bf16 else "fp16" if fp16 else "fp32"


# ---- DeepSpeed ----

def of_deepspeed(config, ranks):
    """config: a path or a dictionary. The ranks are those of an mpu, which is what DeepSpeed asks first."""
    mpu = types.SimpleNamespace(get_data_parallel_world_size=lambda: ranks, get_model_parallel_world_size=lambda: 1)
    deepspeed.comm.get_rank = lambda: 0
    made = DeepSpeedConfig(config, mpu)
    zero = made.zero_config
    places = [str(getattr(p.device, "value", p.device))
              for p in (zero.offload_optimizer, zero.offload_param) if p and p.device != "none"]
    return {"micro": made.train_micro_batch_size_per_gpu, "accumulate": made.gradient_accumulation_steps,
            "precision": precision_of(made.bfloat16_config.enabled, made.float16_config.enabled),
            "stage": made.zero_optimization_stage, "secondary": zero.zero_hpz_partition_size,
            "offload": " ".join(places), "gathered": zero.gather_16bit_weights_on_model_save}


def read_deepspeed(path, ranks):
    return of_deepspeed(str(path), ranks)


# ---- Accelerate ----

def read_accelerate(path, ranks):
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils import DeepSpeedPlugin, FullyShardedDataParallelPlugin
    from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env
    args, _, mixed = _validate_launch_command(launch_command_parser().parse_args(["--config_file", str(path), "x.py"]))
    got = {"ranks": args.num_processes, "stage": 0, "precision": args.mixed_precision.replace("no", "fp32")}
    if args.use_deepspeed:
        args.deepspeed_fields_from_accelerate_config = []
        os.environ.update(prepare_deepspeed_cmd_env(args)[1])
        plugin = DeepSpeedPlugin()
        config = plugin.deepspeed_config
        if args.deepspeed_config_file:  # it says all but the ranks
            return got | {"ranks": args.num_processes} | of_deepspeed(args.deepspeed_config_file, args.num_processes)
        zero = config["zero_optimization"]
        places = [zero[f"offload_{what}"]["device"] for what in ("optimizer", "param")]
        got |= {"stage": plugin.zero_stage, "accumulate": config["gradient_accumulation_steps"],
                "offload": " ".join(place for place in places if place != "none"),
                "gathered": zero["stage3_gather_16bit_weights_on_model_save"]}
    elif args.use_fsdp:
        os.environ.update(prepare_multi_gpu_env(args))
        first = os.environ["FSDP_VERSION"] == "1"
        frees = os.environ["FSDP_SHARDING_STRATEGY"] in ("FULL_SHARD", "HYBRID_SHARD")
        got |= {"reshard": frees if first else os.environ["FSDP_RESHARD_AFTER_FORWARD"] == "true",
                "offload": "cpu cpu" if os.environ["FSDP_OFFLOAD_PARAMS"] == "true" else "",
                "gathered": os.environ.get("FSDP_STATE_DICT_TYPE") == "FULL_STATE_DICT"}
        try:
            FullyShardedDataParallelPlugin()
        except RuntimeError as error:  # the last that it asks for is a GPU
            assert "no available devices found" in str(error), error
    elif args.multi_gpu:
        prepare_multi_gpu_env(args)
    return got


# ---- Trainer ----

def read_trainer(path, ranks):
    from transformers import HfArgumentParser, TrainingArguments
    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig
    said = json.loads(path.read_text())
    args, = HfArgumentParser(TrainingArguments).parse_dict({**said, "deepspeed": None, "use_cpu": True})
    got = {"micro": args.per_device_train_batch_size, "accumulate": args.gradient_accumulation_steps,
           "precision": precision_of(args.bf16, args.fp16), "stage": 0}
    if args.fsdp:
        plugin = args.fsdp_plugin_args
        first = plugin["fsdp_version"] == 1
        frees = plugin["reshard_after_forward"] == "full_shard" if first else plugin["reshard_after_forward"]
        got |= {"reshard": frees, "offload": "cpu cpu" if plugin.get("cpu_offload") else ""}
    if said.get("deepspeed"):
        config = HfTrainerDeepSpeedConfig(said["deepspeed"])
        config.trainer_config_process(args)
        config.trainer_config_finalize(args, types.SimpleNamespace(config=types.SimpleNamespace(hidden_size=64)), 1000)
        got |= of_deepspeed({**config.config, "train_batch_size": None}, ranks)
    return got


# ---- torchtitan ----

def read_torchtitan(path, ranks):
    from torchtitan.config import ConfigManager
    made = ConfigManager().parse_args(["--job.config_file", str(path)])
    axes, training = made.parallelism, made.training
    degrees = [axes.data_parallel_replicate_degree, axes.data_parallel_shard_degree, axes.tensor_parallel_degree,
               axes.pipeline_parallel_degree]
    product = degrees[0] * degrees[1] * degrees[2] * degrees[3]
    piped = axes.pipeline_parallel_degree > 1
    micro = axes.pipeline_parallel_microbatch_size if piped else training.local_batch_size
    names = {"bfloat16": "bf16", "float32": "fp32"}
    got = {"ranks": product, "micro": micro, "precision": names[training.mixed_precision_param],
           "accumulate": training.global_batch_size // (micro * degrees[0] * degrees[1]),
           "offload": "cpu cpu" if training.enable_cpu_offload else "", "stage": 0}
    if degrees[1] > 1:
        got["reshard"] = axes.fsdp_reshard_after_forward == "always"
    return got


READERS = {"deepspeed": read_deepspeed, "accelerate": read_accelerate, "trainer": read_trainer,
           "torchtitan": read_torchtitan}
KEYS = ("ranks", "micro", "accumulate", "precision", "stage", "reshard", "offload")


def wrong_with(path):
    name, target, _ = path.name.split(".")
    name = name.removesuffix("-two")  # two files, of which the first names the second
    meant = dict(zip(KEYS, MEANT[name]), gathered=name in GATHERED, secondary=SECOND_COPY.get(name, 1))
    before = dict(os.environ)
    try:
        got = READERS[target](path, meant["ranks"])
    except (Exception, SystemExit) as error:
        return [f"{path.name}: refused: {type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"]
    finally:
        os.environ.clear()
        os.environ.update(before)
    return [f"{path.name}: {key} is {value}, and {meant[key]} was meant" for key, value in got.items()
            if value != meant[key]]


def main():
    wrong = [f"{module.__name__} is {module.__version__}, and the files are for {version}"
             for module, version in VERSIONS.items() if not module.__version__.startswith(version)]
    files = sorted(path for path in FOLDER.iterdir() if path.name.count(".") == 2)
    for path in files:
        wrong += wrong_with(path)
    print("\n".join(wrong) or f"{len(files)} files are read as they were meant")
    sys.exit(bool(wrong))


main()
