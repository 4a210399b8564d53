/* cuDNN's descriptors. */
#include <cstring>

#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/cudnn_library.h"

namespace
{

enum kind {
	OF_POINTWISE = 0,
	OF_ENGINE = 2,
	OF_CONFIGURATION = 3,
	OF_ADVICE = 4,
	OF_PLAN = 5,
	OF_KNOB = 7,
	OF_POINTWISE_OPERATION = 13,
	OF_GRAPH = 15,
	OF_PACK = 16,
	OF_TENSOR = 17,
	OF_PRODUCT = 18,
	OF_PRODUCT_OPERATION = 19,
	OF_REDUCTION = 21,
	OF_REDUCTION_OPERATION = 22,
	OF_RESHAPE_OPERATION = 31,
	OF_PROPERTIES = 38
};

enum value {
	HANDLE = 0,
	DATA_TYPE = 1,
	BOOLEAN = 2,
	INT64 = 3,
	POINTER = 6,
	ADVICE_MODE = 8,
	KNOB_TYPE = 9,
	NUMERICAL_NOTE = 11,
	POINTWISE_MODE = 14,
	DESCRIPTOR = 15,
	REDUCTION_OPERATOR = 18,
	TEXT = 24
};

enum name {
	POINTWISE_WHAT = 0,
	POINTWISE_TYPE = 1,
	POINTWISE_AXIS = 9,
	ADVICE_HOW = 200,
	ADVICE_GRAPH = 201,
	ADVICE_RESULTS = 202,
	ADVICE_PROPERTIES = 204,
	CONFIGURATION_ENGINE = 300,
	CONFIGURATION_KNOBS = 302,
	PLAN_HANDLE = 400,
	PLAN_CONFIGURATION = 401,
	PLAN_WORKSPACE = 402,
	PLAN_PROPERTIES = 407,
	KNOB_WHAT = 600,
	KNOB_VALUE = 601,
	POINTWISE_DESCRIPTOR = 750,
	POINTWISE_X = 751,
	POINTWISE_B = 752,
	POINTWISE_Y = 753,
	POINTWISE_T = 758,
	GRAPH_HANDLE = 800,
	GRAPH_OPERATIONS = 801,
	TENSOR_ALIGNMENT = 900,
	TENSOR_TYPE = 901,
	TENSOR_SIZES = 902,
	TENSOR_STRIDES = 903,
	TENSOR_NUMBER = 906,
	TENSOR_IS_BETWEEN = 907,
	TENSOR_IS_VALUE = 908,
	PACK_NUMBERS = 1000,
	PACK_POINTERS = 1001,
	PACK_WORKSPACE = 1003,
	ENGINE_NOTES = 1303,
	PRODUCT_TYPE = 1500,
	PRODUCT_A = 1520,
	PRODUCT_B = 1521,
	PRODUCT_C = 1522,
	PRODUCT_DESCRIPTOR = 1523,
	REDUCTION_HOW = 1600,
	REDUCTION_TYPE = 1601,
	REDUCTION_X = 1610,
	REDUCTION_Y = 1611,
	REDUCTION_DESCRIPTOR = 1612,
	RESHAPE_X = 2200,
	RESHAPE_Y = 2201,
	PROPERTIES_HANDLE = 2701,
	PROPERTIES_JSON = 2702
};

enum { ADVICE_A = 3, ALIGNMENT = 16 };
enum { MOST_NOTES = 16, NOT_DETERMINISTIC = 4 /* a note */, MOST_KNOBS = 48, STREAM_K = 38 /* a knob */ };

descriptor make(struct cudnn_graph *g, enum kind kind)
{
	descriptor d = nullptr;
	if (g->error)
		return nullptr;
	if (g->descriptors == CUDNN_MOST_DESCRIPTORS) {
		g->error = CUDA_ERROR_SHAPE;
		return nullptr;
	}
	g->error = cudnn_failed(cudnn_library.BackendCreateDescriptor(kind, &d));
	if (!g->error)
		g->descriptor[g->descriptors++] = d;
	return d;
}

void set(struct cudnn_graph *g, descriptor d, enum name name, enum value type, int64_t count, const void *values)
{
	if (!g->error)
		g->error = cudnn_failed(cudnn_library.BackendSetAttribute(d, name, type, count, values));
}

template <typename T> void set_one(struct cudnn_graph *g, descriptor d, enum name name, enum value type, T value)
{
	set(g, d, name, type, 1, &value);
}

void set_tensor(struct cudnn_graph *g, descriptor d, enum name name, int tensor)
{
	if (tensor != CUDNN_NONE)
		set(g, d, name, DESCRIPTOR, 1, &g->tensor[tensor]);
}

void finish(struct cudnn_graph *g, descriptor d)
{
	if (!g->error)
		g->error = cudnn_failed(cudnn_library.BackendFinalize(d));
}

void finish_operation(struct cudnn_graph *g, descriptor d)
{
	finish(g, d);
	if (!g->error && g->operations < CUDNN_MOST_TENSORS)
		g->operation[g->operations++] = d;
}

void pointwise(struct cudnn_graph *g, enum cudnn_pointwise mode, const int64_t *axis, int x, int b, int t, int y)
{
	descriptor what = make(g, OF_POINTWISE);
	set_one(g, what, POINTWISE_WHAT, POINTWISE_MODE, static_cast<int>(mode));
	set_one(g, what, POINTWISE_TYPE, DATA_TYPE, static_cast<int>(CUDNN_FLOAT));
	if (axis)
		set(g, what, POINTWISE_AXIS, INT64, 1, axis);
	finish(g, what);
	descriptor d = make(g, OF_POINTWISE_OPERATION);
	set_one(g, d, POINTWISE_DESCRIPTOR, DESCRIPTOR, what);
	set_tensor(g, d, POINTWISE_X, x);
	set_tensor(g, d, POINTWISE_B, b);
	set_tensor(g, d, POINTWISE_T, t);
	set_tensor(g, d, POINTWISE_Y, y);
	finish_operation(g, d);
}

} // namespace

int cudnn_place_open(struct cudnn_place *out)
{
	*out = {};
	int error = cudnn_open();
	return error ? error : cudnn_failed(cudnn_library.Create(&out->handle));
}

int cudnn_place_describe(struct cudnn_place *out, const char *json)
{
	*out = {};
	int status = cudnn_open();
	if (status)
		return status;
	status = cudnn_library.BackendCreateDescriptor(OF_PROPERTIES, &out->properties);
	if (!status)
		status = cudnn_library.BackendSetAttribute(out->properties, PROPERTIES_JSON, TEXT,
		                                           static_cast<int64_t>(strlen(json)), json);
	return cudnn_failed(status ? status : cudnn_library.BackendFinalize(out->properties));
}

void cudnn_place_close(struct cudnn_place *p)
{
	if (p->handle)
		(void)cudnn_library.Destroy(p->handle);
	if (p->properties)
		(void)cudnn_library.BackendDestroyDescriptor(p->properties);
	*p = {};
}

void cudnn_begin(struct cudnn_graph *g, struct cudnn_place place)
{
	*g = {};
	g->place = place;
	g->error = cudnn_open();
	g->tensors = 1; /* 0 is no tensor's number */
}

int cudnn_tensor(struct cudnn_graph *g, const struct cudnn_shape *about)
{
	const int number = g->tensors;
	descriptor d = number < CUDNN_MOST_TENSORS ? make(g, OF_TENSOR) : nullptr;
	if (!d)
		return 0;
	set_one(g, d, TENSOR_NUMBER, INT64, static_cast<int64_t>(number));
	set_one(g, d, TENSOR_TYPE, DATA_TYPE, static_cast<int>(about->type));
	set_one(g, d, TENSOR_ALIGNMENT, INT64, static_cast<int64_t>(ALIGNMENT));
	set(g, d, TENSOR_SIZES, INT64, CUDNN_DIMENSIONS, about->size);
	set(g, d, TENSOR_STRIDES, INT64, CUDNN_DIMENSIONS, about->stride);
	set_one(g, d, TENSOR_IS_BETWEEN, BOOLEAN, about->kind == CUDNN_BETWEEN);
	set_one(g, d, TENSOR_IS_VALUE, BOOLEAN, about->kind == CUDNN_VALUE);
	finish(g, d);
	g->tensor[g->tensors++] = d;
	return number;
}

void cudnn_pointwise(struct cudnn_graph *g, enum cudnn_pointwise mode, int x, int b, int t, int y)
{
	pointwise(g, mode, nullptr, x, b, t, y);
}

void cudnn_index(struct cudnn_graph *g, int64_t dimension, int x, int y)
{
	pointwise(g, CUDNN_INDEX, &dimension, x, CUDNN_NONE, CUDNN_NONE, y);
}

void cudnn_product(struct cudnn_graph *g, int a, int b, int c)
{
	descriptor what = make(g, OF_PRODUCT);
	set_one(g, what, PRODUCT_TYPE, DATA_TYPE, static_cast<int>(CUDNN_FLOAT));
	finish(g, what);
	descriptor d = make(g, OF_PRODUCT_OPERATION);
	set_tensor(g, d, PRODUCT_A, a);
	set_tensor(g, d, PRODUCT_B, b);
	set_tensor(g, d, PRODUCT_C, c);
	set_one(g, d, PRODUCT_DESCRIPTOR, DESCRIPTOR, what);
	finish_operation(g, d);
}

void cudnn_reduce(struct cudnn_graph *g, enum cudnn_reduction how, int x, int y)
{
	descriptor what = make(g, OF_REDUCTION);
	set_one(g, what, REDUCTION_TYPE, DATA_TYPE, static_cast<int>(CUDNN_FLOAT));
	set_one(g, what, REDUCTION_HOW, REDUCTION_OPERATOR, static_cast<int>(how));
	finish(g, what);
	descriptor d = make(g, OF_REDUCTION_OPERATION);
	set_one(g, d, REDUCTION_DESCRIPTOR, DESCRIPTOR, what);
	set_tensor(g, d, REDUCTION_X, x);
	set_tensor(g, d, REDUCTION_Y, y);
	finish_operation(g, d);
}

void cudnn_reshape(struct cudnn_graph *g, int x, int y)
{
	descriptor d = make(g, OF_RESHAPE_OPERATION);
	set_tensor(g, d, RESHAPE_X, x);
	set_tensor(g, d, RESHAPE_Y, y);
	finish_operation(g, d);
}

/* ---- plans ---- */

static descriptor graph_of(struct cudnn_graph *g)
{
	descriptor d = make(g, OF_GRAPH);
	set(g, d, GRAPH_OPERATIONS, DESCRIPTOR, g->operations, g->operation);
	if (g->place.handle)
		set_one(g, d, GRAPH_HANDLE, HANDLE, g->place.handle);
	finish(g, d);
	return d;
}

/* The engines that cuDNN advises, best first. */
static void ask(struct cudnn_graph *g)
{
	if (g->advice[0] || g->error)
		return;
	descriptor graph = graph_of(g), d = make(g, OF_ADVICE);
	set_one(g, d, ADVICE_GRAPH, DESCRIPTOR, graph);
	set_one(g, d, ADVICE_HOW, ADVICE_MODE, static_cast<int>(ADVICE_A));
	if (!g->place.handle)
		set_one(g, d, ADVICE_PROPERTIES, DESCRIPTOR, g->place.properties);
	finish(g, d);
	for (int i = 0; i < CUDNN_MOST_PLANS; i++)
		g->advice[i] = make(g, OF_CONFIGURATION);
	if (!g->error)
		g->error = cudnn_failed(cudnn_library.BackendGetAttribute(d, ADVICE_RESULTS, DESCRIPTOR,
		                                                          CUDNN_MOST_PLANS, &g->advised, g->advice));
}

/* ---- does an engine add up in one order? ---- */

static bool has_note(descriptor engine, int note)
{
	int notes[MOST_NOTES];
	int64_t count = 0;
	if (cudnn_library.BackendGetAttribute(engine, ENGINE_NOTES, NUMERICAL_NOTE, MOST_NOTES, &count, notes))
		return true;
	for (int64_t i = 0; i < count && i < MOST_NOTES; i++)
		if (notes[i] == note)
			return true;
	return false;
}

static bool is_set(descriptor knob, int what)
{
	int type = 0;
	int64_t value = 0, count = 0;
	return cudnn_library.BackendGetAttribute(knob, KNOB_WHAT, KNOB_TYPE, 1, &count, &type) ||
	       cudnn_library.BackendGetAttribute(knob, KNOB_VALUE, INT64, 1, &count, &value) || (type == what && value);
}

/* A descriptor that is asked for, in which cuDNN puts what it has. */
static bool make_all(int kind, descriptor *d, int count)
{
	for (int i = 0; i < count; i++)
		if (cudnn_library.BackendCreateDescriptor(kind, &d[i]))
			return false;
	return true;
}

static void release_all(descriptor *d, int count)
{
	for (int i = 0; i < count; i++)
		cudnn_plan_release(d[i]);
}

static bool has_knob_set(descriptor configuration, int what)
{
	descriptor knob[MOST_KNOBS] = {};
	int64_t count = 0;
	bool found = !make_all(OF_KNOB, knob, MOST_KNOBS) ||
	             cudnn_library.BackendGetAttribute(configuration, CONFIGURATION_KNOBS, DESCRIPTOR, MOST_KNOBS,
	                                               &count, knob);
	for (int64_t i = 0; i < count && !found; i++)
		found = is_set(knob[i], what);
	release_all(knob, MOST_KNOBS);
	return found;
}

/* cuDNN notes engines that do not. It does not note those of stream-K, whose blocks add to a sum as they come, and of
 * which one was seen to round differently from run to run (MLX, heads of 128, cuDNN 9.27). What cannot be read is taken
 * to be one of them. */
static bool is_repeatable(descriptor configuration)
{
	descriptor engine = nullptr;
	int64_t count = 0;
	const bool noted = !make_all(OF_ENGINE, &engine, 1) ||
	                   cudnn_library.BackendGetAttribute(configuration, CONFIGURATION_ENGINE, DESCRIPTOR, 1, &count,
	                                                     &engine) ||
	                   has_note(engine, NOT_DETERMINISTIC);
	release_all(&engine, 1);
	return !noted && !has_knob_set(configuration, STREAM_K);
}

/* A plan for this engine; NULL: it cannot be made, or takes more. */
static descriptor plan_of(const struct cudnn_graph *g, descriptor configuration, int64_t most, int64_t *bytes,
                          int *status)
{
	descriptor d = nullptr;
	int64_t count = 0;
	*status = cudnn_library.BackendCreateDescriptor(OF_PLAN, &d);
	if (!*status)
		*status = g->place.handle
		                  ? cudnn_library.BackendSetAttribute(d, PLAN_HANDLE, HANDLE, 1, &g->place.handle)
		                  : cudnn_library.BackendSetAttribute(d, PLAN_PROPERTIES, DESCRIPTOR, 1,
		                                                      &g->place.properties);
	if (!*status)
		*status = cudnn_library.BackendSetAttribute(d, PLAN_CONFIGURATION, DESCRIPTOR, 1, &configuration);
	if (!*status)
		*status = cudnn_library.BackendFinalize(d);
	if (!*status)
		*status = cudnn_library.BackendGetAttribute(d, PLAN_WORKSPACE, INT64, 1, &count, bytes);
	if (!*status && *bytes <= most)
		return d;
	cudnn_plan_release(d);
	return nullptr;
}

int cudnn_plan(struct cudnn_graph *g, int64_t *which, int64_t most, void **plan, int64_t *workspace_bytes)
{
	int status = 0, tried = 0;
	*plan = nullptr;
	ask(g);
	for (int64_t i = *which; i < g->advised && !*plan && !g->error; i++) {
		if (!is_repeatable(g->advice[i]))
			continue;
		*plan = plan_of(g, g->advice[i], most, workspace_bytes, &status);
		*which = i;
		tried++;
	}
	if (*plan || g->error)
		return g->error;
	return status ? cudnn_failed(status) : tried ? CUDA_ERROR_WORKSPACE : CUDA_ERROR_SHAPE;
}

void cudnn_end(struct cudnn_graph *g)
{
	for (int i = g->descriptors - 1; i >= 0; i--)
		(void)cudnn_library.BackendDestroyDescriptor(g->descriptor[i]);
	*g = {};
}

int cudnn_run(void *handle, kernel_stream s, void *plan, int tensors, const int64_t *number, void *const *where,
              void *workspace)
{
	descriptor pack = nullptr;
	int status = cudnn_library.SetStream(handle, s);
	if (!status)
		status = cudnn_library.BackendCreateDescriptor(OF_PACK, &pack);
	if (!status)
		status = cudnn_library.BackendSetAttribute(pack, PACK_NUMBERS, INT64, tensors, number);
	if (!status)
		status = cudnn_library.BackendSetAttribute(pack, PACK_POINTERS, POINTER, tensors, where);
	if (!status)
		status = cudnn_library.BackendSetAttribute(pack, PACK_WORKSPACE, POINTER, 1, &workspace);
	if (!status)
		status = cudnn_library.BackendFinalize(pack);
	if (!status)
		status = cudnn_library.BackendExecute(handle, plan, pack);
	if (pack)
		(void)cudnn_library.BackendDestroyDescriptor(pack);
	return cudnn_failed(status);
}

void cudnn_plan_release(void *plan)
{
	if (plan)
		(void)cudnn_library.BackendDestroyDescriptor(plan);
}
