# SPDX-License-Identifier: MIT
# The escape corpus and its runner: shipped, but no part of what is trusted. And the same
# launcher with walls that can be taken out: never installed.
ESCAPE_C := $(filter-out tests/escape/unwall%,$(wildcard tests/escape/*.c))
UNWALL_C := tests/escape/unwall.c tests/escape/unwall_jail.c
UNWALLED := $(B)/unwalled/stepjail $(B)/unwalled/stepjail-init

$(B)/stepjail-escape: $(patsubst %.c,$(B)/musl/%.o,$(ESCAPE_C))
	@echo "  LINK $@"; $(MUSL_LINK)
UNWALL = -Wl$(shell sed -nE "s|^[a-z].* [*]?__wrap_([a-z0-9_]+).*|,--wrap=\1|p" $(1) | sort -u | tr -d "\n")
$(B)/unwalled/stepjail: $(patsubst %.c,$(B)/musl/%.o,$(JAIL_C) $(SHARED_C) $(UNWALL_C))
	@mkdir -p $(@D); echo "  LINK $@"; $(MUSL_LINK) $(call UNWALL,$(UNWALL_C))
$(B)/unwalled/stepjail-init: $(patsubst %.c,$(B)/musl/%.o,$(INIT_C) tests/escape/unwall_init.c)
	@mkdir -p $(@D); echo "  LINK $@"; $(MUSL_LINK) $(call UNWALL,tests/escape/unwall_init.c)

escape.built warm.built: all rootfs $(UNWALLED) $(B)/packages.test
RUN.escape := tests/escape/run
RUN.warm := tests/escape/warm
escape: escape.built ## attacks: each succeeds without its wall and fails behind it
	$(RUN.escape)
	$(RUN.warm)
walls: all rootfs $(UNWALLED) $(B)/packages.test ## see which walls each attack needs, and write its table
	tests/escape/walls
