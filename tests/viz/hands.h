/* For tests of the window: the window, and hands on its keys and the mouse.
 *
 *     open_window(&playback, 1280, 720, &(struct window_host){.asked_size = true});
 *     type("q");
 *     press(SDLK_RIGHT);
 *     click(640, 360, 2);
 */
#ifndef SHARDLAB_HANDS_H
#define SHARDLAB_HANDS_H

#include <SDL.h>
#include <check.h>
#include <stdlib.h>

#include "viz/window/parts.h"

static struct window *w;

static inline void open_window(struct playback *p, int width, int height, const struct window_host *host)
{
	const struct picture size = {.width = width, .height = height, .scale = 1};
	setenv("SDL_VIDEODRIVER", "dummy", 1);
	ck_assert_msg(!window_open(&w, p, &size, host, false), "%s", status_message());
	window_turn(w);
}

/* The open window. */
static inline void close_window(void)
{
	window_close(w);
	w = NULL;
}

/* Pushes a key without a turn of the window, which draws: for many keys in a row. */
static inline void push(SDL_Keycode key, Uint16 mod)
{
	SDL_Event e = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = key, .mod = mod}}};
	window_handle(w, &e);
}

static inline void press_with(SDL_Keycode key, Uint16 mod)
{
	push(key, mod);
	window_turn(w);
}

static inline void press(SDL_Keycode key)
{
	press_with(key, 0);
}

static inline void type(const char *text)
{
	for (; *text; text++) {
		SDL_Event e = {.text = {.type = SDL_TEXTINPUT, .text = {*text}}};
		window_handle(w, &e);
	}
	window_turn(w);
}

/* Also without a turn. */
static inline void point(Uint32 event, double x, double y, int clicks)
{
	SDL_Event e = {.motion = {.type = event, .x = (int)x, .y = (int)y}};
	if (event != SDL_MOUSEMOTION)
		e.button = (SDL_MouseButtonEvent){
		        .type = event, .button = SDL_BUTTON_LEFT, .clicks = (Uint8)clicks, .x = (int)x, .y = (int)y};
	window_handle(w, &e);
}

static inline void mouse(Uint32 event, double x, double y)
{
	point(event, x, y, 1);
	window_turn(w);
}

static inline void click(double x, double y, int clicks)
{
	point(SDL_MOUSEBUTTONDOWN, x, y, clicks);
	point(SDL_MOUSEBUTTONUP, x, y, clicks);
	window_turn(w);
}

#endif
