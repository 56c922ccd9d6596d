# make.t - the Makefile on other machines, the files that it installs, and source releases.
. "$TOP/tests/tap.sh"
[ -z "${SAN:-}" ] || { echo "1..0 # SKIP the same Makefile as without a sanitizer"; exit 0; }
cd "$TOP" || exit 1
flags=${MAKEFLAGS:-}
unset MAKEFLAGS MFLAGS MAKELEVEL ENGINES CUDA SEEDS
export CUDNN_PLACES=$T/cuda WHEELS=$T/wheels	# and not those of this machine

mkdir "$T/a b" && cp Makefile VERSION "$T/a b"
status 2 "make refuses a folder with a blank" make -s -C "$T/a b" all
like "$T/err" "path has a blank: $T/a b\.\s+Stop" "the error names the folder"
is "$(grep -c . "$T/err")" 1 "the error is one line"

mkdir -p "$T/clean/build/lib" "$T/clean/build-x/reproduce/row" "$T/clean/build/.x" && cp Makefile VERSION "$T/clean"
touch "$T/clean/build/lib/a.o" "$T/clean/build-x/reproduce/row/w.safetensors"
status 0 "make clean succeeds" make -s -C "$T/clean" clean
is "$(cd "$T/clean" && find . -type f | sort | paste -sd' ')" "./Makefile ./VERSION ./build-x/reproduce/row/w.safetensors" \
	"make clean keeps the checkpoints of make reproduce alone"
ok "make clean removes an empty build" test ! -e "$T/clean/build"

# A stand-in for CUDA: nvcc lists the devices in $KNOWN and refuses all others, as the real one does, and in the file that
# is compiled first what $REFUSED says or the header of cuDNN.
cuda=$T/cuda
mkdir -p "$cuda/bin" "$cuda/include" "$cuda/lib64"
touch "$cuda"/include/{cuda_bf16.h,cuda_fp16.h,string}
touch "$cuda"/lib64/lib{cudnn,cublasLt,cudart}.so.9
cudnn() { echo "#define CUDNN_MAJOR $1" >"$cuda/include/cudnn.h" && touch -d "@$1" "$cuda/include/cudnn.h"; }
cudnn 9
cat >"$cuda/bin/nvcc" <<'END'
#!/bin/sh
case $* in
--version) echo "Cuda compilation tools, release 12.4, V12.4.131"; exit ;;
--list-gpu-code) [ -n "$KNOWN" ] || exit 1; printf 'sm_%s\n' ${LISTED:-$KNOWN}; exit ;;
esac
folders=
for a in "$@"; do
	case $a in -I*) folders="$folders $a" ;; esac
	case $a in arch=compute_*) a=${a#arch=compute_} a=${a%%,*} ;; *) continue ;; esac
	case " $KNOWN " in *" $a "*) ;; *) echo "nvcc fatal   : Unsupported gpu architecture 'compute_$a'" >&2; exit 1 ;; esac
done
case $a in
*probe.cu)
	[ -z "$REFUSED" ] || { echo "$REFUSED" >&2; exit 1; }
	gcc -x c -E -I"${0%/bin/nvcc}/include" $folders "$a" >/dev/null ;;
esac
END
chmod +x "$cuda/bin/nvcc"
# found_line WORD [VAR=VALUE...]: the line of a build's findings that begins with WORD.
found_line() {
	local w=$1; shift
	make -s BUILD="$T/build" CUDA_HOME="$cuda" "$@" found 2>&1 | sed -n "s/^  \(yes\|no \)  $w */\1 /p"
}
# codes: the devices that nvcc compiles for, by make -n.
codes() {
	make -n V=1 BUILD="$T/build" CUDA_HOME="$cuda" "$T/build/lib/engine/cuda/kernel/kernel_run.cu.o" |
		grep -o 'arch=[a-z0-9_]*,code=[a-z0-9_]*' | sed 's/.*code=//' | paste -sd' '
}

export KNOWN="50 60 70 75 80 86 89 90"
is "$(codes)" "sm_75 sm_80 sm_90 compute_90" "an nvcc before 12.8 compiles for the devices that it knows"
status 0 "an nvcc before 12.8 compiles" \
	make -s BUILD="$T/build" CUDA_HOME="$cuda" "$T/build/lib/engine/cuda/kernel/kernel_run.cu.o"
is "$(found_line CUDA ENGINES=ref,cuda)" "yes 12.4              the cuda engine, a module for devices 75 80 90, without 100 120" \
	"one line lists the devices"
KNOWN="75 80 86 87 88 89 90 100 103 110 120 121"
is "$(codes)" "sm_75 sm_80 sm_90 sm_100 sm_120 compute_100" "a current nvcc compiles for all devices"
left_out() { # REASON CLAIM: the module is left out, in one line, and the rest is made
	is "$(found_line CUDA ENGINES=ref,cuda) $(make -n BUILD="$T/build" CUDA_HOME="$cuda" all | grep -c 'shared.*tally-cuda\.so')" \
		"no  12.4              no module of the cuda engine: $1 0" "$2"
}
export LISTED
LISTED="75 100" KNOWN="75 80"
left_out "its nvcc cannot compile: Unsupported gpu architecture compute_100" \
	"an nvcc that refuses a device that it lists leaves the module out"
unset LISTED
KNOWN=
is "$(found_line CUDA ENGINES=ref,cuda)" \
	"no  12.4              no module of the cuda engine: its nvcc knows none of the devices 75 80 90 100 120" \
	"an nvcc that knows none of the devices leaves the module out, in one line"
is "$(make -n BUILD="$T/build" CUDA_HOME="$cuda" all | grep -c 'shared.*tally-cuda\.so')" 0 \
	"a build without the module makes the rest"
KNOWN="75 80"
export REFUSED="host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later than 13 are not supported! The nvcc flag"
left_out "its nvcc cannot compile: unsupported GNU version! gcc versions later than 13 are not supported!" \
	"an nvcc that refuses the compiler leaves the module out, in one line"
REFUSED="nvcc fatal   : Don't know what to do with '\$x'"
touch -d @1 "$cuda/bin/nvcc"
left_out "its nvcc cannot compile: Dont know what to do with x" "quotes in the compiler's message do not reach make"
unset REFUSED
cudnn 8
left_out "it needs cuDNN 9, and $cuda/include/cudnn.h is of another version" "another cuDNN than 9 leaves the module out, in one line"
cudnn 9 && rm "$cuda/lib64/libcublasLt.so.9"
left_out "no libcublasLt.so in $cuda/lib64 or $cuda/lib" "a missing library of CUDA leaves the module out, in one line"
touch "$cuda/lib64/libcublasLt.so.9"
built() { make -s BUILD="$T/other" ENGINES=ref,cuda "$@" "$T/other/lib/base/err.o" 2>&1 | sed -n 's/^  \(yes\|no \)  CUDA .*engine/\1/p'; }
is "$(built CUDA_HOME="$cuda")" "yes, a module for devices 75 80, without 90 100 120" "a first build prints what it finds"
is "$(built CUDA_HOME="$cuda")" "" "a second build prints nothing"
touch "$T/other/tally-cuda.so"
is "$(built CUDA_HOME=/nonexistent)" "no : no /nonexistent/bin/nvcc" "a build with another toolkit prints what it finds"
is "$(ls "$T/other" | grep cuda.so)" "" "a build without CUDA removes the module of an earlier one"
# cuDNN in other folders than the toolkit's: those of Debian's and Ubuntu's packages, and a wheel's.
set -- usr/include/x86_64-linux-gnu usr/lib/x86_64-linux-gnu  cudnn/include cudnn/lib
mkdir -p "$T/wheels/nccl/lib" && touch "$T/wheels/nccl/lib/libnccl.so.2"
while [ $# -gt 0 ]; do
	rm -rf "$T/places" && mkdir -p "$T/places/$1" "$T/places/$2"
	mv "$cuda/include/cudnn.h" "$T/places/$1/" && mv "$cuda/lib64/libcudnn.so.9" "$T/places/$2/"
	home=$T/places/${1%%/include*}
	is "$(CUDNN_PLACES="$cuda $home" found_line CUDA ENGINES=ref,cuda)" \
		"yes 12.4              the cuda engine, a module for devices 75 80, without 90 100 120" "a cuDNN in $1 is found"
	is "$(CUDNN_PLACES="$cuda $home" make -n V=1 BUILD="$T/build" CUDA_HOME="$cuda" "$T/build/tally-cuda.so" | grep -c -- \
		"-isystem $T/places/$1 .*device/dnn\.c$\|$T/places/$2/libcudnn\.so\.9 .*rpath,$T/places/$2 ")" 2 \
		"the module is compiled and linked with it"
	is "$(CUDNN_PLACES="$cuda $home" make -n V=1 BUILD="$T/build" CUDA_HOME="$cuda" "$T/build/tally-cuda.so" |
		grep -c -- "rpath,$T/wheels/nccl/lib ")" 1 "the module finds the NCCL of a wheel"
	mv "$T/places/$1/cudnn.h" "$cuda/include/" && mv "$T/places/$2/libcudnn.so.9" "$cuda/lib64/"
	shift 2
done
rm "$cuda/include/cudnn.h"
is "$(found_line cuDNN ENGINES=ref,cuda)" "no  no module of the cuda engine: no $cuda/include/cudnn.h" \
	"one line reports a missing cuDNN"
rm "$cuda/bin/nvcc"
is "$(found_line CUDA ENGINES=ref,cuda)" "no  no module of the cuda engine: no $cuda/bin/nvcc" \
	"one line reports a missing CUDA"
is "$(found_line CUDA ENGINES=ref)" "no  no module of the cuda engine: not among ENGINES" \
	"one line reports that cuda is not among ENGINES"

# From 9.8 on cuDNN's headers name properties of devices that are not present; the module needs none of these names.
read -r header flags_of_cuda < <(env -u CUDNN_PLACES -u WHEELS make -npq found 2>/dev/null |
	sed -n 's/^CUDNN_H := *//p; s/^CUDA_I := *//p' | paste -sd' ')
mkdir "$T/earlier"
for f in "${header%/*}"/cudnn*.h; do [ ! -e "$f" ] || sed 's/DEVICEPROP/LATER/g' "$f" >"$T/earlier/${f##*/}"; done
for f in lib/engine/cuda/device/dnn*.c tests/gpu/dnn_test.c; do
	if [ -e "$T/earlier/cudnn.h" ]; then
		# shellcheck disable=SC2086
		status 0 "$f compiles with the names of cuDNN 9.0" \
			gcc -std=c11 -fsyntax-only -D_GNU_SOURCE -Ilib -Itests -isystem "$T/earlier" $flags_of_cuda "$f"
	else
		skip "$f compiles with the names of cuDNN 9.0" "no cuDNN"
	fi
done

# The own decoding of JPEG knows the private header of libjpeg-turbo 2.1 alone; both own paths can be left out.
mkdir -p "$T/jpeg"
printf '#!/bin/sh\nexec gcc -isystem "%s" "$@"\n' "$T/jpeg" >"$T/jpeg/cc" && chmod +x "$T/jpeg/cc"
own() {
	make -n BUILD="$T/build" CC="$T/jpeg/cc" CUDA=0 "$@" all |
		grep -o 'lib/image/\(jpeg/huff\|jpeg/img_jpeg_fast\|jpeg/img_jpeg_none\|img_png_plain[a-z_]*\)\.c$' | sort -u | xargs
}
printf '#define LIBJPEG_TURBO_VERSION_NUMBER 2001005\n' >"$T/jpeg/jpeglib.h" && touch "$T/jpeg/jpegint.h"
is "$(own)" "lib/image/img_png_plain.c lib/image/jpeg/huff.c lib/image/jpeg/img_jpeg_fast.c" \
	"libjpeg-turbo 2.1 gets the own entropy decoder"
is "$(make -n BUILD="$T/build" CUDA=0 UCX=0 all | grep -o 'lib/wire/path/ucx[a-z_]*\.c$' | xargs)" \
	"" "UCX=0 builds without UCX"
is "$(own JPEGINT=0 PNGPLAIN=0)" "lib/image/img_png_plain_none.c lib/image/jpeg/img_jpeg_none.c" \
	"JPEGINT=0 and PNGPLAIN=0 build without own decoding"
printf '#define LIBJPEG_TURBO_VERSION_NUMBER 3000003\n' >"$T/jpeg/jpeglib.h"
is "$(own)" "lib/image/img_png_plain.c lib/image/jpeg/img_jpeg_none.c" "libjpeg-turbo 3 is called by its public interface"

# A compiler that finds another oneDNN than this machine's, or none.
mkdir -p "$T/dnnl/oneapi/dnnl"
printf '#!/bin/sh\nexec gcc -isystem "%s" "$@"\n' "$T/dnnl" >"$T/dnnl/cc" && chmod +x "$T/dnnl/cc"
onednn() { printf '%s\n' "$@" >"$T/dnnl/oneapi/dnnl/dnnl_version.h"; }
onednn '#error none'
is "$(found_line oneDNN CC="$T/dnnl/cc")" "no  no cpu engine, the ref engine is slow: share/setup installs oneDNN" \
	"one line reports a missing oneDNN"
is "$(make -n BUILD="$T/build" CC="$T/dnnl/cc" CUDA=0 all | grep -c 'engine/cpu/')" 0 \
	"a build without oneDNN makes the rest"
unknown='no cpu engine, the ref engine is slow: it knows oneDNN 2.x, and 3.1 or later'
onednn '#define DNNL_VERSION_MAJOR 9' '#define DNNL_VERSION_MINOR 1'
is "$(found_line oneDNN CC="$T/dnnl/cc")" "no  9.1             $unknown" \
	"one line reports an unknown version of oneDNN"
onednn '#define DNNL_VERSION_MAJOR 3' '#define DNNL_VERSION_MINOR 0'
is "$(found_line oneDNN CC="$T/dnnl/cc")" "no  3.0             $unknown" \
	"oneDNN 3.0 is not known"
onednn '#define DNNL_VERSION_MAJOR 9' '#define DNNL_VERSION_MINOR 1'
is "$(CPPFLAGS="-isystem $T/dnnl" found_line oneDNN)" "no  9.1             $unknown" \
	"CPPFLAGS of the caller find oneDNN"
installed=$(printf '#include <oneapi/dnnl/dnnl_version.h>\nDNNL_VERSION_MAJOR\n' | gcc -E -P - 2>/dev/null | tail -n 1)
case $installed in
2) other=3.9 ;;
3) other=2.7 ;;
*) other= ;;
esac
if [ -n "$other" ]; then
	onednn "#define DNNL_VERSION_MAJOR ${other%.*}" "#define DNNL_VERSION_MINOR ${other#*.}"
	make -s BUILD="$T/build" CC="$T/dnnl/cc" CUDA=0 found >"$T/out" 2>"$T/err"
	like "$T/err" "^tally: the headers of oneDNN are of version $other, but its library is not" \
		"headers that do not fit the library end the build in one line"
else
	skip "headers that do not fit the library end the build in one line" "no oneDNN"
fi

# A caller's flags are added to the build's own, and names are checked before anything is built.
ok "CPPFLAGS in the command line keep the folders of the sources" \
	make -s BUILD="$T/flags" CUDA=0 CPPFLAGS=-DFOO LDFLAGS=-Wl,-z,now "$T/flags/lib/base/buf.o"
status 2 "an unknown engine is refused" make -s BUILD="$T/build" ENGINES=ref,gpu found
like "$T/err" '\*\*\* ENGINES=ref,gpu: the engines are cpu, ref and cuda\.' "one line lists the engines"
status 2 "a build without a compiler ends" make -s BUILD="$T/build" CC=no-such-cc found
like "$T/err" '^tally: there is no C compiler no-such-cc;' "one line names the missing compiler"
status 2 "an unknown test is refused" make -s BUILD="$T/build" CUDA=0 test T="tests/lib/rec_test nope"
like "$T/err" '\*\*\* T=tests/lib/rec_test nope: there is no test nope\.' "one line names the unknown test"
is "$(make -n BUILD="$T/build" CUDA=0 test T="rec_test tests/lib/buf_test.c setup.t" |
	sed -n 's/.*tests\/run //p' | tr ' ' '\n' | sed "s|^$T/||" | xargs)" \
	"tests/cmd/setup.t build/tests/lib/rec_test build/tests/lib/buf_test" "a test is found by its name and by its source"
is "$(make -n BUILD="$T/build" CUDA=0 reproduce ROW=mnist-lenet | grep -o 'bench/reproduce.*' | xargs)" \
	"bench/reproduce mnist-lenet" "make reproduce without SEEDS leaves the seeds to the row"

# A machine with a compiler and the libraries, and nothing more.
mkdir "$T/bin"
for c in sh gcc pkg-config sed tr; do ln -s "$(command -v $c)" "$T/bin/$c"; done
is "$(PATH=$T/bin ENGINES=ref JPEGINT=1 UCX=1 share/found gcc libarchive |
	sed -n 's/^  no *//p' | grep -v '^oneDNN\|^CUDA\|^sshd' | tr -s ' ')" \
	"gnuplot no figures of plog
ssh no jobs on other hosts
srun no test of jobs through Slurm
mpirun no test of jobs through mpirun
mandoc no lint of the pages
clang no fuzzing" "each missing program has one line, which says what is left out"
printf '#!/bin/sh\nexec gcc -isystem "%s" "$@"\n' "$T/gif" >"$T/gif-cc" && chmod +x "$T/gif-cc"
mkdir "$T/gif" && echo '#error none' >"$T/gif/gif_lib.h"
status 1 "a missing giflib ends the build" env ENGINES=ref share/found "$T/gif-cc" libarchive
is "$(cat "$T/err")" "tally: missing: giflib; share/setup installs what is needed" "one line names giflib"
status 1 "a missing library ends the build" env ENGINES=ref share/found gcc libarchive no-such-library
is "$(cat "$T/err")" "tally: missing: no-such-library; share/setup installs what is needed" \
	"one line names the missing library"

# make install installs the files that share/installed lists; make uninstall removes them and nothing else.
version=$(cat VERSION)
mkdir "$T/b" && ln -s "$BUILD"/* "$T/b" && rm -f "$T/b/man" "$T/b/installed"	# the test removes what it builds
to=$T/dest/usr/local
in_build() { MAKEFLAGS=$flags make -s BUILD="$T/b" DESTDIR="$T/dest" "$@"; }
status 0 "make install exits with 0" in_build install
is "$(cd "$to" && find . -type f | sed 's|^\./||' | sort)" "$(cut -d ' ' -f 3 "$T/b/installed" | sort)" \
	"make install installs the listed files"
for t in im2rec pworker pserver pmerge dlaunch netstat-logging plog; do
	is "$("$to/bin/$t" --version | awk '{ print $NF }')" "$version" "$t --version prints VERSION"
	is "$(mandoc "$to/share/man/man1/$t.1" 2>/dev/null | sed -n '$s/ .*//p')" "tally" "the page of $t is installed"
done
like "$to/share/man/man7/tally.7" "^\.Os tally $version\$" "installed pages have the version"
is "$(find "$T/dest" -type f -perm /022 | wc -l)" 0 "no installed file is writable for others"
mkdir -p "$to/share/tally/nets" && echo mine | tee "$to/bin/mine" "$to/share/tally/nets/mine.lua" >/dev/null
status 0 "make uninstall exits with 0" in_build uninstall
is "$(cd "$to" && find . -type f | sort | paste -sd' ')" "./bin/mine ./share/tally/nets/mine.lua" \
	"make uninstall keeps other files"
rm "$to/bin/mine" "$to/share/tally/nets/mine.lua"
mkdir -p "$T/dest/mnt" "$T/dest/usr/src"
in_build install && in_build uninstall
is "$(cd "$T/dest" && find . | sort | paste -sd' ')" ". ./mnt ./usr ./usr/src" "make uninstall removes its empty directories and no others"
status 0 "make uninstall exits with 0 where nothing is installed" in_build uninstall
like <(make -n BUILD="$T/build" CUDA=0 uninstall PREFIX=inst DESTDIR=) 'cd "\./" ' \
	"make uninstall takes a PREFIX of the current directory"
like CHANGELOG.md "^(## \[$version\] - [0-9-]+|What will be $version,)" "CHANGELOG.md has an entry for VERSION"

# A source release has the files of the newest commit, is reproducible, and builds without git.
if git rev-parse --git-dir >/dev/null 2>&1; then
	git clone -q . "$T/clone" || exit 1
	status 0 "make dist exits with 0" make -s -C "$T/clone" BUILD=build dist
	tar=$T/clone/build/tally-$(cat "$T/clone/VERSION").tar.gz
	is "$(cat "$T/out")" "${tar#"$T/clone/"}" "make dist prints the name of its file"
	cp "$tar" "$T/first.tar.gz"
	touch "$T/clone/README.md" && rm "$tar"
	(umask 077 && make -s -C "$T/clone" BUILD=build dist >/dev/null)
	ok "make dist gives the same bytes twice" cmp "$T/first.tar.gz" "$tar"
	mkdir "$T/unpacked" && tar xf "$tar" -C "$T/unpacked"
	is "$(cd "$T/unpacked/tally-$version" && find . -type f | sed 's|^\./||' | sort)" "$(git ls-tree -r --name-only HEAD | sort)" \
		"the release has each file of the commit"
	printf '#!/bin/sh\necho "git $*" >>"%s"\nexit 1\n' "$T/git-used" >"$T/bin/git" && chmod +x "$T/bin/git"
	status 0 "the release can be built" \
		env PATH="$T/bin:$PATH" make -n -C "$T/unpacked/tally-$version" BUILD="$T/d" all
	ok "building the release does not run git" test ! -e "$T/git-used"
	echo more >>"$T/clone/README.md"
	status 2 "make dist refuses files that are not committed" make -s -C "$T/clone" BUILD=build dist
	like "$T/err" "^dist: files differ from the newest commit" "the error says that files differ"
else
	skip "source releases" "not a git checkout"
fi
done_testing
