use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::arrows::{Arrow, arrows};
use crate::source::Crate;

/// How many places are shown for one arrow between two modules.
const SHOWN: usize = 4;

/// The arrows between the parts of one module, and for each the places where it is written.
type Level = BTreeMap<(usize, usize), BTreeSet<String>>;

/// The circles among the modules of a package: those of its library and those of each of its programs. Each is told in
/// words, with the file and line of its arrows.
pub fn circles(package: &Path) -> Vec<String> {
    roots(package).iter().flat_map(|root| circles_of(&Crate::read(root))).collect()
}

fn roots(package: &Path) -> Vec<PathBuf> {
    let programs = std::fs::read_dir(package.join("src/bin")).into_iter().flatten();
    let programs = programs.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some());
    let mut roots = vec![package.join("src/lib.rs"), package.join("src/main.rs")];
    roots.retain(|root| root.exists());
    roots.extend(programs);
    roots
}

fn circles_of(tree: &Crate) -> Vec<String> {
    let mut levels: BTreeMap<usize, Level> = BTreeMap::new();
    for arrow in arrows(tree) {
        if let Some((parent, from, to)) = siblings(tree, &arrow) {
            let place = format!("{}:{}  {}", tree.modules[arrow.from].file.display(), arrow.line, arrow.path);
            levels.entry(parent).or_default().entry((from, to)).or_default().insert(place);
        }
    }
    let mut told = Vec::new();
    for (parent, level) in &levels {
        for tied in tied(level) {
            told.push(in_words(tree, *parent, level, &tied));
        }
    }
    told
}

/// The two parts of one module that an arrow connects. None for an arrow between a module and its own parts.
fn siblings(tree: &Crate, arrow: &Arrow) -> Option<(usize, usize, usize)> {
    let (from, to) = (tree.line(arrow.from), tree.line(arrow.to));
    let at = from.iter().zip(&to).position(|(from, to)| from != to)?;
    Some((from[at - 1], from[at], to[at]))
}

/// The sets of parts each of which can be reached from each other one.
fn tied(level: &Level) -> BTreeSet<Vec<usize>> {
    let parts: BTreeSet<usize> = level.keys().flat_map(|(from, to)| [*from, *to]).collect();
    let reached: BTreeMap<usize, BTreeSet<usize>> = parts.iter().map(|part| (*part, reach(level, *part))).collect();
    let knot = |part: &usize| -> Vec<usize> {
        reached[part].iter().copied().filter(|other| reached[other].contains(part)).collect()
    };
    parts.iter().map(knot).filter(|knot| !knot.is_empty()).collect()
}

/// The parts that arrows lead to from this one.
fn reach(level: &Level, part: usize) -> BTreeSet<usize> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![part]);
    while let Some(at) = open.pop() {
        for (_, to) in level.keys().filter(|(from, _)| *from == at) {
            if reached.insert(*to) {
                open.push(*to);
            }
        }
    }
    reached
}

fn in_words(tree: &Crate, parent: usize, level: &Level, tied: &[usize]) -> String {
    let name = |module: usize| tree.modules[module].name.as_str();
    let path: Vec<_> = tree.line(parent).into_iter().map(name).collect();
    let parts: Vec<_> = tied.iter().map(|part| name(*part)).collect();
    let file = tree.modules[parent].file.display();
    let mut words = format!("{file}: in `{}` these form a circle: {}\n", path.join("::"), parts.join(", "));
    for ((from, to), places) in level.iter().filter(|((from, to), _)| tied.contains(from) && tied.contains(to)) {
        writeln!(words, "  {} -> {}", name(*from), name(*to)).unwrap();
        for place in places.iter().take(SHOWN) {
            writeln!(words, "    {place}").unwrap();
        }
        if places.len() > SHOWN {
            writeln!(words, "    and {} more", places.len() - SHOWN).unwrap();
        }
    }
    words
}
