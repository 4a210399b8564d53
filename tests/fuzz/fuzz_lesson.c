/* Fuzz target: a lesson. Every error says where; what is taken has what each kind of piece promises. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lesson/lesson.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lesson l;
	enum status s = lesson_read(&l, (const char *)data, size, "input");
	if (s) {
		need(s == STATUS_INPUT && !strncmp(status_message(), "input:", 6));
		return 0;
	}
	need(l.title && l.minutes > 0);
	for (int i = 0; i < l.piece_count; i++) {
		const struct piece *p = &l.pieces[i];
		need(p->markdown && p->first >= 1 && p->first < p->end && p->end <= l.line_count + 1);
		need(p->kind != PIECE_RUN || p->command_count > 0);
		need(p->kind != PIECE_VIEW || (p->picture && p->options));
		need(p->kind != PIECE_ASK || (p->question && p->reason && (!p->choice || p->right < p->choice_count)));
		need(p->kind != PIECE_EXERCISE || (p->name && p->checks && p->question && p->reason));
	}
	lesson_release(&l);
	return 0;
}
