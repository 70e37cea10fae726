project = "Fixture"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "attrs_inline", "attrs_block", "dollarmath", "deflist"]
myst_heading_anchors = 2
exclude_patterns = ["_build", "excluded.md"]
html_static_path = ["_static"]
html_theme = "basic"
