# Sphinx, in conf.py beside what is there.
html_js_files = [
    ("https://copydesk.example.com/js/view.js", {"defer": "defer", "data-project": "docs"}),
]
