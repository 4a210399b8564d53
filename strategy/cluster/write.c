/* Writes a cluster as the reader takes it, every field by the same table. */
#include "strategy/cluster/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "strategy/base/file.h"
#include "strategy/cluster/fields.h"

static void print_rate(FILE *out, const struct rate *r, double scale)
{
	if (!r->measured) {
		print_scaled(r->value, scale, out);
		return;
	}
	fputs("{measured: ", out);
	print_scaled(r->value, scale, out);
	fputs(", min: ", out);
	print_scaled(r->low, scale, out);
	fputs(", max: ", out);
	print_scaled(r->high, scale, out);
	fputc('}', out);
}

static void print_curve(FILE *out, const struct curve *curve)
{
	if (curve->count == 1 && curve->point[0].work == 1) {
		print_rate(out, &curve->point[0].rate, 1);
		return;
	}
	for (int i = 0; i < curve->count; i++) {
		fprintf(out, "\n      - {work: %" PRId64 ", rate: ", curve->point[i].work);
		print_rate(out, &curve->point[i].rate, 1);
		fputc('}', out);
	}
}

static void print_compute(const struct cluster *c, FILE *out)
{
	fputs("compute:\n", out);
	for (int key = COMPUTE_KEY_COUNT - 1; key >= 0; key--) {
		bool any = false;
		for (int type = 0; type < CLUSTER_COLUMNS; type++) {
			const struct curve *curve = &c->compute[key][type];
			if (!curve->count)
				continue;
			if (!any)
				fprintf(out, "  %s:\n", compute_key_name(key));
			any = true;
			fprintf(out, "    %s: ", cluster_column_name(type));
			print_curve(out, curve);
			fputc('\n', out);
		}
	}
}

static void print_slow(const struct cluster *c, FILE *out)
{
	if (c->slow_count)
		fputs("slow:\n", out);
	for (int i = 0; i < c->slow_count; i++) {
		fprintf(out, "  %" PRId64 ": ", c->slow[i].rank);
		print_scaled(c->slow[i].factor, 1e6, out);
		fputc('\n', out);
	}
}

static void print_field(const struct cluster *c, const struct field *f, FILE *out)
{
	const void *at = (const char *)c + f->offset;
	bool whole = f->kind == FIELD_WHOLE || f->kind == FIELD_BYTES;
	bool is_rate = f->kind == FIELD_PER_SECOND && !(f->flags & REQUIRED);
	if ((is_rate && !((const struct rate *)at)->value) || (whole && !*(const int64_t *)at) ||
	    ((f->kind == FIELD_TEXT || f->kind == FIELD_CARD) && !*(const char *)at)) /* not given */
		return;
	fprintf(out, "%s%s: ", *f->section ? "  " : "", f->key);
	if (f->kind == FIELD_TEXT)
		print_text(at, out);
	else if (f->kind == FIELD_CARD)
		fputs(at, out);
	else if (f->kind == FIELD_KIND)
		fputs(c->kind == DEVICE_GPU ? "gpu" : "cpu", out);
	else if (whole)
		fprintf(out, "%" PRId64, *(const int64_t *)at);
	else
		print_rate(out, at, field_scale(f->kind));
	fputc('\n', out);
}

static bool has_section(const struct cluster *c, const char *name)
{
	return (strcmp(name, "network") != 0 || c->network.bandwidth.value) &&
	       (strcmp(name, "disk") != 0 || c->disk.read.value);
}

static void print_section(const struct cluster *c, const char *section, FILE *out)
{
	const struct field *fields[SECTION_FIELDS];
	int count = cluster_section_fields(section, fields);
	for (int i = 0; i < count; i++) {
		const struct field *f = fields[i];
		if (!(f->flags & (c->kind == DEVICE_GPU ? ON_GPU : ON_CPU)))
			continue;
		if (f->kind == FIELD_COMPUTE) {
			print_compute(c, out);
		} else if (f->kind == FIELD_SLOW) {
			print_slow(c, out);
		} else if (f->kind != FIELD_SECTION) {
			print_field(c, f, out);
		} else if (has_section(c, f->key)) {
			fprintf(out, "%s:\n", f->key);
			print_section(c, f->key, out);
		}
	}
}

void cluster_print(const struct cluster *c, FILE *out)
{
	print_section(c, "", out);
}

static enum status print(void *c, FILE *out)
{
	cluster_print(c, out);
	return STATUS_OK;
}

enum status cluster_write(const struct cluster *c, const char *path)
{
	struct cluster copy = *c;
	enum status s = file_make_folders(path);
	if (!s)
		s = file_write(path, "the calibration", print, &copy);
	return s == STATUS_INPUT ? STATUS_RUN : s;
}
