# What the programs say to --version, and Debian packages of them.
BUILT := $(patsubst %,$(B)/gen/%,built.h built_agent.h commit)
$(BUILT) &: jail/built $(B)/lib/musl/libcap.a phony | $(B)/packages
	@jail/built $(B)
$(foreach d,musl graph agent-o,$(patsubst %,$(B)/$(d)/%/main.o,jail jail/oci agent)): $(BUILT)
