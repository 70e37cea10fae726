use super::*;

fn found(path: &str, engine: Engine, text: &str) -> Vec<String> {
    let subject = Subject {
        path,
        text,
        way: Way { is_jinja: true, takes_in: true, nests_fences: true, reads_inside: true, ..Way::new(engine) },
        root: "",
        exists: &|path| path.starts_with("docs/there") || path == "secret.yml",
        is_docs: &|path| path.starts_with("docs"),
    };
    items(&subject).iter().map(|item| format!("{} {}", item.what, item.text)).collect()
}

#[test]
fn what_runs_in_mdx_is_found() {
    for text in [
        "{(await import('node:child_process')).execSync('id')}\n",
        "Text {process.env.TOKEN} text\n",
        "import {execSync} from 'node:child_process'\n",
        "import x from '../../../../../etc/passwd?raw'\n",
        "import x from '!!val-loader!./x.js'\n",
        "import '../scripts/deploy.js'\n",
        "export const x = 1\n",
        "export default function Layout() {}\n",
        "export {x} from './y'\n",
        "<script>alert(1)</script>\n",
        "<Script src=\"https://evil.example/x.js\" />\n",
        "<iframe src=\"https://evil.example/\" />\n",
        "<iframe srcDoc=\"x\" />\n",
        "<a href=\"java&#115;cript:alert(1)\">x</a>\n",
        "<a href={'javascript:alert(1)'}>x</a>\n",
        "[x](javascript:alert(1))\n",
        "[x](java&Tab;script:alert(1))\n",
        "[x]: javascript:alert(1)\n\n[x]\n",
        "<img src=\"x\" onError=\"alert(1)\" />\n",
        "<img src=\"x\" onError={() => alert(1)} />\n",
        "<div dangerouslySetInnerHTML={{__html: '<script>x</script>'}} />\n",
        "<div {...x()} />\n",
        "<Foo render={() => eval('1')} />\n",
        "- item\n\n  ```\n  code\n{evil()}\n",
        "> ```\n{evil()}\n",
        "x](a{evil()})\n",
        "$a {evil()} b$\n",
        "    {evil()}\n",
        "<div>\n{evil()}\n</div>\n",
        "a <!-- {evil()} --> b\n",
        "```jsx live\nalert(1)\n```\n",
        "<Unclosed>\n\n{evil()}\n",
        "---js\n{title: process.exit()}\n---\n\nText\n",
        "---\nhead:\n  - [script, {src: x}]\n---\n",
        "---\ntitle: !!js/function 'x'\n---\n",
    ] {
        let found = found("docs/a.mdx", Engine::Mdx, text);
        assert!(!found.is_empty(), "{text}");
    }
}

#[test]
fn ordinary_mdx_is_left_alone() {
    for text in [
        "import Tabs from '@theme/Tabs'\nimport Snippet from './_part.mdx'\nimport img from './img/x.png'\n\n<Tabs items={['a', 'b']} x={{y: 1}} on=\"z\">\n\n```js\nimport x from 'fs'\nprocess.exit()\n```\n\n</Tabs>\n",
        "# Title {#id}\n\n{/* a remark */}\n\n<!-- a remark -->\n\nText `{process.env.X}` and \\{x}.\n",
        "<img src={require('./img/a.png').default} alt={`x`} />\n\n<Card title=\"x\" icon={<Icon name=\"y\" />} />\n",
        "<iframe src=\"https://www.youtube.com/embed/x\" allowFullScreen />\n",
        "~~~\n{evil()}\n<script>\n~~~\n",
        "---\ntitle: A\ndescription: B\nlayout: doc\n---\n\nImport the module from there. export it.\n",
        "$\\frac{a}{b}$ and\n\n$$\nx^{2}\n$$\n",
        "<Frame>\n  <img src=\"/x.png\" />\n</Frame>\n",
        "import Thing from './there.tsx'\n\n<Thing data={Thing.x} />\n",
    ] {
        let found = found("docs/a.mdx", Engine::Mdx, text);
        assert_eq!(found, [""; 0], "{text}");
    }
}

#[test]
fn what_runs_in_tags_is_found() {
    for text in [
        "<script src=\"x.js\"></script>\n",
        "<SCRIPT>x</SCRIPT>\n",
        "Text <svg/onload=alert(1)> text\n",
        "<img src=x OnErRoR\n= \"alert(1)\">\n",
        "<a href=\" java\nscript:alert(1)\">x</a>\n",
        "<a href=javascript&colon;alert(1)>x</a>\n",
        "<a title=\"<script>\" href='x'>y</a>\n",
        "<iframe src=//evil.example></iframe>\n",
        "<object data=x></object>\n",
        "<meta http-equiv=refresh content=0>\n",
        "<link rel=stylesheet href=x>\n",
        "<div \"><script>\n",
        "!!! note\n    <script>x</script>\n",
        "<javascript:alert(1)>\n",
    ] {
        assert!(!found("docs/a.md", Engine::MkDocs, text).is_empty(), "{text}");
    }
    for text in [
        "```html\n<script>x</script>\n```\n",
        "`<script>` is a tag\n",
        "<details open><summary>x</summary></details>\n",
        "a < b and <Tab only=\"x\">y</Tab>\n",
    ] {
        assert_eq!(found("docs/a.md", Engine::Other, text), [""; 0], "{text}");
    }
}

#[test]
fn templates_and_what_they_take_in_are_found() {
    for (engine, path, text) in [
        (Engine::Vue, "docs/a.md", "{{ constructor.constructor('x')() }}\n"),
        (Engine::Vue, "docs/a.md", "{{ f() }}\n"),
        (Engine::Vue, "docs/a.md", "&#123;&#x7b; f() &#125;&#125;\n"),
        (Engine::Vue, "docs/a.md", "&lbrace;&lcub; f() }}\n"),
        (Engine::Vue, "docs/a.md", "\\{\\{ f() }}\n"),
        (Engine::Vue, "docs/a.md", "<script setup>\nimport x from 'fs'\n</script>\n"),
        (Engine::Vue, "docs/a.md", "<script setup>\nimport A from './there.vue'\nfetch('x')\n</script>\n"),
        (Engine::Vue, "docs/a.md", "<script setup>import '../x.js'</script>\n"),
        (Engine::Vue, "docs/a.md", "---\nhead:\n  - [script, {src: b}]\n---\n"),
        (Engine::Vue, "docs/a.md", "<div @click=\"x\"></div>\n"),
        (Engine::Vue, "docs/a.md", "<div v-html=\"x\"></div>\n"),
        (Engine::Vue, "docs/a.md", "<div :style=\"f()\"></div>\n"),
        (Engine::Vue, "docs/a.md", "<<< @/../../etc/passwd\n"),
        (Engine::Vue, "docs/a.md", "<!--@include: ../../../x.md-->\n"),
        (Engine::MkDocs, "docs/a.md", "--8<-- \"/etc/passwd\"\n"),
        (Engine::MkDocs, "docs/a.md", "--8<-- \"../../x\"\n"),
        (Engine::MkDocs, "docs/a.md", "--8<-- \"https://evil.example/x\"\n"),
        (Engine::MkDocs, "docs/a.md", "--8<-- \".env\"\n"),
        (Engine::MkDocs, "docs/a.md", "--8<-- \"secret.yml\"\n"),
        (Engine::MkDocs, "docs/a.md", "--8<--\n../../x\n--8<--\n"),
        (Engine::MkDocs, "docs/a.md", "```python exec=\"on\"\nimport os\n```\n"),
        (Engine::MkDocs, "docs/a.md", "{{ ''.__class__ }}\n"),
        (Engine::MkDocs, "docs/a.md", "{% include \"../x\" %}\n"),
        (Engine::MkDocs, "docs/a.md", "::: os.path\n"),
        (Engine::Book, "docs/a.md", "{{#include ../../secret}}\n"),
        (Engine::Book, "docs/a.md", "{{#playground /etc/passwd}}\n"),
        (Engine::Book, "docs/a.md", "{{#shell id}}\n"),
        (Engine::Sphinx, "docs/a.md", "```{code-cell} python\nx\n```\n"),
        (Engine::Sphinx, "docs/a.md", "```{eval-rst}\n.. raw:: html\n\n   x\n```\n"),
        (Engine::Sphinx, "docs/a.md", "```{literalinclude} ../../x\n```\n"),
        (Engine::Sphinx, "docs/a.md", ":::{exec}\nx\n:::\n"),
        (Engine::Sphinx, "docs/a.rst", ".. include:: ../../../x\n"),
        (Engine::Sphinx, "docs/a.rst", ".. raw:: html\n\n   <script>x</script>\n"),
        (Engine::Sphinx, "docs/a.rst", ".. program-output:: id\n"),
        (Engine::Sphinx, "docs/a.rst", ".. csv-table::\n   :url: https://x.example/a\n"),
        (Engine::AsciiDoc, "docs/a.adoc", "include::../../../x[]\n"),
        (Engine::AsciiDoc, "docs/a.adoc", "++++\n<script>x</script>\n++++\n"),
        (Engine::Jekyll, "docs/a.md", "{% include_relative ../../x %}\n"),
        (Engine::Hugo, "docs/a.md", "{{< readFile \"../../x\" >}}\n"),
        (Engine::Other, "docs/a.md", "```{python}\nx\n```\n"),
        (Engine::Other, "docs/a.md", "---\njupytext: x\nkernelspec: {name: x}\n---\n"),
    ] {
        assert!(!found(path, engine, text).is_empty(), "{text}");
    }
    for (engine, path, text) in [
        (Engine::Vue, "docs/a.md", "{{ $frontmatter.title }} and `{{ f() }}`\n\n```js\n{{ f() }}\n```\n"),
        (
            Engine::Vue,
            "docs/a.md",
            "<script setup>\nimport A from './there.vue'\nimport b from './b.svg?raw'\n</script>\n",
        ),
        (Engine::Vue, "docs/a.md", "---\nhead:\n  - [meta, {name: a, content: b}]\n---\n"),
        (Engine::Vue, "docs/a.md", "<Badge :x=\"1\" type=\"tip\" />\n\n<<< @/there.js\n"),
        (Engine::MkDocs, "docs/a.md", "--8<-- \"docs/there.md\"\n"),
        (Engine::MkDocs, "docs/a.md", "``` { .python .annotate title=\"x\" }\nx\n```\n\n{{ version }}\n"),
        (Engine::Book, "docs/a.md", "{{#include there.rs:5:}}\n{{#title X}}\n"),
        (Engine::Sphinx, "docs/a.md", "```{note}\nx\n```\n\n```python\nx\n```\n"),
        (Engine::Sphinx, "docs/a.rst", ".. note::\n\n   x\n\n.. _label:\n\n.. py:function:: x\n"),
        (Engine::Hugo, "docs/a.md", "{{< figure src=\"x.png\" >}} {{< ref \"/a\" >}}\n"),
        (Engine::Jekyll, "docs/a.md", "{% include note.html %} {{ site.title }}\n"),
    ] {
        assert_eq!(found(path, engine, text), [""; 0], "{text}");
    }
}

#[test]
fn hostile_pages_take_no_longer() {
    for text in ["<a ".repeat(20_000), "{".repeat(20_000), "<iframe src=\"".repeat(10_000), "{{ ".repeat(20_000)] {
        found("docs/a.md", Engine::Vue, &text);
        found("docs/a.mdx", Engine::Mdx, &text);
    }
}

fn plain(engine: Engine, text: &str) -> Vec<String> {
    let way = Way { engine, nests_fences: false, reads_inside: false, ..Way::new(engine) };
    let subject = Subject { path: "docs/a.md", text, way, root: "", exists: &|_| false, is_docs: &|_| true };
    items(&subject).iter().map(|item| item.what.clone()).collect()
}

#[test]
fn only_what_the_reader_of_the_site_takes_for_code_is_code() {
    let script = "<script>x</script>";
    let image = "<img src=x onerror=x>";
    for text in [
        format!("```html\n{script}\n"),
        format!("~~~\n\n{script}\n"),
        format!("```foo bar baz\n\n{script}\n\n```\n"),
        format!("``` html \"x\"\n{script}\n```\n"),
        format!("  ```\n\n{script}\n\n  ```\n"),
        format!("````\n```\n\n{script}\n\n```\n"),
        format!("```\nx\n\t```\n\n{script}\n"),
        format!("<div>\n\n`{image}`\n\n</div>\n"),
        format!("<div markdown=\"0\">\n\n`{image}`\n\n</div>\n"),
        "`a\n<svg onload=x>\nb`\n".to_owned(),
    ] {
        assert!(!found("docs/a.md", Engine::MkDocs, &text).is_empty(), "{text}");
    }
    for text in [format!("- a\n\n    ```\n\n    {script}\n\n    ```\n"), format!("> ```\n>\n> {script}\n>\n> ```\n")] {
        assert!(!plain(Engine::MkDocs, &text).is_empty(), "{text}");
        assert_eq!(found("docs/a.md", Engine::MkDocs, &text), [""; 0], "{text}");
    }
    for text in [
        format!("``` {{ .html title=\"x\" }}\n{script}\n```\n"),
        format!("!!! note\n    ```html hl_lines=\"1\"\n    {script}\n    ```\n"),
        format!("<div markdown>\n\n`{image}`\n\n</div>\n"),
    ] {
        assert_eq!(found("docs/a.md", Engine::MkDocs, &text), [""; 0], "{text}");
    }
    let note = format!("```{{note}}\n{script}\n```\n");
    assert!(!found("docs/a.md", Engine::Sphinx, &note).is_empty());
    let shown = "````md\n```{exec}\nx\n```\n````\n";
    assert_eq!(found("docs/a.md", Engine::Sphinx, shown), [""; 0]);
    for text in [
        "```js-vue\n{{ f() }}\n```\n",
        "    {{ f() }}\n",
        "``{{ f() }}``{.x}\n",
        "```js [{{ f() }}]\nx\n```\n",
        "```<svg/onload=x>\nx\n```\n",
    ] {
        assert!(!found("docs/a.md", Engine::Vue, text).is_empty(), "{text}");
    }
}

#[test]
fn attributes_in_braces_are_attributes() {
    for text in [
        "# G {: onclick=\"x\" }\n",
        "[x](y){ .a onclick='x' }\n",
        "| a |\n|---|\n| b { onclick=x } |\n",
        "[x](y){: href=\"javascript:x\" }\n",
        "``` { .html onclick=\"x\" }\nx\n```\n",
    ] {
        for engine in [Engine::MkDocs, Engine::Jekyll, Engine::Vue, Engine::Hugo] {
            assert!(!found("docs/a.md", engine, text).is_empty(), "{text}");
        }
    }
    for text in ["## x {v-html=\"f()\"}\n", "## x {:title=\"f()\"}\n", "- x {@click=\"f()\"}\n"] {
        assert!(!found("docs/a.md", Engine::Vue, text).is_empty(), "{text}");
    }
    for text in ["# G {#id .a data-x=\"1\"}\n", "![x](y){ width=300 loading=lazy }\n", "[x](y){ .only only=\"x\" }\n"] {
        assert_eq!(found("docs/a.md", Engine::MkDocs, text), [""; 0], "{text}");
        assert_eq!(found("docs/a.md", Engine::Vue, text), [""; 0], "{text}");
    }
}

#[test]
fn vue_acts_upon_more_than_expressions() {
    for text in [
        "<component :is=\"'script'\">x</component>\n",
        "<component is=\"script\">x</component>\n",
        "<div is=\"vue:script\">x</div>\n",
        "<div :onclick=\"'x'\">x</div>\n",
        "<div v-bind=\"{onclick: 'x'}\">x</div>\n",
        "<div :[`on`]=\"'x'\">x</div>\n",
        "<div .innerHTML=\"'x'\">x</div>\n",
        "<a :href=\"'java' + 'script:x'\">x</a>\n",
        "<iframe :src=\"'https://evil.example'\"></iframe>\n",
        "<style>p { color: v-bind('f()') }</style>\n",
        "<style lang=\"less\">@plugin 'x';</style>\n",
        "<style src=\"../x.css\"></style>\n",
        "<!--@include: ./there.md--> <!--@include: ../../secret.md-->\n",
        "<!--@include:\n../../secret.md-->\n",
        "<!--@include: ./there.md{/../../secret.md-->\n",
        "> <<< ../../secret.txt\n",
        "1. <<< ../../secret.txt\n",
        "<script setup>import x from 'vitepress/dist/node/cli.js'</script>\n",
    ] {
        assert!(!found("docs/a.md", Engine::Vue, text).is_empty(), "{text}");
    }
    for text in [
        "<Badge :text=\"'a' + 1\" />\n",
        "<style scoped>\np { color: red }\n</style>\n",
        "<<< @/there.js#part{1,2} [x]\n",
    ] {
        assert_eq!(found("docs/a.md", Engine::Vue, text), [""; 0], "{text}");
    }
}

#[test]
fn front_matter_ends_where_the_first_reader_ends_it() {
    for (engine, text) in [
        (Engine::MkDocs, "---\ntitle: [x\n# <script>x</script>\n---\n"),
        (Engine::MkDocs, "---\n- a\n# <script>x</script>\n---\n"),
        (Engine::MkDocs, "---\ntitle: x\n...\n<script>x</script>\n---\n"),
        (Engine::MkDocs, "+++\ntitle = 'x'\n# <script>x</script>\n+++\n"),
        (Engine::MkDocs, "---\ndescription: 'x\" onmouseover=\"y'\n---\n"),
        (Engine::Vue, "---\ntitle: x\n---x: |\n  {{ f() }}\n---\n"),
        (Engine::Vue, "---\nhead:\n  - [script, {}, x]\n"),
        (Engine::Vue, "---\nhead:\n  - [script, {}, x]\n---x\n"),
        (Engine::Vue, "---\nhead: [[link, {rel: a stylesheet, href: x}]]\n---\n"),
        (Engine::Vue, "---\nhead: [[meta, {HTTP-EQUIV: refresh, content: x}]]\n---\n"),
        (Engine::Vue, "---\nhead: [[iframe, {src: x}]]\n---\n"),
        (Engine::Mdx, "+++\ntitle = 'x'\n# {f()}\n+++\n"),
        (Engine::Mdx, "---\nmdx: {format: md}\n---\n\n{'<script>x</script>'}\n"),
    ] {
        assert!(!found("docs/a.md", engine, text).is_empty(), "{text}");
    }
    for text in [
        "---\nhead:\n  - [link, {rel: canonical, href: https://x.example}]\n  - tag: meta\n    attrs: {name: a}\n---\n",
        "---\ntitle: \"It's = 'x'\"\n---\n",
    ] {
        assert_eq!(found("docs/a.md", Engine::Vue, text), [""; 0], "{text}");
    }
    assert_eq!(found("docs/a.md", Engine::Hugo, "+++\ntitle = 'x'\n+++\n\nText\n"), [""; 0]);
}

#[test]
fn mdx_is_read_as_the_generator_reads_it() {
    for text in [
        "```mdx-code-block\n{f()}\n```\n",
        "- a\n\n  ````mdx-code-block\n  {f()}\n  ````\n",
        "<a href={'java' + 'script:x'}>x</a>\n",
        "<a href={`java${'script'}:x`}>x</a>\n",
        "<a href={'\\x6aavascript:x'}>x</a>\n",
        "<a href={frontMatter.a + frontMatter.b}>x</a>\n",
        "<a href={frontMatter.a.slice(1)}>x</a>\n",
        "<a href={'xjavascript:x'.slice(1)}>x</a>\n",
        "{<a href='javascript:x'>x</a>}\n",
        "<svg><a xlinkHref=\"javascript:x\">x</a></svg>\n",
        "<x-y oncut=\"x\">x</x-y>\n",
        "<b onwheel={\"x\"} is=\"a\">x</b>\n",
        "<frontMatter.x>x</frontMatter.x>\n",
        "<iframe src={frontMatter.x} />\n",
        "<iframe src={'https://www.youtube.com' + '.evil.example'} />\n",
        "<iframe src=\"/\\evil.example\" />\n",
        "<style>{`@import 'https://evil.example'`}</style>\n",
        "<Fragment set:html=\"<img src=x onerror=x>\" />\n",
        "<Fragment set:html={'<img src=x o' + 'nerror=x>'} />\n",
        "<Fragment set:html={frontmatter.x} />\n",
        "{<Fragment set:html='<img src=x onerror=x>' />}\n",
        "import S from '../secret.md'\n",
        "import x from '../there.js#a.png'\n",
        "import x from '@docusaurus/core/bin/x.mjs'\n",
        "<img src={require('../x.js?.png')} />\n",
        "<a b=\"\n</c>\n",
    ] {
        assert!(!found("docs/a.md", Engine::Mdx, text).is_empty(), "{text}");
    }
    for text in [
        "<div>{\"[{ type: 'A',\"}<br />{' id: 1 }]'}</div>\n",
        "<iframe src={\"https://www.youtube.com/embed/x\"} />\n",
        "<iframe src={`https://www.youtube.com/embed/${props.id}`} />\n",
        "<a href={`/docs/${frontMatter.slug}`}>{frontMatter.title + ' x'}</a>\n",
        "<Fragment set:html={\"<pre>x</pre>\"} />\n",
        "<Steps items={[{title: 'A', text: <div>x <Link href=\"/a\">y</Link></div>}]} />\n",
        "import Link from '@docusaurus/Link'\nimport Icon from '@theme/Admonition/Icon/Danger'\n",
    ] {
        assert_eq!(found("docs/a.md", Engine::Mdx, text), [""; 0], "{text}");
    }
}

#[test]
fn files_are_taken_in_by_every_spelling() {
    for text in ["-8<-\nsecret.yml\n-8<-\n", "> ```python exec=\"on\"\n> x\n> ```\n"] {
        assert!(!found("docs/a.md", Engine::MkDocs, text).is_empty(), "{text}");
    }
    assert_eq!(found("docs/a.md", Engine::MkDocs, ";--8<-- \"/etc/passwd\"\n"), [""; 0]);
    assert_eq!(found("docs/a.md", Engine::Hugo, "{{< x.inline >}}{{ f }}{{< /x.inline >}}\n").len(), 1);
}
