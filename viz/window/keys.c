/* The keys of actions, read from the names in ACTION_LIST, so that help and keys cannot differ. */
#include <string.h>

#include "viz/window/parts.h"

static const struct {
	const char *name;
	SDL_Keycode key;
} named[] = {
        {"Home", SDLK_HOME},      {"End", SDLK_END},
        {"Page up", SDLK_PAGEUP}, {"Page down", SDLK_PAGEDOWN},
        {"←", SDLK_LEFT},         {"→", SDLK_RIGHT},
        {"↑", SDLK_UP},           {"↓", SDLK_DOWN},
        {"Space", SDLK_SPACE},    {"Backspace", SDLK_BACKSPACE},
        {"Enter", SDLK_RETURN},   {"F1", SDLK_F1},
        {"F5", SDLK_F5},          {"F11", SDLK_F11},
};

/* One of the keys of an action. */
struct stroke {
	SDL_Keycode key; /* 0: what it writes counts, so that it works on every keyboard */
	char text;
	bool control, shift;
};

/* Takes the first key of "Shift ← or N", and returns the place where the next begins; NULL after the last. */
static const char *read_stroke(const char *names, struct stroke *out)
{
	const char *end = strstr(names, " or ");
	size_t length = end ? (size_t)(end - names) : strlen(names);
	*out = (struct stroke){0};
	for (;;) {
		bool control = !strncmp(names, "Ctrl ", 5), shift = !strncmp(names, "Shift ", 6);
		if (!control && !shift)
			break;
		names += control ? 5 : 6;
		length -= control ? 5 : 6;
		out->control |= control;
		out->shift |= shift;
	}
	for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
		if (strlen(named[i].name) == length && !strncmp(names, named[i].name, length))
			out->key = named[i].key;
	if (!out->key && length == 1) {
		out->text = names[0] >= 'A' && names[0] <= 'Z' ? (char)(names[0] - 'A' + 'a') : names[0];
		if (out->control) /* with Ctrl nothing is written */
			out->key = (SDL_Keycode)out->text;
	}
	return end ? end + 4 : NULL;
}

/* The keys of the number pad, and + where it shares its key with =. */
static SDL_Keycode same_as(SDL_Keycode key)
{
	switch (key) {
	case SDLK_KP_PLUS:
	case SDLK_EQUALS:
		return SDLK_PLUS;
	case SDLK_KP_MINUS:
		return SDLK_MINUS;
	case SDLK_KP_0:
		return SDLK_0;
	case SDLK_KP_ENTER:
		return SDLK_RETURN;
	default:
		return key;
	}
}

/* Shift counts where an action asks for it, and nowhere else. */
static bool find_action(const struct stroke *want, enum action *out)
{
	for (int exact = 1; exact >= 0; exact--)
		for (int a = 0; a < ACTION_COUNT; a++) {
			const char *names = action_key((enum action)a);
			while (names) {
				struct stroke s;
				names = read_stroke(names, &s);
				if (s.key == want->key && s.control == want->control &&
				    (s.key || s.text == want->text) && (exact ? s.shift == want->shift : !s.shift)) {
					*out = (enum action)a;
					return true;
				}
			}
		}
	return false;
}

bool window_action_of_key(SDL_Keycode key, bool control, bool shift, enum action *out)
{
	key = same_as(key);
	return key && find_action(&(struct stroke){.key = key, .control = control, .shift = shift}, out);
}

/* A capital is another key where an action asks for Shift, and the same letter elsewhere. */
bool window_action_of_text(char c, enum action *out)
{
	bool capital = c >= 'A' && c <= 'Z';
	c = capital ? (char)(c - 'A' + 'a') : c;
	return c && find_action(&(struct stroke){.text = c, .shift = capital}, out);
}
