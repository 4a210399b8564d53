/* Options are data: one table, from which parsing, defaults and help come. To add one, add a line to OPTION_LIST.
 *
 *     struct options o;
 *     enum status s = options_parse(&o, COMMAND_SIM, argc, argv);     (what follows the command's name)
 *     … option_whole(&o, OPTION_RANKS), option_given(&o, OPTION_SAVE) …
 *
 * Both `--key value` and `--key=value` are read. An option that is unknown, that the command does not have, that comes
 * twice, or whose value is wrong, is STATUS_INPUT with a line that says what to do. So is what this version cannot do:
 * nothing is ignored.
 */
#ifndef SHARDLAB_OPTIONS_H
#define SHARDLAB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "real/communicator/kind.h"
#include "strategy/base/arena.h"
#include "strategy/base/status.h"
#include "strategy/emit/emit.h"
#include "strategy/settings/settings.h"
#include "strategy/trace/profile.h"
#include "viz/scenes.h"

/* constant, name, what it does, what else help says */
#define COMMAND_LIST(X)                                                                                                \
	X(PLAN, plan, "print the plan: operations, buffers, waits",                                                    \
	  "The plan is the program that every rank carries out. What is printed can be run: train --plan FILE.")       \
	X(SIM, sim, "simulate one step: memory, bytes sent, time",                                                     \
	  "Needs no hardware. Figures that rest on assumed rates are marked; calibrate measures the rates of this "    \
	  "machine.")                                                                                                  \
	X(COMPARE, compare, "strategies side by side",                                                                 \
	  "Simulates each strategy on the same model and global batch. `single` stands for one rank. --precision, "    \
	  "--activation-checkpointing and --offload take alternatives, as in none/full: every combination is "         \
	  "compared.")                                                                                                 \
	X(ADVISE, advise, "what fits, by predicted speed, and what the rest lacks",                                    \
	  "Searches strategies, micro-batches, checkpointing, offload and precision for a model, a cluster and a "     \
	  "global batch (--batch). --precision, --activation-checkpointing and --offload narrow the search to the "    \
	  "values given, as in bf16/fp32; --micro-batch or --accumulate fixes how the batch is cut.")                  \
	X(TRAIN, train, "train for real, on CPU ranks or GPUs",                                                        \
	  "Starts Open MPI's mpirun by itself. Under mpirun or Slurm it joins as a rank: mpirun -n 4 shardlab train "  \
	  "… Ctrl+C finishes the step; --save, --plot, --log and a checkpoint are written as at the end, and the "   \
	  "exit status is 75. A second one ends the run at once, without them.")                                       \
	X(VALIDATE, validate, "simulate and run the same plans, predicted beside measured",                            \
	  "Bytes must be equal. Step times must be within 10% where each rank has a core of its own, or on one "       \
	  "GPU. Without --cluster it first measures this machine's rates again, unless that was done within the "      \
	  "last minute (see calibrate), and once more beside each run that it repeats, as its time is off.")           \
	X(CALIBRATE, calibrate, "measure this machine's rates, or make a stack from your steps",                       \
	  "Writes the cluster `local`, which all commands use unless --cluster names another; with "                   \
	  "--device "                                                                                                  \
	  "cuda, `local-cuda`, which train and validate use on GPUs. Several ranks also measure the links between "    \
	  "them, with --comm nccl, or with ring and mpi by way of the host. With --step, --peak or --trace nothing "   \
	  "is run: it writes "                                                                                         \
	  "a stack, for --stack, whose constants give what you measured on --cluster.")                                \
	X(DOCTOR, doctor, "what this machine has and what it lacks, and what to do about it",                          \
	  "One line for each check. ok: it is there; note: it works without, at a cost; missing: something has to be " \
	  "done. With --device cuda it checks the GPUs too. Exit status 1 if something is missing.")                   \
	X(GENERATE, generate, "text from a trained model",                                                             \
	  "Continues --prompt with the weights of --init, in fp32 on the CPU: any gpt, llama, mpt or opt that train "  \
	  "--save wrote, or a folder from Hugging Face. A model of 256 classes reads and writes bytes; any other "     \
	  "needs a tokenizer.json. The same seed writes the same text.")                                               \
	X(CHECKPOINT, checkpoint, "what a checkpoint holds, whether it is whole, its weights",                         \
	  "shardlab checkpoint show DIR, verify DIR, or weights DIR --save PATH. DIR is a checkpoint, or a run's "     \
	  "folder, which stands for its latest. train --checkpoint writes them.")                                      \
	X(VIEW, view, "a step, moving: in a window, or as pictures",                                                   \
	  "Without --model it opens a small GPT on 4 GPUs of v100-16gb. --trace FILE opens a recorded run; --export "  \
	  "FILE writes pictures without a window, --describe text.")                                                   \
	X(TRACE, trace, "what a recorded step spent its time on, by rank",                                             \
	  "shardlab trace FILE… reads what PyTorch's profiler exports (export_chrome_trace, .gz too), a file for "   \
	  "each "                                                                                                      \
	  "rank, with prof.step() after each step; or what sim, train and validate wrote with --trace. compare "       \
	  "--trace "                                                                                                   \
	  "puts it beside predictions.")                                                                               \
	X(COLLECTIVE, collective, "one collective alone, round by round, as text",                                     \
	  "shardlab collective NAME prints what every rank holds after each round; up to 8 ranks, it shows the "       \
	  "numbers that are added and copied. view --collective NAME shows the same as pictures. A round takes as "    \
	  "long as its slowest message; in a step under a stack a collective takes what NCCL's cost model says.")      \
	X(CLUSTER, cluster, "an entry of the clusters' catalogue, as a file to change",                                \
	  "shardlab cluster NAME prints the file of --cluster NAME; shardlab cluster lists the names.")                \
	X(STACK, stack, "an entry of the stacks' catalogue, as a file to change",                                      \
	  "shardlab stack NAME prints the file of --stack NAME on the card of --cluster; shardlab stack lists the "    \
	  "names.")                                                                                                    \
	X(CONFIG, config,                                                                                              \
	  "what a configuration of DeepSpeed, Accelerate, Trainer or torchtitan says, and who would refuse it",        \
	  "shardlab config FILE prints one line for each key: its value, its place, what it does here, what it does "  \
	  "there. Then it lists what the program would refuse; the exit status is 1 if there is anything. sim, "       \
	  "compare, advise, plan, train and calibrate take such a file as --config FILE.")                             \
	X(DEMO, demo, "train under each of the seven strategies, predicted beside measured",                           \
	  "Trains an MLP on Fashion-MNIST, in less than two minutes on two cores.")                                    \
	X(LESSON, lesson, "a course: lessons that run",                                                                \
	  "Without a number it lists them. A lesson goes piece by piece: text, commands that run, the window, "        \
	  "questions; Enter goes on.")                                                                                 \
	X(HELP, help,                                                                                                  \
	  "this text, or: help COMMAND, help TOPIC: models, strategies, clusters, stacks, as, checkpointing, data, "   \
	  "config",                                                                                                    \
	  "")

enum command {
#define X(constant, name, what, more) COMMAND_##constant,
	COMMAND_LIST(X)
#undef X
	        COMMAND_COUNT
};

/* Sets of commands, as bits. */
#define IN(constant) (1U << COMMAND_##constant)
#define IN_REPORTS (IN(PLAN) | IN(SIM) | IN(COMPARE) | IN(TRAIN) | IN(VALIDATE))
#define IN_MODELS (IN_REPORTS | IN(VIEW))
#define IN_RUNS (IN(TRAIN) | IN(VALIDATE))
#define IN_KERNELS (IN_RUNS | IN(CALIBRATE) | IN(DOCTOR) | IN(GENERATE))
#define IN_TRACES (IN(SIM) | IN(COMPARE) | IN(TRAIN) | IN(VALIDATE) | IN(VIEW) | IN(CALIBRATE))
#define IN_RECIPES (IN(PLAN) | IN(SIM) | IN(COMPARE) | IN(ADVISE) | IN(TRAIN) | IN(CALIBRATE))

/* The options that are not settings. Each setting (SETTING_LIST) is an option as well: `micro_batch` is --micro-batch.
 * constant, name, type, argument, low, high, default ("": none), commands, help */
#define OPTION_LIST(X)                                                                                                 \
	X(CONFIG, "config", TEXT, "FILE", 0, 0, "", IN_RECIPES,                                                        \
	  "settings from a configuration of DeepSpeed, Accelerate, Trainer or torchtitan; see: help config")           \
	X(READER, "reader", CHOICE, RECIPE_READER_CHOICES, 0, 0, "", IN(CONFIG) | IN_RECIPES,                          \
	  "the program that reads --config; by default the one whose file it looks like")                              \
	X(EMIT, "emit", TEXT, EMIT_CHOICES "[:FILE]", 0, 0, "", IN(SIM) | IN(COMPARE) | IN(ADVISE) | IN(TRAIN),        \
	  "write these settings as that program's configuration: to FILE, or to stdout and nothing else; help config") \
	X(CLUSTER, "cluster", TEXT, "NAME|FILE[:link=B]", 0, 0, "local",                                               \
	  IN_MODELS | IN(ADVISE) | IN(COLLECTIVE) | IN(STACK) | IN(CALIBRATE),                                         \
	  "the hardware to predict for; see: help clusters")                                                           \
	X(HOSTS, "hosts", TEXT, "FILE", 0, 0, "", IN_RUNS | IN_RECIPES | IN(CONFIG),                                   \
	  "these machines, a line each: node1 slots=2; as many ranks as slots. train and validate start them there")   \
	X(STACK, "stack", TEXT, "NAME|FILE", 0, 0, "", IN(SIM) | IN(COMPARE) | IN(ADVISE) | IN(CALIBRATE),             \
	  "the software whose step is predicted: what it reaches of the cluster's rates; see: help stacks")            \
	X(OFFLOAD_FOLDER, "offload-folder", TEXT, "PATH", 0, 0, "", IN_RUNS,                                           \
	  "the folder for state that is offloaded to disk")                                                            \
	X(COMM, "comm", CHOICE, COMMUNICATOR_CHOICES, 0, 0, "ring", IN_MODELS | IN(CALIBRATE) | IN(DEMO),              \
	  "what carries out collectives: shardlab's schedules, or a library; nccl needs GPUs")                         \
	X(PLAN_FILE, "plan", TEXT, "FILE", 0, 0, "", IN(PLAN) | IN(SIM) | IN(TRAIN) | IN(VIEW),                        \
	  "read the plan's text from a file instead of compiling one")                                                 \
	X(ROLE, "role", TEXT, "R", 0, 0, "", IN(PLAN), "print only this role's program")                               \
	X(FORMAT, "format", CHOICE, "text|json|dot", 0, 0, "text", IN(PLAN), "dot is for Graphviz")                    \
	X(GRAIN, "grain", CHOICE, "operation|message", 0, 0, "operation",                                              \
	  IN(SIM) | IN(COMPARE) | IN(VIEW) | IN(COLLECTIVE),                                                           \
	  "collectives by formula, which any number of ranks can have, or message by message over shared links")       \
	X(REQUIRE_FIT, "require-fit", FLAG, "", 0, 0, "", IN(SIM) | IN(COMPARE), "exit status 1 if it does not fit")   \
	X(EXPORT, "export", TEXT, "FILE", 0, 0, "", IN(COMPARE) | IN(ADVISE) | IN(VIEW) | IN(LESSON),                  \
	  "write the figures as .csv, or a chart as .svg .pdf .png")                                                   \
	X(CHART, "chart", CHOICE, "memory|memory-by-ranks|traffic-by-ranks|time-by-ranks|time-by-link", 0, 0,          \
	  "memory", IN(COMPARE),                                                                                       \
	  "what a picture shows; by ranks: 1, 2, 4 … up to --ranks, each with the same micro-batch; by link: its "   \
	  "bandwidth, 1 to 512 GB/s")                                                                                  \
	X(SCENE, "scene", CHOICE, SCENE_CHOICES, 0, 0, "overview", IN(VIEW), "the scene to show")                      \
	X(AT, "at", WHOLE, "STEP", 0, SETTING_LARGE, "0", IN(VIEW), "the step at which the cursor stands")             \
	X(PAST, "past", WHOLE, "N", 0, SETTING_LARGE, "0", IN(VIEW), "and so many messages or allocations after it")   \
	X(STEP, "step", CHOICE, "message|round|phase", 0, 0, "round", IN(VIEW),                                        \
	  "what a step is: a message, a round or operation, a unit's pass")                                            \
	X(DESCRIBE, "describe", FLAG, "", 0, 0, "", IN(VIEW),                                                          \
	  "print captions, ledger and figures of all steps as text, or with --at of one; needs no display")            \
	X(ASK, "ask", FLAG, "", 0, 0, "", IN(VIEW),                                                                    \
	  "before a step is shown, ask what comes next; with --describe: print all questions and answers")             \
	X(BUILD, "build", FLAG, "", 0, 0, "", IN(VIEW),                                                                \
	  "an empty step to put together by hand; what breaks a rule is refused, with the reason")                     \
	X(MOVES, "moves", TEXT, "FILE|LIST", 0, 0, "", IN(VIEW),                                                       \
	  "with --build: the operations to place, such as \"load samples, gather root, …\"; … is the rest")            \
	X(THEME, "theme", CHOICE, "light|dark|projector|paper", 0, 0, "light", IN(VIEW),                               \
	  "colours: projector has strong contrast, paper is for print")                                                \
	X(SIZE, "size", TEXT, "WIDTHxHEIGHT", 0, 0, "1280x720", IN(VIEW), "size of the window or picture")             \
	X(SCALE, "scale", REAL, "X", 0.25, 8, "1", IN(VIEW), "pixels in the file for each pixel of --size")            \
	X(TEXT, "text", REAL, "X", 0.5, 2, "1", IN(VIEW), "size of text")                                              \
	X(COMPARE, "compare", TEXT, "a,b,c|all", 0, 0, "", IN(VIEW), "memory of several strategies side by side")      \
	X(PAIR, "pair", TEXT, "STRATEGY|before|FILE", 0, 0, "", IN(VIEW),                                              \
	  "a second strategy beside the first in every scene; with --what-if the step before, with --trace another "   \
	  "run")                                                                                                       \
	X(WHAT_IF, "what-if", TEXT, "NAME=VALUE,…", 0, 0, "", IN(VIEW),                                                \
	  "other settings, with figures before and after: ranks=8,bucket=1MB,link-bandwidth=10GB")                     \
	X(PREDICT, "predict", FLAG, "", 0, 0, "", IN(VIEW), "with a measured --trace: show its simulation above it")   \
	X(FOCUS, "focus", WHOLE, "N", 0, SETTING_LARGE, "", IN(VIEW), "the rank whose buffers and plan are shown")     \
	X(SELECT, "select", TEXT, "RANK:OP", 0, 0, "", IN(VIEW),                                                       \
	  "an operation of a rank, by its number in the plan: its waits are drawn")                                    \
	X(SCROLL, "scroll", WHOLE, "N", -SETTING_LARGE, SETTING_LARGE, "", IN(VIEW),                                   \
	  "plan: lines below the cursor; timeline: the lane at the top, from 0")                                       \
	X(RANGE, "range", TEXT, "FROM:TO", 0, 0, "", IN(VIEW), "the part of the timeline to show, in nanoseconds")     \
	X(MEASURE, "measure", TEXT, "FROM:TO", 0, 0, "", IN(VIEW),                                                     \
	  "a range in nanoseconds whose sums stand below the timeline")                                                \
	X(OVER, "over", CHOICE, "time|steps|sizes|ranks", 0, 0, "time", IN(VIEW),                                      \
	  "memory over time, or over the steps of the cursor; with --race, its chart over sizes of the message, or "   \
	  "over numbers of ranks")                                                                                     \
	X(PAGES, "pages", CHOICE, "one|all", 0, 0, "one", IN(VIEW), ".pdf: this step, or a page for each")             \
	X(DELAY, "delay", WHOLE, "N", 2, 6000, "80", IN(VIEW), ".gif and .html: hundredths of a second for each step") \
	X(PRESENTER, "presenter", FLAG, "", 0, 0, "", IN(VIEW), "full screen, larger, without controls")               \
	X(COLLECTIVE, "collective", TEXT, "NAME", 0, 0, "", IN(VIEW), "one collective alone, such as ring-all-reduce") \
	X(RACE, "race", CHOICE, "all-reduce|broadcast|reduce", 0, 0, "", IN(VIEW),                                     \
	  "this operation's algorithms against each other, in true proportion of time")                                \
	X(BYTES, "bytes", SIZE, "SIZE", 0, 9e15, "", IN(VIEW) | IN(COLLECTIVE), "size of the collective's buffer")     \
	X(NO_VALUES, "no-values", FLAG, "", 0, 0, "", IN(VIEW) | IN(COLLECTIVE),                                       \
	  "no numbers in the chunks of a collective")                                                                  \
	X(NO_MOTION, "no-motion", FLAG, "", 0, 0, "", IN(VIEW), "messages jump instead of moving")                     \
	X(FROM, "from", WHOLE, "N", 1, 10000, "", IN(LESSON), "begin with this piece of the lesson")                   \
	X(NO_INPUT, "no-input", FLAG, "", 0, 0, "", IN(LESSON), "do not wait for Enter or answers")                    \
	X(CHECK, "check", TEXT, "EXERCISE", 0, 0, "", IN(LESSON), "is this exercise of the lesson solved here?")       \
	X(VERIFY, "verify", FLAG, "", 0, 0, "", IN(LESSON),                                                            \
	  "run every command, draw every picture: is the lesson what the program does?")                               \
	X(UPDATE, "update", FLAG, "", 0, 0, "", IN(LESSON), "write outputs and pictures of the lesson anew")           \
	X(LANGUAGE, "language", CHOICE, "en|zh", 0, 0, "", IN(LESSON) | IN(VIEW) | IN(COLLECTIVE),                     \
	  "English or Chinese; LANG decides by default")                                                               \
	X(STEPS, "steps", WHOLE, "N", 1, 100000000, "100", IN_RUNS | IN(DEMO), "how many steps to train")              \
	X(DATA, "data", TEXT, "PATH,…", 0, 0, "", IN_RUNS | IN(DEMO),                                                  \
	  "token ids (.bin, .npy), text, a table (.csv), IDX files; see: help data")                                   \
	X(DATA_TYPE, "data-type", CHOICE, "uint16|uint32|bytes", 0, 0, "", IN_RUNS,                                    \
	  "the type of --data's ids, if neither a header nor the vocabulary tells")                                    \
	X(DEVICE, "device", CHOICE, "cpu|cuda", 0, 0, "cpu", IN_RUNS | IN(CALIBRATE) | IN(DOCTOR),                     \
	  "where ranks compute; cuda: rank i on GPU i")                                                                \
	X(NO_GRAPH, "no-graph", FLAG, "", 0, 0, "", IN_RUNS | IN(CALIBRATE),                                           \
	  "cuda: issue every step instead of replaying a graph")                                                       \
	X(AUTOTUNE, "autotune", FLAG, "", 0, 0, "", IN_RUNS,                                                           \
	  "cuda: time several algorithms for each product once, and keep the fastest for later runs")                  \
	X(PRODUCTS, "products", CHOICE, "cublaslt|plain|simple|tensor|hopper", 0, 0, "", IN_RUNS,                      \
	  "cuda: kernels of matrix products; without it cublaslt. The others are shardlab's own, to see what each "    \
	  "step of the ladder gains")                                                                                  \
	X(ATTENTION, "attention", CHOICE, "auto|plain|simple|tensor|hopper|cudnn", 0, 0, "", IN_RUNS,                  \
	  "cuda: attention's kernels; auto: each that takes a shape is timed once, and the fastest is kept for later " \
	  "runs. Without it: what was kept, else hopper")                                                              \
	X(TF32, "tf32", FLAG, "", 0, 0, "", IN_RUNS | IN(SIM),                                                         \
	  "fp32 on GPUs: matrix products on tensor cores, operands rounded to 10 bits of mantissa")                    \
	X(THREADS, "threads", WHOLE, "N", 1, 1024, "1", IN_RUNS | IN(CALIBRATE) | IN(GENERATE),                        \
	  "CPU threads for each rank")                                                                                 \
	X(EVALUATE, "evaluate", CHOICE, "yes|no", 0, 0, "yes", IN(TRAIN), "validate at the end: loss and accuracy")    \
	X(EVAL_EVERY, "eval-every", WHOLE, "N", 1, 100000000, "", IN(TRAIN),                                           \
	  "validate after every N steps too; training goes on as it would without")                                    \
	X(LOG, "log", TEXT, "FILE.jsonl|.csv", 0, 0, "", IN(TRAIN),                                                    \
	  "write a line a step as it is done: loss, speed, MFU, validation; replaces the file, or goes on with "       \
	  "it after --resume")                                                                                         \
	X(PLOT, "plot", TEXT, "FILE.svg", 0, 0, "", IN(TRAIN),                                                         \
	  "draw the losses over the steps at the end (or .pdf, .png)")                                                 \
	X(CURVE, "curve", FLAG, "", 0, 0, "", IN(TRAIN),                                                               \
	  "draw the losses as text at the end; the default on a terminal")                                             \
	X(INIT, "init", TEXT, "PATH", 0, 0, "", IN(TRAIN) | IN(GENERATE),                                              \
	  "start from these weights: a file.safetensors, or a folder in Hugging Face's form")                          \
	X(SAVE, "save", TEXT, "PATH", 0, 0, "", IN(TRAIN) | IN(CHECKPOINT),                                            \
	  "write the weights at the end: a file.safetensors, or a folder that transformers loads")                     \
	X(SAVE_SHARD, "save-shard", SIZE, "SIZE", 1, 9e15, "", IN(TRAIN) | IN(CHECKPOINT),                             \
	  "--save FOLDER: the most bytes of weights in one of its files; 5GB by default")                              \
	X(CHECKPOINT, "checkpoint", TEXT, "DIR", 0, 0, "", IN(TRAIN) | IN(PLAN) | IN(VALIDATE),                        \
	  "write checkpoints there, to go on from with --resume; the plan then has sections save and restore")         \
	X(CHECKPOINT_EVERY, "checkpoint-every", TEXT, "N|TIME", 0, 0, "100",                                           \
	  IN(TRAIN) | IN(VALIDATE) | IN(SIM) | IN(COMPARE),                                                            \
	  "steps, or a time as 90s, 10min, 1h; and at the end of the run")                                             \
	X(MTBF, "mtbf", TEXT, "TIME", 0, 0, "", IN(SIM) | IN(COMPARE),                                                 \
	  "the whole run's mean time between failures, as 6h: the best interval of checkpoints, and the goodput")      \
	X(CHECKPOINT_KEEP, "checkpoint-keep", WHOLE, "K", 0, 1000000, "2", IN(TRAIN),                                  \
	  "how many checkpoints stay; 0: all")                                                                         \
	X(RESUME, "resume", TEXT, "DIR|latest", 0, 0, "", IN(TRAIN),                                                   \
	  "go on from a checkpoint, up to --steps; latest: the last of --checkpoint DIR")                              \
	X(RESTARTS, "restarts", WHOLE, "R", 0, 1000000, "0", IN(TRAIN),                                                \
	  "how often a run that lost a rank starts again from its last checkpoint")                                    \
	X(PROMPT, "prompt", TEXT, "TEXT", 0, 0, "", IN(GENERATE), "the text to go on from")                            \
	X(PROMPT_FILE, "prompt-file", TEXT, "FILE|-", 0, 0, "", IN(GENERATE),                                          \
	  "the same from a file, or from standard input")                                                              \
	X(TOKENS, "tokens", WHOLE, "N", 0, SETTING_LARGE, "128", IN(GENERATE), "how many new ones, at most")           \
	X(TEMPERATURE, "temperature", REAL, "R", 0, 1000, "0.8", IN(GENERATE),                                         \
	  "divides the logits; 0: always the likeliest token")                                                         \
	X(TOP_K, "top-k", WHOLE, "N", 0, SETTING_LARGE, "40", IN(GENERATE), "draw among the N likeliest; 0: all")      \
	X(TOP_P, "top-p", REAL, "P", 1e-9, 1, "1", IN(GENERATE), "and of these among the fewest that add up to P")     \
	X(TOKENIZER, "tokenizer", TEXT, "FILE", 0, 0, "", IN(GENERATE),                                                \
	  "a tokenizer.json; by default that in the folder of --init or --model")                                      \
	X(FORCE, "force", FLAG, "", 0, 0, "", IN_RUNS,                                                                 \
	  "start even what is predicted not to fit this machine's memory")                                             \
	X(GUARD, "guard", FLAG, "", 0, 0, "", IN(TRAIN),                                                               \
	  "look for stray writes: poisoned memory, guard zones, one queue at a time")                                  \
	X(TRACE, "trace", TEXT, "FILE", 0, 0, "", IN(SIM) | IN(COMPARE) | IN(TRAIN) | IN_TRACES,                       \
	  "write a trace of one step, for view or Perfetto (ui.perfetto.dev)")                                         \
	X(VALUES, "values", FLAG, "", 0, 0, "", IN(TRAIN) | IN(VIEW) | IN(COLLECTIVE),                                 \
	  "with --trace: what collectives add up too, of each chunk the first element")                                \
	X(VERBOSE, "verbose", FLAG, "", 0, 0, "", IN(VALIDATE) | IN(CALIBRATE) | IN(ADVISE),                           \
	  "list the rates at every size")                                                                              \
	X(MARGIN, "margin", REAL, "PERCENT", 0, 90, "5", IN(ADVISE), "of each memory, left to its allocator")          \
	X(QUICK, "quick", FLAG, "", 0, 0, "", IN(CALIBRATE), "seconds instead of a minute, with more spread")          \
	X(OUTPUT, "output", TEXT, "FILE.yaml", 0, 0, "", IN(CALIBRATE),                                                \
	  "the file to write; by default the cluster `local` or `local-cuda`, and of a stack stdout")                  \
	X(OWN_STEP, "step", TEXT, "TIME", 0, 0, "", IN(CALIBRATE),                                                     \
	  "what a step of yours took, as 1.53s: a stack for --cluster that predicts it. May be given again with what " \
	  "differs behind it: --step 0.9s --ranks 64; each frees one constant more")                                   \
	X(PEAK, "peak", TEXT, "SIZE[,SIZE[,SIZE]]", 0, 0, "", IN(CALIBRATE),                                           \
	  "what its devices allocated at most, what their allocators held, and what was in use on all of a device: "   \
	  "torch.cuda.max_memory_allocated, max_memory_reserved and nvidia-smi")                                       \
	X(JSON, "json", FLAG, "", 0, 0, "",                                                                            \
	  IN_REPORTS | IN(ADVISE) | IN(CALIBRATE) | IN(GENERATE) | IN(CONFIG) | IN(TRACE),                             \
	  "print JSON, and nothing else, on stdout")

enum option {
#define X(constant, name, field, type, values, low, high, fallback, line, help) OPTION_##constant,
	SETTING_LIST(X)
#undef X
#define X(constant, name, type, argument, low, high, fallback, commands, help) OPTION_##constant,
	        OPTION_LIST(X)
#undef X
	                OPTION_COUNT
};

struct option_value {
	bool given;
	const char *text; /* as written, or the default; NULL: neither. Lives as long as argv, or the options */
	int64_t whole;
	int64_t least; /* of a range, A..B: A, and whole is B; else the same as whole */
	double real;
	bool by_file; /* given by the file of --config, and not beside it */
};

struct options {
	enum command command;
	bool help;          /* --help was among them: the rest has not been read */
	const char *second; /* of checkpoint, behind the topic; NULL: none */
	const char
	        *topic; /* of help, collective, config, lesson and checkpoint, whose argument is a word; NULL: none */
	const char **words; /* of trace: its arguments; in the arena */
	int word_count;
	struct option_value value[OPTION_COUNT];
	const char *place[SETTING_COUNT]; /* of a setting by --config: "ds.json:3:4: train_batch_size"; NULL: none */
	int64_t hosts_ranks;              /* slots of --hosts, where --ranks was not given; else 0 */
	struct profile *recorded;         /* of --trace, where that had to say how many ranks there are; else NULL */
	const char *cluster_typed;        /* --cluster 2x8xh100, which became h100:node=8; else NULL */
	int64_t cluster_ranks;            /* its devices; else 0 */
	const char *ranks_from;           /* of options_find_ranks: "--trace run.json"; else NULL */
	const char *class;                /* of stacks, by --config, where --stack is not given; else NULL */
	const char *cluster_alone;        /* the text of --cluster, where the command has it, without a stack */
	const char *config;               /* the text of --config; NULL: it was not given */
	enum recipe_reader config_reader;
	bool widened;                           /* the file's strategy became a list of it and others */
	const struct settings *config_settings; /* of advise: all that the file says, resolved; in the arena. NULL: it
	                                           cannot be said */
	const char *model_path;                 /* the text of --model, if that was a path; else NULL */
	char **given; /* of calibrate: the arguments as they came, of which only the first step's are read */
	int given_count;
	struct arena arena; /* of values that are not argv's own */
};

/* Steps that calibrate's arguments name: at least 1. And those of one of them, from 0: an option that stands once is of
 * all steps; one that stands again is, from there on, of the --step that it stands behind. Returns how many; `out` has
 * room for argc. */
int arguments_count_steps(int argc, char *const *argv);
int arguments_of_step(int argc, char **argv, int which, char **out);

/* The path of a model's file has become its specification (strategy/model/config.h). */
enum status options_parse(struct options *o, enum command c, int argc, char **argv);
void options_release(struct options *o);
/* The cluster for plans of a strategy: with --emit, and without --stack, under the class that its file is read as. */
const char *options_cluster_of(const struct options *o, const char *strategy, struct arena *a);
/* --cluster becomes that one, once the strategy is known: a plan that was read says its own. */
void options_judge(struct options *o, const char *strategy);
/* Who reads the file of --hosts, once the options are read and before that of --config is. */
void options_on_hosts(enum status (*take)(struct options *o));
/* A failure that names an option which a file said, and nobody typed, gets the place in the file before it. */
enum status options_explain(const struct options *o, enum status s);

static inline bool option_given(const struct options *o, enum option i)
{
	return o->value[i].given;
}
static inline const char *option_text(const struct options *o, enum option i)
{
	return o->value[i].text;
}
static inline int64_t option_whole(const struct options *o, enum option i)
{
	return o->value[i].whole;
}

/* The settings that were asked for, with the strategy as text and not yet resolved. */
enum status options_settings(const struct options *o, struct settings *out);

/* The arguments that a program which reads a recipe has beside the file: --reader and what else was given. */
struct recipe_question options_question(const struct options *o);

/* The command line of a child: this same program with another command, or other values.
 *
 *     struct arguments a = {0};
 *     arguments_begin(&a, "train");
 *     arguments_set(&a, OPTION_RANKS, "%d", 4);
 *     arguments_pass(&a, COMMAND_TRAIN, &options);     // all that was given and that train has, if not set above
 *     … a.list …
 *     arguments_release(&a);
 */
struct arguments {
	struct arena arena;
	char *list[OPTION_COUNT + 2]; /* ends with NULL */
	int count;
	bool set[OPTION_COUNT];
};
void arguments_begin(struct arguments *a, const char *command);
void arguments_set(struct arguments *a, enum option i, const char *format, ...) __attribute__((format(printf, 3, 4)));
void arguments_flag(struct arguments *a, enum option i);
void arguments_drop(struct arguments *a, enum option i); /* arguments_pass leaves it out */
void arguments_pass(struct arguments *a, enum command c, const struct options *o);
void arguments_release(struct arguments *a);

const char *option_name(enum option i); /* "micro-batch" */
/* Writes a name in braces as users do (strategy/base/status.h): `micro_batch` is --micro-batch,
 * `calibrate` is shardlab calibrate. */
void option_spell(const char *name, char *out, size_t size);
/* May it be a range there, as in 2..4? */
bool option_ranges(enum option i, enum command c);
/* True if this command has it. */
bool option_of(enum option i, enum command c);
/* May it have several alternatives there, with slashes between? */
bool option_varies(enum option i, enum command c);
/* How many it has: 1 where it may not vary, or was not given. */
int option_alternatives(const struct options *o, enum option i);
/* The text of one of them, in the arena. */
enum status option_alternative(const struct options *o, enum option i, int n, struct arena *a, const char **out);

/* Finds a command by name. Unknown: STATUS_INPUT with the commands there are. */
enum status command_find(const char *name, enum command *out);
const char *command_name(enum command c);

void options_help(enum command c, FILE *out); /* all about one command */
/* One option: what it takes, and which commands have it. */
void option_explain(enum option i, FILE *out);
void commands_help(FILE *out); /* lists the commands */

#endif
