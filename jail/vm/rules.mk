# What --wall vm adds: PID 1 of a guest, the relay of its streams, and the program that starts it.
VM := stepjail-vm-init stepjail-vm-relay stepjail-vm-egress stepjail-vm-receive
$(B)/gen/mkfilter_relay: jail/vm/guest/syscalls.c
$(B)/musl/jail/vm/guest/relay.o: $(B)/gen/filter_relay.h
$(B)/stepjail-vm-init $(B)/stepjail-vm-relay: $(B)/musl/jail/vm/guest/mux.o
$(B)/stepjail-vm-init: $(patsubst %,$(B)/musl/%.o,$(addprefix jail/vm/guest/,init boot files) jail/base/folder init/io)
$(B)/stepjail-vm-relay: $(B)/musl/jail/vm/guest/relay.o
# the proxy of --allow-host, but for what the host's does
$(B)/stepjail-vm-egress: $(patsubst %.c,$(B)/musl/%.o,jail/vm/guest/egress.c $(filter-out %/confine.c %/reach.c %/tls.c jail/walls/%,$(EGRESS_C)))
$(B)/stepjail-vm-receive: $(patsubst %.c,$(B)/musl/%.o,jail/vm/receive/main.c $(filter-out jail/main.c,$(JAIL_C)) $(SHARED_C))
$(VM:%=$(B)/%):
	@echo "  LINK $@"; $(MUSL_LINK)
$(B)/stepjail-vm: jail/vm/stepjail-vm
	@echo "  GEN  $@"; install -m 755 $< $@
$(B)/stepjail-vm-ram.so: jail/vm/guest/ram.c | $(B)/packages
	@echo "  LINK $@"; gcc $(C) -fPIC -shared $(LINK) -o $@ $<
VM_ALL := $(VM:%=$(B)/%) $(B)/stepjail-vm $(B)/stepjail-vm-ram.so
all: $(VM_ALL)
guest: $(B)/guest/info.json ## the image that guests of --wall vm are booted with
$(B)/guest/info.json: $(VM_ALL) $(B)/stepjail $(B)/stepjail-init $(B)/rootfs/core.key $(wildcard $(B)/rootfs/data.key) $(wildcard jail/vm/stepjail_vm/*.py) | $(B)/packages.test
	$(B)/stepjail vm build
integration.built: $(B)/guest/info.json
lint: $(B)/gen/filter_relay.h
install: install.vm
install.vm: $(VM_ALL)
	install -d $(DESTDIR)$(PREFIX)/{bin,lib/stepjail} $(DESTDIR)$(PYTHON_DIR)/stepjail_vm
	install -m 755 $(VM_ALL) $(DESTDIR)$(PREFIX)/lib/stepjail
	install -m 644 jail/vm/stepjail_vm/*.py $(DESTDIR)$(PYTHON_DIR)/stepjail_vm
uninstall: uninstall.vm
uninstall.vm:
	rm -rf $(DESTDIR)$(PYTHON_DIR)/stepjail_vm
.PHONY: guest install.vm uninstall.vm
