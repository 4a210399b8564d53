"""torchtitan's and Trainer's part of config_keys.py: their own tables of keys, and their judgement of files.

A file of torchtitan's goes as far as a job of 8 ranks does before it has a GPU: ConfigManager, ParallelDims, the mesh's
and the batch's own asserts (train.py, lines 195-215, and parallelize_llama's), the checkpoints and the optimizer of a
model of one layer, the schedule of a pipeline, and the flavors of models.

Arguments of Trainer's go as far as TrainingArguments of one process; then what Trainer.__init__ refuses of them, and
DeepSpeed's own judgement of what they make of its configuration. A GPU that knows bf16 and TF32 is taken for granted.
"""

import ast
import contextlib
import dataclasses
import enum
import importlib.util
import io
import json
import os
import pathlib
import re
import tempfile
import types
import typing
import warnings

import torch

TORCHTITAN = "0.2.2"
RANKS = 8
FAMILIES = ("deepseek_v3", "flux", "gpt_oss", "llama3", "llama3_ft", "llama4", "qwen3")


def package():
    return pathlib.Path(importlib.util.find_spec("torchtitan").origin).parent


def quiet(function, *arguments):
    """Its exception in one line; None: there is none."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*arguments)
        except (Exception, SystemExit) as error:
            return f"{type(error).__name__}: {error}".splitlines()[0]
    return None


# ---- torchtitan ----

def flavors(family):
    """The keys of llama3_args, say: importing the module needs what torchtitan reads data with."""
    folder = family.removesuffix("_ft")
    tree = ast.parse((package() / f"models/{folder}/__init__.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").endswith(("_args", "_configs")):
            return [key.value for key in node.value.keys]


def experiments():
    tree = ast.parse((package() / "experiments/__init__.py").read_text())
    return {name.value for name in tree.body[-1].value.args[0].elts}


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleDict({"0": torch.nn.Linear(2, 2)})


def run_torchtitan(path):
    from torch.distributed.pipelining.schedules import get_schedule_class
    from torchtitan.components.optimizer import build_optimizers
    from torchtitan.config import ConfigManager, TORCH_DTYPE_MAP
    from torchtitan.distributed.activation_checkpoint import apply_ac
    from torchtitan.distributed.parallel_dims import ParallelDims
    config = ConfigManager().parse_args([f"--job.config_file={path}"])
    p, t = config.parallelism, config.training
    dims = ParallelDims(p.data_parallel_replicate_degree, p.data_parallel_shard_degree, p.context_parallel_degree,
                        p.tensor_parallel_degree, p.pipeline_parallel_degree, p.expert_parallel_degree,
                        p.expert_tensor_parallel_degree, RANKS)
    data = dims.dp_replicate * dims.dp_shard
    batch = t.global_batch_size if t.global_batch_size >= 0 else t.local_batch_size * data
    assert batch > 0 and batch % (t.local_batch_size * data) == 0 and batch // (t.local_batch_size * data) > 0
    assert t.seq_len % dims.seq_len_divisor == 0
    if config.model.name not in experiments():
        assert config.model.name in FAMILIES, config.model.name
        assert config.model.flavor in flavors(config.model.name), config.model.flavor
    for dtype in t.dtype, t.mixed_precision_param, t.mixed_precision_reduce:
        TORCH_DTYPE_MAP[dtype]
    compiled = config.compile.enable and "model" in config.compile.components
    if config.activation_checkpoint.mode != "none":
        apply_ac(Block(), config.activation_checkpoint, model_compile_enabled=compiled)
    if dims.dp_shard_enabled or dims.cp_enabled:
        assert p.fsdp_reshard_after_forward in ("always", "never", "default")
    elif dims.dp_replicate_enabled:
        assert RANKS == dims.dp_replicate, "DDP has not supported > 1D parallelism"
    if dims.pp_enabled:
        get_schedule_class(p.pipeline_parallel_schedule)
        assert t.local_batch_size % p.pipeline_parallel_microbatch_size == 0
    build_optimizers([torch.nn.Linear(2, 2)], config.optimizer, dims)


def compare_torchtitan(rows):
    import importlib.metadata
    from torchtitan.config import JobConfig
    version = importlib.metadata.version("torchtitan")
    wrong = [] if version == TORCHTITAN else [f"torchtitan is {version}, and the table is of {TORCHTITAN}"]
    table = pathlib.Path("strategy/recipe/torchtitan.def")
    mine = {row[0]: row for row in rows("KEY", table)}
    theirs = {path: (kind, default) for path, kind, default in torchtitan_fields(JobConfig)}
    wrong += [f"{path}: in torchtitan or here alone" for path in mine.keys() ^ theirs.keys()]
    wrong += [f"{path}: '{row[1]}' with default '{row[2]}', and JobConfig has {theirs[path]}"
              for path, row in mine.items() if path in theirs and (row[1].replace("|inf", ""), row[2]) != theirs[path]]
    known = {(row[0], row[1]) for row in rows("FLAVOR", table)}
    theirs = {(family, flavor) for family in FAMILIES if family != "llama3_ft" for flavor in flavors(family)}
    wrong += [f"{family} {flavor}: there or here alone" for family, flavor in known ^ theirs]
    mine = re.search(r"#define TORCHTITAN_EXPERIMENTS(.*?)\n\S", (table.parent / "reader.h").read_text(), re.S)[1]
    wrong += [f"{name}: an experiment there or here alone"
              for name in set("".join(re.findall('"(.*?)"', mine)).split("|")) ^ experiments()]
    return wrong


def torchtitan_fields(cls, prefix=""):
    for field in dataclasses.fields(cls):
        path = prefix + field.name
        yield path, kind_of(field.type), default_of(field)
        if dataclasses.is_dataclass(field.type):
            yield from torchtitan_fields(field.type, path + ".")


# ---- tables of dataclasses ----

def kind_of(annotation):
    """The type of a row. No value is checked before it is used, but for enumerations."""
    arguments, null = typing.get_args(annotation), ""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        rest = [a for a in arguments if a is not type(None)]
        null = "?" if len(rest) < len(arguments) else ""
        enums = [a for a in rest if isinstance(a, type) and issubclass(a, enum.Enum)]
        if enums:
            return "|".join(member.value for member in enums[0])
        if rest == [float, int]:
            rest = [float]
        if len(rest) > 1 and rest[0] == list[str]:
            return "any"
        if len(rest) > 1:
            return "~any"
        annotation = rest[0]
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return "~" + "|".join(typing.get_args(annotation)) + null
    if dataclasses.is_dataclass(annotation):
        return "section"
    if origin is dict or annotation is dict:
        return "~section" + null
    names = {bool: "~flag", int: "~whole", float: "~real", str: "~text"}
    return "~list" + null if origin is list else names[annotation] + null if annotation in names else "~any"


def default_of(field):
    value = field.default if field.default is not dataclasses.MISSING else field.default_factory()
    if dataclasses.is_dataclass(value):
        return "{}"
    if isinstance(value, list):
        return json.dumps(value).replace('"', "'") if value else "[]"
    if isinstance(value, enum.Enum):
        return value.value
    return value if isinstance(value, str) else json.dumps(value)


# ---- Trainer ----

# Arguments that may be a path or a section, or that take more than their annotation says.
SECTIONS = {"fsdp_config": "~section?", "accelerator_config": "~section?", "parallelism_config": "~any", "fsdp": "~any"}


def compare_trainer(rows):
    from accelerate.utils import GradientAccumulationPlugin
    from transformers import TrainingArguments
    from transformers.trainer_pt_utils import AcceleratorConfig
    mine = {row[0]: row for row in rows("KEY", pathlib.Path("strategy/recipe/trainer.def"))}
    theirs = {f.name: (SECTIONS.get(f.name, kind_of(f.type)), default_of(f))
              for f in dataclasses.fields(TrainingArguments) if f.init}
    theirs |= {f"accelerator_config.{f.name}": (kind_of(f.type), default_of(f))
               for f in dataclasses.fields(AcceleratorConfig)}
    # Trainer hands these to Accelerate as they are.
    theirs |= {f"accelerator_config.gradient_accumulation_kwargs.{f.name}": (kind_of(f.type), default_of(f))
               for f in dataclasses.fields(GradientAccumulationPlugin)}
    # fsdp_config is a dict whose keys are what _process_fsdp_args asks it for.
    import inspect
    read = set(re.findall(r'(?<!xla_)fsdp_config(?:\.get\(|\.setdefault\(|\[)"(\w+)"|"(\w+)" in self\.fsdp_config',
                          inspect.getsource(TrainingArguments)))
    theirs |= {f"fsdp_config.{a or b}": None for a, b in read}
    wrong = [f"{path}: in Trainer or here alone" for path in mine.keys() ^ theirs.keys()]
    wrong += [f"{path}: '{row[1]}' with default '{row[2]}', and Trainer has {theirs[path]}"
              for path, row in mine.items() if theirs.get(path) and tuple(row[1:3]) != theirs[path]]
    return wrong


def refuse_as_trainer(args):
    """Errors that Trainer.__init__ and create_accelerator_and_postprocess raise from arguments alone."""
    import accelerate
    if args.fsdp and args.deepspeed:
        raise ValueError("Using --fsdp xxx together with --deepspeed is not possible")
    if args.fsdp and args.fsdp_config.get("activation_checkpointing") and args.activation_checkpointing:
        raise ValueError("activation_checkpointing twice")
    kwargs = args.accelerator_config.gradient_accumulation_kwargs or {}
    if "num_steps" in kwargs and args.gradient_accumulation_steps > 1:
        raise ValueError("num_steps beside gradient_accumulation_steps")
    accelerate.utils.GradientAccumulationPlugin(**{**kwargs, "num_steps": 1})


def run_trainer(path, judge):
    import accelerate
    from transformers import HfArgumentParser, TrainingArguments
    parser = HfArgumentParser(TrainingArguments)
    args, = (parser.parse_yaml_file if path.endswith(".yaml") else parser.parse_json_file)(path)
    refuse_as_trainer(args)
    if args.fsdp:
        quietly = quiet(lambda: accelerate.utils.FullyShardedDataParallelPlugin(**args.fsdp_plugin_args))
        if quietly and "no available devices found" not in quietly:
            raise ValueError(quietly)
    if args.deepspeed:
        config = args.hf_deepspeed_config
        model = types.SimpleNamespace(config=types.SimpleNamespace(hidden_size=768))
        config.trainer_config_finalize(args, model, args.max_steps if args.max_steps > 0 else 1000)
        error = judge(config.config)
        if error:
            raise ValueError(error)


def judge_folder(folder, run, suffix, *more):
    """A line for each file and each line of cases.txt."""
    from transformers import training_args
    training_args.is_torch_bf16_gpu_available = lambda: True
    lines, start = [], os.getcwd()
    os.chdir(folder)
    try:
        names = sorted(p.name for p in pathlib.Path(".").iterdir() if p.suffix in (suffix, ".yaml"))
        cases = pathlib.Path("cases.txt").read_text().splitlines()
        with tempfile.TemporaryDirectory() as temporary:
            for number, name in enumerate(names + cases, 1 - len(names)):
                path = name
                if number > 0:
                    path, name = os.path.join(temporary, "case" + suffix), str(number)
                    pathlib.Path(path).write_text(cases[number - 1] + "\n")
                before = dict(os.environ)
                error = quiet(run, path, *more)
                os.environ.clear()
                os.environ.update(before)
                if error:
                    print(f"    {folder.name}/{name}: {error[:150]}")
                lines.append(("refuses " if error else "takes ") + name + "\n")
    finally:
        os.chdir(start)
    return "".join(lines)
