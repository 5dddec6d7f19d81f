# The fuzzers: a target and its objects twice, for clang's libFuzzer and for gcc's replay.
# Included by the Makefile, behind the rules of the unit tests, whose objects replay uses.
FUZZ_JAIL := policy options wire frames json violation serve packets spawner mux request
FUZZ_AGENT := report session reply shown
FUZZ_SECONDS ?= 600
# what a target answers in place of the function that it names
$(B)/fuzz/frames $(B)/asan/replay-frames: FUZZ_WRAP := -Wl,--wrap=posture_read
$(B)/fuzz/violation $(B)/asan/replay-violation: FUZZ_WRAP := -Wl,--wrap=syscall
$(B)/fuzz/serve $(B)/asan/replay-serve $(B)/fuzz/packets $(B)/asan/replay-packets: \
	FUZZ_WRAP := -Wl,--wrap=sweep_adopt,--wrap=sweep_step
$(B)/fuzz/spawner $(B)/asan/replay-spawner: FUZZ_WRAP := $(shell sed -nE 's/^.*__wrap_([a-z0-9_]+).*/-Wl,--wrap=\1/p' tests/fuzz/spawner_*.h tests/fuzz/spawner.c | sort -u)
$(B)/fuzz/session $(B)/asan/replay-session: FUZZ_WRAP := -Wl,--wrap=session_renew
FUZZ_JAIL_C := $(filter-out jail/main.c,$(JAIL_C)) $(SHARED_C) jail/vm/guest/mux.c $(PROXY_C)
FUZZ_AGENT_C := $(filter-out agent/main.c,$(AGENT_C)) init/err.c init/io.c init/owner.c init/wire.c init/wire_reader.c
FUZZER := -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined

$(B)/fuzz/o/%.o: %.c $(GENERATED) | $(B)/packages.test
	@mkdir -p $(@D)
	@echo "  CC   $< (fuzz)"; clang $(C) $(LIBS_C) -O1 $(SANITIZE) -fsanitize=fuzzer-no-link -c -o $@ $<
$(FUZZ_JAIL:%=$(B)/fuzz/%): $(B)/fuzz/%: $(B)/fuzz/o/tests/fuzz/%.o $(FUZZ_JAIL_C:%.c=$(B)/fuzz/o/%.o)
	@echo "  LINK $@"; clang $(FUZZER) -o $@ $^ $(FUZZ_WRAP) -lcjson $(PROXY_LIBS) $(LIBS)
$(FUZZ_AGENT:%=$(B)/fuzz/%): $(B)/fuzz/%: $(B)/fuzz/o/tests/fuzz/%.o $(FUZZ_AGENT_C:%.c=$(B)/fuzz/o/%.o)
	@echo "  LINK $@"; clang $(FUZZER) -o $@ $^ $(FUZZ_WRAP) $(AGENT_LIBS)
$(FUZZ_JAIL:%=$(B)/asan/replay-%): $(B)/asan/replay-%: $(B)/asan/jail/tests/fuzz/%.o \
		$(B)/asan/jail/tests/fuzz/replay.o $(FUZZ_JAIL_C:%.c=$(B)/asan/jail/%.o)
	@echo "  LINK $@"; gcc $(SANITIZE) -o $@ $^ $(FUZZ_WRAP) -lcjson $(PROXY_LIBS) $(LIBS)
$(FUZZ_AGENT:%=$(B)/asan/replay-%): $(B)/asan/replay-%: $(B)/asan/agent/tests/fuzz/%.o \
		$(B)/asan/agent/tests/fuzz/replay.o $(FUZZ_AGENT_C:%.c=$(B)/asan/agent/%.o)
	@echo "  LINK $@"; gcc $(SANITIZE) -o $@ $^ $(FUZZ_WRAP) $(AGENT_LIBS)

replay.built: $(FUZZ_JAIL:%=$(B)/asan/replay-%) $(FUZZ_AGENT:%=$(B)/asan/replay-%)
RUN.replay := for t in $(FUZZ_JAIL) $(FUZZ_AGENT); do $(B)/asan/replay-$$t tests/fuzz/corpus/$$t || exit 1; done
replay: replay.built ## the fuzzers' corpora, once
	@$(RUN.replay)
fuzz: $(FUZZ_JAIL:%=$(B)/fuzz/%) $(FUZZ_AGENT:%=$(B)/fuzz/%) ## search, FUZZ_SECONDS each (600), two at a time
	tests/fuzz/run $(FUZZ_SECONDS) $(FUZZ_JAIL) $(FUZZ_AGENT)
.PHONY: replay fuzz
-include $(shell find $(B)/fuzz -name '*.d' 2>/dev/null)
