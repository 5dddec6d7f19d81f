humaneval: $(B)/stepjail $(B)/stepjail-init rootfs ## 164 canonical solutions, each in a fresh jail; then with empty bodies
	@o=$(cgroup_option); tests/humaneval/humaneval.py run -- $$o && \
	echo "and with every body replaced by pass, so that it is seen to fail:" && \
	{ tests/humaneval/humaneval.py run --broken -- $$o; \
	[ $$? = 1 ] || { echo "make: the harness cannot fail, so its 164 mean nothing" >&2; exit 1; }; }
.PHONY: humaneval
