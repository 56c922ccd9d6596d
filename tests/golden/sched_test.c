/* sched_test - the rates of whole runs, against PyTorch's and MXNet's schedulers and Horovod's rule. */
#include "tap.h"

#include "net/optim/sched.h"

#include "sched_mxnet.h"
#include "sched_torch.h"

#define STEPS	7	/* in an epoch */
#define WITHIN	3e-8	/* of a rate of up to 0.4, which is a float here */

static struct sched
parsed(const char *text)
{
	struct sched s;

	is(sched_parse(text, &s), 0, "%s is a schedule", text);
	return s;
}

static void
torch(void)
{
	for (size_t i = 0; i < sizeof(sched_torch) / sizeof(*sched_torch); i++) {
		struct sched s = parsed(sched_torch[i].text);
		double worst = 0;

		for (uint32_t k = sched_torch[i].first; k < sched_torch[i].end; k++)
			worst = fmax(worst, fabs((double)sched_rate(&s, k + sched_torch[i].later, STEPS, 1) - sched_torch[i].rate[k]));
		near(worst, 0, WITHIN,
		    "%s: the rates are PyTorch's, %u steps later", sched_torch[i].text, sched_torch[i].later);
	}
}

/* A curve is one update behind, but a warm-up before it is not. */
static void
mxnet(void)
{
	for (size_t i = 0; i < sizeof(sched_mxnet) / sizeof(*sched_mxnet); i++) {
		struct sched s = parsed(sched_mxnet[i].text);
		double worst = 0;

		for (uint32_t k = 0; k < 70; k++) {
			uint32_t step = k + (k + 1 < sched_mxnet[i].warm ? 0 : sched_mxnet[i].later);

			worst = fmax(worst, fabs((double)sched_rate(&s, step, STEPS, 1) - sched_mxnet[i].rate[k]));
		}
		near(worst, 0, WITHIN,
		    "%s: the rates are MXNet's, %u steps later", sched_mxnet[i].text, sched_mxnet[i].later);
	}
}

/*
 * The warm-up of Horovod's examples/pytorch/pytorch_imagenet_resnet50.py: a rate of base n 1/n (1 + e (n - 1) / warm) with
 * e = epoch + (batch + 1) / batches, so that n workers go from what one has to n times that.
 */
static void
horovod(void)
{
	static const double base = 0.0125, warm = 5;
	struct sched s = parsed("warmup:5:0.0125,0.0125");

	for (int n = 1; n <= 16; n += 5) {
		double worst = 0;

		for (uint32_t k = 0; k < 10 * STEPS; k++) {
			double e = (k + 1.0) / STEPS, adjust = e < warm ? 1.0 / n * (e * (n - 1) / warm + 1) : 1;

			worst = fmax(worst, fabs((double)sched_rate(&s, k, STEPS, n) - base * n * adjust));
		}
		near(worst, 0, WITHIN, "%d workers warm up as Horovod's do", n);
	}
}

int
main(void)
{
	torch();
	mxnet();
	horovod();
	return done();
}
