#!/usr/bin/env bash
# learn.t - the small nets reach their known accuracy on MNIST.  That two workers compute what one does is in bits.t.
. "$TOP/tests/tap.sh"
. "$TOP/tests/flow/data.sh"

best() { # LOG: the best validation accuracy
	awk -F'\t' '$5 == "validation" && $10 > b { b = $10 } END { print b + 0 }' "$1"
}
reaches() { # NAME ACCURACY LOG
	ok "$1: $(best "$3") is at least $2" awk -v b="$(best "$3")" -v a="$2" 'BEGIN { exit !(b >= a) }'
}

if [ -n "${SAN:-}" ]; then
	skip "mlp and lenet on MNIST" "too slow with a sanitizer"
elif ! pworker --net lenet --print --batch 1 --engine cpu >/dev/null 2>&1; then
	skip "mlp and lenet on MNIST" "this build has no cpu engine, and ref takes hours"
elif ! have mnist; then
	skip "mlp and lenet on MNIST" "$WHY"
else
	set -- --data "$MNIST_TRAIN" --val "$MNIST_TEST" --scale 0.00390625 --seed 1
	dlaunch -n 2 -s 2 pworker --net mlp "$@" --batch 50 --lr 0.1 --init uniform:0.07 --epochs 5 >"$T/mlp" 2>"$T/err"
	reaches "mlp, 2 workers" 0.97 "$T/mlp"
	pworker --net lenet "$@" --batch 64 --lr 0.05,x0.3@1 --init xavier:2.34 --epochs 2 >"$T/lenet" 2>"$T/err"
	reaches "lenet, 1 worker" 0.985 "$T/lenet"
fi
done_testing
