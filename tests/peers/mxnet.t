# mxnet.t - MXNet's own distributed key-value store, its scheduler, servers and workers started by dlaunch.
#
# PEER_MXNET is a Python that has MXNet 1.9.1.
. "$TOP/tests/tap.sh"
[ -n "${PEER_MXNET:-}" ] || { echo "1..0 # SKIP PEER_MXNET names no Python"; exit 0; }

kv=$TOP/tests/peers/mxnet_kv.py
export OMP_NUM_THREADS=1
status 0 "two workers and two servers of MXNet run" dlaunch -v -n 2 -s 2 -- "$PEER_MXNET" "$kv"
is "$(sort "$T/out" | paste -sd,)" "worker 0 of 2: 2 servers, 19,worker 1 of 2: 2 servers, 19" \
	"two workers and two servers sum exactly"
is "$(grep -cE '^(scheduler|server|worker) .* exit status 0$' "$T/err")" 5 "workers, servers and scheduler exit with 0"
status 0 "four workers and a server of MXNet run" dlaunch -n 4 -s 1 -- "$PEER_MXNET" "$kv"
is "$(sort "$T/out" | tail -n 1)" "worker 3 of 4: 1 servers, 61" "four workers and a server sum exactly"
printf 'a addr=127.0.0.1\nb addr=127.0.0.1\n' >"$T/hosts"
status 0 "workers and servers of MXNet run on two hosts" \
	dlaunch -H "$T/hosts" --rsh 'env AT={host}' -n 2 -s 2 -- "$PEER_MXNET" "$kv"
is "$(sort "$T/out" | paste -sd,)" "worker 0 of 2: 2 servers, 19,worker 1 of 2: 2 servers, 19" \
	"workers and servers on two hosts sum exactly"
status 9 "a failing worker's status is the job's" \
	dlaunch -n 2 -s 2 -- sh -c '[ "$DMLC_ROLE$DMLC_RANK" != worker1 ] || exit 9; exec "$@"' \
	sh "$PEER_MXNET" "$kv"
done_testing
