-- mlp - two hidden layers and ReLU, for MNIST; 784-128-64-10 is 109,386 weights in 6 arrays.
-- Source: mxnet, example/image-classification/train_mnist.py.

local x = flatten(data(1, 28, 28))
x = relu(fc{x, 128, name = "fc1"})
x = relu(fc{x, 64, name = "fc2"})
x = fc{x, input.classes or 10, name = "fc3"}
return softmax(x)
