/* opt_torch - what PyTorch 2.15.0 does to four weights in five steps; made by opt.py. */
static const float torch_w[4] = { 0.5, -1.25, 2, 0 };
static const float torch_g[5][4] = {
	{ 0.3, -0.7, 0.01, 1 },
	{ -0.2, 0.9, 0.02, 1 },
	{ 0.1, 0.4, 0.04, 1 },
	{ 0, -0.6, 0.08, 1 },
	{ 2, 0.05, 0.16, 1 },
};
static const struct { enum opt_rule rule; float lr, momentum, wd, beta2, eps; float w[4]; } torch_rule[] = {
	{ OPT_NESTEROV, 0.05f, 0.9f, 0.01f, 0, 0, { 0.259453243f, -1.25210677f, 1.9438849f, -0.839772914f } },
	{ OPT_ADAM, 0.05f, 0.8f, 0.01f, 0.95f, 1e-3f, { 0.387714766f, -1.22653171f, 1.75768019f, -0.249732576f } },
	{ OPT_ADAMW, 0.05f, 0.8f, 0.1f, 0.95f, 1e-3f, { 0.379760055f, -1.19967749f, 1.72516691f, -0.247265204f } },
	{ OPT_RMSPROP, 0.05f, 0, 0.01f, 0.9f, 1e-3f, { 0.226774181f, -1.19907029f, 1.36298707f, -0.530580265f } },
	{ OPT_RMSPROP, 0.05f, 0.5f, 0.01f, 0.9f, 1e-3f, { 0.122036969f, -1.16308202f, 0.974807567f, -0.892377846f } },
};
