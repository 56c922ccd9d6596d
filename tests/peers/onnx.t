#!/usr/bin/env bash
# onnx.t - onnxruntime computes what we compute, for every net and every kind of layer.  PEER_TORCH: a python with both.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1

if ! "${PEER_TORCH:-/none}" -c 'import onnx, onnxruntime' 2>/dev/null; then
	skip "models of ONNX in onnxruntime" "PEER_TORCH names no python that has onnx and onnxruntime"
	done_testing
fi

# Memory stays bounded: 64 MB of data in all, whatever the weights take.
pmerge_small() { (ulimit -d 65536 && exec pmerge "$@"); }

same() { # NET OPTION VALUE...
	rm -rf net && mkdir net
	ok "$*: random weights are written" "$BUILD/tests/peers/random" "$1" net "${@:2}"
	ok "$*: pmerge writes a model" pmerge_small -o net/net.onnx ${output:-} net/weights.safetensors
	status 0 "$*: onnxruntime runs it" "$PEER_TORCH" "$TOP/tests/peers/onnx.py" net
	sed 's/^/# /' out
	ok "$*: the model takes any batch size" awk '$1 == "alone" { good = $2 < 1e-5 } END { exit !good }' out
	status 0 "$*: the cpu engine computes logits" "$BUILD/tests/peers/logits" cpu "$1" net "${@:2}"
	sed 's/^/# /' out
	ok "$*: the logits are equal" awk '$1 == "logits" { good = $2 ~ /^[0-9]/ && $2 < 1e-4 } END { exit !good }' out
}

cat >all.lua <<'END'
-- all - every kind of layer, and each attribute at more than one value.
local x = data(6, 23, 19)
x = pad{x, {1, 2}}
local a = conv{x, 8, kernel = {3, 5}, stride = {2, 1}, pad = {1, 2}, groups = 2}
a = bn{a, fix_gamma = true}
a = pad{a, 1, reflect = true}
a = gelu(a)
local b = gelu_tanh(conv{a, 8, kernel = 3, dilate = 2, pad = 2, groups = 8, bias = false})
b = add{a, b, swish(b)}
b = mul{b, sigmoid(b), tanh(b)}
b = maxpool{b, kernel = 3, stride = 2, pad = 1, ceil = true}
local c = avgpool{b, kernel = 3, stride = 2, pad = 1, ceil = true}
local d = avgpool{b, kernel = 3, stride = 2, pad = 1, ceil = true, divide = "padded"}
local e = avgpool{b, kernel = 3, stride = 2, pad = 1, ceil = true, divide = "inside"}
x = concat{c, d, e, leaky{c, alpha = 0.3}, elu{d, alpha = 0.7}}
x = lrn{x, size = 3, alpha = 0.5, power = 0.6, knorm = 1.5}
x = bn{conv{x, 12, kernel = 1}, eps = 1e-3}
x = add{scale{x, 0.5}, x}
local f = relu(fc{globalmax(x), 16})
local g = bn{fc{dropout{globalavg(x), 0.3}, 16, bias = false}}
local h = conv{add{f, g}, 16, kernel = 1}
x = concat{mul{f, g}, f, h}
x = fc{dropout(relu(x)), 12}
return softmax{flatten(x), smooth = 0.1}
END
same ./all.lua
output=--logits same ./all.lua
for net in mlp lenet "lenet variant bn" inception inception-bn "inception-bn variant full" resnet "resnet layers 50 eps 1e-5" \
	"resnet variant post" "resnet variant post layers 18" "resnet variant small" vgg "vgg norm bn layers 11" alexnet \
	"alexnet variant v0.7 groups 2" "alexnet variant torch" "alexnet pools floor" googlenet "googlenet variant torch" fast \
	"lenet variant classic" "mlp widths 50,40,30 act elu dropout 0.5" "inception pools floor" "inception-bn pools floor" \
	"resnet layers 164" "vgg layers 13 width 64" "vgg layers 19 norm bn width 64"; do
	same $net
done

nets=60
export OMP_NUM_THREADS=1
"$PEER_TORCH" "$TOP/tests/peers/onnx_nets.py" $nets
for ((i = 0; i < nets; i++)); do
	mkdir $i && "$BUILD/tests/peers/random" ./$i.lua $i && pmerge --logits -o $i/net.onnx $i/weights.safetensors || echo "no $i"
done >made 2>&1
is "$(cat made)" "" "pmerge writes models of $nets random nets"
status 0 "onnxruntime runs the random nets" "$PEER_TORCH" "$TOP/tests/peers/onnx.py" $(seq 0 $((nets - 1)))
# Logits of some nets reach hundreds: probabilities of 0 have no logarithm.
for ((i = 0; i < nets; i++)); do
	echo "$i $("$BUILD/tests/peers/logits" cpu ./$i.lua $i)"
done >made 2>&1
ok "the logits of the random nets are equal" \
	awk '$3 ~ /nan/ { nan++; next } !($3 ~ /^[0-9]/ && $3 < 1e-3) { print; bad = 1 }
	END { exit bad || NR - nan < 50 }' made

echo 'return softmax(fc{lrn{data(8, 4, 4), size = 4, name = "even"}, 3})' >even.lua
mkdir even && ok "weights of a layer that ONNX lacks are written" "$BUILD/tests/peers/random" ./even.lua even
status 1 "pmerge refuses a layer that ONNX lacks" pmerge -o even/net.onnx even/weights.safetensors
like err '^pmerge: even: ONNX has no LRN over 4 channels, an even number$' "the error names the layer"
ok "a refused model is not written" [ ! -e even/net.onnx ]
done_testing
