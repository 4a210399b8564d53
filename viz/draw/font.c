#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include <cairo-ft.h>
#include <string.h>

#include "viz/draw/draw.h"

static const cairo_user_data_key_t face_key;

static void face_done(void *face)
{
	FT_Done_Face(face);
}

/* The file of a font, only if it is this very one. */
static bool find_file(const char *family, int weight, char *out, size_t size)
{
	FcPattern *wanted = FcPatternCreate(), *found = NULL;
	FcResult result;
	FcChar8 *file = NULL, *name = NULL;
	if (!wanted)
		return false;
	FcPatternAddString(wanted, FC_FAMILY, (const FcChar8 *)family);
	FcPatternAddInteger(wanted, FC_WEIGHT, weight);
	FcPatternAddInteger(wanted, FC_SLANT, FC_SLANT_ROMAN);
	FcPatternAddInteger(wanted, FC_WIDTH, FC_WIDTH_NORMAL);
	FcConfigSubstitute(NULL, wanted, FcMatchPattern);
	FcDefaultSubstitute(wanted);
	found = FcFontMatch(NULL, wanted, &result);
	bool ok = found && FcPatternGetString(found, FC_FAMILY, 0, &name) == FcResultMatch &&
	          !strcmp((const char *)name, family) &&
	          FcPatternGetString(found, FC_FILE, 0, &file) == FcResultMatch && strlen((const char *)file) < size;
	if (ok)
		memcpy(out, file, strlen((const char *)file) + 1);
	if (found)
		FcPatternDestroy(found);
	FcPatternDestroy(wanted);
	return ok;
}

static const char *const han_families[] = {"WenQuanYi Micro Hei", "Noto Sans CJK SC", "Source Han Sans SC",
                                           "WenQuanYi Zen Hei"};

/* A face of its own for each weight: what draws a bolder one is a mark on the face. */
static cairo_font_face_t *open_han_file(struct fonts *f, const char *file, bool bolder)
{
	FT_Face face;
	if (FT_New_Face(f->library, file, 0, &face))
		return NULL;
	cairo_font_face_t *out = cairo_ft_font_face_create_for_ft_face(face, 0);
	if (cairo_font_face_set_user_data(out, &face_key, face, face_done))
		FT_Done_Face(face);
	if (bolder)
		cairo_ft_font_face_set_synthesize(out, CAIRO_FT_SYNTHESIZE_BOLD);
	return out;
}

/* A family without a bold weight gets one that is made of the plain one. */
static bool open_han_family(struct fonts *f, const char *family)
{
	char plain[4096], bold[4096];
	if (!find_file(family, FC_WEIGHT_REGULAR, plain, sizeof plain) ||
	    !find_file(family, FC_WEIGHT_BOLD, bold, sizeof bold))
		return false;
	f->han = open_han_file(f, plain, false);
	f->han_bold = open_han_file(f, bold, !strcmp(plain, bold));
	return f->han && f->han_bold;
}

bool fonts_open_han(struct fonts *f)
{
	for (size_t i = 0; i < sizeof han_families / sizeof han_families[0]; i++)
		if (open_han_family(f, han_families[i]))
			return true;
	return false;
}

static enum status open_face(struct fonts *f, const char *family, int weight, cairo_font_face_t **out)
{
	char file[4096];
	FT_Face face;
	if (!find_file(family, weight, file, sizeof file) || FT_New_Face(f->library, file, 0, &face))
		return status_fail(STATUS_INPUT, "the font %s is missing; on Debian: apt-get install fonts-dejavu-core",
		                   family);
	*out = cairo_ft_font_face_create_for_ft_face(face, 0);
	if (cairo_font_face_set_user_data(*out, &face_key, face, face_done))
		FT_Done_Face(face);
	return STATUS_OK;
}

enum status fonts_open(struct fonts *f)
{
	FT_Library library;
	*f = (struct fonts){0};
	if (FT_Init_FreeType(&library))
		return status_fail(STATUS_MEMORY, "FreeType does not start");
	f->library = library;
	enum status s = open_face(f, "DejaVu Sans", FC_WEIGHT_REGULAR, &f->plain);
	if (!s)
		s = open_face(f, "DejaVu Sans", FC_WEIGHT_BOLD, &f->bold);
	if (!s)
		s = open_face(f, "DejaVu Sans Mono", FC_WEIGHT_REGULAR, &f->mono);
	if (s)
		fonts_release(f);
	return s;
}

void fonts_release(struct fonts *f)
{
	if (!f || !f->library)
		return;
	cairo_font_face_t *faces[] = {f->plain, f->bold, f->mono, f->han, f->han_bold};
	for (size_t i = 0; i < sizeof faces / sizeof faces[0]; i++)
		if (faces[i])
			cairo_font_face_destroy(faces[i]);
	/* Surfaces may still hold a scaled font of a face: cairo lets go of them here. */
	cairo_debug_reset_static_data();
	FT_Done_FreeType(f->library);
	FcFini();
	*f = (struct fonts){0};
}
