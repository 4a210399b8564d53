/* shardlab generate: the prompt, and behind it the model's text as it comes. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "real/generate/generate.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/command/job.h"
#include "strategy/base/file.h"
#include "strategy/base/memory.h"
#include "strategy/base/number.h"
#include "strategy/base/path.h"

/* ---- what is given ---- */

enum { MOST_PROMPT = 256 << 20 };

struct prompt {
	const char *text;
	size_t size;
	char *file; /* to be freed */
};

/* --prompt, or --prompt-file with - for standard input. */
static enum status read_prompt(const struct options *o, struct prompt *p)
{
	const char *path = option_text(o, OPTION_PROMPT_FILE);
	if (option_given(o, OPTION_PROMPT) == option_given(o, OPTION_PROMPT_FILE))
		return status_fail(STATUS_INPUT,
		                   option_given(o, OPTION_PROMPT)
		                           ? "--prompt and --prompt-file: leave one of them out"
		                           : "generate needs a text to go on from: --prompt \"Once upon\", or "
		                             "--prompt-file FILE");
	if (option_given(o, OPTION_PROMPT)) {
		p->text = option_text(o, OPTION_PROMPT);
		p->size = strlen(p->text);
		return STATUS_OK;
	}
	enum status s = file_read(strcmp(path, "-") != 0 ? path : "/dev/stdin", "{prompt_file}", MOST_PROMPT, &p->file,
	                          &p->size);
	p->text = p->file;
	return s;
}

/* The tokenizer of a folder, or of the folder that the file is in. */
static char *tokenizer_of(const char *path)
{
	return path_is_folder(path) ? path_in_folder(path, "tokenizer.json") : path_beside(path, "tokenizer.json");
}

/* Keys may stand behind the model's path. */
static char *without_keys(struct arena *a, const char *path)
{
	char *alone = arena_copy(a, path), *colon = strrchr(alone, ':');
	if (!path_is_there(alone) && colon)
		*colon = '\0';
	return alone;
}

/* --tokenizer, a file or a folder; else that of the folders of --init and --model. NULL: there is none. The caller
 * frees it. */
static char *tokenizer_path(const struct options *o, struct arena *a)
{
	const char *given = option_text(o, OPTION_TOKENIZER), *init = option_text(o, OPTION_INIT);
	if (option_given(o, OPTION_TOKENIZER))
		return path_is_folder(given) ? tokenizer_of(given) : memory_text(given);
	if (path_folder_has(init, "tokenizer.json"))
		return tokenizer_of(init);
	char *found = o->model_path ? tokenizer_of(without_keys(a, o->model_path)) : NULL;
	if (path_is_there(found))
		return found;
	free(found);
	return NULL;
}

static int64_t cores(void)
{
	cpu_set_t set;
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	if (!sched_getaffinity(0, sizeof set, &set))
		return CPU_COUNT(&set);
	return online > 0 ? online : 1;
}

static struct sampler_rule rule_of(const struct options *o)
{
	return (struct sampler_rule){.temperature = o->value[OPTION_TEMPERATURE].real,
	                             .top_k = option_whole(o, OPTION_TOP_K),
	                             .top_p = o->value[OPTION_TOP_P].real,
	                             .seed = (uint64_t)option_whole(o, OPTION_SEED)};
}

/* ---- what the user sees ---- */

static void print_text(void *context, const char *text, size_t size)
{
	(void)context;
	fwrite(text, 1, size, stdout);
	fflush(stdout);
}

static double rate(size_t tokens, int64_t ns)
{
	return ns > 0 ? (double)tokens * 1e9 / (double)ns : 0;
}

static const char *stop_name(enum generate_stop stop)
{
	static const char *const names[] = {[STOP_TOKENS] = "tokens", [STOP_END] = "end", [STOP_CONTEXT] = "context"};
	return names[stop];
}

static void tell_speed(const struct generation *g)
{
	char bytes[32];
	number_format_bytes(bytes, sizeof bytes, g->memory.weights + g->memory.cache + g->memory.values);
	if (g->stop == STOP_CONTEXT)
		fprintf(stderr, "stopped: the context of %" PRId64 " tokens is full\n", g->context);
	fprintf(stderr,
	        "prompt: %zu tokens, %.1f tokens/s; then %zu tokens, %.1f tokens/s%s; fp32 on the CPU, %d thread%s, "
	        "%s of memory\n",
	        g->prompt.count, rate(g->prompt.count, g->prompt_ns), g->tokens.count,
	        rate(g->tokens.count, g->tokens_ns), g->stop == STOP_END ? ", up to the end of the text" : "",
	        g->threads, g->threads == 1 ? "" : "s", bytes);
}

static json_t *ids_to_json(const struct token_list *l)
{
	json_t *list = json_array();
	for (size_t i = 0; i < l->count; i++)
		json_array_append_new(list, json_integer(l->list[i]));
	return list;
}

static void print_object(const struct generation *g, const struct generate_options *o)
{
	/* Text that is not UTF-8 can be a prompt of bytes, and not one of JSON. */
	json_t *prompt = json_stringn(o->prompt, o->prompt_bytes);
	print_json(json_pack("{s:s, s:o, s:o, s:o, s:s%, s:s, s:I, s:f, s:f}", "model", o->model, "prompt",
	                     prompt ? prompt : json_null(), "prompt_tokens", ids_to_json(&g->prompt), "tokens",
	                     ids_to_json(&g->tokens), "text", g->text.size ? g->text.at : "", g->text.size, "stopped",
	                     stop_name(g->stop), "seed", (json_int_t)o->rule.seed, "prompt_tokens_per_s",
	                     rate(g->prompt.count, g->prompt_ns), "tokens_per_s", rate(g->tokens.count, g->tokens_ns)),
	           true);
}

/* ---- the command ---- */

static enum status run(const struct options *o, const struct prompt *p, struct arena *a)
{
	bool json = option_given(o, OPTION_JSON);
	struct generation g = {0};
	char *tokenizer = tokenizer_path(o, a);
	struct generate_options options = {
	        .model = option_text(o, OPTION_MODEL),
	        .init = option_text(o, OPTION_INIT),
	        .tokenizer = tokenizer,
	        .prompt = p->text,
	        .prompt_bytes = p->size,
	        .tokens = option_whole(o, OPTION_TOKENS),
	        .rule = rule_of(o),
	        .threads = option_given(o, OPTION_THREADS) ? (int)option_whole(o, OPTION_THREADS) : 0,
	        .cores = (int)cores(),
	        .on_prompt = json ? NULL : print_text,
	        .on_text = json ? NULL : print_text};
	enum status s = generate_run(&options, &g);
	if (!s && json)
		print_object(&g, &options);
	else if (!s)
		putchar('\n');
	fflush(stdout);
	if (!s)
		tell_speed(&g);
	generation_release(&g);
	free(tokenizer);
	return s;
}

enum status command_generate(const struct options *o)
{
	struct prompt p = {0};
	struct arena a = {0};
	if (!option_given(o, OPTION_INIT))
		return status_fail(STATUS_INPUT,
		                   "generate needs weights: --init FOLDER, whose config.json says which model it "
		                   "holds, or --init FILE.safetensors and --model");
	enum status s = read_prompt(o, &p);
	if (!s)
		s = run(o, &p, &a);
	free(p.file);
	arena_release(&a);
	return s;
}
