/* dnnl_dev - opens oneDNN and describes what it uses of this processor. */
#include "engine/cpu/dnnl/dnnl_dev.h"

#include "base/err.h"
#include "base/isa.h"

#include <stdlib.h>

int
dnnl_dev_fail(const char *what, dnnl_status_t s)
{
	return s == dnnl_out_of_memory ? err_nomem() :
	    err_fail(ERR_NOTSUP, "oneDNN: %s: status %d", what, (int)s);
}

dnnl_status_t
dnnl_dev_make_attr(dnnl_lib_desc vector, bool relu, dnnl_primitive_attr_t *attr)
{
	dnnl_post_ops_t ops = NULL;
	dnnl_status_t e = dnnl_primitive_attr_create(attr);

	if (e == dnnl_success)
		e = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
	if (e == dnnl_success)
		e = dnnl_post_ops_create(&ops);
	if (e == dnnl_success && vector != NULL &&
	    (e = dnnl_post_ops_append_binary(ops, dnnl_binary_mul, vector)) == dnnl_success)
		e = dnnl_post_ops_append_binary(ops, dnnl_binary_add, vector);
	if (e == dnnl_success && relu)
		e = dnnl_lib_append_relu(ops);
	if (e == dnnl_success)
		e = dnnl_primitive_attr_set_post_ops(*attr, ops);
	dnnl_post_ops_destroy(ops);
	return e;
}

/* The library accepts a limit only before its first kernel.  The limit of the first device holds for all. */
static int
limit_isa(void)
{
	static const dnnl_cpu_isa_t isas[] = { [ISA_SSE41] = dnnl_cpu_isa_sse41, [ISA_AVX2] = dnnl_cpu_isa_avx2,
		[ISA_AVX512] = dnnl_cpu_isa_avx512_core, [ISA_AVX512_BF16] = dnnl_cpu_isa_avx512_core_bf16,
		[ISA_AMX] = dnnl_cpu_isa_avx512_core_amx };
	enum isa limit;
	int e = isa_limit(&limit);

	if (e < 0 || limit == ISA_ANY || !ISA_X86)
		return e;
	dnnl_set_max_cpu_isa(isas[limit]);
	if ((dnnl_get_effective_cpu_isa() & ~isas[limit]) != 0)
		return err_fail(ERR_NOTSUP, "oneDNN: cannot limit its instruction set any more");
	return 0;
}

int
dnnl_dev_open(struct dnnl_dev **dev)
{
	struct dnnl_dev *d;
	dnnl_status_t e;
	int limited;

	if ((limited = limit_isa()) < 0)
		return limited;
	if ((d = calloc(1, sizeof(*d))) == NULL)
		return err_nomem();
	if ((e = dnnl_engine_create(&d->engine, dnnl_cpu, 0)) != dnnl_success ||
	    (e = dnnl_stream_create(&d->stream, d->engine, dnnl_stream_default_flags)) != dnnl_success ||
	    (e = dnnl_dev_make_attr(NULL, false, &d->attr)) != dnnl_success ||
	    (e = dnnl_dev_make_attr(NULL, true, &d->relu)) != dnnl_success) {
		dnnl_dev_close(d);
		return dnnl_dev_fail("open", e);
	}
	*dev = d;
	return 0;
}

void
dnnl_dev_close(struct dnnl_dev *d)
{
	if (d == NULL)
		return;
	dnnl_primitive_attr_destroy(d->attr);
	dnnl_primitive_attr_destroy(d->relu);
	dnnl_stream_destroy(d->stream);
	dnnl_engine_destroy(d->engine);
	free(d);
}

/*
 * Does the library use this set?  Its header has no names for the bits of arm64: asimd, then SVE of 128 to 512 bits
 * (src/cpu/aarch64/cpu_isa_traits.hpp).
 */
static bool
has_isa(uint32_t isa)
{
	return (dnnl_get_effective_cpu_isa() & isa) == isa;
}

#define ARM64_SVE_512 0x1fu

uint32_t
dnnl_dev_block(void)
{
	return has_isa(ISA_X86 ? dnnl_cpu_isa_avx512_core : ARM64_SVE_512) ? 16 : 8;
}

int
dnnl_dev_describe(struct buf *out)
{
	static const struct isa_name { uint32_t isa; const char *name; } x86[] = {
		{ dnnl_cpu_isa_avx512_core_amx, "avx512_core_amx" },
		{ dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16" },
		{ dnnl_cpu_isa_avx512_core_vnni, "avx512_core_vnni" }, { dnnl_cpu_isa_avx512_core, "avx512_core" },
		{ dnnl_cpu_isa_avx2_vnni, "avx2_vnni" }, { dnnl_cpu_isa_avx2, "avx2" }, { dnnl_cpu_isa_avx, "avx" },
		{ dnnl_cpu_isa_sse41, "sse41" }, { 0, "generic" },
	}, arm64[] = {
		{ ARM64_SVE_512, "sve_512" }, { 0xf, "sve_384" }, { 7, "sve_256" }, { 3, "sve_128" },
		{ 1, "asimd" }, { 0, "generic" },
	};
	const dnnl_version_t *v = dnnl_version();
	const struct isa_name *best = ISA_X86 ? x86 : arm64;

	while (!has_isa(best->isa))
		best++;
	return buf_put_fmt(out, "oneDNN %d.%d.%d, %s", v->major, v->minor, v->patch, best->name);
}

int
dnnl_dev_bf16(void)
{
	struct buf here = { 0 };
	bool known;

	if (ISA_X86 && has_isa(dnnl_cpu_isa_avx512_core_bf16))
		return 0;
	known = dnnl_dev_describe(&here) == 0 && buf_terminate(&here) == 0;
	err_note(0, "engine cpu: bf16 needs a processor with avx512_bf16; here is %s",
	    known ? (char *)here.p : "another");
	buf_free(&here);
	return ERR_NOTSUP;
}

bool
dnnl_dev_tiles(void)
{
	return ISA_X86 && has_isa(dnnl_cpu_isa_avx512_core_amx);
}

bool
dnnl_dev_bf16_pairs(void)
{
	return ISA_X86 && has_isa(dnnl_cpu_isa_avx512_core_bf16) && !dnnl_dev_tiles();
}
