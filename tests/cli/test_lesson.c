/* Lessons: what is read and what is refused, and where; when output is the same; which answers are right; a lesson in
 * the terminal from typed lines; progress. */
#include <stdlib.h>
#include <string.h>

#include "cli/lesson/learner.h"
#include "cli/lesson/lesson.h"
#include "cli/lesson/same.h"
#include "cli/lesson/teach.h"
#include "cli/lesson/translation.h"
#include "strategy/base/file.h"
#include "strategy/base/language.h"
#include "tests/support/suite.h"

#define HEAD "# 7. Title\n<!-- lesson: minutes=5 after=2,3 -->\n"
#define DETAILS "\n<details><summary>Answer</summary>\n\nSince so.\n\n</details>\n"
#define CHOICES "\n1. one\n2. two\n"

static enum status read_text(struct lesson *l, const char *text)
{
	return lesson_read(l, text, strlen(text), "x.md");
}

START_TEST(pieces)
{
	struct lesson l;
	ck_assert_int_eq(
	        read_text(&l, HEAD
	                  "Text.\n\nMore.\n\n## Part\n<!-- run: ratio tolerance=5 where=\"a b\" -->\n```console\n"
	                  "$ echo a \\\n> b\na b\n$ true\n```\n"
	                  "<!-- view: strategy=zero3 program=p/q no-values at=3 -->\n![words](pictures/p.png)\n\n"
	                  "<!-- ask: choice 2 -->\nWhich?\n" CHOICES DETAILS
	                  "\n<!-- ask: number 1.5 GB tolerance=3 -->\nHow much?\n" DETAILS
	                  "\n<!-- exercise: mine check=\"grep -q '\\\"a\\\": 1' f\" -->\nDo it.\n" DETAILS "\nEnd.\n"),
	        STATUS_OK);
	static const enum piece_kind kinds[] = {PIECE_TEXT, PIECE_TEXT, PIECE_RUN,      PIECE_VIEW,
	                                        PIECE_ASK,  PIECE_ASK,  PIECE_EXERCISE, PIECE_TEXT};
	ck_assert_int_eq(l.piece_count, 8);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(l.pieces[i].kind, kinds[i]);
	ck_assert_str_eq(l.title, "7. Title");
	ck_assert_int_eq(l.number, 7);
	ck_assert_int_eq(l.minutes, 5);
	ck_assert_str_eq(l.after, "2,3");
	ck_assert_str_eq(l.pieces[0].markdown, HEAD "Text.\n\nMore.\n");
	const struct piece *run = &l.pieces[2], *ask = &l.pieces[4], *number = &l.pieces[5];
	ck_assert_int_eq(run->check, LESSON_RATIO);
	ck_assert_double_eq(run->tolerance, 5);
	ck_assert_str_eq(run->where, "a b");
	ck_assert_int_eq(run->command_count, 2);
	ck_assert_str_eq(run->commands[0].text, "echo a b");
	ck_assert_str_eq(run->commands[0].output, "a b\n");
	ck_assert_str_eq(run->commands[1].output, "");
	ck_assert_str_eq(l.pieces[3].options, "--strategy 'zero3' --no-values --at '3'");
	ck_assert_str_eq(l.pieces[3].program, "p/q");
	ck_assert_str_eq(l.pieces[3].picture, "pictures/p.png");
	ck_assert_int_eq(ask->right, 1);
	ck_assert_str_eq(ask->choices[1], "two");
	ck_assert_str_eq(ask->reason, "\nSince so.\n\n");
	ck_assert_str_eq(number->answer, "1.5 GB");
	ck_assert_double_eq(number->tolerance, 3);
	ck_assert_str_eq(l.pieces[6].name, "mine");
	ck_assert_str_eq(l.pieces[6].checks, "grep -q '\"a\": 1' f");
	lesson_release(&l);
}

START_TEST(mistakes)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
	        {"Text alone.\n", "x.md:1: a lesson begins with its title"},
	        {"# 1. A\n\nText.\n", "x.md:1: after the title comes <!-- lesson: minutes=20 -->"},
	        {"# 1. A\n<!-- lesson: minutes=0 -->\n", "x.md:2: lesson: minutes"},
	        {"# 1. A\n<!-- lesson: minute=5 -->\n", "x.md:2: lesson: unknown key 'minute'"},
	        {HEAD "```console\n$ true\n```\n", "x.md:3: nothing says how this console block is checked"},
	        {HEAD "<!-- run: maybe -->\n```console\n$ true\n```\n", "x.md:3: run: 'maybe' is no way to check"},
	        {HEAD "<!-- run: exact maybe -->\n```console\n$ a\n```\n", "x.md:3: run: unknown word 'maybe'"},
	        {HEAD "<!-- run: exact -->\nText.\n", "x.md:3: run: a block ```console must follow"},
	        {HEAD "<!-- run: exact -->\n```console\nprinted\n```\n", "x.md:5: a console block begins with '$ '"},
	        {HEAD "<!-- run: exact -->\n```console\n```\n", "x.md:3: the console block is empty"},
	        {HEAD "<!-- run: ratio tolerance=x -->\n```console\n$ a\n```\n", "x.md:3: run: tolerance"},
	        {HEAD "<!-- run: exact\n", "x.md:3: a comment begins here and does not end"},
	        {HEAD "<!-- exercise: a check=\"b -->\nText\n", "x.md:3: exercise: a quotation mark is missing"},
	        {HEAD "<!-- exercise: a -->\nText\n", "x.md:3: exercise: write a name and the command"},
	        {HEAD "<!-- exercise: a check=b -->\n" DETAILS, "x.md:3: exercise: its text must follow"},
	        {HEAD "<!-- view: at=3 -->\nText.\n", "x.md:3: view: a picture must follow"},
	        {HEAD "<!-- view: at=3 -->\n![w](../p.png)\n", "x.md:3: view: '../p.png' is not a PNG"},
	        {HEAD "<!-- view: at=3 -->\n![w](../pictures/../p.png)\n", "x.md:3: view: '../pictures/../p.png' is"},
	        {HEAD "<!-- view: at=3 -->\n![w](../pictures/)\n", "x.md:3: view: '../pictures/' is not a PNG"},
	        {HEAD "<!-- view: model=a'b -->\n![w](p.png)\n", "x.md:3: view: no quotation mark"},
	        {HEAD "<!-- ask: choice 3 -->\nWhich?\n" CHOICES DETAILS,
	         "x.md:3: ask: write which choice is right, from 1 to 2"},
	        {HEAD "<!-- ask: choice 1 -->\nWhich?\n" DETAILS, "x.md:3: ask: a numbered list of choices"},
	        {HEAD "<!-- ask: choice 1 -->\nWhich?\n" CHOICES "\nText.\n", "x.md:3: ask: <details> with the answer"},
	        {HEAD "<!-- ask: number -->\nWhich?\n" DETAILS, "x.md:3: ask: write the right number"},
	        {HEAD "<!-- ask: guess -->\nWhich?\n" DETAILS, "x.md:3: ask: 'guess' is no kind"},
	        {HEAD "<!-- ask: number 1 -->\nWhich?\n\n<details><summary>A</summary>\n\nSo.\n",
	         "x.md:3: <details> has no"},
	        {HEAD "<!-- show: at=3 -->\n![w](p.png)\n", "x.md:3: unknown directive 'show'"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct lesson l;
		ck_assert_msg(read_text(&l, rows[i].text) == STATUS_INPUT, "taken: %s", rows[i].text);
		ck_assert_msg(!strncmp(status_message(), rows[i].message, strlen(rows[i].message)), "%s instead of %s",
		              status_message(), rows[i].message);
	}
}

START_TEST(comments_that_are_no_directives_do_not_count)
{
	struct lesson l;
	ck_assert_int_eq(read_text(&l, HEAD "<!-- to do -->\n\nText.\n"), STATUS_OK);
	ck_assert_int_eq(l.piece_count, 1);
	lesson_release(&l);
}

START_TEST(same_output)
{
	static const struct {
		const char *written, *printed;
		enum lesson_check check;
		bool same;
	} rows[] = {
	        {"a 1\n", "a 1\n", LESSON_EXACT, true},
	        {"a 1\n", "a  1\n", LESSON_EXACT, false},
	        {"a 1\n", "a 2\n", LESSON_EXACT, false},
	        {"a\nb\n", "a\n", LESSON_EXACT, false},
	        {"a\n", "a\nb\n", LESSON_EXACT, false},
	        {"step   100 ms\n", "step 109.9 ms\n", LESSON_RATIO, true},
	        {"step   100 ms\n", "step 112 ms\n", LESSON_RATIO, false},
	        {"step   100 ms\n", "step 0.1 s\n", LESSON_RATIO, false},
	        {"step   100 ms\n", "steps 100 ms\n", LESSON_RATIO, false},
	        {"step 1,234 ms 5%\n", "step 7.5 us 6%\n", LESSON_PATTERN, true},
	        {"step 7 µs 5%\n", "step 8.5 us 6%\n", LESSON_PATTERN, true},
	        {"step 100 µs\n", "step 101 µs\n", LESSON_RATIO, true},
	        {"step 100 µs\n", "step 101 ms\n", LESSON_RATIO, false},
	        {"step 1 ms\n", "step ms\n", LESSON_PATTERN, false},
	        {"step 1 ms\n", "done 1 ms\n", LESSON_PATTERN, false},
	        {"a 1\nb 2\n", "a 3\nb 4\n", LESSON_PATTERN, true},
	        {"a 1\nb 2\n", "a 3\n", LESSON_PATTERN, false},
	};
	char why[600];
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		ck_assert_msg(lesson_same(rows[i].check, 10, rows[i].written, rows[i].printed, why, sizeof why) ==
		                      rows[i].same,
		              "%s %s", rows[i].written, rows[i].printed);
}

START_TEST(answers)
{
	static const char *const choices[] = {"one", "two", "three"};
	const struct piece choice = {
	        .kind = PIECE_ASK, .choice = true, .choices = choices, .choice_count = 3, .right = 1};
	const struct piece bytes = {.kind = PIECE_ASK, .answer = "1.5 GB", .tolerance = 2};
	const struct piece part = {.kind = PIECE_ASK, .answer = "25 %", .tolerance = 2};
	const struct piece plain = {.kind = PIECE_ASK, .answer = "16", .tolerance = 0};
	const struct {
		const struct piece *p;
		const char *typed;
		enum answer judged;
	} rows[] = {
	        {&choice, "2", ANSWER_RIGHT},
	        {&choice, "2.", ANSWER_RIGHT},
	        {&choice, "Two", ANSWER_RIGHT},
	        {&choice, "1", ANSWER_WRONG},
	        {&choice, "three", ANSWER_WRONG},
	        {&choice, "4", ANSWER_UNCLEAR},
	        {&choice, "0", ANSWER_UNCLEAR},
	        {&choice, "x", ANSWER_UNCLEAR},
	        {&bytes, "1.5 GB", ANSWER_RIGHT},
	        {&bytes, "1500 MB", ANSWER_RIGHT},
	        {&bytes, "1,500MB", ANSWER_RIGHT},
	        {&bytes, "1.4 GiB", ANSWER_RIGHT},
	        {&bytes, "1.5", ANSWER_UNCLEAR},
	        {&bytes, "1.5gb", ANSWER_RIGHT},
	        {&bytes, "1.54 GB", ANSWER_WRONG},
	        {&bytes, "1.5 MB", ANSWER_WRONG},
	        {&bytes, "1.5 ms", ANSWER_UNCLEAR},
	        {&bytes, "much", ANSWER_UNCLEAR},
	        {&bytes, "1.5 GB or so", ANSWER_UNCLEAR},
	        {&part, "25", ANSWER_RIGHT},
	        {&part, "25%", ANSWER_RIGHT},
	        {&part, "0.25", ANSWER_WRONG},
	        {&plain, "16", ANSWER_RIGHT},
	        {&plain, "17", ANSWER_WRONG},
	        {&plain, "16 GB", ANSWER_UNCLEAR},
	        {&plain, "16 KiB", ANSWER_UNCLEAR},
	        {&plain, "16 bytes", ANSWER_RIGHT},
	        {&plain, "16 B", ANSWER_RIGHT},
	        {&plain, "16 bytes a parameter", ANSWER_RIGHT},
	        {&plain, "16 字节", ANSWER_RIGHT},
	        {&plain, "17 rounds", ANSWER_WRONG},
	        {&plain, "16 x 2", ANSWER_UNCLEAR},
	        {&plain, "about 16", ANSWER_UNCLEAR},
	        {&plain, "", ANSWER_UNCLEAR},
	        {&plain, "1e999", ANSWER_UNCLEAR},
	};
	char why[ANSWER_WORDS];
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		ck_assert_msg(teach_judge(rows[i].p, rows[i].typed, why) == rows[i].judged, "%s", rows[i].typed);
}

/* ---- in the terminal ---- */

/* The state goes into a folder of this test's. */
static void begin_state(char folder[64])
{
	strcpy(folder, "/tmp/shardlab-test.XXXXXX"); // NOLINT(clang-analyzer-security.insecureAPI.strcpy): it fits
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("XDG_STATE_HOME", folder, 1);
}

static void end_state(const char *folder)
{
	char command[128];
	snprintf(command, sizeof command, "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0); // NOLINT(cert-env33-c)
}

/* Teaches a lesson to one who types `typed`; returns what is printed, for free(). */
static char *taught(const char *text, const char *typed, struct lesson_progress *after)
{
	struct lesson l;
	struct learner p;
	char *printed = NULL, *input = strdup(typed);
	size_t size;
	ck_assert_int_eq(read_text(&l, text), STATUS_OK);
	ck_assert_int_eq(learner_open(&p), STATUS_OK);
	struct teaching t = {.lesson = &l,
	                     .in = fmemopen(input, strlen(input), "r"),
	                     .out = open_memstream(&printed, &size),
	                     .interactive = true,
	                     .columns = 80};
	ck_assert_int_eq(teach(&t, &p), STATUS_OK);
	fclose(t.in);
	fclose(t.out);
	learner_release(&p);
	ck_assert_int_eq(learner_open(&p), STATUS_OK);
	*after = learner_progress(&p, l.number);
	learner_release(&p);
	lesson_release(&l);
	free(input);
	return printed;
}

#define TWO_QUESTIONS                                                                                                  \
	HEAD "**Bold** text.\n\n<!-- ask: choice 2 -->\nWhich?\n" CHOICES DETAILS                                      \
	     "\n<!-- ask: number 1.5 GB -->\nHow much?\n" DETAILS

#define RUN_WHERE(command, text)                                                                                       \
	HEAD "<!-- run: exact where=" command " -->\n```console\n$ echo " text "\nwritten\n```\n"

START_TEST(what_cannot_run_here_is_shown)
{
	char folder[64];
	struct lesson_progress after;
	begin_state(folder);
	char *here = taught(RUN_WHERE("true", "printed"), "\n", &after);
	char *elsewhere = taught(RUN_WHERE("false", "printed"), "\n", &after);
	ck_assert_ptr_null(strstr(here, "written\n"));
	ck_assert_ptr_nonnull(strstr(elsewhere, "$ echo printed\nwritten\nThis was not run: "));
	free(here);
	free(elsewhere);
	end_state(folder);
}

START_TEST(a_lesson_is_taught)
{
	char folder[64];
	struct lesson_progress after;
	begin_state(folder);
	char *printed = taught(TWO_QUESTIONS, "\nnone\n2\n\n3 GB\n", &after);
	ck_assert_ptr_nonnull(strstr(printed, "7. Title\n\nBold text.\n"));
	ck_assert_ptr_nonnull(strstr(printed, "  1. one\n  2. two\n"));
	ck_assert_ptr_nonnull(strstr(printed, "Answer with a number from 1 to 2.\n"));
	ck_assert_ptr_nonnull(strstr(printed, "Right.\n\nSince so.\n"));
	ck_assert_ptr_nonnull(strstr(printed, "Not quite.\n\nSince so.\n"));
	ck_assert_ptr_nonnull(strstr(printed, "1 of 2 questions right. That was the lesson.\n"));
	ck_assert(after.done);
	ck_assert_int_eq(after.right, 1);
	ck_assert_int_eq(after.asked, 2);
	free(printed);
	end_state(folder);
}

START_TEST(one_who_leaves_goes_on_there)
{
	char folder[64];
	struct lesson_progress after;
	begin_state(folder);
	char *printed = taught(TWO_QUESTIONS, "\n\nq\n", &after); /* skips the first question */
	ck_assert_ptr_nonnull(strstr(printed, "To go on here: shardlab lesson 7 --from 2\n"));
	ck_assert(!after.done);
	ck_assert_int_eq(after.asked, 0);
	free(printed);
	printed = taught(TWO_QUESTIONS, "", &after); /* the input ends */
	ck_assert(!after.done);
	free(printed);
	end_state(folder);
}

START_TEST(progress_is_kept)
{
	char folder[64];
	struct learner p;
	begin_state(folder);
	ck_assert_int_eq(learner_open(&p), STATUS_OK);
	ck_assert(!learner_solved(&p, 3, "own-order"));
	ck_assert_int_eq(learner_solve(&p, 3, "own-order"), STATUS_OK);
	ck_assert_int_eq(learner_set(&p, 3, &(struct lesson_progress){.piece = 4, .right = 1, .asked = 2}), STATUS_OK);
	learner_release(&p);
	ck_assert_int_eq(learner_open(&p), STATUS_OK);
	ck_assert(learner_solved(&p, 3, "own-order"));
	ck_assert_int_eq(learner_progress(&p, 3).piece, 4);
	ck_assert_int_eq(learner_progress(&p, 4).piece, 0);
	/* A file that is not a progress file is not overwritten. */
	FILE *f = fopen(p.path, "w");
	ck_assert_ptr_nonnull(f);
	fputs("{\"3\": ", f);
	fclose(f);
	learner_release(&p);
	ck_assert_int_eq(learner_open(&p), STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "lessons.json:1: this is no progress of lessons"));
	end_state(folder);
}

/* ---- translations ---- */

#define RUN(words, output) words "\n\n<!-- run: exact -->\n```console\n$ " output "\n```\n"
#define PICTURE(path) "<!-- view: at=3 -->\n![words](" path ")\n"
#define ORIGINAL                                                                                                       \
	RUN(HEAD "Text.", "echo 1\n1") PICTURE("pictures/p.png") "\n<!-- ask: choice 2 -->\nA?\n" CHOICES DETAILS

START_TEST(a_translation_has_the_same_pieces)
{
	static const char rest[] =
	        PICTURE("../pictures/p.png") "\n<!-- ask: choice 2 -->\n甲？\n\n1. 一\n2. 二\n" DETAILS;
	static const struct {
		const char *begin, *rest, *message; /* NULL: it is a translation */
	} rows[] = {
	        {RUN(HEAD "文字。", "echo 1\n1"), rest, NULL},
	        {RUN(HEAD "文字。\n\n文字。", "echo 1\n1"), rest, NULL},
	        {RUN("# 8. 标题\n<!-- lesson: minutes=5 after=2,3 -->\n文字。", "echo 1\n1"), rest,
	         "x.md:1: another number, time or need than x.md:1 has"},
	        {RUN(HEAD "文字。", "echo 2\n1"), rest, "x.md:7: another command than x.md:7 has"},
	        {RUN(HEAD "文字。", "echo 1\n2"), rest, "x.md:7: another output (`make lessons-update` copies it)"},
	        {RUN(HEAD "文字。", "echo 1\n1\n$ echo 2\n2"), rest, "x.md:5: more or fewer commands than x.md:5"},
	        {HEAD "文字。\n\n<!-- run: pattern -->\n```console\n$ echo 1\n1\n```\n", rest,
	         "x.md:5: another way to check than x.md:5 has"},
	        {RUN(HEAD "文字。", "echo 1\n1"), PICTURE("../pictures/q.png"),
	         "x.md:10: another picture than x.md:10 has"},
	        {RUN(HEAD "文字。", "echo 1\n1"), PICTURE("../pictures/p.png"),
	         "x.md:11: the piece 'ask' of x.md:13 is missing"},
	        {RUN(HEAD "文字。", "echo 1\n1"),
	         PICTURE("../pictures/p.png") "\n<!-- ask: choice 1 -->\n甲？\n\n1. 一\n2. 二\n" DETAILS,
	         "x.md:13: another answer than x.md:13 has"},
	        {HEAD "文字。\n\n", rest, "x.md:5: this piece is 'view', and in x.md:5 it is 'run'"},
	        {ORIGINAL, "\n文字。\n", "x.md:25: x.md has no such piece 'text'"},
	};
	struct lesson l, t;
	char text[2048];
	ck_assert_int_eq(read_text(&l, ORIGINAL), STATUS_OK);
	for (int i = 0; i < COUNT(rows); i++) {
		snprintf(text, sizeof text, "%s%s", rows[i].begin, rows[i].rest);
		ck_assert_msg(read_text(&t, text) == STATUS_OK, "%s: %s", text, status_message());
		ck_assert_msg(lesson_check_translation(&l, &t) == (rows[i].message ? STATUS_INPUT : STATUS_OK), "%s",
		              text);
		if (rows[i].message)
			ck_assert_msg(!strncmp(status_message(), rows[i].message, strlen(rows[i].message)),
			              "%s instead of %s", status_message(), rows[i].message);
		lesson_release(&t);
	}
	lesson_release(&l);
}

START_TEST(commands_find_the_folder_of_the_originals)
{
	static const struct {
		const char *path, *home;
	} rows[] = {{"/a/lessons/03-b.md", "/a/lessons"},
	            {"/a/lessons/zh/03-b.md", "/a/lessons"},
	            {"lessons/03-b.md", "lessons"},
	            {"zh/03-b.md", "."},
	            {"03-b.md", "."}};
	char home[64];
	for (int i = 0; i < COUNT(rows); i++)
		ck_assert_str_eq(lesson_home(rows[i].path, home, sizeof home), rows[i].home);
}

START_TEST(a_lesson_is_taught_in_chinese)
{
	char folder[64];
	struct lesson_progress after;
	begin_state(folder);
	language_set("zh");
	char *printed = taught(TWO_QUESTIONS, "\nnone\n2\n\n3 GB\n", &after);
	language_set("en");
	ck_assert_ptr_nonnull(strstr(printed, "[回车继续，q 退出] "));
	ck_assert_ptr_nonnull(strstr(printed, "请回答 1 到 2 之间的一个数字。\n"));
	ck_assert_ptr_nonnull(strstr(printed, "正确。\n\nSince so.\n"));
	ck_assert_ptr_nonnull(strstr(printed, "不对。\n\nSince so.\n"));
	ck_assert_ptr_nonnull(strstr(printed, "2 题中答对 1 题。本课到此结束。\n"));
	free(printed);
	end_state(folder);
}

SUITE("lesson", 0)
