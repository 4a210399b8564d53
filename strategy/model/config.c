/* A model by the path of its config.json, or of the folder that holds it. */
#include "strategy/model/config.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/file.h"
#include "strategy/base/path.h"
#include "strategy/model/model.h"

enum { FILE_MOST = 4 << 20, NAME_MOST = 40, HASH = 40 };

/* The characters of the path, before the keys that may follow it. A path may itself have colons. */
static size_t path_length(const char *text)
{
	char path[PATH_MAX];
	size_t whole = strlen(text);
	for (size_t n = whole; n > 0; n--) {
		if (n < whole && text[n] != ':')
			continue;
		snprintf(path, sizeof path, "%.*s", (int)n, text);
		if (n < sizeof path && path_is_there(path))
			return n;
	}
	return strcspn(text, ":");
}

bool model_config_is_path(const char *text)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%.*s", (int)path_length(text), text);
	if (strchr(path, '/') || path_ends_in(path, ".json"))
		return true;
	if (!strncmp(text, "params=", 7) || model_is_named(text))
		return false;
	return path_is_there(path);
}

static bool is_hash(const char *name)
{
	return strlen(name) == HASH && strspn(name, "0123456789abcdef") == HASH;
}

/* The last part of a path, and the path before it. */
static const char *cut_last(char *path)
{
	char *slash = strrchr(path, '/');
	if (!slash)
		return path;
	*slash = 0;
	return slash + 1;
}

/* The name that people call the model by: its folder, or the file if that has a name of its own. In the cache of the
 * hub, folders are models--OWNER--NAME/snapshots/HASH. */
static const char *name_of(struct arena *a, const char *file)
{
	char path[PATH_MAX], out[NAME_MOST + 1];
	int n = 0;
	if (!realpath(file, path))
		return NULL;
	const char *name = cut_last(path);
	if (!strcmp(name, "config.json"))
		name = cut_last(path);
	if (is_hash(name)) {
		cut_last(path);
		name = cut_last(path);
	}
	for (const char *p = strstr(name, "--"); p; p = strstr(name, "--"))
		name = p + 2;
	size_t length = strlen(name);
	if (path_ends_in(name, ".json"))
		length -= strlen(".json");
	for (size_t i = 0; i < length && n < NAME_MOST; i++)
		out[n++] = isalnum((unsigned char)name[i]) || strchr("._-", name[i]) ? name[i] : '-';
	out[n] = 0;
	return arena_copy(a, out);
}

static enum status refuse_folder(const char *path, const char *file)
{
	static const struct {
		const char *file, *what;
	} signs[] = {
	        {"adapter_config.json",
	         "holds an adapter (adapter_config.json); give the folder of the model that it was "
	         "made for"},
	        {"model_index.json", "holds a pipeline of diffusers (model_index.json), no language model"},
	        {"params.json", "holds Meta's or Mistral's own form of a model (params.json); take the files of "
	                        "transformers, which have a config.json"},
	};
	char beside[PATH_MAX];
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
		snprintf(beside, sizeof beside, "%s/%s", path, signs[i].file);
		if (path_is_there(beside) && (!path_is_there(file) || !i))
			return status_fail(STATUS_INPUT, "%s: the folder %s", path, signs[i].what);
	}
	return path_is_there(file)
	               ? STATUS_OK
	               : status_fail(STATUS_INPUT,
	                             "{model} %s: the folder has no config.json to say which model it holds; name one "
	                             "that has, or a model of {help} models",
	                             path);
}

static enum status find_file(const char *path, char file[PATH_MAX])
{
	static const char *const weights[] = {".safetensors", ".gguf", ".bin", ".pt", ".pth"};
	size_t length = strlen(path);
	if (!path_is_there(path))
		return status_fail(
		        STATUS_INPUT,
		        "{model} %s: there is no such file or folder, and nothing is downloaded; download the "
		        "model's folder first, or see {help} models",
		        path);
	for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
		if (path_ends_in(path, weights[i]))
			return status_fail(
			        STATUS_INPUT,
			        "{model} %s: a file of weights; the model's sizes are in the config.json beside it",
			        path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	if (!path_is_folder(path))
		return snprintf(file, PATH_MAX, "%s", path), STATUS_OK;
	snprintf(file, PATH_MAX, "%.*s/config.json", (int)length, path);
	return refuse_folder(path, file);
}

enum status model_config_read(struct arena *a, const char *path, const char **specification)
{
	size_t length = path_length(path), size;
	char file[PATH_MAX], *text;
	const char *alone = arena_print(a, "%.*s", (int)length, path);
	*specification = NULL;
	if (strlen(path) >= PATH_MAX - sizeof "/config.json")
		return status_fail(STATUS_INPUT, "{model}: the path is too long");
	enum status s = find_file(alone, file);
	if (!s)
		s = file_read(file, "{model}", FILE_MOST, &text, &size);
	if (s)
		return s;
	s = model_config_text(a, text, size, arena_copy(a, file), path[length] ? path + length + 1 : NULL,
	                      name_of(a, file), specification);
	free(text);
	return s;
}
