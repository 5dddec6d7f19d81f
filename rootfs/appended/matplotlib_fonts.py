

# --- Stepjail's: the list of fonts is made with the tree (rootfs/trees/fonts.py) -------

def get_cachedir():
    """Where font_manager looks for its list of fonts, and needs not read them all."""
    return "/usr/share/matplotlib"
