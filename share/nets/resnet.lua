-- resnet - residual nets, with 3 stages for samples up to 28 high and 4 for larger ones.
-- --layers N: 6n+2 below 164 or 9n+2 from there, 3 stages (20); 18, 34, 50, 101, 152, 200, 269, 4 stages (50).
-- With --shape 3x28x28 these too have 3 stages.
-- --variant preact: batch norm and ReLU before the convolution; MXNet 0.8 to 1.9, with its names of layers;
--                 --eps E (2e-5) of batch norm: the model zoo of MXNet has 1e-5;
--                 --shortcuts all|needed: a convolution in the first unit of each stage, or, as in the model zoo, only
--                 where size or channels change; 18 layers then have 11,687,854 weights.
--           post:   batch norm after the convolution; torchvision, with its names of layers; 4 stages.
--           small:  the same with biases, for 28x28; MXNet of spring 2016, 6n+2 layers.
-- Blocks: the layers before the first stage, then the stages.
-- Weights: preact 20: 272,544, 110: 1,730,784, 50 at 224: 25,549,486; post 50: 25,557,032; small 20: 273,258.
-- Sources: He et al., "Deep residual learning", CVPR 2016, and "Identity mappings", ECCV 2016; mxnet,
-- example/image-classification, symbols/resnet.py, symbol_resnet-28-small.py; torchvision, models/resnet.py.

local parts = require "parts"

local stages4 = { { 18, { 2, 2, 2, 2 } }, { 34, { 3, 4, 6, 3 } }, { 50, { 3, 4, 6, 3 } }, { 101, { 3, 4, 23, 3 } },
	{ 152, { 3, 8, 36, 3 } }, { 200, { 3, 24, 36, 3 } }, { 269, { 3, 30, 48, 8 } } }

-- The side of the images where none is asked for: 28 for depths that nets of 3 stages alone have.
local function side(variant)
	for _, net in ipairs(stages4) do
		if variant == "post" or variant == "preact" and net[1] == tonumber(opt.layers) then
			return 224
		end
	end
	return 28
end

-- Units of each stage and channels, the stem's first; and whether units are bottlenecks.
local function plan(height)
	if height > 28 then
		local units, layers = parts.depth(stages4, 50, "for images over 28 high")
		if layers < 50 then
			return units, { 64, 64, 128, 256, 512 }, false
		end
		return units, { 64, 256, 512, 1024, 2048 }, true
	end
	local layers = parts.whole("layers", 20, 8)
	local n = math.tointeger(layers < 164 and (layers - 2) / 6 or (layers - 2) / 9) or
		error("--layers: " .. layers .. " is not 6n+2 below 164 (20, 32, 110), nor 9n+2 from there; " ..
			"images over 28 high have other nets (18, 34, 50)", 0)
	if layers < 164 then
		return { n, n, n }, { 16, 16, 32, 64 }, false
	end
	return { n, n, n }, { 16, 64, 128, 256 }, true
end

local function preact(x)
	local units, width, bottleneck = plan(x.h)
	local small, eps = x.h <= 32, parts.number("eps", 2e-5)
	local all = parts.word("shortcuts", { "all", "needed" }) == "all"

	local function norm(y, name, relu_name)
		return relu{bn{y, eps = eps, name = name}, name = relu_name}
	end
	local function convolve(y, k, kernel, stride, name)
		return conv{y, k, kernel = kernel, stride = stride, pad = kernel // 2, bias = false, name = name}
	end
	local function unit(y, k, stride, first, name)
		local a = norm(y, name .. "_bn1", name .. "_relu1")
		local shortcut = (stride > 1 or y.c ~= k or first and all) and convolve(a, k, 1, stride, name .. "_sc") or y
		local body
		if bottleneck then
			body = norm(convolve(a, k // 4, 1, 1, name .. "_conv1"), name .. "_bn2", name .. "_relu2")
			body = norm(convolve(body, k // 4, 3, stride, name .. "_conv2"), name .. "_bn3", name .. "_relu3")
			body = convolve(body, k, 1, 1, name .. "_conv3")
		else
			body = norm(convolve(a, k, 3, stride, name .. "_conv1"), name .. "_bn2", name .. "_relu2")
			body = convolve(body, k, 3, 1, name .. "_conv2")
		end
		return add{body, shortcut, name = name .. "_plus"}
	end

	x = bn{x, eps = eps, fix_gamma = true, name = "bn_data"}
	if small then
		x = convolve(x, width[1], 3, 1, "conv0")
	else
		x = norm(convolve(x, width[1], 7, 2, "conv0"), "bn0", "relu0")
		x = maxpool{x, kernel = 3, stride = 2, pad = 1, name = "pool0"}
	end
	x = block(x)
	for s, n in ipairs(units) do
		for u = 1, n do
			x = unit(x, width[s + 1], s > 1 and u == 1 and 2 or 1, u == 1, "stage" .. s .. "_unit" .. u)
		end
		x = block(x)
	end
	x = norm(x, "bn1", "relu1")
	return globalavg{x, name = "pool1"}, "fc1"
end

local function post(x)
	local units, layers = parts.depth(stages4, 50, "of this variant")
	local bottleneck = layers >= 50

	local function unit(y, k, stride, name)
		local out = bottleneck and 4 * k or k
		local function cbr(z, c, kernel, s, i)
			return parts.cbr(z, c, { kernel = kernel, stride = s, pad = kernel // 2, bias = false,
				conv = name .. ".conv" .. i, bn = name .. ".bn" .. i, relu = name .. ".relu" .. i })
		end
		local function last(z, kernel, i)
			z = conv{z, out, kernel = kernel, pad = kernel // 2, bias = false, name = name .. ".conv" .. i}
			return bn{z, name = name .. ".bn" .. i}
		end
		local body, shortcut
		if bottleneck then
			body = last(cbr(cbr(y, k, 1, 1, 1), k, 3, stride, 2), 1, 3)
		else
			body = last(cbr(y, k, 3, stride, 1), 3, 2)
		end
		if stride > 1 or y.c ~= out then
			shortcut = conv{y, out, kernel = 1, stride = stride, bias = false, name = name .. ".downsample.0"}
			shortcut = bn{shortcut, name = name .. ".downsample.1"}
		end
		return relu{add{body, shortcut or y, name = name .. ".add"}, name = name .. ".relu"}
	end

	if x.h <= 32 then
		x = parts.cbr(x, 64, { kernel = 3, pad = 1, bias = false, conv = "conv1", bn = "bn1", relu = "relu" })
	else
		x = parts.cbr(x, 64, { kernel = 7, stride = 2, pad = 3, bias = false, conv = "conv1", bn = "bn1", relu = "relu" })
		x = maxpool{x, kernel = 3, stride = 2, pad = 1, name = "maxpool"}
	end
	x = block(x)
	for s, n in ipairs(units) do
		for u = 1, n do
			x = unit(x, 32 << s, s > 1 and u == 1 and 2 or 1, "layer" .. s .. "." .. u - 1)
		end
		x = block(x)
	end
	return globalavg{x, name = "avgpool"}, "fc"
end

local function small(x)
	local n = math.tointeger((parts.whole("layers", 20, 8) - 2) / 6) or error("--layers: " .. opt.layers .. " is not 6n+2", 0)

	local function factory(y, k, kernel, stride, name)
		y = conv{y, k, kernel = kernel, stride = stride, pad = kernel // 2, name = name}
		return bn{y, eps = 1e-3, fix_gamma = true, name = name .. "_bn"}	-- as norms were where nobody said how
	end
	local function unit(y, k, stride, name)
		local body = relu(factory(y, k, 3, stride, name .. "_a"))
		body = factory(body, k, 3, 1, name .. "_b")
		local shortcut = stride > 1 and factory(y, k, 1, stride, name .. "_sc") or y
		return relu(add{body, shortcut, name = name})
	end

	x = block(relu(factory(x, 16, 3, 1, "conv0")))
	for s = 1, 3 do
		for u = 1, n do
			x = unit(x, 8 << s, s > 1 and u == 1 and 2 or 1, "stage" .. s .. "_unit" .. u)
		end
		x = block(x)
	end
	return globalavg{x, name = "pool"}, "fc1"
end

local make = { preact = preact, post = post, small = small }
local variant = parts.word("variant", { "preact", "post", "small" })
local x, name = make[variant](data(3, side(variant), side(variant)))
parts.photographs("msra", 0.05)
return softmax(fc{flatten(x), input.classes or (x.c <= 256 and 10 or 1000), name = name})
