# Stepjail. `make help` lists the targets. Everything built goes to build/.
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
SHELL := /bin/bash
B := build
PREFIX ?= /usr/local
PYTHON_DIR = $(PREFIX)/lib/$(shell /usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')/dist-packages

# Debian packages: what the product needs to be built, and what the tests add to that
PACKAGES := gcc libc6-dev linux-libc-dev binutils musl-tools libseccomp-dev dpkg-dev python3 libpython3-dev libcrypt-dev tzdata libexpat1-dev \
	zlib1g-dev libbz2-dev liblzma-dev libsqlite3-dev uuid-dev libcurl4-openssl-dev libssl-dev libcjson-dev libedit-dev libunistring-dev nettle-dev libcap-dev libnl-3-dev \
	libnl-route-3-dev bison flex
TEST_PACKAGES := check libsubunit-dev shellcheck clang libclang-rt-14-dev clang-format clang-tidy cppcheck groff bubblewrap busybox-static \
	qemu-system-x86 erofs-utils cpio e2fsprogs lz4 procps util-linux crun runc apparmor xz-utils openssl mandoc zsh

WARN := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Werror
CFLAGS ?= -O2 -g
C := -std=gnu17 -D_GNU_SOURCE $(WARN) $(CFLAGS) -I. -I$(B)/gen -MMD -MP
HARDEN := -fstack-protector-strong -fstack-clash-protection
LINK := -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code

# The trusted programs are static-PIE on musl: no dynamic loader, and none of the hundreds
# of microseconds that glibc's start spends on cpuid in a virtual machine.
MUSL := /usr/lib/$(shell uname -m)-linux-musl
MUSL_C := musl-gcc $(C) $(HARDEN) -fPIE -isystem $(B)/gen/kernel -isystem $(B)/lib/musl/include
MUSL_LINK = musl-gcc -nostdlib -static-pie -Wl,--no-dynamic-linker $(LINK) -o $@ \
	$(MUSL)/rcrt1.o $(MUSL)/crti.o $^ -L$(B)/lib/musl $(LIBS) -l:libc.a -lgcc $(MUSL)/crtn.o
# libcap, libnl and nettle: of jail/libs where musl is linked, and Debian's where glibc is
LIBS := -lnl-route-3 -lnl-3 -lcap -lnettle
LIBS_C := -isystem /usr/include/libnl3

JAIL_C := init/owner.c $(filter-out %/syscalls.c jail/mkmanual.c jail/oci/% jail/vm/guest/% jail/vm/receive/% jail/egress/proxy/% jail/helper/% jail/exec/%,$(wildcard jail/*.c jail/*/*.c jail/*/*/*.c))
SHARED_C := init/err.c init/io.c init/wire.c init/wire_reader.c init/filter.c
INIT_C := init/init.c init/io.c init/wire.c init/filter.c
OCI_C := $(wildcard jail/oci/*.c jail/exec/*.c) jail/helper/call.c jail/helper/make.c
AGENT_C := $(wildcard agent/*.c agent/*/*.c)
SCRIPTS := stepjail-batch stepjail-mcp stepjail-report stepjail-transcripts
AGENT_LIBS := -lcurl -lcjson -ledit -lunistring -lseccomp -lnettle
include tests/escape/rules.mk
GENERATED := $(patsubst %,$(B)/gen/%,filter_program.h filter_init.h filter_watcher.h filter_copier.h filter_supervisor.h filter_measurer.h syscall_names.h kernel/linux)

all: $(B)/stepjail $(B)/stepjail-init $(B)/stepjail-oci $(B)/stepjail-agent $(SCRIPTS:%=$(B)/%) $(SCRIPTS:%=$(B)/%.1) $(B)/stepjail-escape $(B)/stepjail.1 ## build the programs

## ---- set-up: the only part that asks for root, and only for missing packages
define install_packages
@missing=; for p in $(1); do dpkg -s $$p >/dev/null 2>&1 || missing="$$missing $$p"; done; \
if [ -n "$$missing" ]; then sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; command -v $${sudo:-sh} >/dev/null || \
	{ echo "make: Debian packages are missing; as root: apt-get install$$missing" >&2; exit 1; }; echo "installing Debian packages:$$missing"; \
	$$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq \
		--no-install-recommends $$missing >/dev/null || \
	{ echo "make: as root: apt-get install$$missing" >&2; exit 1; }; fi; mkdir -p $(B); touch $@
endef
$(B)/packages: Makefile ; $(call install_packages,$(PACKAGES))
$(B)/packages.test: Makefile ; $(call install_packages,$(PACKAGES) $(TEST_PACKAGES))

## ---- generated sources
$(B)/gen/kernel/linux: | $(B)/packages
	@mkdir -p $(@D); ln -sfn /usr/include/linux $@; ln -sfn /usr/include/asm-generic $(@D)/; \
	ln -sfn /usr/include/$$(gcc -print-multiarch)/asm $(@D)/
$(B)/gen/mkfilter_program: jail/plan/syscalls.c jail/plan/refused.c
$(B)/gen/mkfilter_init: init/syscalls.c
$(B)/gen/mkfilter_copier: C += -DCOPIER
$(B)/gen/mkfilter_watcher $(B)/gen/mkfilter_copier: jail/watch/syscalls.c jail/watch/confined_syscalls.h init/own_syscalls.h
$(B)/gen/mkfilter_measurer: C += -DMEASURER
$(B)/gen/mkfilter_supervisor $(B)/gen/mkfilter_measurer: jail/serve/syscalls.c jail/watch/confined_syscalls.h init/own_syscalls.h
$(B)/gen/mkfilter_%: init/mkfilter.c init/filter.h | $(B)/packages
	@mkdir -p $(@D)
	@echo "  CC   $<"; gcc $(filter-out -MMD -MP,$(C)) -o $@ $(filter %.c,$^) -lseccomp
$(B)/gen/filter_%.h: $(B)/gen/mkfilter_%
	@echo "  GEN  $@"; $< > $@
$(B)/gen/syscall_names.h: $(B)/gen/mkfilter_program
	@echo "  GEN  $@"; $< names > $@

## ---- libraries for musl. Content tells whether they are those of now, and no file's age: dpkg's list changes with each apt-get
LIBS_STALE := $(shell jail/libs --built $(B) 2>/dev/null || echo phony)
$(B)/lib/musl/key: $(LIBS_STALE) | $(B)/packages $(B)/gen/kernel/linux
	jail/libs $(B)

## ---- the programs
$(B)/musl/%.o: %.c $(GENERATED) $(B)/lib/musl/key | $(B)/packages
	@mkdir -p $(@D)
	@echo "  CC   $<"; $(MUSL_C) -c -o $@ $<
$(B)/agent-o/%.o: %.c | $(B)/packages
	@mkdir -p $(@D)
	@echo "  CC   $<"; gcc $(C) $(HARDEN) -D_FORTIFY_SOURCE=2 -fPIE -c -o $@ $<
$(B)/stepjail: $(patsubst %.c,$(B)/musl/%.o,$(JAIL_C) $(SHARED_C))
	@echo "  LINK $@"; $(MUSL_LINK)
$(B)/stepjail-init: $(patsubst %.c,$(B)/musl/%.o,$(INIT_C))
	@echo "  LINK $@"; $(MUSL_LINK)
$(B)/stepjail-agent: $(patsubst %.c,$(B)/agent-o/%.o,$(AGENT_C) init/err.c init/io.c init/owner.c init/wire.c init/wire_reader.c)
	@echo "  LINK $@"; gcc -pie $(LINK) -o $@ $^ $(AGENT_LIBS)
$(B)/stepjail-oci: $(patsubst %.c,$(B)/agent-o/%.o,$(OCI_C) init/err.c init/io.c init/filter.c $(patsubst %,jail/base/%.c,clock fd_passing folder json procfs stdio_check terminal))
	@echo "  LINK $@"; gcc -pie $(LINK) -o $@ $^ -lcjson
$(foreach d,agent-o unit/agent asan/agent fuzz/o,$(foreach o,judge/tests judge/checks skills/skills repl/pieces repl/complete,$(B)/$(d)/agent/$(o).o)): $(wildcard agent/*/*.py)
$(B)/mkmanual: $(patsubst %.c,$(B)/musl/%.o,$(filter-out jail/main.c,$(JAIL_C)) $(SHARED_C) jail/mkmanual.c)
	@echo "  LINK $@"; $(MUSL_LINK)
$(B)/stepjail.1: $(B)/mkmanual jail/manual.mdoc
	@echo "  GEN  $@"; $< < jail/manual.mdoc > $@
$(SCRIPTS:%=$(B)/%): $(B)/%: agent/% $(B)/gen/commit
	@echo "  GEN  $@"; sed "/COMMIT =/s/unknown/$$(cat $(B)/gen/commit)/" $< > $@; chmod 755 $@
$(B)/stepjail-agent.1 $(SCRIPTS:%=$(B)/%.1): %.1: % $(B)/stepjail-transcripts
	@echo "  GEN  $@"; $< --man > $@
# for the parser that is here: one that knows no ABI 4.0 knows no userns rule
$(B)/stepjail.apparmor: jail/stepjail.apparmor phony
	@sed -e 's|@PREFIX@|$(PREFIX)|' $$([ -e /etc/apparmor.d/abi/4.0 ] || [ ! -e /etc/apparmor.d/abi/3.0 ] || \
		echo '-e s|abi/4.0|abi/3.0|;/^..userns,/d') $< > $@
rootfs: $(B)/rootfs/core.key ## build the root tree core
WALLS_C := $(wildcard jail/walls/*.c jail/walls/*/*.c) $(patsubst %,jail/base/%.c,$(shell sed -n 's/^BASE="\(.*\)"/\1/p' rootfs/trees/build))
$(B)/rootfs/core.key: $(wildcard rootfs/*/* init/*.h jail/*/*.h jail/walls/*/*.h) $(SHARED_C) $(WALLS_C) $(GENERATED) | $(B)/packages
	rootfs/trees/build core $(B)
data: $(B)/rootfs/data.key ## build the root tree data: numpy, pandas, scikit-learn and others
$(B)/rootfs/data.key: $(B)/rootfs/core.key rootfs/trees/data.manifest rootfs/trees/data.py
	rootfs/trees/build data $(B)

## ---- use
# where the host gives no cgroup v2, say so, and pass the option by name
cgroup_option = $$($(B)/stepjail check | grep '^missing *cgroup v2' >/dev/null && { echo \
	"the cgroup wall is missing on this host (stepjail check): passing --allow-missing cgroup" >&2; \
	echo --allow-missing cgroup; })
demo: all rootfs ## the agent answers a question about a CSV file, with a scripted model
	@rm -f $(B)/demo.jsonl; $(B)/stepjail-agent solve "Which penguin species is heaviest on average?" \
		--file tests/data/penguins.csv --model scripted:tests/data/penguins.turns \
		--transcript $(B)/demo.jsonl $(cgroup_option)

include tests/rules.mk jail/rules.mk
lint: $(B)/packages.test $(B)/gen/built.h $(GENERATED) $(B)/privileged ## what is checked without running
	tests/lint
fmt: ## clang-format
	clang-format -i $$(git ls-files '*.c' '*.h')

DOCS := README.md jail/README.md jail/oci/README.md agent/README.md rootfs/README.md
install: all rootfs $(B)/stepjail-agent.1 $(B)/stepjail.apparmor ## to PREFIX, /usr/local by default
	install -d $(DESTDIR)$(PREFIX)/{bin,lib/stepjail/{rootfs,trees},share/man/man1,share/stepjail,share/doc/stepjail/{jail/oci,agent,rootfs},include/stepjail} $(DESTDIR)$(PYTHON_DIR)/stepjail_{batch,e2b,mcp,report,transcripts}
	install -m 755 $(B)/stepjail $(B)/stepjail-{oci,agent} $(SCRIPTS:%=$(B)/%) $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(B)/stepjail-init $(B)/stepjail-escape $(DESTDIR)$(PREFIX)/lib/stepjail
	cp --no-preserve=ownership rootfs/trees/{stepjail-tree,common,fetch,{own,data,tree}.py,{core,data}.manifest} $(DESTDIR)$(PREFIX)/lib/stepjail/trees; ln -sf ../lib/stepjail/trees/stepjail-tree $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(B)/stepjail.1 rootfs/trees/stepjail-tree.1 $(B)/stepjail-agent.1 $(SCRIPTS:%=$(B)/%.1) $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(B)/stepjail.apparmor $(DESTDIR)$(PREFIX)/share/stepjail/apparmor; install -m 644 agent/prices.json $(DESTDIR)$(PREFIX)/share/stepjail
	install -m 644 init/serve_wire.h init/wire.h $(DESTDIR)$(PREFIX)/include/stepjail; install -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/stepjail
	cd agent/python && for f in *.py */*.py; do install -m 644 $$f $(DESTDIR)$(PYTHON_DIR)/$$f; done
	for f in $(DOCS); do jail/mkreadme $$f $(DOCS) > $(DESTDIR)$(PREFIX)/share/doc/stepjail/$$f && chmod 644 $(DESTDIR)$(PREFIX)/share/doc/stepjail/$$f || exit; done
	for t in $$(basename -s .key $(B)/rootfs/*.key); do \
	rm -rf $(DESTDIR)$(PREFIX)/lib/stepjail/rootfs/$$t; \
	cp -aH --no-preserve=ownership $(B)/rootfs/$$t{,.sha256,.sha256.sum} $(DESTDIR)$(PREFIX)/lib/stepjail/rootfs/ || exit; done
uninstall: ## remove what install puts there
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,stepjail stepjail-oci stepjail-agent stepjail-tree $(SCRIPTS)) $(patsubst %,$(DESTDIR)$(PREFIX)/share/man/man1/%.1,stepjail stepjail-agent stepjail-tree $(SCRIPTS))
	chmod -R u+w $(DESTDIR)$(PREFIX)/lib/stepjail 2>/dev/null; rm -rf $(DESTDIR)$(PREFIX)/{lib,share,share/doc,include}/stepjail $(DESTDIR)$(PYTHON_DIR)/stepjail{.py,_batch,_e2b,_mcp,_report,_transcripts}
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' Makefile jail/{deb,egress}/rules.mk tests/rules.mk tests/*/rules.mk | sed -E 's/:.*## /\t/' | expand -t 14
clean: ## remove what was built
	chmod -R u+w $(B) 2>/dev/null; rm -rf $(B)

include $(patsubst %,%/rules.mk,jail/deb jail/egress jail/helper jail/vm tests/cpython tests/interop tests/humaneval)
-include $(shell find $(B)/musl $(B)/graph $(B)/agent-o $(B)/unit $(B)/asan -name '*.d' 2>/dev/null)
.PHONY: phony all rootfs data demo test unit integration escape walls fault vm asan lint fmt bench picture picture-check install uninstall clean help
