# The proxy of --allow-host, a program of its own; its other end is in stepjail.
$(B)/gen/mkfilter_egress: jail/egress/proxy/syscalls.c init/own_syscalls.h
$(B)/agent-o/jail/egress/proxy/confine.o: $(B)/gen/filter_egress.h
EGRESS_C := $(filter-out %/syscalls.c,$(wildcard jail/egress/proxy/*.c)) jail/egress/place/place.c jail/egress/log.c jail/base/json.c jail/base/clock.c jail/walls/landlock.c jail/walls/places.c init/err.c init/io.c init/filter.c
$(B)/stepjail-egress: $(patsubst %.c,$(B)/agent-o/%.o,$(EGRESS_C))
	@echo "  LINK $@"; gcc -pie $(LINK) -o $@ $^ -lcurl -lssl -lcrypto
# the same, obeying an intruder: test_egress_takeover.py
$(B)/tests/stepjail-egress: $(patsubst %.c,$(B)/agent-o/%.o,$(EGRESS_C) tests/integration/egress_obey.c)
	@mkdir -p $(@D); echo "  LINK $@"; gcc -pie $(LINK) -Wl,--wrap=serve,--wrap=confine -o $@ $^ -lcurl -lssl -lcrypto
integration.built: $(B)/tests/stepjail-egress
all: $(B)/stepjail-egress
lint: $(B)/gen/filter_egress.h
install: install.egress
install.egress: $(B)/stepjail-egress
	install -d $(DESTDIR)$(PREFIX)/lib/stepjail
	install -m 755 $< $(DESTDIR)$(PREFIX)/lib/stepjail
.PHONY: install.egress
demo-egress: all rootfs ## the agent answers a question with an HTTP API, the one host that is allowed
	@rm -f $(B)/demo-egress.jsonl; tests/egress_demo.py $(B)/stepjail-agent --transcript $(B)/demo-egress.jsonl $(cgroup_option)
.PHONY: demo-egress
