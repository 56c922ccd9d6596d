# tally: `make help` lists the targets.  SAN=address,undefined or SAN=thread builds and tests apart, with a sanitizer.

CC      ?= cc
VERSION := 0.1
PREFIX  ?= /usr/local
SAN     ?=
BUILD   ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
comma   := ,

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla
OPT     ?= -O2 -g
PKGS    := libarchive libturbojpeg spng lua5.4 jansson openssl
CFLAGS  += -std=c11 $(OPT) $(WARN) $(if $(WERROR),-Werror)
CPPFLAGS += -D_GNU_SOURCE -DTALLY_VERSION='"$(VERSION)"' -DTALLY_SHARE='"$(PREFIX)/share/tally"' -Ilib -Icmd $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LDLIBS  += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -ldnnl -fopenmp -lpthread -lm
ifneq ($(SAN),)
CFLAGS  += -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS += -fsanitize=$(SAN)
endif

LIB     := $(patsubst %.c,$(BUILD)/%.o,$(wildcard lib/*/*.c))
TOOLS   := $(patsubst cmd/%.c,%,$(filter-out cmd/front.c,$(wildcard cmd/*.c)))
TESTS   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/lib/*_test.c tests/op/*_test.c tests/law/*_test.c tests/golden/*_test.c))
FUZZ    := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
SCRIPTS := $(wildcard tests/cmd/*.t tests/flow/*.t tests/golden/*.t tests/lint/*.t)

all: $(addprefix $(BUILD)/,$(TOOLS))	## build the tools into build/

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(CFLAGS_$(notdir $*)) -MMD -MP -c -o $@ $<

# Kernels over whole arrays; -ffp-contract=off so that every compiler rounds alike.
$(BUILD)/lib/engine/%.o $(BUILD)/lib/net/opt.o: CFLAGS += -O3 -fopenmp -ffp-contract=off

$(BUILD)/libtally.a: $(LIB)
	@rm -f $@
	ar rcs $@ $^

$(addprefix $(BUILD)/,$(TOOLS)): $(BUILD)/%: $(BUILD)/cmd/%.o $(BUILD)/cmd/front.o $(BUILD)/libtally.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(TESTS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libtally.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(TESTS:%=%.o): CPPFLAGS += -Itests

tests: all $(TESTS)

check: tests	## run every test; SAN=... for a sanitizer
	@TOP=$(CURDIR) BUILD=$(abspath $(BUILD)) SAN=$(SAN) PATH=$(abspath $(BUILD)):$$PATH prove --timer -e '' $(TESTS) && \
	TOP=$(CURDIR) BUILD=$(abspath $(BUILD)) SAN=$(SAN) PATH=$(abspath $(BUILD)):$$PATH prove --timer -e bash $(SCRIPTS)

clean:	## remove what was built
	rm -rf build build-*

help:	## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 18

.PHONY: all tests check clean help
-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d)
