#include "strategy/base/near.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 40 };

static void simplify(char out[LONGEST + 1], const char *text)
{
	int n = 0;
	for (; *text && n < LONGEST; text++)
		if (isalnum((unsigned char)*text))
			out[n++] = (char)tolower((unsigned char)*text);
	out[n] = 0;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* Counts the letters that must be inserted, removed, replaced, or swapped with the next to turn a into b. */
static int distance(const char *a, const char *b)
{
	int rows[3][LONGEST + 1],
	        columns = (int)strlen(b); /* of the letter before the last, of the last, of this one */
	for (int j = 0; j <= columns; j++)
		rows[0][j] = rows[1][j] = j;
	for (int i = 0; a[i]; i++) {
		int *older = rows[i % 3], *old = rows[(i + 1) % 3], *now = rows[(i + 2) % 3];
		now[0] = i + 1;
		for (int j = 0; j < columns; j++) {
			now[j + 1] = least(old[j] + (a[i] != b[j]), least(old[j + 1], now[j]) + 1);
			if (i && j && a[i] == b[j - 1] && a[i - 1] == b[j])
				now[j + 1] = least(now[j + 1], older[j - 1] + 1);
		}
	}
	return rows[((int)strlen(a) + 1) % 3][columns];
}

static void keep(struct near *n, const char *name, int d)
{
	if (n->name && d > n->distance)
		return;
	if (!n->name || d < n->distance) {
		n->name = name;
		n->distance = d;
		n->count = 0;
	}
	for (int i = 0; i < n->count && i < NEAR_NAMES; i++)
		if (!strcmp(n->names[i], name)) /* an option and a topic, say */
			return;
	if (n->count < NEAR_NAMES)
		n->names[n->count] = name;
	n->count++;
}

/* Words that people type for a name that is spelt quite differently. */
static const struct {
	const char *typed, *name;
} meant[] = {
        {"4090", "rtx-4090"},   {"3090", "rtx-3090"},    {"5090", "rtx-5090"},       {"5060ti", "rtx-5060ti"},
        {"bfloat16", "bf16"},   {"float16", "fp16"},     {"half", "fp16"},           {"float32", "fp32"},
        {"float", "fp32"},      {"cpu", "optimizer"},    {"nvme", "optimizer"},      {"adam", "adamw"},
        {"deepspeed", "zero1"}, {"deepspeed", "zero2"},  {"deepspeed", "zero3"},     {"fp16", "precision"},
        {"bf16", "precision"},  {"fp32", "precision"},   {"half", "precision"},      {"nvme", "offload"},
        {"cpu", "offload"},     {"completion", "bash"},  {"completion", "zsh"},      {"completions", "bash"},
        {"completions", "zsh"}, {"manual", "man"},       {"manpage", "man"},         {"pp", "pipeline"},
        {"tp", "tensor"},       {"gpipe", "pipeline"},   {"megatron", "tensor"},     {"hsdp", "hybrid"},
        {"batchsize", "batch"}, {"bs", "batch"},         {"gpus", "ranks"},          {"lr", "learning-rate"},
        {"p3", "p3.16xlarge"},  {"p3", "p3dn.24xlarge"}, {"p4", "p4d.24xlarge"},     {"p4", "p4de.24xlarge"},
        {"p5", "p5.48xlarge"},  {"p5", "p5en.48xlarge"}, {"p6", "p6-b200.48xlarge"}, {"g4dn", "g4dn.12xlarge"},
        {"g5", "g5.12xlarge"},  {"g5", "g5.48xlarge"},   {"g6", "g6.48xlarge"},      {"a4", "a4-highgpu-8g"},
        {"stage1", "zero1"},    {"stage2", "zero2"},     {"stage3", "zero3"},        {"nodes", "ranks"},
        {"hf", "transformers"}, {"hf", "trainer"},       {"simulate", "sim"},        {"lint", "config"},
        {"fsdp", "accelerate"}, {"fsdp", "trainer"},     {"fsdp", "torchtitan"},     {"fsdp2", "accelerate"},
        {"fsdp2", "trainer"},   {"fsdp2", "torchtitan"}, {"pytorch", "accelerate"},  {"pytorch", "torchtitan"},
        {"ddp", "accelerate"},  {"ddp", "trainer"},      {"ddp", "torchtitan"},      {"zero", "deepspeed"},
        {"zero1", "deepspeed"}, {"zero2", "deepspeed"},  {"zero3", "deepspeed"},     {"huggingface", "trainer"},
        {"ds", "deepspeed"},    {"titan", "torchtitan"}, {"torch", "accelerate"},    {"torch", "torchtitan"},
};

static bool is_meant(const char *typed, const char *name)
{
	for (size_t i = 0; i < sizeof meant / sizeof meant[0]; i++)
		if (!strcasecmp(typed, meant[i].typed) && !strcmp(name, meant[i].name))
			return true;
	return false;
}

/* Is the name the first part of what was typed, as h100 is of h100-80gb? */
static bool begins(const char *typed, const char *name)
{
	size_t length = strlen(name);
	return length >= 3 && !strncasecmp(typed, name, length) && typed[length] &&
	       !isalnum((unsigned char)typed[length]);
}

void near_consider(struct near *n, const char *name)
{
	char typed[LONGEST + 1] = "", known[LONGEST + 1] = "";
	simplify(typed, n->typed);
	simplify(known, name);
	int d = distance(typed, known), length = (int)strlen(typed);
	size_t listed = strlen(n->known);
	snprintf(n->known + listed, sizeof n->known - listed, "%s%s", listed ? ", " : "", name);
	bool begun = length >= 3 && !strncmp(typed, known, (size_t)length), longer = begins(n->typed, name);
	/* Short words must be nearer than long ones. */
	if (is_meant(n->typed, name)) {
		keep(n, name, 0);
		return;
	}
	if (!begun && !longer && d > (length < 8 ? 1 : length / 4))
		return;
	/* Few mistake the first letter. */
	int letters = 2 + 2 * d + 2 * (*typed != *known);
	keep(n, name, !d ? 0 : begun ? 2 : longer ? least(5, letters) : letters);
}

void near_line(void *near, const char *name, const char *what)
{
	(void)what;
	near_consider(near, name);
}

const char *near_words(struct near *n)
{
	size_t length = 0;
	int shown = n->count > NEAR_NAMES ? 1 : n->count;
	for (int i = 0; i < shown && length < sizeof n->words; i++)
		length += (size_t)snprintf(n->words + length, sizeof n->words - length, "%s%s",
		                           !i              ? " (did you mean "
		                           : i < shown - 1 ? ", "
		                                           : " or ",
		                           n->names[i]);
	if (shown && length < sizeof n->words)
		snprintf(n->words + length, sizeof n->words - length, "?)");
	return n->words;
}
