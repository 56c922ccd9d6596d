/*
 * cpu_explain - lists the steps of a plan, for people and tests: layer, direction, kernel.  After an evaluation of a
 * full batch the list has the kernels that compute a batch norm, too.
 */
#include "engine/cpu/cpu.h"

#include "base/err.h"

static int
explain_conv(const struct engine_plan *p, const struct cpu_step *s, struct buf *out)
{
	const char *const *kernel = cpu_conv_needs(p->set[0].conv[s->state])->kernel;
	const char *name = p->graph->node[s->node].name;
	int e;

	if (s->kind == CPU_CONV) {
		const struct cpu_conv_layer *m = &p->conv[s->state];

		e = buf_put_fmt(out, "%s forward %s%s%s%s\n", name, kernel[DNNL_FORWARD],
		    m->shape.plus ? "+sum" : "", m->shape.relu ? "+relu" : "", m->shape.pooled ? "+maxpool" : "");
		return e < 0 || p->set[0].folded[s->state] == NULL ? e : buf_put_fmt(out, "%s evaluate %s+bn%s\n", name,
		    cpu_conv_needs(p->set[0].folded[s->state])->kernel[DNNL_FORWARD], m->bn_relu ? "+relu" : "");
	}
	e = buf_put_fmt(out, "%s weight %s\n", name, kernel[DNNL_WEIGHT]);
	return e < 0 || s->no_dx ? e : buf_put_fmt(out, "%s data %s\n", name, kernel[DNNL_DATA]);
}

static const char *
get_step_name(const struct engine_plan *p, const struct cpu_step *s)
{
	static const char *const name[] = {
		[CPU_BN] = "bn", [CPU_BN_BACK] = "bn", [CPU_ACT] = "act", [CPU_ACT_BACK] = "act", [CPU_POOL] = "pool",
		[CPU_POOL_BACK] = "pool", [CPU_LOSS] = "softmax", [CPU_LOSS_BACK] = "softmax", [CPU_COPY] = "copy",
		[CPU_SUM] = "sum", [CPU_PRODUCT] = "product", [CPU_PAD] = "pad", [CPU_PAD_BACK] = "pad",
		[CPU_LRN] = "lrn", [CPU_LRN_BACK] = "lrn", [CPU_DROP] = "dropout", [CPU_DROP_BACK] = "dropout",
	};

	return s->kind == CPU_BN_BACK && p->bn[s->state].beta_conv >= 0 ? "beta" : name[s->kind];
}

int
cpu_explain(const struct engine_plan *p, struct buf *out)
{
	static const char *const act[] = { [BN_PLAIN] = "", [BN_RELU] = "+relu", [BN_GELU] = "+gelu" };

	for (uint32_t i = 0; i < p->nstep; i++) {
		const struct cpu_step *s = &p->step[i];

		if (s->kind == CPU_CONV || s->kind == CPU_CONV_BACK)
			ERR_TRY(explain_conv(p, s, out));
		else
			ERR_TRY(buf_put_fmt(out, "%s %s own:%s%s\n", p->graph->node[s->node].name, i < p->nforward ?
			    "forward" : "backward", get_step_name(p, s), act[s->act]));
	}
	return 0;
}
