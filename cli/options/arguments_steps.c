/* Arguments of several measured steps: --step 1.53s --ranks 8 --step 0.9s --ranks 64 --model gpt2-124m. */
#include <string.h>

#include "cli/options/options.h"

static size_t name_length(const char *word)
{
	return strcspn(word, "=");
}

static bool is_step(const char *word)
{
	return !strncmp(word, "--step", 6) && name_length(word) == 6;
}

static bool is_option(const char *word)
{
	return !strncmp(word, "--", 2);
}

/* The words of the option that stands there. */
static int words_at(int argc, char *const *argv, int at)
{
	bool has_value = is_option(argv[at]) && !argv[at][name_length(argv[at])] && at + 1 < argc;
	return has_value && !is_option(argv[at + 1]) ? 2 : 1;
}

int arguments_count_steps(int argc, char *const *argv)
{
	int n = 0;
	for (int i = 0; i < argc; i += words_at(argc, argv, i))
		n += is_step(argv[i]);
	return n > 1 ? n : 1;
}

/* The step whose value of the option holds for step `which`: the last one up to it that has a value, else the first. */
static int step_that_counts(int argc, char *const *argv, const char *option, int which)
{
	int step = -1, best = -1;
	for (int i = 0; i < argc; i += words_at(argc, argv, i)) {
		step += is_step(argv[i]);
		int here = step < 0 ? 0 : step;
		bool same =
		        name_length(argv[i]) == name_length(option) && !strncmp(argv[i], option, name_length(option));
		if (same && (best < 0 || here <= which))
			best = here;
	}
	return best;
}

int arguments_of_step(int argc, char **argv, int which, char **out)
{
	int n = 0, step = -1;
	for (int i = 0; i < argc; i += words_at(argc, argv, i)) {
		step += is_step(argv[i]);
		if (step_that_counts(argc, argv, argv[i], which) != (step < 0 ? 0 : step))
			continue;
		for (int k = 0; k < words_at(argc, argv, i); k++)
			out[n++] = argv[i + k];
	}
	return n;
}
