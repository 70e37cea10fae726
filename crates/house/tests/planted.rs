//! The checks on small sources in which something was planted.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop at once")]

use copydesk_house::{broken_floors, circles};
use tempfile::TempDir;

fn plant(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// The first lines of the circles found in a crate with these files in `src`, without the folder's name.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<_> = files.iter().map(|(path, text)| (format!("src/{path}"), *text)).collect();
    let folder = plant(&files.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>());
    let circles = circles(folder.path());
    circles.iter().map(|it| it.lines().next().unwrap().split_once(": ").unwrap().1.to_owned()).collect()
}

const TIED: &str = "in `crate` these form a circle: a, b";

#[test]
fn a_circle_is_told_with_files_and_lines() {
    let folder = plant(&[
        ("src/lib.rs", "mod a; mod b;"),
        ("src/a.rs", "\nuse crate::b::B;\npub struct A(B);"),
        ("src/b/mod.rs", "mod inner; pub struct B;"),
        ("src/b/inner.rs", "\n\nfn f(_: super::super::a::A) {}"),
    ]);
    let circles = circles(folder.path());
    let [circle] = circles.as_slice() else { panic!("{circles:?}") };
    let here = format!("{}/", folder.path().display());
    let circle = circle.replace(&here, "");
    let expected = [
        "src/lib.rs: in `crate` these form a circle: a, b",
        "  a -> b",
        "    src/a.rs:2  crate::b::B",
        "  b -> a",
        "    src/b/inner.rs:3  super::super::a::A",
    ];
    assert_eq!(circle.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_re_export_hides_no_circle() {
    let lib = "mod a; mod b; pub use a::A; pub(crate) use b::helper as help;";
    assert_eq!(
        found(&[("lib.rs", lib), ("a.rs", "use crate::help; pub struct A;"), ("b.rs", "use crate::A;")]),
        [TIED]
    );
    // Through two of them, and in a program.
    let main = "mod a; mod b; mod c; use c::A;";
    let files = [
        ("main.rs", main),
        ("a.rs", "pub struct A; use super::b;"),
        ("b.rs", "use super::A;"),
        ("c.rs", "pub use crate::a::A;"),
    ];
    assert_eq!(found(&files), ["in `crate` these form a circle: a, b, c"]);
}

#[test]
fn a_path_without_use_counts() {
    let lib = "mod a; mod b;";
    for used in [
        "fn f() { crate::a::g() }",
        "fn f(_: &dyn super::a::G) {}",
        "fn f() { println!(\"{}\", crate::a::g()) }",
        "fn f() { use crate::a; a::g() }",
        "struct S { #[serde(with = \"super::a\")] s: u8 }",
        "macro_rules! m { () => { $crate::a::g() } }",
        "impl From<crate::a::G> for u8 {}",
    ] {
        let files = [("lib.rs", lib), ("a.rs", "use crate::b;"), ("b.rs", used)];
        assert_eq!(found(&files), [TIED], "{used}");
    }
}

#[test]
fn what_a_glob_brings_in_is_followed() {
    let lib = "mod a; mod b; pub use a::A;";
    assert_eq!(
        found(&[("lib.rs", lib), ("a.rs", "use crate::b; pub struct A;"), ("b.rs", "use super::*; fn f(_: A) {}")]),
        [TIED]
    );
    assert_eq!(
        found(&[("lib.rs", lib), ("a.rs", "use crate::b; pub struct A;"), ("b.rs", "use super::*; fn f() {}")]),
        [""; 0]
    );
    assert_eq!(
        found(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::*;"), ("b.rs", "use super::a::{self as other};")]),
        [TIED]
    );
    let through = "mod a; mod b; pub use b::*;";
    assert_eq!(
        found(&[("lib.rs", through), ("a.rs", "use crate::B;"), ("b.rs", "pub struct B(crate::a::A);")]),
        [TIED]
    );
}

#[test]
fn a_module_and_its_parts_are_one_thing() {
    let a = "mod x; mod y; pub struct A(x::X); fn f() { y::g() }";
    let files = [
        ("lib.rs", "mod a; pub use a::A; pub struct L;"),
        ("a/mod.rs", a),
        ("a/x.rs", "use super::A; use crate::L; pub struct X;"),
        ("a/y.rs", "use super::{A, x::X};"),
    ];
    assert_eq!(found(&files), [""; 0]);
}

#[test]
fn a_circle_inside_a_module_is_found() {
    let a = "mod x { use super::y::Y; pub struct X; } mod y { pub struct Y(super::X); } pub use x::X;";
    assert_eq!(found(&[("lib.rs", "mod a;"), ("a.rs", a)]), ["in `crate::a` these form a circle: x, y"]);
}

#[test]
fn a_circle_of_three_is_one_circle() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "use crate::c::C;"),
        ("c.rs", "use crate::a::A; use crate::d::D;"),
        ("d.rs", ""),
    ];
    assert_eq!(found(&files), ["in `crate` these form a circle: a, b, c"]);
}

#[test]
fn tests_are_left_out() {
    let b = "#[cfg(test)] use crate::a::A; #[cfg(test)] mod checks { use crate::a::A; } mod tests { use crate::a::A; }
        struct B; impl B { #[cfg(all(test, unix))] fn f(_: crate::a::A) {} }";
    assert_eq!(found(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", b)]), [""; 0]);
    let b = "#[cfg(not(test))] use crate::a::A;";
    assert_eq!(found(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", b)]), [TIED]);
}

#[test]
fn names_from_outside_are_no_arrows() {
    let b = "use ::a::A; use std::a::B; use other::other; fn g() { other::other() } fn f(a: u8) { other.a.g(::a::A, std::a::B); println!(\"{}\", x.a); }";
    assert_eq!(found(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b;"), ("b.rs", b)]), [""; 0]);
}

fn floors(manifests: &[(&str, &str)]) -> Vec<String> {
    let table =
        "| 3 | `crates/top` | x |\n| 2 | `crates/left` | x |\n| 2 | `crates/right` | x |\n| – | `crates/kit` | x |\n";
    let mut files = vec![("ARCHITECTURE.md".to_owned(), table)];
    files.extend(manifests.iter().map(|(name, text)| (format!("crates/{name}/Cargo.toml"), *text)));
    broken_floors(plant(&files.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>()).path())
}

#[test]
fn floors_are_kept() {
    let (left, right) = (("left", "[dependencies]\nserde = '1'"), ("right", "[dev-dependencies]\ncopydesk-kit = '1'"));
    let top = ("top", "[dependencies]\ncopydesk-left = '1'\n[dev-dependencies]\ncopydesk-kit = '1'");
    let kit = ("kit", "[dependencies]\ncopydesk-left = '1'");
    assert_eq!(floors(&[left, right, top, kit]), [""; 0]);
    let sideways = ("left", "[dependencies]\ncopydesk-right = '1'");
    assert_eq!(floors(&[sideways, right, top, kit]), ["right is not on a floor below left"]);
    let tested = ("left", "[dependencies]\ncopydesk-kit = '1'");
    assert_eq!(floors(&[tested, right, ("kit", "")]), ["kit is not on a floor below left"]);
    let whole = ("kit", "[dependencies]\ncopydesk-top = '1'");
    assert_eq!(floors(&[left, right, top, whole]), ["the tests of right compile top, which is on a floor above"]);
    assert_eq!(floors(&[("attic", "")]), ["crates/attic has no floor in ARCHITECTURE.md"]);
}
