#include "cli/command/written.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "real/checkpoint/folder.h"
#include "strategy/base/character.h"

enum { NAMED_MOST = 8 }; /* of a folder */

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The run did not write the rest: another run's unfinished checkpoint, or a user's file. */
static int is_checkpoint(const struct dirent *entry)
{
	return checkpoint_has_name(entry->d_name);
}

static void show_folder(const char *path, int (*filter)(const struct dirent *entry), FILE *out)
{
	struct dirent **entries;
	int count = scandir(path, &entries, filter, alphasort);
	if (count < 0)
		return;
	for (int i = 0; i < count; i++) {
		if (i < NAMED_MOST)
			fprintf(out, "%s%s", i ? ", " : " (", character_plain(entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
	if (count > NAMED_MOST)
		fprintf(out, " and %d more", count - NAMED_MOST);
	if (count)
		fputc(')', out);
}

void written_show(const struct options *o, FILE *out)
{
	static const enum option files[] = {OPTION_SAVE, OPTION_CHECKPOINT, OPTION_PLOT, OPTION_LOG, OPTION_TRACE};
	bool any = false;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const char *path = option_text(o, files[i]);
		struct stat info;
		if (!option_given(o, files[i]) || !path || stat(path, &info))
			continue;
		fprintf(out, "%s%s", any ? ", " : "\nwrote ", character_plain(path));
		if (S_ISDIR(info.st_mode))
			show_folder(path, files[i] == OPTION_CHECKPOINT ? is_checkpoint : is_shown, out);
		any = true;
	}
	if (any)
		fputc('\n', out);
}
