# gpu_kernels.t - the kernels that a step of the GPU's engine takes, and that their width does not change a bit.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

if [ ! -e "$BUILD/tests/emu/tally-cuda.so" ]; then
	skip "the kernels of a step" "this build has no cuda engine"
	done_testing
fi
export TALLY_MODULES=$BUILD/tests/emu OMP_WAIT_POLICY=passive
pictures images 40 1 && im2rec images >a.rec || exit 1

# The kernels of the third step, sorted: NAME COUNT BYTES.  Captured work counts each time that it runs.  Copies between
# host and device, launches of CUDA graphs and waits of the host follow in the same form.
count_kernels() { # OPTION...
	for steps in 2 3; do
		rm -f log
		TALLY_EMU_LOG=$T/log pworker --data a.rec --seed 5 --batch 8 --steps $steps "$@" >/dev/null || return
		mv log log.$steps
	done
	awk 'FNR == 1 { file++ } { n[$1] += file == 1 ? -1 : 1; bytes[$1] += file == 1 ? -$2 : $2 }
		END { for (k in n) if (n[k] && k != "wide") print k, n[k], bytes[k] }' log.2 log.3 | sort
}
of() { awk -v k="$1" '$1 == k { print $2 }' counts; }
bytes_of() { awk -v k="$1" '$1 == k { print $3 }' counts; }
# Kernels, megabytes of their operands, and graphs of a step.
sum_up() {
	awk '$1 ~ /^(upload|download|graph|wait)$/ { if ($1 == "graph") graphs = $2; next } { n += $2; bytes += $3 }
		END { print n, bytes, graphs }' counts
}

# ResNet-20: 20 batch norms that are learned, 9 joints, 22 weights.
ok "a step of a ResNet is counted" eval 'count_kernels --engine cuda --net resnet --net-opt layers=20 --shape 3x28x28 >counts'
bn=$(of bn)
is "$(of moments) $(of bn_sums) $(of bn_back)" "$bn $bn $((bn - 1))" \
	"a batch norm takes two kernels forward and two backward, and one if its input wants no gradient"
is "$(of bias)" 1 "the convolutions contain the sums of the joints, so that only the bias of the last layer takes a kernel"
is "$(of opt)" 1 "one kernel updates all weights"
is "$(of moves) $(of permute)" "2 " "one kernel converts all weights for the next step, and one all their gradients"
is "$(of statistics)" 1 "one kernel folds the statistics of all batch norms"
is "$(of graph)" 3 "the step is three CUDA graphs"
# 8 samples of 10 classes: scores and probabilities f32, a label of 16 bytes, loss and rank.
is "$(bytes_of softmax)" $((8 * (10 * 4 + 10 * 4 + 16 + 4 + 4))) "the bytes of softmax are those of its operands"
read -r n bytes graphs < <(sum_up)
echo "# ResNet-20, batch 8, f32: $n kernels, $bytes bytes and $graphs CUDA graphs a step"
is "$(of combine)" 9 "a joint adds its gradients and multiplies by the ReLU's derivative in one kernel"
ok "a step in bf16 is counted" eval 'count_kernels --engine cuda --net resnet --net-opt layers=20 --shape 3x28x28 --dtype bf16 >counts'
read -r n half graphs < <(sum_up)
ok "a step in bf16 moves at most six tenths of the bytes of f32: $half of $bytes" test $((half * 10)) -le $((bytes * 6))
for dtype in f32 f16; do
	ok "a step in $dtype is counted" eval "count_kernels --engine cuda --net lenet --dtype $dtype >counts"
	is "$(of wait)" 1 "the host waits once a step in $dtype, for the loss"
done
ok "a step on two devices is counted" eval \
	'LD_LIBRARY_PATH=$BUILD/tests/stub count_kernels --net lenet --dtype f16 --devices gpu:0,gpu:1 >counts'
is "$(of graph) $(of wait)" "6 2" "a step of each of two devices is three CUDA graphs and one wait, too"
ok "a step with 100 classes is counted" eval 'count_kernels --engine cuda --net mlp --classes 100 >counts'
is "$(of softmax_parts) $(of softmax_lanes) $(of softmax)" "1 1 " "the loss of many classes takes a warp a sample"

tensors() { tail -c +$((9 + $(od -An -tu8 -N8 "$1"))) "$1"; }
same() { # NET-OPTION...
	rm -f wide.log narrow.log
	train="pworker --data a.rec --seed 5 --shape 3x28x28 --engine cuda --net $*"
	ok "$1 trains" eval "TALLY_EMU_LOG=wide.log $train --save wide >/dev/null"
	ok "$1 trains with one channel an index" eval "TALLY_EMU_LOG=narrow.log TALLY_EMU_WIDTH=1 $train --save narrow >/dev/null"
	ok "kernels of $1 are wide in the first run alone" eval 'grep -q wide wide.log && ! grep -q wide narrow.log'
	ok "$1 has the same bits with eight channels an index" cmp <(tensors wide-0000-000002.safetensors) \
		<(tensors narrow-0000-000002.safetensors)
	ok "$1 has weights to compare" test -s wide-0000-000002.safetensors
	rm -f wide* narrow*
}
same resnet --net-opt layers=8 --batch 4 --steps 2
same resnet --net-opt layers=8 --batch 4 --steps 2 --dtype bf16
same inception --batch 2 --steps 2 --dtype f16
done_testing
