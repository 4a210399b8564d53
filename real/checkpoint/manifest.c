#include "real/checkpoint/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/mix64.h"
#include "real/data/new_folder.h"
#include "real/rank/checksum.h"
#include "strategy/base/file.h"
#include "strategy/base/json_stream.h"
#include "strategy/base/memory.h"
#include "strategy/base/path.h"

#define FORMAT "shardlab checkpoint"
enum { VERSION = 1, LARGEST = 64 << 20, HEX = 16 };

void checkpoint_file_name(int64_t rank, char out[MANIFEST_FILE_NAME])
{
	snprintf(out, MANIFEST_FILE_NAME, "rank-%05" PRId64 ".safetensors", rank);
}

/* ---- reading ---- */

static bool read_checksum(struct json_stream *j, uint64_t *out)
{
	struct stream_text t;
	char copy[HEX + 1] = "";
	if (!stream_string(j, &t))
		return false;
	if (t.size == HEX)
		memcpy(copy, t.text, HEX);
	*out = strtoull(copy, NULL, HEX);
	return strspn(copy, "0123456789abcdef") == HEX || stream_fail(j, "a checksum is 16 hexadecimal digits");
}

static bool read_count(struct json_stream *j, const char *what, int64_t *out)
{
	return stream_whole(j, out) && (*out >= 0 || stream_fail(j, "%s is negative", what));
}

static bool read_setting(struct manifest *m, struct json_stream *j, const struct stream_text *key)
{
	struct stream_text value;
	int i = 0;
	while (i < SETTING_COUNT && !stream_is(key, setting_rows[i].name))
		i++;
	if (i == SETTING_COUNT)
		return stream_skip(j);
	if (m->settings[i])
		return stream_fail(j, "setting %s comes twice", setting_rows[i].name);
	if (!stream_string(j, &value))
		return false;
	m->settings[i] = stream_copy(&m->arena, &value, true, NULL);
	return true;
}

static bool read_settings(struct manifest *m, struct json_stream *j)
{
	struct stream_text key;
	bool good = stream_enter(j, '{');
	while (good && stream_key(j, &key))
		good = read_setting(m, j, &key);
	return !j->failed;
}

static bool read_data(struct manifest *m, struct json_stream *j)
{
	struct stream_text key;
	bool good = stream_enter(j, '{');
	while (good && stream_key(j, &key))
		good = stream_is(&key, "samples")    ? read_count(j, "samples", &m->data_samples)
		       : stream_is(&key, "checksum") ? read_checksum(j, &m->data_checksum)
		       : stream_is(&key, "all")      ? (m->has_whole = read_checksum(j, &m->data_whole))
		                                     : stream_skip(j);
	return !j->failed;
}

/* A file's name follows from its rank, so it cannot lead out of the folder. */
static bool read_name(struct json_stream *j, int rank, char out[MANIFEST_FILE_NAME])
{
	struct stream_text t;
	checkpoint_file_name(rank, out);
	return stream_string(j, &t) && (stream_is(&t, out) || stream_fail(j, "file number %d must be %s", rank, out));
}

static bool read_file(struct manifest *m, struct json_stream *j)
{
	struct manifest_file f = {.bytes = -1};
	struct stream_text key;
	if (m->file_count == MANIFEST_FILES_MOST)
		return stream_fail(j, "more than %d files", MANIFEST_FILES_MOST);
	bool good = stream_enter(j, '{');
	while (good && stream_key(j, &key))
		good = stream_is(&key, "name")       ? read_name(j, m->file_count, f.name)
		       : stream_is(&key, "bytes")    ? read_count(j, "bytes", &f.bytes)
		       : stream_is(&key, "checksum") ? read_checksum(j, &f.checksum)
		                                     : stream_skip(j);
	if (j->failed)
		return false;
	if (!*f.name || f.bytes < 0)
		return stream_fail(j, "a file has no name or no bytes");
	m->files = arena_grow(&m->arena, m->files, m->file_count, &m->file_capacity, sizeof *m->files);
	m->files[m->file_count++] = f;
	return true;
}

static bool read_files(struct manifest *m, struct json_stream *j)
{
	if (m->file_count)
		return stream_fail(j, "files come twice");
	bool good = stream_enter(j, '[');
	while (good && stream_element(j))
		good = read_file(m, j);
	return !j->failed;
}

static bool read_format(struct json_stream *j, bool *known)
{
	struct stream_text t;
	if (!stream_string(j, &t))
		return false;
	*known = stream_is(&t, FORMAT);
	return *known || stream_fail(j, "this is no checkpoint of shardlab: format must be '" FORMAT "'");
}

static bool read_version(struct json_stream *j)
{
	int64_t version;
	return stream_whole(j, &version) &&
	       (version == VERSION ||
	        stream_fail(j, "version %lld; this program reads version %d", (long long)version, VERSION));
}

/* The checksum of all that stands in the file before it. */
static uint64_t text_checksum(const char *text, size_t size)
{
	uint64_t sum = size;
	for (size_t i = 0; i < size; i++)
		sum = mix64(sum ^ (unsigned char)text[i]);
	return sum;
}

static bool read_own_checksum(struct json_stream *j, const struct stream_text *key)
{
	uint64_t said;
	if (!read_checksum(j, &said))
		return false;
	if (said == text_checksum(j->begin, (size_t)(key->text - j->begin)))
		return true;
	/* Whatever was changed stands elsewhere than here. */
	j->failed = status_fail(STATUS_INPUT, "%s: it is not as it was saved; take an older checkpoint", j->name);
	return false;
}

static bool read_model(struct manifest *m, struct json_stream *j)
{
	struct stream_text t;
	if (!stream_string(j, &t))
		return false;
	m->model = stream_copy(&m->arena, &t, true, NULL);
	return true;
}

static bool read_member(struct manifest *m, struct json_stream *j, const struct stream_text *key, bool *known,
                        bool *ends)
{
	if (*ends)
		return stream_fail(j, "something follows its checksum");
	if (stream_is(key, "format"))
		return read_format(j, known);
	if (stream_is(key, "version"))
		return read_version(j);
	if (stream_is(key, "step"))
		return read_count(j, "step", &m->step);
	if (stream_is(key, "model"))
		return read_model(m, j);
	if (stream_is(key, "settings"))
		return read_settings(m, j);
	if (stream_is(key, "data"))
		return read_data(m, j);
	if (stream_is(key, "state_checksum"))
		return read_checksum(j, &m->state_checksum);
	*ends = stream_is(key, "checksum");
	if (*ends)
		return read_own_checksum(j, key);
	return stream_is(key, "files") ? read_files(m, j) : stream_skip(j);
}

static bool read_all(struct manifest *m, struct json_stream *j)
{
	struct stream_text key;
	bool good = stream_enter(j, '{'), known = false, ends = false;
	while (good && stream_key(j, &key))
		good = read_member(m, j, &key, &known, &ends);
	if (!stream_finished(j))
		return false;
	const char *missing = !known                        ? "format"
	                      : m->step < 0                 ? "step"
	                      : !m->model                   ? "model"
	                      : !m->settings[SETTING_RANKS] ? "settings"
	                      : !m->file_count              ? "files"
	                                                    : NULL;
	return !missing || stream_fail(j, "has no %s, so it is no checkpoint", missing);
}

enum status manifest_parse(struct manifest *m, const char *name, const char *text, size_t size)
{
	*m = (struct manifest){.step = -1};
	struct json_stream j = {.at = text, .begin = text, .end = text + size, .name = name};
	if (read_all(m, &j))
		return STATUS_OK;
	manifest_release(m);
	return j.failed;
}

enum status manifest_read(struct manifest *m, const char *folder)
{
	char *path = path_in_folder(folder, MANIFEST_NAME), *text = NULL;
	size_t size = 0;
	*m = (struct manifest){0};
	enum status s = file_read(path, "{resume}", LARGEST, &text, &size);
	if (!s)
		s = manifest_parse(m, path, text, size);
	free(text);
	free(path);
	return s;
}

void manifest_release(struct manifest *m)
{
	if (!m)
		return;
	arena_release(&m->arena);
	*m = (struct manifest){0};
}

/* ---- files ---- */

enum status checkpoint_file_checksum(const char *path, int64_t *bytes, uint64_t *checksum)
{
	enum { WORDS = 1 << 16 };
	float *words = array_make(WORDS, sizeof *words);
	FILE *f = fopen(path, "rb");
	enum status s = STATUS_OK;
	*bytes = 0;
	*checksum = 0;
	for (size_t n = 1; f && n;) {
		n = fread(words, 1, WORDS * sizeof *words, f);
		memset((char *)words + n, 0, WORDS * sizeof *words - n);
		*checksum += weights_checksum(*bytes / (int64_t)sizeof *words,
		                              (int64_t)((n + sizeof *words - 1) / sizeof *words), words);
		*bytes += (int64_t)n;
	}
	if (!f || ferror(f))
		s = status_fail(STATUS_INPUT, "%s: cannot be read: %s", path, strerror(errno));
	if (f)
		fclose(f);
	free(words);
	return s;
}

static enum status refuse_changed(const char *path, const char *what)
{
	return status_fail(STATUS_INPUT, "%s: it is not as it was saved: its %s has changed; take an older checkpoint",
	                   path, what);
}

enum status manifest_check_sizes(const struct manifest *m, const char *folder)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < m->file_count && !s; i++) {
		char *path = path_in_folder(folder, m->files[i].name);
		struct stat info;
		if (!stat(path, &info) && info.st_size != m->files[i].bytes)
			s = refuse_changed(path, "size");
		free(path);
	}
	return s;
}

enum status manifest_check_file(const struct manifest *m, const char *folder, int file)
{
	const struct manifest_file *f = &m->files[file];
	int64_t bytes;
	uint64_t checksum;
	char *path = path_in_folder(folder, f->name);
	enum status s = checkpoint_file_checksum(path, &bytes, &checksum);
	if (!s && (bytes != f->bytes || checksum != f->checksum))
		s = refuse_changed(path, bytes != f->bytes ? "size" : "checksum");
	free(path);
	return s;
}

/* ---- writing ---- */

static json_t *checksum_to_json(uint64_t checksum)
{
	return json_sprintf("%016" PRIx64, checksum);
}

static json_t *to_json(const struct manifest *m)
{
	json_t *settings = json_object(), *files = json_array();
	for (int i = 0; i < SETTING_COUNT; i++)
		if (m->settings[i])
			json_object_set_new(settings, setting_rows[i].name, json_string(m->settings[i]));
	for (int i = 0; i < m->file_count; i++)
		json_array_append_new(files, json_pack("{s:s, s:I, s:o}", "name", m->files[i].name, "bytes",
		                                       (json_int_t)m->files[i].bytes, "checksum",
		                                       checksum_to_json(m->files[i].checksum)));
	return json_pack("{s:s, s:i, s:I, s:s, s:o, s:{s:I, s:o, s:o}, s:o, s:o}", "format", FORMAT, "version", VERSION,
	                 "step", (json_int_t)m->step, "model", m->model, "settings", settings, "data", "samples",
	                 (json_int_t)m->data_samples, "checksum", checksum_to_json(m->data_checksum), "all",
	                 checksum_to_json(m->data_whole), "state_checksum", checksum_to_json(m->state_checksum),
	                 "files", files);
}

/* As the last member, in place of the closing brace. */
static void print_with_checksum(char *text, FILE *out)
{
	static const char member[] = ",\n \"";
	size_t size = strlen(text) - strlen("\n}");
	char *all = memory_take(size + sizeof member);
	memcpy(all, text, size);
	memcpy(all + size, member, sizeof member);
	fprintf(out, "%schecksum\": \"%016" PRIx64 "\"\n}\n", all, text_checksum(all, size + sizeof member - 1));
	free(all);
}

static enum status print(void *context, FILE *out)
{
	json_t *o = to_json(context);
	if (!o)
		return status_fail(STATUS_RUN, "{checkpoint}: " MANIFEST_NAME " cannot be written: a name in it is not "
		                               "UTF-8");
	char *text = json_dumps(o, JSON_INDENT(1));
	json_decref(o);
	if (!text)
		memory_exhausted();
	print_with_checksum(text, out);
	free(text);
	return STATUS_OK;
}

enum status manifest_write(const struct manifest *m, const char *folder)
{
	char *path = path_in_folder(folder, MANIFEST_NAME);
	enum status s = file_write(path, "{checkpoint}", print, (void *)(uintptr_t)m);
	free(path);
	return s;
}
