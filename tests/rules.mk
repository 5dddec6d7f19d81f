# How the tests are built and run. Included by the Makefile; the escape corpus, which is
# installed, the fuzzers and CPython's tests have rules of their own beside them.
# Each part is a target, and a row RUN.part: what it runs when all is built. `make test` builds
# with every processor, then has tests/all run the rows side by side, and with them the jobs that
# LIST.part prints: a job waits for events alone, so a busy machine is no failure.
JOBS ?= $(shell nproc)
PARTS := unit asan replay pysubset escape warm fault
LISTED := integration vm
rows = $(foreach p,$(PARTS),'$(p)=$(or $(RUN.$(p).$(1)),$(RUN.$(p)))') $(foreach p,$(LISTED),'$(p):$(LIST.$(p)) $(1)')
test: $(B)/packages.test ## what a change needs: all but what takes long, or differs by nothing
	$(MAKE) -j$(JOBS) -O built
	tests/all $(call rows,quick)
test-all: $(B)/packages.test ## every test
	$(MAKE) -j$(JOBS) -O built
	tests/all $(call rows,all)
# The sources once more, for glibc: $(B)/unit/, and $(B)/asan/ with the sanitizers. Two
# programs, because jail/ and agent/ share names; each allow list under a name of its own.
ROOM.watch := watcher
ROOM.serve := supervisor
ROOM.proxy := egress
TABLE = $(foreach n,rows row_count name,-Dfilter_$(n)=$(1)_filter_$(n))
# the proxy of --allow-host, but for what starts and confines it
PROXY_C := $(filter-out %/main.c %/confine.c %/syscalls.c,$(wildcard jail/egress/proxy/*.c))
PROXY_LIBS := -lcurl -lssl -lcrypto
UNIT_JAIL_C := $(filter-out jail/main.c jail/oci/main.c jail/oci/control.c jail/exec/%,$(JAIL_C) $(OCI_C)) $(SHARED_C) jail/plan/syscalls.c jail/watch/syscalls.c jail/serve/syscalls.c jail/egress/proxy/syscalls.c init/syscalls.c $(PROXY_C) \
	$(filter-out tests/unit/test_agent_%,$(wildcard tests/unit/*.c))
UNIT_AGENT_C := $(filter-out agent/main.c,$(AGENT_C)) init/err.c init/io.c init/owner.c init/wire.c init/wire_reader.c \
	tests/unit/main.c $(wildcard tests/unit/test_agent_*.c)
# what tests/unit/played.c answers in place of the launcher
UNIT_WRAP := -Wl,--wrap=launch_jail,--wrap=launch_prepare,--wrap=template_ask,--wrap=posture_read,--wrap=proc_usage_check
# what tests/unit/test_agent_memory.c may let fail
AGENT_WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
# their runtimes static: as libraries they have 12 MB that each test's search for leaks would read
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -static-libasan -static-libubsan
define unit_rules
$(B)/$(1)/jail/%.o: %.c $(GENERATED) | $(B)/packages.test
	@mkdir -p $$(@D); echo "  CC   $$< ($(1))"
	@gcc $$(C) $(LIBS_C) -O1 $(2) -DUNIT_JAIL $$(if $$(filter %/syscalls.c,$$<),$$(call TABLE,$$(or $$(ROOM.$$(notdir $$(patsubst %/,%,$$(dir $$<)))),$$(firstword $$(subst /, ,$$<))))) -c -o $$@ $$<
$(B)/$(1)/agent/%.o: %.c | $(B)/packages.test
	@mkdir -p $$(@D); echo "  CC   $$< ($(1))"
	@gcc $$(C) -O1 $(2) -DUNIT_AGENT -c -o $$@ $$<
$(B)/$(1)/unit-jail: $$(patsubst %.c,$(B)/$(1)/jail/%.o,$$(UNIT_JAIL_C)) | $(B)/stepjail.1
	@echo "  LINK $$@"; gcc $(2) -o $$@ $$^ $(UNIT_WRAP) -lcheck_pic -lsubunit -lrt -lm -lcjson -lseccomp $(PROXY_LIBS) $(LIBS)
$(B)/$(1)/unit-agent: $$(patsubst %.c,$(B)/$(1)/agent/%.o,$$(UNIT_AGENT_C))
	@echo "  LINK $$@"; gcc $(2) -o $$@ $$^ $(AGENT_WRAP) -lcheck_pic -lsubunit -lrt -lm $(AGENT_LIBS)
endef
$(eval $(call unit_rules,unit,))
$(eval $(call unit_rules,asan,$(SANITIZE)))
unit.built: $(B)/unit/unit-jail $(B)/unit/unit-agent
asan.built: $(B)/asan/unit-jail $(B)/asan/unit-agent
RUN.unit := $(B)/unit/unit-jail && $(B)/unit/unit-agent
RUN.asan := export ASAN_OPTIONS=quarantine_size_mb=16; $(B)/asan/unit-jail && $(B)/asan/unit-agent
unit: unit.built ## Check, one file for each module and table
	$(RUN.unit)
asan: asan.built ## the same under ASan and UBSan
	$(RUN.asan)
include tests/fuzz/rules.mk

# stepjail for tests/privileged.py: each function and each variable in a section of its own
GRAPH := $(patsubst %.c,$(B)/graph/%.o,$(JAIL_C) $(SHARED_C))
$(GRAPH): $(B)/graph/%.o: %.c $(GENERATED) $(B)/lib/musl/key | $(B)/packages
	@mkdir -p $(@D); echo "  CC   $< (graph)"; \
	$(MUSL_C) -O0 -g0 -w -ffunction-sections -fdata-sections -fno-jump-tables -c -o $@ $<
$(B)/privileged: tests/privileged.py $(GRAPH) phony
	@echo "  GEN  $@"; $< $(GRAPH) > $@

# stepjail without one wall, for test_posture.py: what unwalled.c stands in for
$(B)/stepjail-unwalled $(B)/stepjail-warm-unwalled: LINK += $(shell sed -nE 's/^(MAY_LACK.|.*__wrap_)([a-z0-9_]+).*/-Wl,--wrap=\2/p' tests/integration/unwalled.c)
$(B)/stepjail-unwalled: $(patsubst %.c,$(B)/musl/%.o,$(JAIL_C) $(SHARED_C) tests/integration/unwalled.c)
	@echo "  LINK $@"; $(MUSL_LINK)
# stepjail run whose watcher obeys the program, for test_watcher.py: see obey.c
$(B)/stepjail-obey: LINK += $(shell sed -nE 's/^.*__wrap_([a-z0-9_]+).*/-Wl,--wrap=\1/p' tests/integration/obey.c | sort -u)
$(B)/stepjail-obey: $(patsubst %.c,$(B)/musl/%.o,$(JAIL_C) $(SHARED_C) tests/integration/obey.c)
	@echo "  LINK $@"; $(MUSL_LINK)
# what the tests have run in jails or around them: static, for any root tree
TEST_TOOLS := $(patsubst %,$(B)/tests/%,walls within reviews)
$(TEST_TOOLS): $(B)/tests/%: tests/integration/%.c
	@mkdir -p $(@D); echo "  CC   $<"; gcc -std=c17 -D_GNU_SOURCE -O1 -static -Wall -Wextra -Werror -o $@ $<
# as root, and again as an ordinary user where this is run by root
integration.built: all rootfs data $(TEST_TOOLS) $(B)/stepjail-unwalled $(B)/stepjail-obey $(B)/stepjail-warm $(B)/stepjail-warm-unwalled $(B)/warm/tree/bin/stepjail-interpreter $(B)/stepjail.apparmor $(B)/packages.test
LIST.integration := tests/integration/run --list
integration: integration.built ## the programs as a user runs them
	tests/all '$@:$(LIST.$@) all'
# the matrix is the guests' as well
fault.built: all $(B)/packages.test
	tests/fault/run --build
RUN.fault := tests/fault/run
RUN.fault.quick := tests/fault/run --every 8
fault: fault.built ## each system call of launcher and init fails once
	$(RUN.fault)
# what stepjail-oci is linked with, for guests that have no C library
$(B)/oci-libs: $(B)/stepjail-oci
	@rm -rf $@; mkdir -p $@/lib $@/lib64; ldd $< | grep -o '/[^ ]*' | while read f; do \
	mkdir -p $@$$(dirname $$f); cp -L $$f $@$$f; done
vm.built: all rootfs $(B)/oci-libs fault.built $(B)/stepjail-warm $(B)/warm/tree/bin/stepjail-interpreter $(B)/stepjail.apparmor $(B)/packages.test
LIST.vm := tests/vm/test --list
vm: vm.built ## cgroup v2 for real, in a guest
	tests/vm/test
bench: all rootfs data $(B)/packages.test ## beside bubblewrap, unshare, crun, runc and runsc, in one run
	tests/bench/run && tests/bench/cycle && tests/bench/programs && tests/bench/sessions && tests/bench/neighbours

# the README's picture: what the demo shows on a terminal
PICTURE = tests/data/demo.svg 'make demo' $(B)/stepjail-agent solve \
	"Which penguin species is heaviest on average?" --file tests/data/penguins.csv \
	--model scripted:tests/data/penguins.turns --transcript none $(cgroup_option)
picture: all rootfs ## the README's picture, out of a real run
	tests/picture.py $(PICTURE) 2>/dev/null
picture-check:
	@tests/picture.py --check $(PICTURE) 2>/dev/null

# warm jails without Python: a template of C, and a launcher of many
WARM_C := $(WALLS_C) $(SHARED_C)
$(B)/warm/tree/bin/stepjail-interpreter: $(patsubst %.c,$(B)/unit/jail/%.o,$(WARM_C) tests/integration/warm_program.c)
	@mkdir -p $(@D); cd $(B)/warm/tree && mkdir -p dev proc tmp work
	@echo "  LINK $@"; gcc -static-pie -o $@ $^ -lcap
WARM_HOST := $(patsubst %.c,$(B)/musl/%.o,$(filter-out jail/main.c,$(JAIL_C)) $(SHARED_C) tests/integration/warm_host.c)
$(B)/stepjail-warm: $(WARM_HOST)
$(B)/stepjail-warm-unwalled: $(WARM_HOST) $(B)/musl/tests/integration/unwalled.o
$(B)/stepjail-warm $(B)/stepjail-warm-unwalled:
	@echo "  LINK $@"; $(MUSL_LINK)

built: $(patsubst %,%.built,$(PARTS) $(LISTED))
.PHONY: built test-all $(patsubst %,%.built,$(PARTS) $(LISTED))
