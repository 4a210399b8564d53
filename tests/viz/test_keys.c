/* The window's keys: every one that help names does what help says, none does two things, letters have buttons, and the
 * table in docs/window.md is the same.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/suite.h"
#include "viz/window/parts.h"

static const struct {
	const char *constant, *key, *button, *what;
} actions[] = {
#define X(constant, key, button, what) {#constant, key, button, what},
        ACTION_LIST(X)
#undef X
};

static const struct {
	const char *key, *what;
} others[] = {
#define X(key, what) {key, what},
        HELP_LIST(X)
#undef X
};
enum { OTHERS = sizeof others / sizeof others[0] };

static void ck_key(SDL_Keycode key, bool control, bool shift, enum action wanted)
{
	enum action a = ACTION_COUNT;
	ck_assert(window_action_of_key(key, control, shift, &a));
	ck_assert_msg(a == wanted, "key %d does %s, wanted %s", (int)key, actions[a].constant,
	              actions[wanted].constant);
}

START_TEST(named_keys)
{
	enum action a;
	ck_key(SDLK_RIGHT, false, false, ACTION_NEXT);
	ck_key(SDLK_RIGHT, false, true, ACTION_NEXT_PHASE);
	ck_key(SDLK_RIGHT, true, false, ACTION_PAN_RIGHT);
	ck_key(SDLK_LEFT, false, false, ACTION_BACK);
	ck_key(SDLK_LEFT, false, true, ACTION_BACK_PHASE);
	ck_key(SDLK_PAGEDOWN, false, false, ACTION_NEXT);
	ck_key(SDLK_PAGEUP, false, true, ACTION_BACK); /* Shift is of no matter there */
	ck_key(SDLK_DOWN, false, false, ACTION_SELECT_NEXT);
	ck_key(SDLK_DOWN, false, true, ACTION_SCROLL_DOWN);
	ck_key(SDLK_KP_ENTER, false, false, ACTION_BEGIN);
	ck_key(SDLK_EQUALS, true, true, ACTION_LARGER);
	ck_key(SDLK_KP_MINUS, true, false, ACTION_SMALLER);
	ck_key(SDLK_c, true, false, ACTION_COPY);
	ck_key(SDLK_F11, false, false, ACTION_FULL);
	ck_key(SDLK_F1, false, false, ACTION_HELP);
	ck_assert(!window_action_of_key(SDLK_UP, true, false, &a));
	ck_assert(!window_action_of_key(SDLK_F2, false, false, &a));
	ck_assert(!window_action_of_key(SDLK_c, false, false, &a)); /* it comes as text */
}

/* A key is written as one sign of the name, the letter in either case. */
START_TEST(letters)
{
	int found = 0;
	for (int c = ' '; c < 127; c++) {
		enum action a;
		if (!window_action_of_text((char)c, &a))
			continue;
		char sign[2] = {(char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c), 0};
		ck_assert_msg(strstr(actions[a].key, sign), "%c does %s, whose keys are '%s'", c, actions[a].constant,
		              actions[a].key);
		if (c >= 'A' && c <= 'Z')
			ck_assert_msg(*actions[a].button || a == ACTION_SCENE || a == ACTION_BLANK ||
			                      a == ACTION_UNDO || a == ACTION_REDO || a == ACTION_HIGHLIGHT_BACK ||
			                      a == ACTION_COLLECTIVE_BACK,
			              "%c has no button", c);
		found++;
	}
	ck_assert_int_eq(found, 2 * 23 + 8); /* all but I, J, Y in both cases; , . [ ] + - ? / */
}

/* An action whose key another one takes first would never be done. */
START_TEST(every_action_has_a_key)
{
	bool reached[ACTION_COUNT] = {false};
	enum action a;
	for (int c = ' '; c < 127; c++) {
		if (window_action_of_text((char)c, &a))
			reached[a] = true;
		for (int with = 0; with < 4; with++)
			if (window_action_of_key((SDL_Keycode)c, with & 1, with & 2, &a))
				reached[a] = true;
	}
	for (int code = 0; code < SDL_NUM_SCANCODES; code++)
		for (int with = 0; with < 4; with++)
			if (window_action_of_key(SDL_SCANCODE_TO_KEYCODE(code), with & 1, with & 2, &a))
				reached[a] = true;
	static const SDL_Keycode signs[] = {SDLK_RETURN, SDLK_BACKSPACE};
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
		if (window_action_of_key(signs[i], false, false, &a))
			reached[a] = true;
	for (int i = 0; i < ACTION_COUNT; i++)
		ck_assert_msg(reached[i], "no key does %s (%s)", actions[i].constant, actions[i].key);
}

START_TEST(table_of_the_documents)
{
	FILE *f = fopen("docs/window.md", "r");
	char line[512], wanted[512];
	int row = -1;
	ck_assert(f);
	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		if (row < 0) {
			row = !strcmp(line, "| key | does |") ? 0 : -1;
			continue;
		}
		if (row++ == 0) /* the rule below the head */
			continue;
		if (*line != '|')
			break;
		int i = row - 2;
		ck_assert_msg(i < ACTION_COUNT + OTHERS, "docs/window.md has a key that is not there: %s", line);
		snprintf(wanted, sizeof wanted, "| %s | %s |",
		         i < ACTION_COUNT ? actions[i].key : others[i - ACTION_COUNT].key,
		         i < ACTION_COUNT ? actions[i].what : others[i - ACTION_COUNT].what);
		ck_assert_msg(!strcmp(line, wanted), "docs/window.md says\n%s\nthe window says\n%s", line, wanted);
	}
	fclose(f);
	ck_assert_int_eq(row - 2, ACTION_COUNT + OTHERS);
}

SUITE("keys", 0)
