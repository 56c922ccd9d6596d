# im2rec_resume.t - an interrupted packing run resumes and gives the bytes and rejects of a single run.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

pictures src 300 1 || exit 1
for f in $(find src -name '*.png' | sort | awk 'NR % 100 == 50'); do
	head -c 900 "$f" >"$f.cut" && mv "$f.cut" "$f"	# truncate one in a hundred
done
# Images are enlarged, so that the run takes long enough to be killed.
opts="--resize 300 --encoding jpg --inter-method lanczos"
run() { ${run:-} im2rec -q $opts "$@" src; }
same() { # NAME: whether all files equal those of a single run
	for e in rec idx sum labels bad; do cmp "ref.$e" "$1.$e" || return; done
	[ -z "$(ls "$1".rec.* 2>/dev/null)" ]
}

status 1 "im2rec exits with status 1 if images are truncated" run -j 2 -o ref.rec --rejects ref.bad
cp err ref.err
is "$(wc -l <ref.idx)" 297 "im2rec packs the undamaged images"
is "$(cut -f 1 ref.bad)" "$(find src -name '*.png' | sort | awk 'NR % 100 == 50')" \
	"--rejects lists the truncated images"
is "$(sed 's/\t/: /; s/^/im2rec: /' ref.bad)" "$(cat ref.err)" "--rejects gives the reasons of standard error"
size=$(wc -c <ref.rec)

# --- killed repeatedly, each time when the file has a share of its bytes
killed=0
for j in 1 2 8; do
	for share in 15 40 75; do
		(run=exec; run -j $j -o k.rec --rejects k.bad --resume 2>/dev/null) & pid=$!
		while kill -0 $pid 2>/dev/null &&
			[ "$(stat -c %s k.rec.partial 2>/dev/null || echo 0)" -lt $((size * share / 100)) ]; do :; done
		kill -KILL $pid 2>/dev/null
		wait $pid 2>/dev/null
		if [ $? -eq 137 ] && [ -e k.rec.partial ]; then
			killed=$((killed + 1))
		else
			# It was complete, or about to be, before the check of its size: end another by a limit of the file's size.
			rm -f k.*
			(ulimit -f $((size * share / 102400)); run -j $j -o k.rec --rejects k.bad --resume) >/dev/null 2>&1
		fi
		is "$(ls k.rec k.idx k.sum k.bad 2>/dev/null)" "" \
			"im2rec -j $j killed at $share % leaves only partial files"
	done
	before=$(stat -c %s k.rec.partial)
	status 1 "im2rec -j $j --resume finishes a killed run" run -j $j -o k.rec --rejects k.bad --resume
	ok "im2rec -j $j --resume gives the files of a single run" same k
	is "$(sort err)" "$(sort ref.err)" "im2rec -j $j --resume reports all rejects"
	ok "im2rec -j $j --resume starts from partial records" test "$before" -gt 0
	rm k.*
done
echo "# $killed of 9 runs were killed"

# --- ended at any byte: a limit of the file size ends the run during a write
for limit in 300 301 777 1111; do
	(ulimit -f $limit; run -j 2 -o u.rec --rejects u.bad --resume) >/dev/null 2>u.err
	is $? 1 "a file size limit of $limit KiB ends im2rec"
	like u.err '^im2rec: u\.rec.*: File too large; --resume continues u\.rec\.partial$' \
		"the error names the file that reached $limit KiB, and says how to go on"
done
cut=$(stat -c %s u.rec.partial)
status 1 "im2rec --resume finishes a run ended by a file size limit" run -o u.rec --rejects u.bad --resume
ok "a run ended by a file size limit resumes to the same files" same u

# --- a disk that lost writes: the journal is ahead of the records, or damaged, or both
interrupt() { (ulimit -f 1500; run -j 2 -o p.rec --rejects p.bad) >/dev/null 2>&1; }
for loss in 'truncate -s -300000 p.rec.partial' 'dd if=/dev/zero of=p.rec.partial bs=1024 seek=700 count=9 conv=notrunc' \
	'truncate -s -30 p.rec.journal' 'dd if=/dev/zero of=p.rec.journal bs=1 seek=1500 count=900 conv=notrunc' \
	'printf "r\tnonsense" >>p.rec.journal' ': >p.rec.journal' 'rm p.rec.journal' 'rm p.rec.partial'; do
	interrupt
	(eval "$loss") 2>/dev/null
	run -o p.rec --rejects p.bad --resume 2>/dev/null
	ok "im2rec --resume gives the same files after $loss" same p
	rm -f p.*
done

# --- another command, or another source
interrupt
cp p.rec.journal keep.journal
for other in "--resize 161" "--quality 90" "--part 0/2" "--color grey" "--encoding png"; do
	status 2 "im2rec --resume refuses $other, which the earlier run lacked" \
		im2rec $opts $other -o p.rec --rejects p.bad --resume src
	like err '^im2rec: p\.rec: the earlier run had other options or another source; start again without --resume$' \
		"im2rec --resume $other reports that the options or the source differ"
done
ok "a refused im2rec --resume keeps the journal" cmp p.rec.journal keep.journal
first=$(find src -name '*.png' | sort | head -n 1)
mv "$first" away.png
status 2 "im2rec --resume refuses a source that lacks an image" run -o p.rec --rejects p.bad --resume
like err '^im2rec: p\.rec: item [0-9]* of the source is now src/.*\.png, which the earlier run did not have; ' \
	"im2rec --resume names the image in the place of a missing one"
mv away.png "$first"
cp -p "$first" away.png
cp "$(find src -name '*.png' | sort | sed -n 2p)" "$first"
status 2 "im2rec --resume refuses a source with a replaced image" run -o p.rec --rejects p.bad --resume
like err '^im2rec: p\.rec: item 0 of the source is now src/' "im2rec --resume names the replaced image"
mv away.png "$first"
status 1 "im2rec --resume accepts a source whose image is back" run -o p.rec --rejects p.bad --resume
ok "im2rec --resume gives the same files after refusals" same p
(cd src && find . -name '*.png' | sort | awk -v OFS='\t' '{ print NR, NR % 7, $0 }') >l.lst
list() { im2rec -q $opts -o l.rec --resume l.lst src; }
(ulimit -f 1500; list) >/dev/null 2>&1
echo "9999	1	none.png" >>l.lst
status 2 "im2rec --resume refuses a list that has grown" list
like err 'another source' "im2rec --resume calls a grown list another source"

# --- a resumed run recognizes lines with bad labels
(cd src && find . -name '*.png' | sort | awk -v OFS='\t' '{ print NR, NR % 7, (NR == 3 ? "" : "1" OFS) $0 }') >bad.lst
short() { im2rec -q $opts --label-width 2 "$@" bad.lst src; }
short -o short.rec 2>/dev/null
(ulimit -f 1500; short -o b.rec) >/dev/null 2>&1
ok "an interrupted run with a bad list line leaves partial records" test -s b.rec.partial
status 1 "im2rec --resume finishes a run with a bad list line" short -o b.rec --resume
ok "a resumed run with a bad list line gives the same records" cmp short.rec b.rec
rm b.*

# --- a resumed run counts what an earlier run left out or cut
# counts LINE OPTION...: whether a single run prints the line at its end, and a resumed one the same lines.
counts() {
	local line=$1
	shift
	im2rec -q $opts "$@" -o single.rec 2>single.err
	is "$(tail -n 1 single.err)" "im2rec: $line" "im2rec $1 counts"
	(ulimit -f 1500; im2rec -q $opts "$@" -o b.rec) >/dev/null 2>&1
	status 1 "im2rec $1 --resume finishes" im2rec -q $opts "$@" -o b.rec --resume
	is "$(cat err)" "$(cat single.err)" "im2rec $1 --resume counts as a single run does"
	rm b.*
}
ls src | sed 1d >given
counts "30 images are left out that have none of the given classes" --labels given src
(cd src && find . -name '*.png' | sort | awk -v OFS='\t' '{ print NR, NR % 7, 1, $0 }') >two.lst
counts "300 items have more than 1 labels; the rest are left out" --label-width 1 two.lst src

# --- an archive
tar cf src.tar src
arc() { im2rec -q $opts -j 2 -o "$@" src.tar; }
arc a.rec 2>/dev/null
(ulimit -f 2000; arc b.rec) >/dev/null 2>&1
ok "an interrupted run from an archive leaves partial records" test -s b.rec.partial
status 1 "im2rec --resume finishes a run from an archive" arc b.rec --resume
ok "a resumed run from an archive gives the same records" cmp a.rec b.rec
ok "a resumed run from an archive gives the same index" cmp a.idx b.idx

# --- concurrent runs, and invalid outputs
interrupt
exec 8<p.rec.partial && flock 8
status 1 "im2rec --resume refuses a file that another run writes" run -o p.rec --resume
like err '^im2rec: p\.rec: another im2rec is writing it$' "im2rec --resume reports that another im2rec writes the file"
exec 8<&-
status 1 "im2rec without --resume starts again" run -o p.rec --rejects p.bad
ok "a run that starts again gives the same files" same p
status 2 "im2rec refuses a device as its output" run -o /dev/null
like err '^im2rec: /dev/null: is not a regular file' "im2rec names the device that it refuses"
ok "im2rec does not replace a device" test -c /dev/null
status 2 "im2rec --resume needs -o" run --resume
mkdir taken.idx && im2rec -q -o taken.rec src >/dev/null 2>err
like err '^im2rec: taken\.idx: ' "im2rec names a directory in the place of its index"
ok "im2rec keeps partial records if it cannot write the index" test -s taken.rec.partial -a ! -e taken.rec
rmdir taken.idx
status 1 "im2rec --resume finishes once the index can be written" im2rec -q -o taken.rec --resume src
ok "im2rec --resume gives sound records once the index can be written" im2rec --verify -q taken.rec

# --- old files beside the records are replaced
cp ref.rec old.rec && cp ref.idx old.idx && cp ref.labels old.labels
im2rec -q -o old.rec l.lst src 2>/dev/null
ok "im2rec removes an old .labels file" test ! -e old.labels
ok "im2rec replaces an old index" im2rec --verify -q old.rec
: >old.bad
status 0 "im2rec --rejects exits with status 0 if it rejects no image" \
	im2rec -q -o old.rec --rejects old.bad --part 0/150 src
is "$(wc -c <old.bad)" 0 "im2rec --rejects writes an empty file if it rejects no image"
done_testing
