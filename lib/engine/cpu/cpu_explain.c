/* cpu_explain - the steps of a plan into lines for people and tests: layer, direction, kernel. */
#include "engine/cpu/cpu.h"

static int
explain_mul(const struct engine_plan *p, const struct cpu_step *s, struct buf *out)
{
	const struct cpu_conv *m = p->set[0].mul[s->state];
	const char *name = p->graph->node[s->node].name;
	int e;

	if (s->kind == CPU_MUL)
		return buf_put_fmt(out, "%s forward %s%s\n", name, cpu_conv_kernel(m, DNNL_FORWARD),
		    p->mul[s->state].shape.relu ? "+relu" : "");
	e = buf_put_fmt(out, "%s weight %s\n", name, cpu_conv_kernel(m, DNNL_WEIGHT));
	return e < 0 || s->absent ? e : buf_put_fmt(out, "%s data %s\n", name, cpu_conv_kernel(m, DNNL_DATA));
}

int
cpu_explain(const struct engine_plan *p, struct buf *out)
{
	static const char *const name[] = {
		[CPU_BN] = "forward own:bn", [CPU_BN_BACK] = "backward own:bn", [CPU_ACT] = "forward own:act",
		[CPU_ACT_BACK] = "backward own:act", [CPU_POOL] = "forward own:pool",
		[CPU_POOL_BACK] = "backward own:pool", [CPU_LOSS] = "forward own:softmax",
		[CPU_LOSS_BACK] = "backward own:softmax", [CPU_PAD] = "forward own:pad",
		    [CPU_PAD_BACK] = "backward own:pad",
		[CPU_LRN] = "forward own:lrn", [CPU_LRN_BACK] = "backward own:lrn", [CPU_DROP] = "forward own:dropout",
		[CPU_DROP_BACK] = "backward own:dropout",
	};
	int e = 0;

	for (uint32_t i = 0; i < p->nstep && e == 0; i++) {
		const struct cpu_step *s = &p->step[i];
		const char *pass = i < p->nforward ? "forward" : "backward", *layer = p->graph->node[s->node].name;

		if (s->kind == CPU_MUL || s->kind == CPU_MUL_BACK)
			e = explain_mul(p, s, out);
		else if (s->kind == CPU_COPY || s->kind == CPU_SUM || s->kind == CPU_TIMES)
			e = buf_put_fmt(out, "%s %s own:%s%s\n", layer, pass, s->kind == CPU_COPY ? "copy" :
			    s->kind == CPU_SUM ? "sum" : "product", s->relu ? "+relu" : "");
		else
			e = buf_put_fmt(out, "%s %s%s\n", layer, name[s->kind], s->relu ? "+relu" : "");
	}
	return e;
}
