/* Softmax cross-entropy: the parts' sums are added in order. */
#include "kernels/cpu/bodies.h"

void classifier(enum element type, int64_t rows, int64_t classes, int64_t stride, void *logits, const int32_t *targets,
                double scale, double gradient_scale, float *loss, bool accumulate)
{
	double parts[SUM_PARTS], sum = 0;
	struct classifier_task t = {.rows = rows,
	                            .classes = classes,
	                            .stride = stride,
	                            .gradient = logits,
	                            .targets = targets,
	                            .scale = gradient_scale,
	                            .loss_parts = parts};
	parallel_for(kernel_bodies(type)->classifier, &t, SUM_PARTS, 1);
	for (int i = 0; i < SUM_PARTS; i++)
		sum += parts[i];
	*loss = (float)((accumulate ? (double)*loss : 0.0) + scale * sum);
}

KERNEL_FUNCTION(classifier_evaluate)
{
	double parts[SUM_PARTS], sum = 0;
	int64_t correct_parts[SUM_PARTS];
	struct classifier_task t = {.rows = rows,
	                            .classes = classes,
	                            .stride = stride,
	                            .logits = logits,
	                            .targets = targets,
	                            .loss_parts = parts,
	                            .correct_parts = correct_parts};
	parallel_for(kernel_bodies(type)->classifier_evaluate, &t, SUM_PARTS, 1);
	for (int i = 0; i < SUM_PARTS; i++) {
		sum += parts[i];
		*correct += correct_parts[i];
	}
	*loss += sum;
}
