"""Writes down which labelled links of a built site lead somewhere, as a reader's browser would find out.

Usage: truth.py SITE SOURCE BUILT TRUTH [--base=/docs/] [--html] [--slashless] [--fallback=fr] [--unlinked]
                [--host=docs.example]

SOURCE is the folder that the site was built from, BUILT what the generator made of it, TRUTH the file to write. Links and
images of the source are labelled: `[L17](…)`, `![I3](…)`, or `U5` for what nobody can tell from the source. A label is
`there` if every link of that name in the built pages leads to a page or file of the site and, if it names one, to an id
in it; `missing` if one does not; `absent` if no built page shows it.
--base is the path that the site is served below; --html says that /x is answered by x.html, as hosts of that generator
do; --slashless that x/index.html is met as /x rather than /x/, from where relative links go; --unlinked that the generator
shows a link that leads nowhere as plain text, so that such a label is `missing`;
--fallback names a folder of translations: what stands there in the stead of a page that is not translated does not count
if the page itself shows the label;
--host is the host that the site names as its own;
--reported names a file that a checker of the generator wrote instead of a build: lines of a page and a target that is
broken, with a tab between them."""
import html.parser
import json
import os
import re
import sys
import urllib.parse

LABEL = re.compile(r"\b[LIU]\d+\b")
PAGES = (".md", ".mdx", ".markdown", ".rst", ".html", ".astro", ".ts", ".js", ".mjs", ".mts", ".tsx", ".json", ".yml",
         ".yaml", ".toml", ".vue")
# Tags that have no end, so that none is waited for.
VOID = {"img", "br", "hr", "input", "meta", "link", "source", "area", "base", "col", "embed", "track", "wbr"}


class Page(html.parser.HTMLParser):
    """The links, images and ids of one built page."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.links, self.images, self.ids = [], [], set()
        self.open, self.base, self.refresh = [], None, None
        self.text, self.code = "", 0

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name in ("id", "name"):
            if attributes.get(name) and (name == "id" or tag == "a"):
                self.ids.add(attributes[name])
        if tag == "base" and attributes.get("href"):
            self.base = attributes["href"]
        if tag == "meta" and (attributes.get("http-equiv") or "").lower() == "refresh":
            self.refresh = (attributes.get("content") or "").partition("url=")[2].strip("'\" ")
        self.code += tag == "pre"
        if tag == "a":
            self.open.append([attributes.get("href"), ""])
        if tag == "img":
            for link in self.open:
                link[1] += " " + (attributes.get("alt") or "")
            self.images.append((attributes.get("src"), attributes.get("alt") or ""))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_data(self, data):
        if not self.open and not self.code:
            self.text += data + "\n"
        for link in self.open:
            link[1] += data

    def handle_endtag(self, tag):
        self.code -= tag == "pre"
        if tag == "a" and self.open:
            self.links.append(tuple(self.open.pop()))


class Site:
    def __init__(self, built, base, html_form, slashless, host):
        self.built, self.base, self.html_form, self.slashless = built, base, html_form, slashless
        self.hosts = ("site.invalid", host)
        self.files, self.pages = set(), {}
        for folder, _, names in os.walk(built):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), built)
                self.files.add(path)
                if name.endswith(".html"):
                    page = Page()
                    with open(os.path.join(built, path), encoding="utf-8") as file:
                        page.feed(file.read())
                    page.close()
                    self.pages[path] = page

    def address(self, path):
        """The address at which a reader meets a built page."""
        folder, name = os.path.split(path)
        if name == "index.html":
            end = folder if self.slashless or not folder else folder + "/"
            return self.base + end
        return self.base + (path[: -len(".html")] if self.html_form else path)

    def answer(self, address):
        """The built file that answers to the path of an address; none if none does."""
        if not (address + "/").startswith(self.base) and address != self.base:
            return None
        path = urllib.parse.unquote(address[len(self.base):])
        bare = path.rstrip("/")
        forms = [bare + "/index.html" if bare else "index.html"]
        if not path.endswith("/"):
            forms.insert(0, path)
            if self.html_form:
                forms.insert(1, path + ".html")
        return next((form for form in forms if form in self.files), None)

    def leads(self, page, target, hops=0):
        """Whether a target in a built page leads somewhere."""
        if target is None:
            return False
        start = "https://site.invalid" + self.address(page)
        base = self.pages[page].base
        joined = urllib.parse.urlsplit(urllib.parse.urljoin(urllib.parse.urljoin(start, base) if base else start, target))
        if joined.netloc not in self.hosts:
            return True
        found = page if target.startswith("#") and not base else self.answer(joined.path)
        if found is None:
            return False
        there = self.pages.get(found)
        if there and there.refresh and hops < 5:
            onward = urllib.parse.urljoin(there.refresh, "#" + joined.fragment) if joined.fragment else there.refresh
            return self.leads(found, onward, hops + 1)
        fragment = urllib.parse.unquote(joined.fragment)
        return not fragment or there is None or fragment in there.ids or fragment == "top"


def labels_of(source):
    """All labels of the source, in order."""
    found = set()
    for folder, folders, names in os.walk(source):
        folders[:] = [name for name in folders if name not in ("node_modules", "dist", "build", "cache")]
        for name in names:
            if name.endswith(PAGES):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    found.update(LABEL.findall(file.read()))
    return sorted(found, key=lambda label: (label[0], int(label[1:])))


def reported(source, path):
    """What a checker said about each label: whether the target on its line is among the broken ones of the page."""
    with open(path, encoding="utf-8") as file:
        broken = {tuple(line.rstrip("\n").split("\t", 1)) for line in file}
    target = re.compile(r"\]\(([^)\s]+)|(?:href|src)=\"([^\"]*)\"")
    told = {}
    for folder, _, names in os.walk(source):
        for name in sorted(name for name in names if name.endswith((".md", ".mdx"))):
            page = os.path.relpath(os.path.join(folder, name), source)
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                for line in file:
                    found = target.search(line)
                    for label in LABEL.findall(line) if found else ():
                        told[label] = "missing" if (page, found[1] or found[2]) in broken else "there"
    return told


def write(truth, told):
    with open(truth, "w", encoding="utf-8") as file:
        json.dump(told, file, indent=1)
        file.write("\n")


def main():
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    name, source, built, truth = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    base = next((option[len("--base="):] for option in options if option.startswith("--base=")), "/")
    told_by = next((option[len("--reported="):] for option in options if option.startswith("--reported=")), None)
    if told_by:
        told = reported(source, told_by)
        about = "told by the generator's own checker, since nothing builds the site here"
        write(truth, {"about": about} | dict(sorted(told.items(), key=lambda item: (item[0][0], int(item[0][1:])))))
        return
    host = next((option[len("--host="):] for option in options if option.startswith("--host=")), None)
    site = Site(built, base, "--html" in options, "--slashless" in options, host)
    if not site.pages:
        sys.exit(f"{name}: nothing was built in {built}")
    met = {}
    for path, page in site.pages.items():
        for target, text in page.links + page.images:
            for label in LABEL.findall(text):
                met.setdefault(label, []).append((path, target, site.leads(path, target)))
        if "--unlinked" in options:
            for label in LABEL.findall(page.text):
                met.setdefault(label, []).append((path, None, False))
    fallback = next((option[len("--fallback="):] + "/" for option in options if option.startswith("--fallback=")), None)
    for label, places in met.items() if fallback else ():
        met[label] = [place for place in places if not place[0].startswith(fallback)] or places
    labels = labels_of(source)
    told = {}
    for label in labels:
        leads = [leads for _, _, leads in met.get(label, [])]
        told[label] = "absent" if not leads else "there" if all(leads) else "missing"
    write(truth, told)
    counts = {word: sum(1 for value in told.values() if value == word) for word in ("there", "missing", "absent")}
    print(f"{name}: {counts}")
    if os.environ.get("TRUTH_VERBOSE"):
        for label in labels:
            print(label, told[label], met.get(label, []))


main()
