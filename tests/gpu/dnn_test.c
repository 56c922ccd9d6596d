/*
 * dnn_test - cuDNN plans every convolution that the engine asks for, on devices that are not
 * present.
 *
 * The library takes the properties of a device, checks the same descriptors as on that device, and
 * makes the plan. Only running it is left out. Source of the properties: the vendor's tables of
 * compute capabilities.
 */
#include "tap.h"

#include "base/buf.h"
#include "base/err.h"
#include "engine/autotune_cache.h"
#include "engine/cuda/device/device_in.h"
#include "engine/cuda/device/dnn.h"
#include "engine/cuda/device/dnn_desc.h"
#include "engine/cuda/kernel/kernel.h"

#include <dlfcn.h>
#include <stdlib.h>

/* What the library's answers are changed to: counts above what was asked for; engines that compile at run time. */
static enum { HONEST, BOASTS, COMPILES } library;

/* Replaces the library's function, which it calls. */
cudnnStatus_t
cudnnBackendGetAttribute(cudnnBackendDescriptor_t const from, cudnnBackendAttributeName_t name,
	cudnnBackendAttributeType_t type, int64_t n, int64_t *got, void *values)
{
	static cudnnStatus_t (*real)(cudnnBackendDescriptor_t const, cudnnBackendAttributeName_t,
	    cudnnBackendAttributeType_t, int64_t, int64_t *, void *);
	cudnnStatus_t e;

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "cudnnBackendGetAttribute");
	if ((e = real(from, name, type, n, got, values)) != CUDNN_STATUS_SUCCESS)
		return e;
	if (library == BOASTS && n > 0)
		*got = n + 1000000;
	if (library == COMPILES && name == CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE && n > 0) {
		*(cudnnBackendBehaviorNote_t *)values = CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
		*got = 1;
	}
	return CUDNN_STATUS_SUCCESS;
}

static const struct cuda_host host = { err_note, err_within, buf_put_fmt, NULL, NULL, NULL, NULL };

static const struct engine_tune tune = { .deterministic = true };

static const struct card {
	const char *name;
	int	 version, processors, shared, most_shared, threads, blocks;
	long long memory;
} cards[] = {
	{ "Tesla T4", 750, 40, 49152, 65536, 1024, 16, 16LL << 30 },
	{ "NVIDIA A100-SXM4-80GB", 800, 108, 49152, 166912, 2048, 32, 80LL << 30 },
	{ "NVIDIA H200", 900, 132, 49152, 232448, 2048, 32, 140LL << 30 },
	{ "NVIDIA B200", 1000, 148, 49152, 232448, 2048, 32, 180LL << 30 },
	{ "NVIDIA GeForce RTX 5090", 1200, 170, 49152, 101376, 1536, 24, 32LL << 30 },
};

/* c, h, w, k, r, s, stride, pad, dilation, groups: layers of share/nets, and odd ones. */
static const struct layer {
	uint32_t c, h, w, k, r, s, stride, pad, dilate, groups;
} layers[] = {
	{ 1, 28, 28, 20, 5, 5, 1, 0, 1, 1 },	/* lenet */
	{ 3, 28, 28, 96, 3, 3, 1, 1, 1, 1 },	/* inception */
	{ 96, 28, 28, 32, 1, 1, 1, 0, 1, 1 },
	{ 160, 28, 28, 80, 3, 3, 2, 1, 1, 1 },
	{ 16, 28, 28, 16, 3, 3, 1, 1, 1, 1 },	/* resnet-110 */
	{ 32, 14, 14, 32, 3, 3, 1, 1, 1, 1 },
	{ 64, 7, 7, 64, 3, 3, 1, 1, 1, 1 },
	{ 3, 224, 224, 64, 7, 7, 2, 3, 1, 1 },	/* resnet-50 */
	{ 256, 56, 56, 128, 1, 1, 2, 0, 1, 1 },
	{ 512, 14, 14, 512, 3, 3, 1, 1, 1, 1 },	/* vgg */
	{ 3, 31, 31, 24, 2, 2, 1, 0, 1, 1 },	/* fast */
	{ 7, 13, 11, 5, 3, 2, 2, 1, 2, 1 },
	{ 32, 14, 14, 64, 3, 3, 1, 1, 1, 4 },
	{ 32, 14, 14, 32, 3, 3, 1, 1, 1, 32 },
};

static int
describe(const struct card *c, struct dnn_desc *a, struct device *d)
{
	struct buf json = { 0 };
	int e = buf_put_fmt(&json,
	    "{\"deviceName\":\"%s\",\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
	    "\"regsPerBlock\":65536,\"multiProcessorCount\":%d,\"warpSize\":32,\"maxSharedMemoryPerBlock\":%d,"
	    "\"maxSharedMemoryPerBlockOptin\":%d,\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
	    "\"maxCtasPerSM\":%d,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":%d,\"pciDeviceId\":0,"
	    "\"isTccDriver\":0,"
	    "\"supportCoopLaunch\":1,\"totalGlobalMem\":%lld,\"smClockRateKHz\":1980000,\"memClockRateKHz\":3201000,"
	    "\"l2CacheSize\":52428800,\"cudaDeviceId\":0,\"deviceVer\":%d,\"driverVer\":%d}", c->name, c->processors,
	    c->shared, c->most_shared, c->blocks, c->threads, c->memory, c->version, CUDART_VERSION);

	if (e < 0 || buf_terminate(&json) < 0)
		return -1;
	*d = (struct device){ .host = &host, .like = dnn_desc_new(a, DNN_DESC_DEVICE) };
	dnn_desc_set(a, d->like, DNN_DESC_DEVICE_JSON, CUDNN_TYPE_CHAR, (int64_t)json.n + 1, json.p);
	dnn_desc_ready(a, d->like);
	snprintf(d->name, sizeof(d->name), "%s", c->name);
	buf_free(&json);
	return a->e == CUDNN_STATUS_SUCCESS ? 0 : -1;
}

static struct dnn_shape
shape(const struct layer *l, enum dnn_way way, int type, bool tf32)
{
	return (struct dnn_shape){
		.way = way, .type = type, .n = 64, .c = l->c, .h = l->h, .w = l->w, .k = l->k, .r = l->r, .s = l->s,
		.oh = (l->h + 2 * l->pad - l->dilate * (l->r - 1) - 1) / l->stride + 1,
		.ow = (l->w + 2 * l->pad - l->dilate * (l->s - 1) - 1) / l->stride + 1,
		.stride = { l->stride, l->stride }, .pad = { l->pad, l->pad }, .dilate = { l->dilate, l->dilate },
		.groups = l->groups, .tf32 = tf32,
	};
}

static const struct dnn_places places = { (void *)0x1000000, (void *)0x2000000, (void *)0x3000000, (void *)0x4000000,
	(void *)0x5000000, (void *)0x6000000 };

/*
 * Counts the layers that have a plan with the bias, sum and ReLU of `like`. Engines that compile at
 * run time need a driver, so without a GPU they do not count.
 */
static uint32_t
fused(struct device *d, int kind, bool tf32, struct dnn_shape like)
{
	uint32_t had = 0;

	for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++) {
		struct dnn_shape s = shape(&layers[i], DNN_FORWARD, kind, tf32);
		struct dnn *c, *twin = NULL;
		size_t scratch;

		s.bias = like.bias;
		s.addend = like.addend;
		s.relu = like.relu;
		if (dnn_open(d, &s, &tune, &c, &scratch) < 0)
			continue;
		had += dnn_bind(c, &places) == 0 && dnn_like(c, &twin) == 0 && dnn_bind(twin, &places) == 0;
		dnn_close(twin);
		dnn_close(c);
	}
	return had;
}

/*
 * Counts the weight gradients that are planned with sums in any order. Without the device no race
 * can run, and the library's first proposal is taken.
 */
static uint32_t
loose(struct device *d, int kind, bool any_order, const struct engine_tune *how)
{
	uint32_t had = 0;

	for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++) {
		struct dnn_shape s = shape(&layers[i], DNN_WEIGHT, kind, true);
		struct buf text = { 0 };
		struct dnn *c;
		size_t scratch;

		s.any_order = any_order;
		if (dnn_open(d, &s, how, &c, &scratch) < 0)
			continue;
		had += dnn_name(c, &text) == 0 && buf_terminate(&text) == 0 &&
		    strstr((const char *)text.p, "any order") != NULL;
		buf_free(&text);
		dnn_close(c);
	}
	return had;
}

/* A cache that returns one name for every key; name "": none. */
struct memory {
	char	 key[ENGINE_KEY], name[ENGINE_CHOICE];
	uint32_t asked, kept;
};

static bool
find(void *arg, const char *key, char name[ENGINE_CHOICE])
{
	struct memory *m = arg;

	m->asked++;
	snprintf(m->key, sizeof(m->key), "%s", key);
	snprintf(name, ENGINE_CHOICE, "%s", m->name);
	return m->name[0] != 0;
}

static void
keep(void *arg, const char *key, const char *name)
{
	struct memory *m = arg;

	(void)key;
	(void)name;
	m->kept++;
}

/* The engine of a plan, "57 2=1", or "". */
static void
engine_of(struct device *d, const struct engine_tune *how, char name[ENGINE_CHOICE])
{
	const struct dnn_shape s = shape(&layers[1], DNN_FORWARD, KERNEL_F16, true);
	struct buf text = { 0 };
	struct dnn *c;
	size_t scratch;

	name[0] = 0;
	if (dnn_open(d, &s, how, &c, &scratch) < 0)
		return;
	if (dnn_name(c, &text) == 0 && buf_terminate(&text) == 0)
		sscanf((const char *)text.p, "cuDNN engine %255[^,]", name);
	buf_free(&text);
	dnn_close(c);
}

static void
chosen(struct device *d, const char *card)
{
	struct memory m = { .asked = 0 };
	const struct engine_tune race = { .measure = true, .arg = &m, .find = find, .keep = keep };
	char first[ENGINE_CHOICE], again[ENGINE_CHOICE], key[ENGINE_KEY], name[ENGINE_CHOICE],
	    line[ENGINE_KEY + ENGINE_CHOICE];

	engine_of(d, &tune, first);
	engine_of(d, &race, again);
	is(strcmp(first, again), 0, "%s: if no race can run, the first proposal is taken: %s", card, again);
	ok(m.asked == 1 && m.kept == 0, "%s: without a race the cache is read and not written", card);
	snprintf(line, sizeof(line), "%s\t%s", m.key, first);
	is(autotune_cache_parse(line, key, name), 1,
	    "%s: key and engine are a valid line of the cache: %s", card, line);
	snprintf(m.name, sizeof(m.name), "999999");
	engine_of(d, &race, again);
	is(strcmp(first, again), 0, "%s: a cached engine that cuDNN does not propose is ignored", card);
}

/* Plans all layers in all directions in one type, and prints those without a plan. */
static void
type(struct device *d, const char *card, const char *name, int kind, bool tf32)
{
	static const char *const way[] = { "forward", "data", "weight" };
	uint32_t missing = 0, bound = 0, all = 0;

	for (size_t i = 0; i < 3 * sizeof(layers) / sizeof(*layers); i++) {
		const struct dnn_shape s = shape(&layers[i / 3], (enum dnn_way)(i % 3), kind, tf32);
		struct buf text = { 0 };
		struct dnn *c;
		size_t scratch;

		all++;
		if (dnn_open(d, &s, &tune, &c, &scratch) < 0) {
			missing++;
			printf("# %s %s: layer %zu %s: %s\n", card, name, i / 3, way[i % 3], err_line());
			continue;
		}
		bound += dnn_bind(c, &places) == 0;
		if (getenv("VERBOSE") != NULL && dnn_name(c, &text) == 0 && buf_terminate(&text) == 0)
			printf("# %s %s: layer %zu %s: %s\n", card, name, i / 3, way[i % 3], (const char *)text.p);
		buf_free(&text);
		dnn_close(c);
	}
	is(missing, 0, "%s, %s: each of %u convolutions has a plan", card, name, all);
	is(bound, all - missing, "%s, %s: each planned convolution binds to memory", card, name);
}

/* What follows a convolution in the plans of nets: always with a bias, if need be of zeros. */
static void
after(struct device *d, const char *card, int version)
{
	static const struct {
		const char *what;
		struct dnn_shape like;
	} all[] = {
		{ "bias", { .bias = 16 } },
		{ "bias and ReLU", { .bias = 16, .relu = true } },
		{ "a sum and bias", { .bias = 16, .addend = true } },
		{ "a sum, bias and ReLU", { .bias = 16, .addend = true, .relu = true } },
	};
	const uint32_t want = sizeof(layers) / sizeof(*layers);

	is(fused(d, KERNEL_F32, false, (struct dnn_shape){ .bias = 4, .relu = true }), want,
	    "%s, f32: each convolution has a plan with a bias at any address", card);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		is(fused(d, KERNEL_F32, false, all[i].like), want,
		    "%s, f32: each convolution and its copy have a plan with %s", card, all[i].what);
		is(fused(d, KERNEL_F32, true, all[i].like), want,
		    "%s, tf32: each convolution and its copy have a plan with %s", card, all[i].what);
		if (version >= 800)
			is(fused(d, KERNEL_BF16, true, all[i].like), want,
			    "%s, bf16: each convolution and its copy have a plan with %s", card, all[i].what);
		is(fused(d, KERNEL_F16, true, all[i].like), want,
		    "%s, f16: each convolution and its copy have a plan with %s", card, all[i].what);
	}
}

/* Engines that compile at run time are for races alone. */
static void
compiled(struct device *d, const char *card)
{
	const struct dnn_shape s = shape(&layers[1], DNN_FORWARD, KERNEL_F16, true);
	char name[ENGINE_CHOICE];
	struct dnn *c;
	size_t scratch;

	library = COMPILES;
	is(dnn_open(d, &s, &tune, &c, &scratch), ERR_NOTSUP, "%s: engines that compile at run time are excluded", card);
	engine_of(d, &(struct engine_tune){ .measure = true }, name);
	ok(name[0] != 0, "%s: engines that compile at run time take part in a race: %s", card, name);
	library = HONEST;
	device_load_compiler();
	snprintf(name, sizeof(name), "libnvrtc.so.%d", CUDART_VERSION / 1000);
	ok(dlopen(name, RTLD_NOW | RTLD_NOLOAD) != NULL, "device_load_compiler() loads %s", name);
}

static void
counts(struct dnn_desc *a)
{
	const uint32_t dim[4] = { 1, 2, 3, 4 };
	cudnnBackendDescriptor_t t = dnn_desc_tensor(a, 1, CUDNN_DATA_FLOAT, dim);
	int64_t size[4], n;

	library = BOASTS;
	n = dnn_desc_get(a, t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, size);
	library = HONEST;
	is(n, 4, "dnn_desc_get() clamps a count above the number asked for");
}

int
main(void)
{
	uint32_t any = 0;

	if (cudnnGetVersion() < 90800) {
		skip("cuDNN plans for devices that are not present", "cuDNN 9.8 is the first that does");
		return done();
	}
	for (size_t i = 0; i < sizeof(cards) / sizeof(*cards); i++) {
		struct dnn_desc a = { .e = CUDNN_STATUS_SUCCESS };
		struct device d;

		if (!ok(describe(&cards[i], &a, &d) == 0, "cuDNN accepts the properties of %s", cards[i].name))
			continue;
		type(&d, cards[i].name, "f32", KERNEL_F32, false);
		type(&d, cards[i].name, "tf32", KERNEL_F32, true);
		if (cards[i].version >= 800)
			type(&d, cards[i].name, "bf16", KERNEL_BF16, true);
		type(&d, cards[i].name, "f16", KERNEL_F16, true);
		after(&d, cards[i].name, cards[i].version);
		is(loose(&d, KERNEL_F32, false, &tune), 0, "%s: weight gradients add in a fixed order", cards[i].name);
		is(loose(&d, KERNEL_F32, false, &(struct engine_tune){ .measure = true, .deterministic = true }), 0,
		    "%s: weight gradients add in a fixed order after a deterministic race", cards[i].name);
		any += loose(&d, KERNEL_F32, true, &(struct engine_tune){ .measure = true });
		chosen(&d, cards[i].name);
		if (i == 0) {
			compiled(&d, cards[i].name);
			counts(&a);
		}
		dnn_desc_free(&a);
	}
	ok(any > 0, "cuDNN plans engines with sums in any order if they are allowed: %u", any);
	return done();
}
