//! What is constant in a script is read, and what is not is known to be not.

use std::collections::HashMap;

use copydesk_values::{Modules, Value, What, script};

struct Tree(HashMap<&'static str, &'static str>);

impl Modules for Tree {
    fn read(&self, path: &str) -> Option<String> {
        self.0.get(path).map(|text| (*text).to_owned())
    }
}

fn read(files: &[(&'static str, &'static str)]) -> Value {
    script(&Tree(files.iter().copied().collect()), files[0].0).expect("the script is read")
}

fn text(value: &Value, path: &[&str]) -> Option<String> {
    value.at(path).and_then(Value::text).map(str::to_owned)
}

#[test]
fn a_configuration_is_read_through_what_wraps_it() {
    for source in [
        "export default { a: { b: 'x' } }",
        "module.exports = { a: { b: 'x' } };",
        "import { defineConfig } from 'vitepress'\nexport default defineConfig({ a: { b: 'x' } })",
        "const config: Config = { a: { b: `x` } }\nexport default config satisfies Config",
        "const b = 'x'; const a = { b }; export default { a } as const",
        "/** @type {import('x').Config} */\nconst config = { 'a': { [\"b\"]: 'x' } };\nmodule.exports = config;",
        "export default async function create() { const a = { b: 'x' }; return { a }; }",
        "const make = (b) => ({ a: { b } });\nexport default make('x');",
        "export default defineConfig(async ({ mode }) => { return { a: { b: 'x' } } })",
        "const base = { a: { b: 'y' } }; export default { ...base, a: { ...base.a, b: 'x' } }",
        "const name = 'x'; export default { a: { b: true ? name : 'y' } }",
        "const { b } = { b: 'x' }; export default { a: { b } }",
        "export default { a: Object.assign({}, { b: 'y' }, { b: 'x' }) }",
        "exports.a = { b: 'x' }",
    ] {
        let whole = read(&[("config.ts", source)]);
        let value = if source.starts_with("exports") {
            read(&[("main.ts", "export default require('./config')"), ("config.ts", "exports.a = { b: 'x' }")])
        } else {
            whole
        };
        assert_eq!(text(&value, &["a", "b"]).as_deref(), Some("x"), "{source}");
        assert_eq!(value.why_open(), None, "{source}");
    }
}

#[test]
fn other_files_are_taken_in() {
    let value = read(&[
        (
            "docs/.vitepress/config.ts",
            "import { en } from './locales/en'\nimport * as all from '../shared.js'\nimport nav from './nav.json'\n\
             import { items } from './items'\nexport default { en, one: all.one, nav, items: items('guide'), \
             re: require('./cjs') }",
        ),
        ("docs/.vitepress/locales/en/index.ts", "export { default as en } from './main.mts'"),
        ("docs/.vitepress/locales/en/main.mts", "export default { title: 'T' }"),
        ("docs/shared.ts", "export const one = 1"),
        ("docs/.vitepress/nav.json", "[{\"link\": \"/a\"}]"),
        ("docs/.vitepress/items.js", "export function items(base) { return [{ link: `/${base}/x` }] }"),
        ("docs/.vitepress/cjs.js", "module.exports = ['y']"),
    ]);
    assert_eq!(text(&value, &["en", "title"]).as_deref(), Some("T"));
    assert_eq!(value.get("en").unwrap().file.as_deref(), Some("docs/.vitepress/locales/en/main.mts"));
    assert_eq!(value.get("one").unwrap().written(), Some("1"));
    assert_eq!(text(&value.get("nav").unwrap().items()[0], &["link"]).as_deref(), Some("/a"));
    assert_eq!(text(&value.get("items").unwrap().items()[0], &["link"]).as_deref(), Some("/guide/x"));
    assert_eq!(value.get("re").unwrap().items()[0].text(), Some("y"));
}

#[test]
fn what_is_not_constant_hides_nothing_else() {
    let value = read(&[(
        "config.js",
        "import plugin from 'plugin'\nimport { theme } from './gone'\nconst items = []\nfor (const x of list()) items.push(x)\n\
         export default {\n  base: process.env.BASE || '/docs/',\n  title: 'T',\n  theme,\n  items,\n  list: [1, ...more(), 2],\n\
         ...plugin(),\n  [name()]: 1,\n  late: 'x',\n}",
    )]);
    assert_eq!(text(&value, &["title"]).as_deref(), Some("T"));
    assert_eq!(text(&value, &["late"]).as_deref(), Some("x"));
    let What::Unknown(base) = &value.get("base").unwrap().what else { panic!("{value:?}") };
    assert_eq!(base.perhaps[0].text(), Some("/docs/"));
    assert!(base.why.contains("process.env.BASE"), "{}", base.why);
    assert!(value.get("theme").unwrap().why_open().unwrap().contains("./gone"));
    assert!(value.get("items").unwrap().why_open().unwrap().contains("`items` may be changed"));
    let list = value.get("list").unwrap();
    assert_eq!((list.items().len(), list.why_open().is_some()), (2, true));
    assert!(value.why_open().unwrap().contains("plugin()"), "{:?}", value.why_open());
}

#[test]
fn wrappers_that_nobody_knows_may_change_what_they_wrap() {
    let value = read(&[("config.mjs", "import withX from 'x'\nexport default withX({ base: '/a/' }, {})")]);
    assert_eq!(text(&value, &["base"]).as_deref(), Some("/a/"));
    assert_eq!(value.why_open(), Some("`withX()` may change it"));
    assert_eq!(value.through.as_deref(), Some("x"));
}

#[test]
fn what_a_function_returns_is_what_it_may_be() {
    let value = read(&[(
        "next.config.js",
        "export default { redirects: async () => [{ source: '/a' }], b() { return ['x'] } }",
    )]);
    for (name, expected) in [("redirects", None), ("b", Some("x"))] {
        let What::Unknown(unknown) = &value.get(name).unwrap().what else { panic!("{value:?}") };
        assert_eq!(unknown.perhaps[0].items()[0].text(), expected);
    }
}

#[test]
fn circles_and_endless_work_end() {
    let value = read(&[
        ("a.js", "import b from './b'\nconst me = me\nconst f = () => f()\nexport default { b, me, f: f(), x: 'x' }"),
        ("b.js", "import a from './a'\nexport default { a }"),
    ]);
    assert_eq!(text(&value, &["x"]).as_deref(), Some("x"));
    for source in [
        "(".repeat(100_000),
        "[".repeat(100_000),
        "!".repeat(500_000),
        "a=".repeat(200_000),
        "a=>".repeat(150_000),
        "a?b:".repeat(120_000),
        "a**".repeat(150_000),
        "a:".repeat(200_000),
        "if(a)".repeat(90_000),
        "new ".repeat(100_000),
        "export default `${".repeat(20_000),
        "let x: ".to_owned() + &"A<".repeat(200_000),
        "x".repeat(600_000),
    ] {
        struct One(String);
        impl Modules for One {
            fn read(&self, path: &str) -> Option<String> {
                (path == "a.ts").then(|| self.0.clone())
            }
        }
        let _ = script(&One(source), "a.ts");
    }
}

#[test]
fn a_script_that_cannot_be_read_says_why() {
    let tree = Tree(HashMap::from([("a.js", "export default {")]));
    assert!(!script(&tree, "a.js").unwrap_err().message.is_empty());
    assert_eq!(script(&tree, "b.js").unwrap_err().message, "the file cannot be read");
}
