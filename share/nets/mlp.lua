-- mlp - fully connected layers with an activation between them, for MNIST; 784-128-64-10 has 109,386 weights in 6 arrays.
-- --widths N,N,...: of the hidden layers (128,64); or --layers N: the number of all layers, with --width (128) of the
-- hidden ones; --act NAME (relu); --dropout P (0) after each hidden layer.  --widths 200,100,50,25 --act elu is the net
-- of TensorFlow's examples of 2017.
-- Blocks: the hidden layers.
-- Source: mxnet, example/image-classification/train_mnist.py.

local parts = require "parts"
local widths = parts.widths("widths", "128,64")
local drop = parts.number("dropout", 0)

if opt.layers then
	if opt.widths then
		error("--layers and --widths both say how many layers there are", 0)
	end
	widths = {}
	for i = 1, parts.whole("layers", nil, 1) - 1 do
		widths[i] = parts.whole("width", 128, 1)
	end
end

local x = data(1, 28, 28)
-- A step changes the sums of the first layer in proportion to the pixels, so that more than those of MNIST need a lower rate.
parts.digits("msra", 0.02 * math.min(1, 784 / (x.c * x.h * x.w)))
x = flatten(x)
for i, width in ipairs(widths) do
	x = fc{x, width, name = "fc" .. i}
	x = opt.act and act{x, opt.act, alpha = opt.act == "elu" and 1 or 0} or relu(x)
	if drop > 0 then
		x = dropout{x, drop}
	end
	x = block(x)
end
return softmax(fc{x, input.classes or 10, name = "fc" .. #widths + 1})
