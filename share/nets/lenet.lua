-- lenet - two convolutions and two fully connected layers, for MNIST; 431,080 weights in 8 arrays.
-- --variant classic, or bn: that of MXNet's distributed example of 2015, 10,986 weights in 10 arrays.
-- Blocks: the convolutions, each with the layers after it.
-- Sources: LeCun et al., "Gradient-based learning applied to document recognition", 1998, as in
-- mxnet, example/image-classification/train_mnist.py; mxnet, example/distributed-training, 2015.

local parts = require "parts"
local classes = input.classes or 10

local function classic()
	local x = data(1, 28, 28)
	x = block(maxpool{tanh(conv{x, 20, kernel = 5, name = "conv1"}), kernel = 2, stride = 2})
	x = block(maxpool{tanh(conv{x, 50, kernel = 5, name = "conv2"}), kernel = 2, stride = 2})
	x = tanh(fc{flatten(x), 500, name = "fc1"})
	return fc{x, classes, name = "fc2"}
end

local function with_bn()
	local x = data(1, 28, 28)
	for i = 1, 2 do
		x = conv{x, 32, kernel = 3, stride = 2, name = "conv" .. i}
		x = relu(bn{x, name = "bn" .. i})
		x = block(maxpool{x, kernel = 2, stride = 2, ceil = true})
	end
	return fc{flatten(x), classes, name = "fc1"}
end

local make = { classic = classic, bn = with_bn }
local x = make[parts.word("variant", { "classic", "bn" })]()
parts.digits("xavier:3", 0.05)
return softmax(x)
