/* --as: what other software does, as plans. */
#include <string.h>

#include "strategy/settings/software.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

#define GPT "gpt:layers=2,width=16,heads=2,context=8,vocabulary=33 "

static struct software parsed(const char *text)
{
	struct software s;
	ck_assert_int_eq(software_parse(text, &s), STATUS_OK);
	return s;
}

START_TEST(a_name_sets_every_switch_and_a_key_changes_one)
{
	struct software own = parsed("shardlab"), theirs = parsed("deepspeed"),
	                mixed = parsed("deepspeed:reduce=scatter");
	ck_assert(software_is_own(&own));
	ck_assert(!software_is_own(&theirs));
	ck_assert_int_eq(theirs.does[SOFTWARE_REDUCE], REDUCE_ALL);
	ck_assert_int_eq(mixed.does[SOFTWARE_REDUCE], REDUCE_SCATTERS);
	ck_assert_int_eq(mixed.does[SOFTWARE_MASTER], theirs.does[SOFTWARE_MASTER]);
}

START_TEST(other_names_keys_and_words_are_refused)
{
	must_not_open("'torch' is not one of", GPT "ddp as=torch");
	must_not_open("unknown key", GPT "ddp as=pytorch:speed=high");
	must_not_open("reduce", GPT "ddp as=pytorch:reduce=none");
}

/* The first word of a switch is what shardlab does, and every word that a stack has is one of the switch. */
START_TEST(the_table_of_switches_is_sound)
{
	for (int i = 0; i < SOFTWARE_SWITCHES; i++) {
		const struct software_row *r = &software_rows[i];
		char name[64];
		ck_assert_msg(!strncmp(r->words, r->way[0], strlen(r->way[0])), "%s", r->key);
		for (int n = 0; n < SOFTWARE_NAMES; n++) {
			snprintf(name, sizeof name, "%s:%s=%s", software_name((enum software_name)n), r->key,
			         r->way[n]);
			struct software said = parsed(name), meant = parsed(software_name((enum software_name)n));
			ck_assert_msg(!memcmp(&said, &meant, sizeof said), "%s", name);
		}
	}
}

/* The verifier lets through what every stack makes of every strategy. */
START_TEST(plans_of_all_software_are_right)
{
	static const char *const strategies[] = {"single ranks=1", "ddp ranks=4",   "zero1 ranks=4",
	                                         "zero2 ranks=4",  "zero3 ranks=4", "fsdp ranks=4",
	                                         "hybrid ranks=4", "dp ranks=2",    "pipeline ranks=2 accumulate=2",
	                                         "tensor ranks=2"};
	static const char *const more[] = {"",
	                                   "accumulate=2",
	                                   "precision=bf16 clip=1",
	                                   "precision=fp16 accumulate=2",
	                                   "offload=optimizer",
	                                   "activation_checkpointing=full",
	                                   "checkpoints=yes"};
	for (int n = 1; n < SOFTWARE_NAMES; n++)
		for (int g = 0; g < COUNT(strategies); g++)
			for (int m = 0; m < COUNT(more); m++) {
				if (strstr(strategies[g], "accumulate") && strstr(more[m], "accumulate"))
					continue;
				must_come_back(right_plan(GPT "%s %s as=%s", strategies[g], more[m],
				                          software_name((enum software_name)n)));
				plans_forget();
			}
}

SUITE("software", 60)
