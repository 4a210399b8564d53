/* A newcomer's first screen says what the strategy is, and which keys to press; the next one has room for more. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <check.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "tests/viz/drawn_words.h"
#include "tests/viz/hands.h"

static const char *ddp(void *context, int i)
{
	(void)context;
	(void)i;
	return "ddp";
}

START_TEST(the_first_screen_says_what_to_press)
{
	static struct fonts fonts;
	static struct playback playback;
	const struct window_host host = {.strategies = 1, .strategy = ddp};
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	playback_init(&playback, &fonts);
	playback_show(&playback, &viewed_plan("mlp:sizes=12-16-8-4 ddp ranks=4")->shown);
	open_window(&playback, 1280, 720, &host);
	words_of(&playback);
	ck_assert_ptr_nonnull(strstr(drawn_words, "ddp: everyone keeps everything"));
	ck_assert_ptr_nonnull(strstr(drawn_words, "Space plays · → one step on"));
	ck_assert_ptr_nonnull(strstr(drawn_words, "1 – 9 another strategy"));
	press(SDLK_RIGHT);
	words_of(&playback);
	ck_assert_ptr_null(strstr(drawn_words, "Space plays"));
	close_window();
	playback_release(&playback);
	fonts_release(&fonts);
}

SUITE("first", 0)
