# The helper of a container, which stepjail-oci holds in itself, and its caller's end.
$(B)/gen/mkfilter_caller: jail/helper/syscalls.c
$(B)/stepjail-helper: $(patsubst %,$(B)/musl/%.o,jail/helper/helper jail/base/fd_passing init/err init/io)
	@echo "  LINK $@"; $(MUSL_LINK)
HELPED := agent-o unit/jail asan/jail
$(patsubst %,$(B)/%/jail/helper/make.o,$(HELPED)): $(B)/stepjail-helper
$(patsubst %,$(B)/%/jail/helper/call.o,$(HELPED)): $(B)/gen/filter_caller.h
lint: $(B)/gen/filter_caller.h
