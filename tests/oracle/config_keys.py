"""The keys of other programs' configurations, and their judgement of files, beside strategy/recipe.

    pip install -r tests/oracle/requirements.txt
    python tests/oracle/config_keys.py            (from the top folder; half a minute) writes verdicts.txt anew
    python tests/oracle/config_keys.py --check    the same, but fails where verdicts.txt would change

First it compares strategy/recipe/deepspeed.def with DeepSpeed's own models of its file: every key of a model is a row
with its type, bounds and default, every row of a "strict" section is a key, and what is deprecated or removed is in the
table as such. It fails when they differ, as with a newer release.

Then it asks the programs themselves: DeepSpeed's DeepSpeedConfig for one rank, Trainer's HfTrainerDeepSpeedConfig with
its default arguments, a hidden size of 768 and 1000 steps, and then DeepSpeedConfig with what that made of the file. In
tests/golden/recipes/deepspeed/ are files, and cases.txt, whose lines are files of one thought each; a train_batch_size
of 8 and an empty zero_optimization are added where a case says nothing of them. verdicts.txt has a line for each: `takes` or `refuses` of DeepSpeed, of
Trainer, and the name of the file or the number of the line. tests/strategy/test_recipe.c says the same of each.

Likewise strategy/recipe/accelerate.def beside Accelerate's ClusterConfig and the options of `accelerate launch`, and the
files of tests/golden/recipes/accelerate by what it does with them before it starts a rank, and what a rank makes of that.
config_jobs.py does the same of torchtitan and of Trainer's arguments.
"""

import enum
import json
import logging
import os
import pathlib
import re
import sys
import tempfile
import types
import typing

os.environ["DS_BUILD_OPS"] = "0"
os.environ["DS_ACCELERATOR"] = "cpu"
logging.disable(logging.CRITICAL)

import accelerate  # noqa: E402
import deepspeed  # noqa: E402
import transformers  # noqa: E402
from deepspeed.comm.config import CommsLoggerConfig  # noqa: E402
from deepspeed.compile.config import CompileConfig  # noqa: E402
from deepspeed.inference.config import WeightQuantConfig  # noqa: E402
from deepspeed.monitor.config import CSVConfig, CometConfig, TensorBoardConfig, WandbConfig  # noqa: E402
from deepspeed.runtime import config as runtime  # noqa: E402
from deepspeed.runtime.config_utils import DeepSpeedConfigModel  # noqa: E402
from deepspeed.runtime.precision_config import DeepSpeedBF16Config, DeepSpeedFP16Config  # noqa: E402
from deepspeed.runtime.tensor_parallel.config import TPTrainingConfig  # noqa: E402
from deepspeed.runtime.zero.config import DeepSpeedZeroConfig  # noqa: E402
from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig  # noqa: E402

import config_jobs as jobs  # noqa: E402

VERSIONS = {deepspeed: "0.19.8", accelerate: "1.15", transformers: "5.23"}
MODELS = {
    "zero_optimization": DeepSpeedZeroConfig, "fp16": DeepSpeedFP16Config, "bf16": DeepSpeedBF16Config,
    "tensorboard": TensorBoardConfig, "wandb": WandbConfig, "csv_monitor": CSVConfig, "comet": CometConfig,
    "comms_logger": CommsLoggerConfig, "compile": CompileConfig, "hybrid_engine": runtime.HybridEngineConfig,
    "tensor_parallel": TPTrainingConfig, "weight_quantization": WeightQuantConfig,
}
TABLE = pathlib.Path("strategy/recipe/deepspeed.def")
FOLDER = pathlib.Path("tests/golden/recipes/deepspeed")
ACCELERATE = pathlib.Path("strategy/recipe/accelerate.def")
ACCELERATE_FOLDER = pathlib.Path("tests/golden/recipes/accelerate")
TORCHTITAN_FOLDER = pathlib.Path("tests/golden/recipes/torchtitan")
TRAINER_FOLDER = pathlib.Path("tests/golden/recipes/trainer")


# ---- the table ----

def rows(name, table=TABLE):
    text = re.sub(r"/\*.*?\*/", "", table.read_text(), flags=re.S)
    for line in text.splitlines():
        match = re.match(rf"{name}\((.*)\)$", line)
        if match:
            yield [json.loads(part) if part.startswith('"') else part
                   for part in re.findall(r'"(?:[^"\\]|\\.)*"|\w+', match[1])]


def base(annotation):
    """The type itself, and whether null may stand there."""
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Union and type(None) in arguments:
        rest = [a for a in arguments if a is not type(None)]
        return (rest[0] if len(rest) == 1 else typing.Union[tuple(rest)]), "?"
    return annotation, ""


def type_of(field, model):
    kind, null = base(field.annotation)
    origin = typing.get_origin(kind)
    bounds = "".join(f" {sign}{getattr(m, attribute):g}" for m in field.metadata
                     for attribute, sign in (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<=")) if hasattr(m, attribute))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        values = dict.fromkeys(str(member.value) for member in kind)
        return "|".join(values) + null
    if origin is typing.Literal:
        return "|".join(typing.get_args(kind)) + null
    if isinstance(kind, type) and issubclass(kind, DeepSpeedConfigModel) or origin is dict or kind is typing.Dict:
        return "section" + null
    if origin is list or kind in (list, tuple):
        return "list" + null
    names = {bool: "flag", int: "whole", float: "real", str: "text", pathlib.Path: "text"}
    return names[kind] + null + bounds if kind in names else "any"


def default_of(field):
    value = field.get_default(call_default_factory=True)
    if isinstance(value, DeepSpeedConfigModel) or value == {}:
        return "{}"
    if isinstance(value, list):
        return "[]"
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (str, bool, type(None))):
        return value if isinstance(value, str) else json.dumps(value)
    return str(int(value)) if isinstance(value, int) else str(value)


# Rules beyond the models: those of a validator, and words behind a text.
EXTRA = {"fp16.loss_scale": "real >=0", "zero_optimization.zenflow.select_strategy": "auto|step|epoch",
         "zero_optimization.zenflow.select_interval": "any", "zero_optimization.zenflow.update_interval": "any"}


def fields(section, model):
    for name, field in model.model_fields.items():
        path = f"{section}.{field.alias or name}"
        old = bool((field.json_schema_extra or {}).get("deprecated"))
        yield path, EXTRA.get(path, type_of(field, model)), default_of(field), old, \
            f"{section}.{name}" if field.alias else None
        inner, _ = base(field.annotation)
        if isinstance(inner, type) and issubclass(inner, DeepSpeedConfigModel) and not old:
            yield from fields(path, inner)


def compare_table():
    wrong = []
    keys = {row[0]: row for row in rows("KEY")}
    aliases, olds = dict(rows("ALIAS")), {row[0]: row for row in rows("OLD")}
    known = set()
    for section, model in MODELS.items():
        for path, kind, default, old, other in fields(section, model):
            known.add(path)
            row = olds.get(path) if old else keys.get(path)
            if not row:
                wrong.append(f"{path}: missing; type {kind}, default {default}")
            elif row[2 if old else 1] != kind:
                wrong.append(f"{path}: type '{row[2 if old else 1]}', and the model has '{kind}'")
            elif not old and row[2] != default and section + "." in path and kind not in ("any", "section"):
                wrong.append(f"{path}: default '{row[2]}', and the model has '{default}'")
            if other and aliases.get(other) != path:
                wrong.append(f"{other}: no alias of {path}")
    for path in keys:
        if path.split(".")[0] in MODELS and "." in path and path not in known:
            wrong.append(f"{path}: unknown to the models")
    gone = {row[0] for row in rows("GONE")}
    theirs = set(runtime._REMOVED_TOP_LEVEL_CONFIG_KEYS)
    theirs |= {f"zero_optimization.{key}" for key in runtime._REMOVED_ZERO_CONFIG_KEYS}
    wrong += [f"{path}: removed there or here alone" for path in gone ^ theirs]
    return wrong


# ---- the programs' judgement ----

def deepspeed_error(path_or_dict):
    try:
        runtime.DeepSpeedConfig(path_or_dict)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def trainer_error(path):
    args = types.SimpleNamespace(
        world_size=1, per_device_train_batch_size=8, gradient_accumulation_steps=1, max_grad_norm=1.0, learning_rate=5e-5,
        adam_beta1=0.9, adam_beta2=0.999, adam_epsilon=1e-8, weight_decay=0.0, save_on_each_node=False, fp16=False,
        fp16_full_eval=False, bf16=False, bf16_full_eval=False, get_warmup_steps=lambda steps: 0)
    try:
        config = HfTrainerDeepSpeedConfig(path)
        # An argument agrees with the file where that says a value: only "auto" is Trainer's to fill in.
        config.fill_match = types.MethodType(lambda self, *a, **k: HfTrainerDeepSpeedConfig.fill_match(
            self, *a[:3], **{**k, "must_match": False}), config)
        config.trainer_config_process(args)
        model = types.SimpleNamespace(config=types.SimpleNamespace(hidden_size=768))
        config.trainer_config_finalize(args, model, 1000)
        accelerate.utils.DeepSpeedPlugin(hf_ds_config=config)
        return deepspeed_error(config.config)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def verdict(name, path):
    errors = deepspeed_error(path), trainer_error(path)
    for error in errors:
        if error:
            print(f"    {name}: {error.splitlines()[0][:150]}", file=sys.stderr)
    return " ".join("refuses" if e else "takes" for e in errors) + f" {name}\n"


def judge_files():
    lines = [verdict(path.name, str(path)) for path in sorted(FOLDER.glob("*.json"))]
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate((FOLDER / "cases.txt").read_text().splitlines(), 1):
            path = pathlib.Path(folder) / "case.json"
            config = json.loads(case)
            config.setdefault("train_batch_size", 8)
            config.setdefault("zero_optimization", {})
            path.write_text(json.dumps(config))
            lines.append(verdict(str(number), str(path)))
    return "".join(lines)


def judge_axes(args):
    """What Accelerator asks of parallelism_config when a rank makes one."""
    from accelerate import DistributedType, ParallelismConfig
    kind = DistributedType.FSDP if args.use_fsdp else DistributedType.MULTI_GPU
    ParallelismConfig()._validate_accelerator(types.SimpleNamespace(
        multi_device=args.num_processes > 1, num_processes=args.num_processes, distributed_type=kind,
        is_fsdp2=bool(args.use_fsdp) and args.fsdp_version == 2, is_main_process=False))


def accelerate_error(path):
    """`accelerate launch` up to the environment of the ranks, and the plugin that these make of it."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils import DeepSpeedPlugin, FullyShardedDataParallelPlugin
    from accelerate.utils.launch import (
        prepare_deepspeed_cmd_env, prepare_multi_gpu_env, prepare_simple_launcher_cmd_env)
    before, folder = dict(os.environ), os.getcwd()
    os.chdir(pathlib.Path(path).parent)  # a file of DeepSpeed's that it names is opened from there
    try:
        args, defaults, mixed = _validate_launch_command(
            launch_command_parser().parse_args(["--config_file", pathlib.Path(path).name, "x.py"]))
        if args.use_deepspeed:  # as launch_command does
            fields = list(defaults.deepspeed_config) + ["mixed_precision"] * mixed
            args.deepspeed_fields_from_accelerate_config = ",".join(fields)
            os.environ.update(prepare_deepspeed_cmd_env(args)[1])
            DeepSpeedPlugin()
        if args.multi_gpu or args.use_fsdp or args.use_megatron_lm:
            os.environ.update(prepare_multi_gpu_env(args))
        elif not args.use_deepspeed:
            os.environ.update(prepare_simple_launcher_cmd_env(args)[1])
        if args.use_fsdp:
            FullyShardedDataParallelPlugin()
        if os.environ.get("ACCELERATE_USE_PARALLELISM_CONFIG", "false") == "true":
            judge_axes(args)
    except Exception as error:
        no_device = "no available devices found" in str(error)  # the last that the plugin asks for
        return None if no_device else f"{type(error).__name__}: {error}"
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)
    return None


def compare_accelerate():
    from accelerate.commands.config.config_args import ClusterConfig
    from accelerate.commands.launch import launch_command_parser
    keys = {row[0] for row in rows("KEY", ACCELERATE)}
    mine = {key for key in keys if "." not in key}
    theirs = set(ClusterConfig.__dataclass_fields__) | {"fp16", "dynamo_backend"}
    wrong = [f"{key}: at the top there or here alone" for key in mine ^ theirs]
    options = {action.dest for action in launch_command_parser()._actions}
    for section, prefix in ("fsdp_config", "fsdp_"), ("parallelism_config", "parallelism_config_"):
        mine = {key.split(".")[1] for key in keys if key.startswith(section + ".")} - {"fsdp_ignored_modules"}
        theirs = {option for option in options if option.startswith(prefix)}
        wrong += [f"{section}.{key}: there or here alone" for key in mine ^ theirs]
    return wrong


def judge_accelerate():
    lines = []
    for path in sorted(path for path in ACCELERATE_FOLDER.iterdir() if path.is_file() and path.name != "verdicts.txt"):
        error = accelerate_error(str(path))
        if error:
            print(f"    {path.name}: {error.splitlines()[0][:150]}", file=sys.stderr)
        lines.append(("refuses " if error else "takes ") + path.name + "\n")
    return "".join(lines)


def main():
    wrong = [f"{module.__name__} is {module.__version__}, and the table is of {version}"
             for module, version in VERSIONS.items() if not module.__version__.startswith(version)]
    wrong += compare_table() + compare_accelerate() + jobs.compare_torchtitan(rows) + jobs.compare_trainer(rows)
    for folder, verdicts in ((FOLDER, judge_files()), (ACCELERATE_FOLDER, judge_accelerate()),
                             (TORCHTITAN_FOLDER, jobs.judge_folder(TORCHTITAN_FOLDER, jobs.run_torchtitan, ".toml")),
                             (TRAINER_FOLDER, jobs.judge_folder(TRAINER_FOLDER, jobs.run_trainer, ".json",
                                                                deepspeed_error))):
        golden = folder / "verdicts.txt"
        if "--check" not in sys.argv:
            golden.write_text(verdicts)
        elif golden.read_text() != verdicts:
            wrong.append(f"{golden}: the programs judge otherwise")
    print("\n".join(wrong) or "the same")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
