/* Text, tables and CSV of a report whose figures are made up, all different, against what they must say: units, sums,
 * shares and whose figure it is, worked out by hand. Lines are compared without the spaces between columns. */
#include <stdlib.h>
#include <string.h>

#include "cli/show/show.h"
#include "tests/support/suite.h"

/* ---- reports ---- */

/* In kB: 100 a role, 10 a space, 1 a category. A root, and two workers each of which is the fuller. */
static void fill_memory(struct report_memory *m, int role, int space)
{
	m->peak_bytes = m->arena_bytes = 0;
	for (int c = 0; c < CATEGORY_COUNT; c++) {
		m->at_peak[c] = (100 * (role + 1) + 10 * (space + 1) + c) * 1000;
		m->steady[c] = m->at_peak[c] / 10;
		m->peak_bytes += m->at_peak[c];
	}
	m->arena_bytes = m->peak_bytes + 7000;
	m->overhead_bytes = space ? 0 : 50000 + 1000 * role;
	snprintf(m->peak_at, sizeof m->peak_at, "moment %d", role);
}

static void fill_role(struct report_role *r, int role)
{
	snprintf(r->role, sizeof r->role, "%s", role ? "worker" : "root");
	r->ranks = role ? 2 : 1;
	for (int space = 0; space < SPACE_COUNT; space++)
		fill_memory(&r->memory[space], role, space);
	r->by_kind[TRAFFIC_BROADCAST] =
	        (struct report_traffic){3 + role, 4000000 + role, 5000000 + 1000000 * role, 6000000 + 1000000 * role};
	r->by_kind[TRAFFIC_CONTROL] = (struct report_traffic){1, 8, 16, 24};
	r->sent_bytes = r->by_kind[TRAFFIC_BROADCAST].sent_bytes;
	r->received_bytes = r->by_kind[TRAFFIC_BROADCAST].received_bytes;
	for (int k = 0; k < TRANSFER_COUNT; k++)
		r->transfer[k] = (struct report_transfer){10 * (role + 1) + k, (1000 * (role + 1) + 100 * k) * 1000};
}

/* A node's memory is the fullest, and has no room. */
static const struct report whole = {.model = "gpt",
                                    .strategy = "dp",
                                    .cluster = "here",
                                    .parameters = 1234567,
                                    .units = 4,
                                    .ranks = 3,
                                    .batch = 18,
                                    .micro_batch = 3,
                                    .accumulate = 2,
                                    .sequence = 16,
                                    .precision = TYPE_BF16,
                                    .role_count = 2,
                                    .checkpointing = {.setting = "none"},
                                    .offload = "optimizer",
                                    .time = {4000000, 2000000, 1600000, 800000, 1200000, 0, 0, 0},
                                    .tightest = {SPACE_HOST, 4500000000, 4000000000},
                                    .validation_loss = 1.25,
                                    .validation_accuracy = 0.8125};

static struct report report_of(const char *strategy)
{
	struct report r = whole;
	snprintf(r.strategy, sizeof r.strategy, "%s", strategy);
	for (int role = 0; role < 2; role++)
		fill_role(&r.roles[role], role);
	return r;
}

/* ---- text ---- */

static char *text;

static FILE *text_open(void)
{
	static size_t size;
	free(text);
	FILE *out = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(out);
	return out;
}

/* Closes it; runs of spaces become one, and those at the beginning of a line none. */
static void text_close(FILE *out)
{
	fclose(out);
	char *to = text;
	for (const char *at = text; *at; at++)
		if (*at != ' ' || (at > text && at[-1] != ' ' && at[-1] != '\n'))
			*to++ = *at;
	*to = 0;
}

#define SHOWN(call)                                                                                                    \
	do {                                                                                                           \
		FILE *out = text_open();                                                                               \
		call;                                                                                                  \
		text_close(out);                                                                                       \
	} while (0)

/* The lines stand there together. */
static void assert_lines(const char *lines)
{
	ck_assert_msg(strstr(text, lines) != NULL, "no\n%s\nin\n%s", lines, text);
}

START_TEST(a_report_says_its_figures)
{
	struct report r = report_of("dp");
	r.speed.model_flops = 36e9; /* of 3 ranks, in 4 ms */
	report_set_speed(&r, 12e12);
	r.asked = (struct report_asked){"width=64", "clip 1 · seed 7", 7, "0.1"};
	SHOWN(show_heading(&r, SHOW_ALL, out));
	assert_lines("dp on 3 ranks · gpt:width=64, 1,234,567 parameters · bf16 · batch 18 = 3 ranks × 3 × 2 "
	             "micro-batches · "
	             "sequence 16 · offload optimizer · clip 1 · seed 7 · cluster here · shardlab 0.1\n");
	r.asked = (struct report_asked){0};
	SHOWN(show_report(&r, out));
	assert_lines("dp on 3 ranks · gpt, 1,234,567 parameters · bf16 · batch 18 = 3 ranks × 3 × 2 micro-batches · "
	             "sequence 16 · offload optimizer · cluster here\n");
	assert_lines("root each worker\n"
	             "memory of a rank at the peak between steps at the peak between steps\n"
	             "parameters 110.0 kB 11.00 kB 210.0 kB 21.00 kB\n"
	             "gradients 111.0 kB 11.10 kB 211.0 kB 21.10 kB\n"
	             "optimizer 112.0 kB 11.20 kB 212.0 kB 21.20 kB\n"
	             "activations 113.0 kB 11.30 kB 213.0 kB 21.30 kB\n"
	             "gathered 114.0 kB 11.40 kB 214.0 kB 21.40 kB\n"
	             "buffers 115.0 kB 11.50 kB 215.0 kB 21.50 kB\n"
	             "total 675.0 kB 67.50 kB 1.275 MB 127.5 kB\n"
	             "as laid out 682.0 kB 1.282 MB\n"
	             "libraries 50.00 kB 51.00 kB\n"
	             "peak at: moment 0 (root)\n"
	             "peak at: moment 1 (worker)\n"
	             "fits: no, with libraries the ranks of a node take 4.500 GB of its 4.000 GB (3.725 GiB): 500.0 MB "
	             "are missing\n");
	assert_lines("host memory of a rank at the peak between steps at the peak between steps\n"
	             "parameters 120.0 kB 12.00 kB 220.0 kB 22.00 kB\n");
	assert_lines("disk of a rank at the peak between steps at the peak between steps\n"
	             "parameters 130.0 kB 13.00 kB 230.0 kB 23.00 kB\n");
	assert_lines("communication of the root, a step calls payload sent received\n"
	             "broadcast 3 4.000 MB 5.000 MB 6.000 MB\n"
	             "total 5.000 MB 6.000 MB\n"
	             "control (not in the total) 1 8 B 16 B 24 B\n");
	assert_lines("communication of a worker, a step calls payload sent received\n"
	             "broadcast 4 4.000 MB 6.000 MB 7.000 MB\n"
	             "total 6.000 MB 7.000 MB\n");
	assert_lines("copies of a worker, a step calls bytes\n"
	             "device_to_host 20 2.000 MB\n"
	             "host_to_device 21 2.100 MB\n"
	             "disk_read 22 2.200 MB\n"
	             "disk_write 23 2.300 MB\n");
	assert_lines("time of a step, of rank 0 *\n"
	             "computing 2.000 ms 50.0 %\n"
	             "waiting for communication 800.0 µs 20.0 %\n"
	             "waiting for anything else 1.200 ms 30.0 %\n"
	             "step 4.000 ms\n"
	             "communicating, hidden or not 1.600 ms 40.0 %\n"
	             "72,000 tokens a second; model FLOPs: 3.000 TFLOP/s a device, MFU 25.0 %\n");
	assert_lines("* rests on assumed rates\n");
}

static void assert_heading(const struct report *r, const char *says)
{
	SHOWN(show_heading(r, SHOW_PRECISION | SHOW_MICRO, out));
	assert_lines(says);
}

/* Ranks that share samples are not all ranks. */
START_TEST(a_heading_has_the_data_ranks)
{
	struct report r = report_of("hybrid:shard=2");
	r.ranks = 8;
	r.batch = 24;
	assert_heading(&r, "batch 24 = 4 data ranks × 3 × 2 micro-batches · sequence 16");
	r.batch = 48;
	assert_heading(&r, "batch 48 = 8 ranks × 3 × 2 micro-batches");
	r.batch = 6;
	assert_heading(&r, "batch 6 = 3 × 2 micro-batches, the same on all ranks");
	r.accumulate = 1;
	r.batch = 3;
	assert_heading(&r, "batch 3, the same on all ranks");
}

START_TEST(a_fitting_device_says_so)
{
	struct report r = report_of("single");
	r.fits = true;
	r.tightest = (struct report_tightest){SPACE_DEVICE, 1500000, 2000000};
	SHOWN(show_report(&r, out));
	assert_lines("fits: yes, with libraries a rank takes 1.500 MB of its device's 2.000 MB\n");
}

START_TEST(a_search_that_was_cut_says_so)
{
	struct report r = report_of("dp");
	r.change = (struct report_change){.words = "--offload optimizer", .cut = true, .step = 4000000};
	SHOWN(show_report(&r, out));
	assert_lines("would fit with: --offload optimizer, in 4.000 ms a step\n"
	             "the search for it ended at its limit: a cheaper change may fit too; ");
	*r.change.words = 0;
	SHOWN(show_report(&r, out));
	assert_lines("are missing\n"
	             "the search for it ended at its limit: a change may fit that it has not tried; ");
}

START_TEST(a_run_says_its_figures)
{
	double losses[] = {2.5, 9, 1.0625};
	struct report r = report_of("zero2");
	r.losses = losses;
	r.loss_count = 3;
	r.resident_bytes = 98765432;
	r.loss_scale = 1024;
	r.skipped_steps = 3;
	SHOWN(show_run(&r, out));
	assert_lines("loss, first and last step 2.500000 → 1.062500\n"
	             "validation loss 1.250000\n"
	             "validation accuracy 81.25 %\n"
	             "steps skipped, loss scale at the end 3, 1024\n"
	             "resident memory of the largest rank 98.77 MB\n");
}

/* ---- side by side ---- */

START_TEST(columns_share_a_unit)
{
	struct report a = report_of("dp"), b = report_of("single");
	b.role_count = 1;
	b.fits = true;
	b.tightest = (struct report_tightest){SPACE_DEVICE, 3000000000, 5000000000};
	b.time.step = 1999000;
	/* 18 samples of 2e9 each: on 3 ranks in 4 ms, and on another 3 in half that */
	a.speed.model_flops = b.speed.model_flops = 36e9;
	report_set_speed(&a, 12e12);
	report_set_speed(&b, 0);
	SHOWN(show_columns((struct column[]){{"dp", &a}, {"single", &b}}, 2, out));
	assert_lines("dp single\n"
	             "root worker\n"
	             "\n"
	             "memory at the peak, kB\n"
	             "parameters 110.0 210.0 110.0\n"
	             "gradients 111.0 211.0 111.0\n"
	             "optimizer 112.0 212.0 112.0\n"
	             "activations 113.0 213.0 113.0\n"
	             "gathered 114.0 214.0 114.0\n"
	             "buffers 115.0 215.0 115.0\n"
	             "total 675.0 1275.0 675.0\n"
	             "as laid out 682.0 1282.0 682.0\n"
	             "\n"
	             "memory between steps, kB\n"
	             "model states 33.3 63.3 33.3\n"
	             "total 67.5 127.5 67.5\n"
	             "\n"
	             "beside the device, MB\n"
	             "host, at the peak 0.735 1.335 0.735\n"
	             "disk, at the peak 0.795 1.395 0.795\n"
	             "to the host, a step 1.000 2.000 1.000\n"
	             "from the host 1.100 2.100 1.100\n"
	             "\n"
	             "a rank, each step, MB\n"
	             "sends 5.000 6.000 5.000\n"
	             "receives 6.000 7.000 6.000\n"
	             "\n"
	             "time of a step, ms *\n"
	             "computing 2.000 2.000\n"
	             "exposed comm. 0.800 0.800\n"
	             "bubble 1.200 1.200\n"
	             "step 4.000 1.999\n"
	             "\n"
	             "tokens a second, thousand\n"
	             "all ranks 72.00 144.07\n"
	             "\n"
	             "model FLOPs, TFLOP/s\n"
	             "a device 3.000 6.003\n"
	             "MFU 25.0 % –\n"
	             "\n"
	             "the fullest memory, with libraries, GB\n"
	             "of the node device\n"
	             "needed 4.500 3.000\n"
	             "there 4.000 5.000\n"
	             "fits no yes\n");
}

/* The largest unit in which the largest number is at least 2. */
START_TEST(a_unit_is_chosen)
{
	static const struct {
		int64_t largest;
		const char *name;
	} bytes[] = {{1999, "B"},     {2000, "kB"},       {1999999, "kB"},
	             {2000000, "MB"}, {1999999999, "MB"}, {2000000000, "GB"}};
	for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
		ck_assert_str_eq(scale_of_bytes(bytes[i].largest).name, bytes[i].name);
	ck_assert_str_eq(scale_of_bytes_between(39800000000, 2700000000000).name, "GB");
	ck_assert_str_eq(scale_of_bytes_between(100000000000, 2700000000000).name, "TB");
	ck_assert_str_eq(scale_of_bytes_between(0, 2700000000000).name, "TB");
	ck_assert_str_eq(scale_of_bytes_between(1, 2700000000000).name, "GB");
	ck_assert_str_eq(scale_of_time(1999999).name, "µs");
	ck_assert_str_eq(scale_of_time(2000000).name, "ms");
	ck_assert_str_eq(scale_of_time(1999999999).name, "ms");
	ck_assert_str_eq(scale_of_time(2000000000).name, "s");
}

/* With strategies that take the batch in other micro-batches, the columns say so and the heading does not. */
START_TEST(micro_batches_are_told_apart)
{
	struct report a = report_of("zero1"), b = report_of("pipeline"), one = report_of("single");
	struct column columns[] = {{"single", &one}, {"zero1", &a}, {"pipeline", &b}};
	one.ranks = 1;
	one.micro_batch = 9;
	SHOWN(show_columns(columns, 3, out));
	ck_assert(!show_micros_differ(columns, 3) && !strstr(text, "micro-batches"));
	SHOWN(show_grid(&a, columns, 3, out));
	ck_assert(strstr(text, "batch 18 = 3 ranks × 3 × 2 micro-batches"));
	b.micro_batch = 1;
	b.accumulate = 18;
	SHOWN(show_columns(columns, 3, out));
	assert_lines("micro-batches 9 × 2 3 × 2 1 × 18\n");
	SHOWN(show_grid(&a, columns, 3, out));
	assert_lines("· batch 18 · sequence 16 ");
	assert_lines("pipeline 1 × 18 ");
}

START_TEST(csv_has_every_figure)
{
	struct report r = report_of("dp");
	r.roles[1].sent_bytes = -1; /* inside a library */
	r.asked = (struct report_asked){"width=64", "clip 1", 7, "0.1"};
	SHOWN(show_csv(&(struct column){"dp:a,b", &r}, 1, out));
	assert_lines(
	        "strategy,role,ranks,model,precision,activation_checkpointing,offload,batch,micro_batch,accumulate,"
	        "sequence,cluster,rates,fits,peak_parameters_bytes,peak_gradients_bytes,peak_optimizer_bytes,"
	        "peak_activations_bytes,peak_gathered_bytes,peak_buffers_bytes,peak_bytes,arena_bytes,"
	        "steady_model_states_bytes,steady_bytes,host_peak_bytes,disk_peak_bytes,device_to_host_bytes,"
	        "host_to_device_bytes,sent_bytes,received_bytes,compute_ns,exposed_ns,bubble_ns,step_ns,"
	        "needed_bytes,capacity_bytes,bubble_closed_form,grain,model_flops,tokens_per_s,tflops_per_device,mfu,"
	        "seed,settings,version\n"
	        "\"dp:a,b\",root,1,gpt:width=64,bf16,none,optimizer,18,3,2,16,here,assumed,no,110000,111000,112000,"
	        "113000,"
	        "114000,115000,675000,682000,33300,67500,735000,795000,1000000,1100000,5000000,6000000,2000000,"
	        "800000,1200000,4000000,4500000000,4000000000,,,,,,,7,clip 1,0.1\n"
	        "\"dp:a,b\",worker,2,gpt:width=64,bf16,none,optimizer,18,3,2,16,here,assumed,no,210000,211000,212000,"
	        "213000,"
	        "214000,215000,1275000,1282000,63300,127500,1335000,1395000,2000000,2100000,,7000000,2000000,"
	        "800000,1200000,4000000,4500000000,4000000000,,,,,,,7,clip 1,0.1\n");
	r.speed = (struct report_speed){36e9, 3, 72000, 0.25};
	r.bubble = (struct bubble){4, 1};
	snprintf(r.grain, sizeof r.grain, "message");
	SHOWN(show_csv(&(struct column){"pipeline", &r}, 1, out));
	assert_lines(",4500000000,4000000000,0.750000,message,36000000000,72000,3,0.25,7,clip 1,0.1\n");
	r.rates_measured = r.fits = true;
	SHOWN(show_csv(&(struct column){"dp", &r}, 1, out));
	assert_lines("\ndp,root,1,gpt:width=64,bf16,none,optimizer,18,3,2,16,here,measured,yes,110000,");
}

/* A line a strategy: of the fullest role, and of the busiest rank. */
/* A strategy that divides more and peaks higher is named if gathered state is the reason. */
START_TEST(a_departure_from_theory_is_named)
{
	struct report less = report_of("zero1"), more = report_of("fsdp:prefetch=0"), ddp = report_of("ddp");
	less.role_count = more.role_count = ddp.role_count = 1;
	less.ranks = more.ranks = ddp.ranks = 4;
	struct report_memory *m = &more.roles[0].memory[SPACE_DEVICE], *l = &less.roles[0].memory[SPACE_DEVICE];
	struct column columns[] = {{"ddp", &ddp}, {"zero1", &less}, {"fsdp:prefetch=0", &more}};
	ddp.roles[0].memory[SPACE_DEVICE].peak_bytes = 900000;
	l->peak_bytes = 700000;
	l->at_peak[CATEGORY_GATHERED] = 0;
	m->peak_bytes = 700001;
	m->at_peak[CATEGORY_GATHERED] = 5000;
	SHOWN(show_departure(columns, 3, out));
	assert_lines("fsdp:prefetch=0 peaks above zero1, which divides less: what is whole for a moment (gathered, up "
	             "to 5.000 kB)\noutweighs what is saved; see: shardlab lesson 7\n");
	m->at_peak[CATEGORY_GATHERED] = 0; /* something else is why */
	SHOWN(show_departure(columns, 3, out));
	ck_assert(!*text);
	m->at_peak[CATEGORY_GATHERED] = 5000;
	m->peak_bytes = l->peak_bytes;
	SHOWN(show_departure(columns, 3, out));
	ck_assert(!*text);
	SHOWN(show_departure(columns, 1, out));
	ck_assert(!*text);
}

START_TEST(a_grid_shows_the_fullest_role)
{
	struct report a = report_of("dp"), b = report_of("zero1");
	a.roles[0].memory[SPACE_DEVICE].at_peak[CATEGORY_GATHERED] = 160000;
	a.roles[1].memory[SPACE_DEVICE].at_peak[CATEGORY_GATHERED] = 255000;
	b.role_count = 1;
	b.fits = true;
	b.precision = TYPE_FP32;
	SHOWN(show_grid(&a, (struct column[]){{"dp", &a}, {"zero1", &b}}, 2, out));
	assert_lines("strategy precision most of peak host fits fills sends step exposed bubble\n"
	             "the peak kB kB MB ms *\n"
	             "dp bf16 gathered, 20 % 1275.0 1335.0 no 112 % 6.000 4.000 20.0 % 30.0 %\n"
	             "\n"
	             "zero1 fp32 buffers, 17 % 675.0 735.0 yes 112 % 5.000 4.000 20.0 % 30.0 %\n");
	ck_assert(!strstr(text, "MFU"));
	b.speed.mfu = 0.25; /* of the other one no peak is known */
	SHOWN(show_grid(&a, (struct column[]){{"dp", &a}, {"zero1", &b}}, 2, out));
	assert_lines("exposed bubble MFU\n");
	assert_lines("20.0 % 30.0 %\n");
	assert_lines("20.0 % 30.0 % 25.0 %\n");
}

/* The closed form once a strategy and number of stages, beside what its lines have. */
START_TEST(a_grid_has_the_bubble_in_closed_form)
{
	struct report a = report_of("pipeline"), b = report_of("pipeline"), c = report_of("ddp");
	a.bubble = b.bubble = (struct bubble){4, 8};
	b.precision = TYPE_FP32;
	b.time.bubble = 2 * a.time.bubble;
	SHOWN(show_grid(&a, (struct column[]){{"pipeline", &a}, {"pipeline", &b}, {"ddp", &c}}, 3, out));
	assert_lines("\npipeline: bubble (p−1)/(m+p−1) = 3/11 = 27.3 %; here 30.0 to 60.0 %\n\n");
	b.bubble.micro_batches = 1;
	SHOWN(show_grid(&a, (struct column[]){{"pipeline", &a}, {"pipeline", &b}, {"ddp", &c}}, 3, out));
	assert_lines("\npipeline: bubble (p−1)/(m+p−1) = 3/11 = 27.3 %; here 30.0 %\n"
	             "pipeline: bubble (p−1)/(m+p−1) = 3/4 = 75.0 %; here 60.0 %\n\n");
}

SUITE("show", 0)
