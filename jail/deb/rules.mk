# What the programs say to --version, and Debian packages of them.
BUILT := $(patsubst %,$(B)/gen/%,built.h built_agent.h commit)
$(BUILT) &: $(LIBS_STALE) $(shell COMMIT='$(COMMIT)' PACKAGE='$(PACKAGE)' jail/built --current $(B) 2>/dev/null || echo phony) | $(B)/packages $(B)/lib/musl/key
	@jail/built $(B)
$(foreach d,musl graph agent-o,$(patsubst %,$(B)/$(d)/%/main.o,jail jail/oci agent)): $(BUILT)

# debhelper and lintian take 100 MB, so they are no part of TEST_PACKAGES
$(B)/packages.deb: jail/deb/rules.mk ; $(call install_packages,$(PACKAGES) debhelper dh-apparmor dh-python apparmor lintian cpio)
deb: all rootfs data $(B)/packages.deb ## Debian packages, in build/deb
	jail/deb/build $(B) $(PACKAGES)
deb-test: $(B)/packages.deb $(B)/packages.test $(B)/stepjail.apparmor ## the packages of make deb, in a guest
	tests/vm/deb/test
.PHONY: deb deb-test
