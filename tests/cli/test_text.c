/* Running text: how wide it is, and where its lines end, with characters of one column and of two. */
#include <stdlib.h>
#include <string.h>

#include "cli/show/text.h"
#include "tests/support/suite.h"

START_TEST(widths)
{
	static const struct {
		const char *text;
		int width;
	} rows[] = {{"", 0},
	            {"abc", 3},
	            {"4 × 4", 5},
	            {"梯度", 4},
	            {"用 fp16。", 9},
	            {"“批次”", 6},
	            {"\033[1m梯\033[0m", 2},
	            {"（a）", 5},
	            {"\xe6\xa2", 1},
	            {"한국", 4}};
	for (int i = 0; i < COUNT(rows); i++)
		ck_assert_msg(text_width(rows[i].text) == rows[i].width, "'%s' is %d wide", rows[i].text,
		              text_width(rows[i].text));
}

START_TEST(lines)
{
	static const struct {
		const char *text, *printed;
	} rows[] = {
	        {"one two three", "one two\n  three\n"},
	        {"two  spaces", "two \n  spaces\n"},
	        {"梯度累积省显存", "梯度累积\n  省显存\n"},
	        {"梯度累积，省显存", "梯度累\n  积，省显\n  存\n"}, /* no line begins with a comma */
	        {"省一（半）", "省一\n  （半）\n"},                 /* none ends behind a bracket that opens */
	        {"一二三 zero", "一二三\n  zero\n"},
	        {"一二三zero", "一二三\n  zero\n"},
	        {"用zero。好", "用zero。\n  好\n"},
	        {"averylongword 字", "averylongword\n  字\n"},
	        {"\033[1m梯度累积\033[0m省", "\033[1m梯度累积\033[0m\n  省\n"},
	        {"", "\n"},
	};
	for (int i = 0; i < COUNT(rows); i++) {
		char *printed;
		size_t size;
		FILE *out = open_memstream(&printed, &size);
		text_wrapped(out, rows[i].text, 2, 10);
		fclose(out);
		ck_assert_str_eq(printed, rows[i].printed);
		free(printed);
	}
}

SUITE("text", 0)
