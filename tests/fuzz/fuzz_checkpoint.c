/* Fuzz target: a checkpoint's manifest, and the names of pieces. What is read has a step, a model, settings and files,
 * and no file of it lies outside the folder; a piece that is read has its own name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "real/checkpoint/manifest.h"
#include "real/checkpoint/pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct manifest *m)
{
	char name[MANIFEST_FILE_NAME];
	if (m->step < 0 || !m->model || !m->settings[SETTING_RANKS] || m->file_count < 1 ||
	    m->file_count > MANIFEST_FILES_MOST)
		abort();
	for (int i = 0; i < m->file_count; i++) {
		checkpoint_file_name(i, name);
		if (strcmp(m->files[i].name, name) != 0 || m->files[i].bytes < 0)
			abort();
	}
}

static void check_piece(const uint8_t *data, size_t size)
{
	static struct model model;
	char text[PIECE_NAME], back[PIECE_NAME];
	struct piece_run p;
	if (!model.tensor_count && model_open(&model, "mlp:sizes=4-3-2,norm=batch", 0))
		abort();
	if (size >= sizeof text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!piece_parse(text, &model, &p))
		return;
	struct piece_run again;
	piece_name(&p, &model, back);
	if (!piece_parse(back, &model, &again) || again.piece.item != p.piece.item ||
	    again.piece.tensor != p.piece.tensor || again.piece.first != p.piece.first ||
	    again.piece.count != p.piece.count || again.rows != p.rows || p.piece.count < 1 || p.rows < 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct manifest m;
	if (manifest_parse(&m, "input", (const char *)data, size) == STATUS_OK)
		check(&m);
	else if (!status_message()[0] || strchr(status_message(), '\n'))
		abort();
	manifest_release(&m);
	check_piece(data, size);
	return 0;
}
