/* A report's figures of a real run, written and read like those of report_json.c. */
#include <stdlib.h>

#include "strategy/trace/report_form.h"

static void losses(struct form *f, struct report *r)
{
	json_t *list = form_list(f, "losses", INT64_MAX);
	if (f->reads) {
		r->losses = array_make(json_array_size(list), sizeof *r->losses);
		r->loss_count = (int64_t)json_array_size(list);
	}
	for (int64_t i = 0; i < r->loss_count; i++)
		if (f->reads)
			r->losses[i] = form_real_from_json(f, json_array_get(list, (size_t)i), "losses");
		else
			json_array_append_new(list, form_real_to_json(r->losses[i]));
}

static void ranks(struct form *f, struct report *r)
{
	json_t *list = form_list(f, "by_rank", r->ranks), *outer = f->o;
	if (f->reads && form_expect(f, (int64_t)json_array_size(list) == r->ranks, "by_rank", "a list of all ranks"))
		r->by_rank = array_make((size_t)r->ranks, sizeof *r->by_rank);
	for (int64_t i = 0; i < r->ranks && r->by_rank && !f->status; i++) {
		char name[64];
		int64_t *figure;
		f->o = form_element(f, list, i);
		for (int k = 0; (figure = report_rank_figure(&r->by_rank[i], k, name, sizeof name)); k++)
			form_countable(f, name, figure);
	}
	form_leave(f, outer);
}

static void data(struct form *f, struct report_data *d)
{
	FORM_INSIDE (f, "data", outer) {
		FORM_TEXT(f, "type", d->type);
		form_whole(f, "files", &d->files);
		form_whole(f, "training_samples", &d->training_samples);
		form_whole(f, "validation_samples", &d->validation_samples);
	}
}

static void slowed(struct form *f, struct report_slowed *s)
{
	if (!form_absent(f, "attention", !*s->attention_forward))
		FORM_INSIDE (f, "attention", inside) {
			FORM_TEXT(f, "forward", s->attention_forward);
			FORM_TEXT(f, "backward", s->attention_backward);
			FORM_TEXT(f, "why", s->attention_why);
			if (!form_absent(f, "times", !*s->attention_times))
				FORM_TEXT(f, "times", s->attention_times);
		}
	if (!form_absent(f, "bias_gradients", !*s->bias_times))
		FORM_TEXT(f, "bias_gradients", s->bias_times);
	if (!form_absent(f, "products_by", !*s->products_by))
		FORM_TEXT(f, "products_by", s->products_by);
	if (!form_absent(f, "gelu_passes", !s->gelu_passes))
		form_whole(f, "gelu_passes", &s->gelu_passes);
	if (!form_absent(f, "not_captured", !*s->not_captured))
		FORM_TEXT(f, "not_captured", s->not_captured);
	if (form_absent(f, "plain_products", !s->plain_products))
		return;
	FORM_INSIDE (f, "plain_products", outer) {
		form_whole(f, "count", &s->plain_products);
		FORM_TEXT(f, "why", s->plain_why);
	}
}

void report_form_run(struct form *f, struct report *r)
{
	data(f, &r->data);
	form_whole(f, "steps", &r->steps);
	form_whole(f, "losses_every", &r->losses_every);
	losses(f, r);
	ranks(f, r);
	form_whole(f, "staging_touched_bytes", &r->staging_touched_bytes);
	form_real(f, "validation_loss", &r->validation_loss);
	form_real(f, "validation_accuracy", &r->validation_accuracy);
	FORM_TEXT(f, "weights_checksum", r->weights_checksum);
	if (!form_absent(f, "loss_scale", !(r->loss_scale > 0))) {
		form_real(f, "loss_scale", &r->loss_scale);
		form_whole(f, "skipped", &r->skipped_steps);
	}
	slowed(f, &r->slowed);
	form_whole_or_null(f, "resident_bytes", &r->resident_bytes, 0);
	form_real(f, "units_per_s", &r->units_per_s);
}
