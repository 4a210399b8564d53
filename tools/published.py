"""Published training runs as requests to `shardlab sim`: what a row of a CSV file says, and what was measured.

For predict_published and fit_stacks, which say how they are used. A row has the columns model, n_params, n_layers,
d_model, n_heads, vocab, seq_len, n_gpus, gpu, interconnect, precision, strategy, dp, tp, pp, micro_batch_per_gpu,
grad_accum, global_batch_seqs, act_ckpt, offload, compile, tokens_s_gpu, tokens_s_total, samples_s, step_ms,
peak_mem_gib, mem_kind, status, quality, source_key and source; what a column does not say is empty.

The rules are tables, and each rule is about words that anybody may write in such a column: none knows a row, a paper or
a figure. A row is said

    exactly   everything that matters is in the row, and shardlab has all of it
    nearly    something was taken for something else, which `near` lists
    not       something is missing from the row or from shardlab: `why`

A row is left out of the fit, and of the scoreboard's errors, where RULES_OUT says so. Names of columns may be written
with capitals, spaces or dashes; a column that is none of these is named on stderr, and not read. Figures may have commas
between thousands, or k, M, B, T behind them; what is no figure is said so of its row.
"""
import csv
import difflib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

# ---- what words mean ----

# Architectures of public models, as their config.json have them: layers, width, heads, heads of keys, hidden, vocabulary,
# tied embeddings, biases of q, k and v.
ARCHITECTURES = [
    (r"qwen.?2(\.5)?.?0\.5b", (24, 896, 14, 2, 4864, 151936, True, True)),
    (r"qwen.?2(\.5)?.?1\.5b", (28, 1536, 12, 2, 8960, 151936, True, True)),
    (r"qwen.?2\.5.?3b", (36, 2048, 16, 2, 11008, 151936, True, True)),
    (r"qwen.?2(\.5)?.?7b", (28, 3584, 28, 4, 18944, 152064, False, True)),
    (r"qwen.?2\.5.?14b", (48, 5120, 40, 8, 13824, 152064, False, True)),
    (r"qwen.?2\.5.?32b", (64, 5120, 40, 8, 27648, 152064, False, True)),
    (r"qwen.?2(\.5)?.?72b", (80, 8192, 64, 8, 29568, 152064, False, True)),
    (r"llama.?2.?7b", (32, 4096, 32, 32, 11008, 32000, False, False)),
    (r"llama.?2.?13b", (40, 5120, 40, 40, 13824, 32000, False, False)),
    (r"llama.?2.?34b", (48, 8192, 64, 8, 22016, 32000, False, False)),
    (r"llama.?2.?70b", (80, 8192, 64, 8, 28672, 32000, False, False)),
    (r"tiny.?llama", (22, 2048, 32, 4, 5632, 32000, False, False)),
    (r"llama.?3\.2.?1b", (16, 2048, 32, 8, 8192, 128256, True, False)),
    (r"llama.?3\.2.?3b", (28, 3072, 24, 8, 8192, 128256, True, False)),
    (r"llama.?3(\.1)?.?405b", (126, 16384, 128, 8, 53248, 128256, False, False)),
    (r"llama.?7b", (32, 4096, 32, 32, 11008, 32000, False, False)),
    (r"llama.?13b", (40, 5120, 40, 40, 13824, 32000, False, False)),
    (r"llama.?3[03]b", (60, 6656, 52, 52, 17920, 32000, False, False)),
    (r"llama.?65b", (80, 8192, 64, 64, 22016, 32000, False, False)),
    (r"llama.?3(\.1)?.?8b", (32, 4096, 32, 8, 14336, 128256, False, False)),
    (r"llama.?3(\.[13])?.?70b", (80, 8192, 64, 8, 28672, 128256, False, False)),
    (r"mistral.?7b", (32, 4096, 32, 8, 14336, 32000, False, False)),
]
# The same of GPTs: layers, width, heads, vocabulary. An architecture has a context, which counts where a row does not say
# how long its samples are.
SHAPES = [
    (r"gpt-?2.?(124m|small)", (12, 768, 12, 50257)), (r"gpt-?2.?(medium|345m|355m)", (24, 1024, 16, 50257)),
    (r"gpt-?2.?(large|774m)", (36, 1280, 20, 50257)), (r"gpt-?2.?(xl|1\.5b|1558m)", (48, 1600, 25, 50257)),
    (r"mpt.?125m", (12, 768, 12, 50368)), (r"mpt.?350m", (24, 1024, 16, 50368)), (r"mpt.?760m", (24, 1536, 12, 50368)),
    (r"mpt.?1b", (24, 2048, 16, 50368)), (r"mpt.?3b", (32, 2560, 20, 50368)), (r"mpt.?7b", (32, 4096, 32, 50368)),
    (r"mpt.?13b", (40, 5120, 40, 50368)), (r"mpt.?30b", (48, 7168, 56, 50368)), (r"mpt.?70b", (64, 8192, 64, 50368)),
    (r"bert.?large", (24, 1024, 16, 30522)), (r"bert.?base", (12, 768, 12, 30522)),
    (r"neox.?20b", (44, 6144, 64, 50432)), (r"gpt-?j", (28, 4096, 16, 50400)),
    (r"gpt-?neo.?1\.3b", (24, 2048, 16, 50257)), (r"gpt-?neo.?2\.7b", (32, 2560, 20, 50257)),
    (r"pythia.?160m", (12, 768, 12, 50304)), (r"pythia.?410m", (24, 1024, 16, 50304)), (r"pythia.?1b", (16, 2048, 8, 50304)),
    (r"pythia.?1\.4b", (24, 2048, 16, 50304)), (r"pythia.?2\.8b", (32, 2560, 32, 50304)),
    (r"pythia.?6\.9b", (32, 4096, 32, 50432)), (r"pythia.?12b", (36, 5120, 40, 50688)),
    (r"opt.?125m", (12, 768, 12, 50272)),
    (r"bloom.?560m", (24, 1024, 16, 250880)), (r"bloom.?1\.?1b", (24, 1536, 16, 250880)),
    (r"bloom.?1\.?7b", (24, 2048, 16, 250880)), (r"bloom.?3b", (30, 2560, 32, 250880)),
    (r"bloom.?7\.?1?b", (30, 4096, 32, 250880)), (r"bloom(.?176b)?$", (70, 14336, 112, 250880)),
    (r"opt.?1\.3b", (24, 2048, 32, 50272)), (r"opt.?2\.7b", (32, 2560, 32, 50272)), (r"opt.?6\.7b", (32, 4096, 32, 50272)),
    (r"opt.?13b", (40, 5120, 40, 50272)), (r"opt.?30b", (48, 7168, 56, 50272)), (r"opt.?66b", (64, 9216, 72, 50272)),
    (r"gpt-?3.?(175b)?$", (96, 12288, 96, 50257)),
]
CONTEXTS = [(r"gpt-?2", 1024), (r"llama.?3", 8192), (r"llama.?2|mistral", 4096), (r"qwen", 32768), (r"", 2048)]
# What a model is, by its name; with a third column it is only nearly that.
FAMILIES = [
    (r"\bt5|\bbart\b|blenderbot|moe\b|mixtral|\d+x\d+(\.\d+)?b|switch.?transf|\bvi-?t\b|resnet|diffusion|unet|whisper|clip\b|mamba|rwkv",
     None),
    (r"\bmpt\b|mpt-", "mpt"),
    (r"llama|qwen|mistral|vicuna|alpaca|\byi-", "llama"),
    (r"smollm|olmo|deepseek|internlm|baichuan|gemma|\bphi-?[34]", "llama", "a model that is taken for a Llama of that shape"),
    (r"gpt-?j|neox|gpt-?neo|pythia|falcon|starcoder", "gpt", "a model that is taken for a GPT of that shape"),
    (r"gpt|bloom|opt\b|opt-|megatron", "gpt"),
    (r"bert", "gpt", "an encoder that is taken for a GPT of that shape"),
    # By nothing but a number of parameters: 13B, 1T.
    (r"^\s*~?[\d.]+ ?[bt]\b", "gpt", "a model that is taken for a GPT of so many parameters"),
]
# Blocks of a model of so many parameters: those of GPT-3's eight (Brown et al. 2020, table 2.1) and Megatron's (Narayanan
# et al. 2021, table 1).
DEPTHS = [(125e6, 12), (350e6, 24), (760e6, 24), (1.3e9, 24), (2.7e9, 32), (6.7e9, 32), (13e9, 40), (18.4e9, 40),
          (39.1e9, 48), (76.1e9, 60), (145.6e9, 80), (175e9, 96), (310e9, 96), (530e9, 105), (1e12, 128)]

STRATEGIES = [  # the first that is found counts; with a third column only nearly
    (r"context.?parallel|\bCP ?=? ?[2-9]|ulysses|ring.?attention|expert.?parallel", None),
    (r"offload.*without --bind", None),
    (r"hpz|zero\+\+|forward only|inference|\blora\b|qlora", None),
    (r"hsdp|hybrid", "hybrid:shard=node"),
    (r"shard_grad_op", "fsdp:reshard=no"),
    (r"no_shard", "ddp"),
    (r"sharded_ddp", "zero2", "fairscale's sharded data parallelism is taken for ZeRO-2"),
    (r"fsdp|full_shard|fully.?sharded", "fsdp"),
    (r"zero\W?1\b.*deep.?compile", "zero1", "DeepCompile's passes over the graph are left out"),
    (r"zero\W?3\b.*deep.?compile", "zero3", "DeepCompile's passes over the graph are left out"),
    (r"deep.?compile", None),
    (r"(zero|stage)[-_ =]*(dp|stage|optimizer)?[-_ =]*3", "zero3"),
    (r"(zero|stage)[-_ =]*(dp|stage|optimizer)?[-_ =]*2", "zero2"),
    (r"(zero|stage)[-_ =]*(dp|stage|optimizer)?[-_ =]*1|-z 1", "zero1"),
    (r"zero.?offload on/off", None),
    (r"zero.?offload", "zero2", "ZeRO-Offload without a stage is taken for stage 2"),
    (r"zero[-_ =]*(stage)?[-_ =]*0|\bddp\b|\bdp\b|distributed.?data.?parallel|data parallel", "ddp"),
    (r"dataparallel", "dp"),
    (r"single", "single"),
]
# Where a row has one of these axes and no other, and as many GPUs.
AXES = [("tp", "tensor"), ("pp", "pipeline")]
PRECISIONS = [
    (r"mxfp|fp4|nf4|int[48]\b", None), (r"fp8|float8|e4m3", "fp8"), (r"bf16|bfloat16", "bf16"), (r"fp16|half|float16", "fp16"),
    (r"tf32", "tf32"), (r"fp32|float32", "fp32"),
]
# Programs that scale by the largest element of earlier steps (Transformer Engine), or find it where a tensor is made. Their
# casts read a tensor once; those of others read it twice.
SCALINGS = [(r"llm-foundry|composer|nanotron|megatron|llmq", "delayed"), (r"", "dynamic")]
# What is recomputed, as shardlab's policies say it. "selective op" is torchtitan's; of every second block is what its
# "selective" of a number is. Figures between 0 and 1 are for what has no policy: that much of the way from nothing to
# everything. Where a row has MFU and HFU, which counts what is recomputed, they say it better.
CHECKPOINTING = [
    (r"recompute-block", "full"), (r"recompute-ffn", 0.6), (r"recompute-(swiglu|norm)", "none"),
    (r"every (second|other|2nd|2)\b|selective[^/]{0,8}\b2\b", "full:one_in=2"),
    (r"every (third|3rd|3)\b|selective[^/]{0,8}\b3\b", "full:one_in=3"),
    (r"every (fourth|4th|4)\b|selective[^/]{0,8}\b4\b", "full:one_in=4"),
    (r"\b1/2\b|\bhalf\b", "full:one_in=2"), (r"\b1/3\b", "full:one_in=3"), (r"\b1/4\b", "full:one_in=4"), (r"selective.*\bop", "operations"), (r"selective", 0.5),
    (r"full|every (block|layer)", "full"), (r"none|^ *(no|off|false|disabled|0|without)\b", "none"),
    (r"^ *(yes|on|true|1|enabled|checkpointing|(activation|gradient).checkpointing)\b", "full"),
]
OFFLOADS = [  # with a third column only nearly
    (r"residual.*opt|opt.*residual", "optimizer,activations", "the residual stream is taken for all that is saved"),
    (r"residual", "activations", "the residual stream is taken for all that is saved"),
    (r"(nvme|disk|ssd).*param.*opt|(nvme|disk|ssd).*opt.*param|param.*opt.*(nvme|disk|ssd)|opt.*param.*(nvme|disk|ssd)",
     "optimizer:to=disk,parameters:to=disk"),
    (r"opt.*(nvme|disk|ssd)|(nvme|disk|ssd).*opt", "optimizer:to=disk"), (r"nvme|disk|ssd", None),
    (r"activation.*opt|opt.*activation", "optimizer,activations"),
    (r"activation", "activations"),
    (r"param.*opt|opt.*param", "optimizer,parameters"),
    (r"opt|master", "optimizer"),
    (r"^ *(none|no|off|false|0|-)? *$", "none"),
    (r"cpu", "optimizer,parameters"),
]
# Attention with its scores in memory, or flash attention's. Where a row does not say which, its card and its date do: flash
# attention needs an Ampere card, and Megatron and PyTorch took it up in 2023.
ATTENTIONS = [
    (r"flash|xformers|sdpa|memory.efficient", False),
    (r"(stored|standard|plain|fused softmax|math).{0,12}(scores|attention)", True),
]
BEFORE_FLASH = r"v100|dgx-2|t4|titan"
FLASH_SINCE = 2023
# The year of a source, where it says one: 2021-03-08, arXiv:2104.04473, SC21.
YEARS = [
    (r"\b(20\d\d)-[01]\d\b",), (r"arxiv\D{0,12}(\d\d)[01]\d\.\d{4,5}",),
    (r"\b(?:SC|ATC|OSDI|SOSP|NSDI|VLDB|MLSys|ICML|ICLR|NeurIPS|EuroSys|PPoPP|ASPLOS) ?'?((?:20)?\d\d)\b",),
]
CARDS = [
    (r"a100.*40.*pcie|a100.*pcie.*40", "a100-pcie-40gb"), (r"a100.*pcie", "a100-pcie-80gb"),
    (r"a100.*40", "a100-40gb"), (r"a100", "a100-80gb"), (r"h100.*pcie", "h100-pcie"), (r"h100|gh200", "h100"),
    (r"h200", "h200"), (r"b200", "b200"), (r"mi300", "mi300x"), (r"dgx-?2|sxm3", "dgx-2"), (r"v100.*16", "v100-16gb"),
    (r"v100", "v100-32gb"), (r"titan rtx", "titan-rtx"), (r"pro 6000", "rtx-pro-6000"), (r"5060 ?ti", "rtx-5060ti"),
    (r"5090", "rtx-5090"), (r"4090", "rtx-4090"), (r"3090", "rtx-3090"), (r"l40s", "l40s"), (r"\bl4\b", "l4"),
    (r"\ba10g?\b", "a10"), (r"\bt4\b", "t4"),
]
# Watts that the maker states. A card that is held at fewer has a clock that goes with their cube root, since power goes with
# clock × voltage².
WATTS = [(r"pcie", 350), (r"h100|h200", 700), (r"b200", 1000), (r"a100", 400), (r"v100", 300)]
MEMORIES = {"h100": "80GB", "a100-40gb": "40GB", "a100-80gb": "80GB", "v100-32gb": "32GB"}
# The gigabits a second of a node, from what is said of the network: a figure a second, in bits or (B) bytes. What is said of
# links inside of a node is not of it.
RATE = r"(\d+(?:\.\d+)?) ?((?:[gG]|[tT])[bB])(?:i?ts?)?(?:/s|/sec|ps|[eE]\b)"
NETWORKS = [
    (r"(\d+) ?[xX×] ?" + RATE, lambda m, gpus: int(m[1]) * gigabits(m[2], m[3])),
    (RATE + r" ?(?:per|/|a) ?gpu", lambda m, gpus: gigabits(m[1], m[2]) * gpus),
    (RATE, lambda m, gpus: gigabits(m[1], m[2])),
]
INSIDE = r"nvlink|nvswitch|pcie|hbm|intra-?node(?!.*inter)|memory"


def gigabits(figure, unit):
    return float(figure) * (1000 if unit[0] in "tT" else 1) * (8 if unit[1] == "B" else 1)


# Programs: the words of a row that name one, the stack that is fitted on its runs, its class, and a description. Where
# a row says that it was compiled, the class is pytorch-compiled.
PROGRAMS = [
    (r"llm-foundry|composer", "composer", "pytorch-eager", "LLM Foundry and Composer: FSDP, flash attention"),
    (r"nanotron", "nanotron", "megatron", "Hugging Face nanotron"),
    (r"torchtitan", "torchtitan", "pytorch-eager", "torchtitan: FSDP2"),
    (r"fms-fsdp", "fms-fsdp", "pytorch-compiled", "IBM foundation-model-stack: FSDP"),
    (r"llmq", "llmq", "fused", "LLMQ: C++ and CUDA"),
    (r"llm\.c", "llm.c", "fused", "llm.c: C and CUDA"),
    (r"megatron", "megatron-lm", "megatron", "Megatron-LM and Megatron-DeepSpeed"),
    (r"deepspeed|zero", "deepspeed-zero", "deepspeed", "DeepSpeed"),
    (r"", "pytorch", "pytorch-eager", "PyTorch"),
]
# The --as that predicts a program's memory. torchtitan's AdamW is fused, and so is Composer's; Megatron's
# kernels are its own under DeepSpeed's ZeRO, too, and its cross-entropy leaves no logits behind.
MEMORY_AS = [
    (r"llmq|llm\.c", "shardlab"),
    (r"torchtitan|composer|llm-foundry", "pytorch:update=inplace"),
    (r"megatron.?deepspeed", "deepspeed:loss=two:kernels=fused:groups=four"),
    (r"nanotron|megatron", "megatron"),
    (r"deepspeed|zero", "deepspeed"),
    (r"", "pytorch"),
]

# Figures of one step that are further apart contradict each other.
APART = 0.2
# Rows whose figures are no good measure, by the column that says so.
RULES_OUT = [
    ("quality", r"eye|digiti[sz]ed|screenshot|chart|bar|plotly data", "read off a picture"),
    ("quality", r"user report", "a user's report, without the setting"),
    ("quality", r"derived", "derived from another figure"),
    ("status", r"oom|fail", "no step was measured"),
    ("notes", r"best micro-batch|mixes|\+-\d+ ?%", "mixes several settings, or states a wide error"),
]


def find(table, text):
    """The row of a table whose pattern is in the text; None if there is none."""
    for row in table:
        if re.search(row[0], text or "", re.I):
            return row
    return None


FIGURE = re.compile(r"\s*~?\s*([\d.,_]+(?:e[+-]?\d+)?)\s*([kmbgt]?)\s*$", re.I)
TIMES = {"": 1, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}


def number(text):
    """A figure, with or without commas between thousands; None: there is none, or none that anybody measures."""
    m = FIGURE.match(text or "")
    try:
        v = float(re.sub(r"(?<=\d)[,_](?=\d{3}\b)", "", m[1])) * TIMES[m[2].lower()] if m else None
    except ValueError:
        return None
    return v if v is not None and 0 <= v < 1e18 else None


def is_empty(text):
    return re.fullmatch(r"\s*(-+|–|—|\?|n/?a|nan|null|unknown|not stated)?\s*", text or "", re.I) is not None


def year_of(text):
    """The year in which a source appeared; None: it does not say."""
    pattern = find(YEARS, text)
    return int(re.search(pattern[0], text, re.I)[1]) % 100 + 2000 if pattern else None


def rounding(text):
    """How far a written figure may be off by its rounding, as a share: half of its last digit."""
    digits = len(re.match(r"\d*", text.split(".")[1])[0]) if "." in text else 0
    return 0.5 / 10**digits * TIMES[FIGURE.match(text)[2].lower()] / number(text)


def whole(text):
    v = number(text)
    return int(v) if v is not None else None


class Run:
    """A row: `arguments` of shardlab sim, `stack`, `class_`, what was measured, or `why` it cannot be said."""

    def __init__(self, row):
        self.row, self.why, self.near, self.out = row, None, [], None
        self.arguments, self.cluster, self.step, self.peak = [], None, None, None
        self.recomputed = "none"  # a policy, or a share
        self.read_program()
        for column, pattern, reason in RULES_OUT:
            if re.search(pattern, row.get(column) or "", re.I) and not self.out:
                self.out = reason
        try:
            self.check_figures()
            self.read()
        except Unsaid as e:
            self.why = str(e)

    def read_program(self):
        r = self.row
        self.words = words = " ".join((r.get(k) or "") for k in ("source_key", "strategy"))
        _, self.stack, self.class_, self.about = find(PROGRAMS, words)
        self.as_ = find(MEMORY_AS, words)[1]
        if re.search("compile", r.get("compile") or "", re.I) or re.search("compile", r.get("strategy") or "", re.I):
            self.class_ = "pytorch-compiled"
            self.stack += "-compiled"
            self.about += ", compiled"
            self.as_ += "" if self.as_ == "shardlab" or "kernels=" in self.as_ else ":kernels=fused"

    def check_figures(self):
        """What says that nothing is stated is empty. What stands where a figure should, and is none: a setting cannot be
        said, and nothing was measured."""
        for column in COLUMNS:
            text = self.row.get(column)
            if is_empty(text):
                self.row[column] = ""
            elif column not in SETTINGS + MEASURES:
                continue
            elif number(text) is None:
                if column in SETTINGS:
                    raise Unsaid("what stands for %s is no figure" % column)
                self.out = self.out or "what stands for %s is no figure" % column
                self.row[column] = ""
            elif "~" in text and column in MEASURES:
                self.out = self.out or "a figure is said to be approximate"

    def read(self):
        self.read_sizes()
        self.read_ranks()
        self.read_options()
        self.read_step()
        memory = number(self.row.get("peak_mem_gib"))
        if memory and not re.search("before OOM|allocator print", self.row.get("mem_kind") or "", re.I):
            self.peak = memory * 2**30
        if self.step is None and self.peak is None:
            self.out = self.out or "neither a step's time nor memory was measured"

    def need(self, column, what):
        v = whole(self.row.get(column))
        if not v:
            raise Unsaid("the row does not state " + what)
        return v

    def assume(self, what, value):
        """Such a row can be predicted, and is no measure: nobody knows whether it is the same step."""
        self.near.append("%s is not stated: %s" % (what, value))
        self.out = self.out or "%s is not stated" % what

    def read_sizes(self):
        r = self.row
        name = r.get("model") or ""
        family = self.take(FAMILIES, name, "a model that shardlab does not have")
        known, shape = find(ARCHITECTURES, name), find(SHAPES, name)
        self.sequence = whole(r.get("seq_len"))
        if not self.sequence:
            self.sequence = find(CONTEXTS, name)[1]
            self.assume("the sequence", "the model's context")
        if known:
            layers, width, heads, kv, hidden, vocabulary, tied, bias = known[1]
            extra = ",kv_heads=%d,hidden=%d,tied=%s%s" % (kv, hidden, "yes" if tied else "no", ",bias=qkv" if bias else "")
        else:
            stated = [whole(r.get(c)) for c in ("n_layers", "d_model", "n_heads", "vocab")]
            if shape and not all(stated[:3]):
                stated = shape[1]
            elif not all(stated[:3]):
                stated = self.derive_shape(*stated)
            layers, width, heads = (self.need(c, c) if not v else v
                                    for c, v in zip(("n_layers", "d_model", "n_heads"), stated))
            vocabulary, extra = stated[3], ""
            if not vocabulary:
                vocabulary = 50257
                self.near.append("a vocabulary of 50,257")
            if family == "llama":
                extra = self.derive_hidden(layers, width, vocabulary)
        self.layers, self.width, self.vocabulary = layers, width, vocabulary
        self.model = "%s:layers=%d,width=%d,heads=%d,vocabulary=%d,context=%d%s" % (
            family, layers, width, heads, vocabulary, self.sequence, extra)

    def parameters(self):
        """What the row states, or its model's name; None."""
        m = re.search(r"([\d.]+) ?([BMT])\b", self.row.get("model") or "", re.I)
        return number(self.row.get("n_params")) or (number(m[0]) if m else None)

    def derive_shape(self, layers, width, heads, vocabulary):
        """What is not stated of the shape of so many parameters: as deep as the models of DEPTHS, as wide as
        12 Lh² + Vh come to, heads of 128."""
        parameters = self.parameters()
        if parameters:
            self.assume("the shape", "that of a model of so many parameters")
            layers = layers or min(DEPTHS, key=lambda d: abs(math.log(d[0] / parameters)))[1]
            v = vocabulary or 50257
            width = width or 128 * max(1, round((math.sqrt(v**2 + 48 * layers * parameters) - v) / (24 * layers) / 128))
            heads = heads or max(1, width // 128)
        return [layers, width, heads, vocabulary]

    def derive_hidden(self, layers, width, vocabulary):
        """The hidden width of a Llama of that many parameters, untied, without shared heads."""
        parameters = self.parameters()
        if not parameters:
            raise Unsaid("the row does not state the hidden width, nor the number of parameters")
        rest = (parameters - 2 * vocabulary * width) / layers - 4 * width * width
        hidden = int(round(rest / (3 * width) / 64)) * 64
        if hidden < width:
            raise Unsaid("the number of parameters does not fit the shape")
        self.near.append("hidden width from the number of parameters")
        return ",hidden=%d,tied=no" % hidden

    def read_ranks(self):
        r = self.row
        replicas = whole(r.get("dp"))
        self.ranks = whole(r.get("n_gpus")) or (replicas and replicas * math.prod(whole(r.get(a)) or 1 for a, _ in AXES)) \
            or self.need("n_gpus", "the number of GPUs")
        axes = [(whole(r.get(a)) or 1, strategy) for a, strategy in AXES if (whole(r.get(a)) or 1) > 1]
        if axes and (len(axes) > 1 or axes[0][0] != self.ranks):
            raise Unsaid("tensor or pipeline parallelism beside data parallelism")
        self.axis = axes[0][1] if axes else None
        self.micro = whole(r.get("micro_batch_per_gpu"))
        if not self.micro:
            self.micro = 1
            self.assume("the micro-batch", "one sample")
        self.accumulate = whole(r.get("grad_accum"))
        batch, replicas = whole(r.get("global_batch_seqs")), 1 if self.axis else self.ranks
        if not self.accumulate and batch:
            if batch % (self.micro * replicas):
                raise Unsaid("batch, micro-batch and ranks do not fit")
            self.accumulate = batch // (self.micro * replicas)
        if not self.accumulate:
            self.accumulate = 1
            self.near.append("one micro-batch a step")

    def read_options(self):
        r = self.row
        card = find(CARDS, r.get("gpu"))
        if not card:
            raise Unsaid("no card is stated, or one that shardlab does not have")
        self.card = card[1]
        self.cluster = card[1] + self.network() + self.clock() + self.memory()
        self.model += self.attention
        strategy = self.read_strategy()
        precision = find(PRECISIONS, r.get("precision"))
        if not precision:
            half = "fp16" if self.card.startswith(("v100", "dgx-2", "t4", "titan")) else "bf16"
            precision = ("", half)
            self.assume("the precision", half)
        if not precision[1]:
            raise Unsaid("products in four bits, or in fp8 by blocks")
        self.arguments = ["--model", self.model, "--strategy", strategy, "--ranks", str(self.ranks),
                          "--micro-batch", str(self.micro), "--accumulate", str(self.accumulate),
                          "--sequence", str(self.sequence)]
        self.arguments += ["--tf32"] if precision[1] == "tf32" else ["--precision", precision[1]]
        if precision[1] == "fp8":
            self.arguments += ["--fp8", find(SCALINGS, self.words)[1]]
        self.read_savings()

    def read_strategy(self):
        if self.axis:
            return self.axis
        if self.ranks == 1 and not find(STRATEGIES, self.row.get("strategy")):
            return "single"
        strategy = self.take(STRATEGIES, self.row.get("strategy"), "a strategy that shardlab does not have")
        return "single" if self.ranks == 1 else strategy.replace("=node", "=%d" % min(8, self.ranks))

    def take(self, table, text, why):
        """What the table has for the text. A third column says that it is only nearly that."""
        row = find(table, text)
        if not row or not row[1]:
            raise Unsaid(why)
        if len(row) > 2:
            self.near.append(row[2])
            self.out = self.out or row[2]
        return row[1]

    def read_savings(self):
        policy = find(CHECKPOINTING, self.row.get("act_ckpt"))
        if not policy:
            policy = ("", "none")
            self.assume("what is recomputed", "nothing")
        self.recomputed = policy[1]
        mfu, hfu = number(self.row.get("mfu_pct")), number(self.row.get("hfu_pct"))
        if isinstance(self.recomputed, float):
            if mfu and hfu and hfu > mfu:
                self.recomputed = min(1.0, 3 * (hfu / mfu - 1))
            self.near.append("a part of a block is recomputed: so much of the way from nothing to everything")
        offload = self.take(OFFLOADS, self.row.get("offload") or "", "an offload that shardlab does not have")
        sharded = find(STRATEGIES, self.row.get("strategy"))
        if self.ranks == 1 and "parameters" in offload and sharded and sharded[1] in ("zero3", "fsdp"):
            self.arguments[3] = sharded[1]  # one rank's shard is whole, and has a home of its own
        self.arguments += ["--offload", offload]

    @property
    def attention(self):
        """What a GPT's model says where the run stored attention's scores. Megatron's models train with dropout unless they
        are told otherwise."""
        if not self.model.startswith("gpt") or not self.stores_scores():
            return ""
        return ",attention=standard" + (",dropout=0.1" if self.stack.startswith("megatron") else "")

    def stores_scores(self):
        """What the row says of it; else its card and its date."""
        said = find(ATTENTIONS, " ".join((self.row.get(k) or "") for k in ("strategy", "act_ckpt", "compile", "notes")))
        if said:
            return said[1]
        year = year_of(self.row.get("source"))
        return bool(re.match(BEFORE_FLASH, self.card)) or (year is not None and year < FLASH_SINCE)

    @property
    def compiled(self):
        return "kernels=fused" in self.as_

    def network(self):
        parts = re.split(r"[;,]", self.row.get("interconnect") or "")
        text = ";".join(p for p in parts if not re.search(INSIDE, p, re.I))
        rate = find(NETWORKS, text)
        if not rate:
            return ""
        v = rate[1](re.search(rate[0], text, re.I), min(self.ranks, 8))
        return ":nic=%d" % v

    def clock(self):
        text = self.row.get("gpu") or ""
        held, stated = re.search(r"\b(\d{2,4}) ?W\b", text), find(WATTS, self.card)
        if not held or not stated or int(held[1]) >= stated[1]:
            return ""
        return ":clock=%.3f" % (int(held[1]) / stated[1]) ** (1 / 3)

    def memory(self):
        """The memory of a card that has more or less than the catalogue's, by the row."""
        stated, label = (re.search(r"(\d+) ?GB(?!/s|ps)", text or "", re.I) for text in (self.row.get("gpu"), MEMORIES.get(self.card)))
        return "" if not stated or not label or stated[1] == label[1] else ":memory=%sGiB" % stated[1]

    def read_step(self):
        r = self.row
        samples = self.micro * self.accumulate * (1 if self.axis else self.ranks)
        tokens = samples * self.sequence
        ways = [("step_ms", lambda v: v / 1e3), ("tokens_s_total", lambda v: tokens / v),
                ("tokens_s_gpu", lambda v: tokens / self.ranks / v), ("samples_s", lambda v: samples / v)]
        steps = [(step(number(r.get(column))), rounding(r.get(column))) for column, step in ways
                 if number(r.get(column))]
        self.step = steps[0][0] if steps else self.step_of_flops(samples)
        if any(abs(s / self.step - 1) > APART + off for s, off in steps):
            self.out = self.out or "its figures of time, batch and tokens contradict each other"

    def step_of_flops(self, samples):
        """From TFLOP/s of a GPU, counted as Megatron does: 72 BsLh² (1 + s/6h + V/12Lh), 96 where all is recomputed. Others
        count otherwise, so that such a step is no measure."""
        tflops = number(self.row.get("tflops_gpu"))
        if not tflops:
            return None
        self.assume("how TFLOP/s are counted", "as Megatron does")
        layers, h, s, v = self.layers, self.width, self.sequence, self.vocabulary
        flops = (96 if self.recomputed in ("full", 1) else 72) * samples * s * layers * h * h
        return flops * (1 + s / 6 / h + v / 12 / layers / h) / self.ranks / tflops / 1e12

    @property
    def said(self):
        return "not" if self.why else "near" if self.near else "exact"

    @property
    def counts(self):
        return not self.why and not self.out


class Unsaid(Exception):
    pass


NEEDED = ["model", "seq_len", "n_gpus", "gpu", "precision", "strategy", "source_key"]
SETTINGS = ["n_params", "n_layers", "d_model", "n_heads", "vocab", "seq_len", "n_gpus", "dp", "tp", "pp",
            "micro_batch_per_gpu", "grad_accum", "global_batch_seqs"]
MEASURES = ["tokens_s_gpu", "tokens_s_total", "samples_s", "tflops_gpu", "mfu_pct", "hfu_pct", "step_ms", "peak_mem_gib"]
WORDS = ["interconnect", "act_ckpt", "offload", "compile", "mem_kind", "status", "quality", "notes", "source"]
COLUMNS = NEEDED + SETTINGS + MEASURES + WORDS


def refuse(path, line, text):
    """Input that cannot be used ends the program: one line, and status 2."""
    print("fatal: %s:%d: %s" % (path, line, text), file=sys.stderr)
    sys.exit(2)


def read_columns(path, names):
    """The columns by their names here, however they are written."""
    columns = [re.sub(r"[\s-]+", "_", n.strip().lower()) for n in names or []]
    for name in NEEDED:
        if name not in columns:
            refuse(path, 1, "no column '%s'; the first line names the columns that tools/published.py lists" % name)
    for i, name in enumerate(columns):
        if name and name in columns[:i]:
            refuse(path, 1, "two columns '%s'; leave one out" % name)
        if name not in COLUMNS:
            near = difflib.get_close_matches(name, COLUMNS, 1, 0.5)
            print("%s:1: column '%s' is not read%s" % (path, name, "; is it %s?" % near[0] if near else ""), file=sys.stderr)
    return columns


def check_row(path, line, row, count):
    fields = count - sum(v is None for v in row.values()) + len(row.get(None) or [])
    if fields != count:
        refuse(path, line, "%d fields, where the first line names %d" % (fields, count))


def read(path):
    """The runs of a file, each with the line on which it begins."""
    runs, line = [], 1
    program()  # before many ask for it at a time
    try:
        with open(path, newline="", encoding="utf-8-sig") as f:
            rows = csv.DictReader(f, strict=True)
            rows.fieldnames = read_columns(path, rows.fieldnames)
            line = rows.line_num
            for row in rows:
                check_row(path, line + 1, row, len(rows.fieldnames))
                runs.append(Run(row))
                runs[-1].line, line = line + 1, rows.line_num
    except OSError as e:
        refuse(path, 1, "cannot be read: %s" % e.strerror)
    except (ValueError, csv.Error) as e:
        refuse(path, line + 1, "no row of published runs: %s" % e)
    return runs


def check_alike(path, runs):
    """Refuses two runs of one program, card and settings whose steps are so far apart that one must be wrong."""
    seen = {}
    for run in runs:
        if not run.counts or not run.step:
            continue
        key = (run.stack, run.cluster, tuple(run.arguments), run.recomputed)
        other = seen.setdefault(key, run)
        if abs(run.step / other.step - 1) > APART:
            refuse(path, run.line, "a step of %.4g s contradicts that of line %d, %.4g s: program, model, batch, ranks and "
                   "card are the same; leave one out" % (run.step, other.line, other.step))


# ---- shardlab ----

def program():
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.environ.get("SHARDLAB") or os.path.join(here, "..", "build", "shardlab")
    if not shutil.which(path):
        print("fatal: %s: no such program; build it, or say where it is with SHARDLAB" % path, file=sys.stderr)
        sys.exit(2)
    return path


def ask(*arguments):
    """The output of a command; None if it refuses."""
    done = subprocess.run([program()] + list(arguments), capture_output=True, text=True, check=False)
    return None if done.returncode else done.stdout


cache = {}


def simulate(run, stack=None, cluster=None):
    """The JSON of the run's step under a stack: a name, or a file's text, or None: the ceilings. None: shardlab refuses it."""
    return simulate_share(run, run.recomputed, stack, cluster, ())


def simulate_memory(run, stack):
    """The same step as the run's program makes it. Time is the stack's, which was fitted on shardlab's plans."""
    return simulate_share(run, run.recomputed, stack, None, ("--as", run.as_))


def simulate_share(run, recomputed, stack, cluster, more):
    if isinstance(recomputed, float):
        return between(simulate_with(run, "none", stack, cluster, more),
                       simulate_with(run, "full", stack, cluster, more), recomputed)
    return simulate_with(run, recomputed, stack, cluster, more)


def between(a, b, share):
    """A report that is so much of the way from one to another, as far as numbers go."""
    if a is None or b is None:
        return None
    if isinstance(a, dict):
        return {k: between(v, b[k], share) if k in b else v for k, v in a.items()}
    if isinstance(a, list):
        return [between(x, y, share) for x, y in zip(a, b)]
    if isinstance(a, (int, float)) and not isinstance(a, bool):
        return a + share * (b - a)
    return a


def with_stack(stack, call):
    """call(path or name) of a stack that is a name, or a file's text."""
    if "\n" not in stack:
        return call(stack)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(stack)
        f.flush()
        return call(f.name)


def calibrate(run, stack):
    """The text of the stack that gives the run's own step. None: shardlab refuses it. What recomputes a part of a block
    is given as what recomputes all, as much longer as is predicted."""
    said = simulate(run, stack)
    policy = "full" if isinstance(run.recomputed, float) else run.recomputed
    whole = simulate_with(run, policy, stack, None)
    step = run.step * whole["time"]["step_s"] / said["time"]["step_s"]
    arguments = run.arguments + ["--activation-checkpointing", policy]
    return with_stack(stack, lambda s: ask("calibrate", "--step", "%.6fs" % step, "--cluster", run.cluster, "--stack", s,
                                           *arguments))


def simulate_with(run, checkpointing, stack, cluster, more=()):
    arguments = run.arguments + ["--activation-checkpointing", checkpointing]
    for option, value in zip(more[::2], more[1::2]):
        if option in arguments:
            arguments[arguments.index(option) + 1] = value
        else:
            arguments += [option, value]
    key = (tuple(arguments), cluster or run.cluster, stack)
    if key in cache:
        return cache[key]
    command = [program(), "sim", "--json", "--cluster", cluster or run.cluster] + arguments
    stack = stack or "ceiling"
    done = with_stack(stack, lambda s: subprocess.run(command + ["--stack", s], capture_output=True, text=True,
                                                      check=False))
    if done.returncode:
        run.why = done.stderr.strip().replace("fatal: ", "") or "shardlab ended with status %d" % done.returncode
        cache[key] = None
    else:
        r = json.loads(done.stdout)
        cache[key] = {"time": r["time"], "roles": [{"memory": role["memory"]} for role in r["roles"]]}
    return cache[key]
