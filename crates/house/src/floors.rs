use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::Table;

/// The highest floor whose tests must compile nothing from above. Further up tests need the harness, which is the whole.
const LOW: u32 = 3;

/// A crate by the name of its folder.
struct Package {
    name: String,
    /// None for what only tests use.
    floor: Option<u32>,
    uses: BTreeSet<String>,
    tests_use: BTreeSet<String>,
}

/// Where crates import from their own floor or one above it. The floors are those of the first table of ARCHITECTURE.md.
pub fn broken_floors(repository: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(repository.join("ARCHITECTURE.md")).unwrap();
    let table = floors(&text);
    let mut broken = Vec::new();
    let mut packages = BTreeMap::new();
    for folder in std::fs::read_dir(repository.join("crates")).unwrap() {
        let package = read(&folder.unwrap().path(), &table);
        match package {
            Ok(package) => drop(packages.insert(package.name.clone(), package)),
            Err(missing) => broken.push(missing),
        }
    }
    if broken.is_empty() {
        packages.values().for_each(|package| judge(package, &packages, &mut broken));
    }
    broken
}

/// The rows `| 2 | crates/store | … |`, and `| – | crates/testkit | … |` for crates of the tests.
fn floors(text: &str) -> BTreeMap<String, Option<u32>> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let crates = rows.filter_map(|(floor, rest)| {
        let (_, name) = rest.split_once("`crates/")?;
        Some((name.split_once('`')?.0.to_owned(), floor.parse().ok()))
    });
    crates.collect()
}

fn read(folder: &Path, table: &BTreeMap<String, Option<u32>>) -> Result<Package, String> {
    let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let Some(floor) = table.get(&name) else {
        return Err(format!("crates/{name} has no floor in ARCHITECTURE.md"));
    };
    let manifest: Table = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
    let uses = |section: &str| -> BTreeSet<String> {
        let names = manifest.get(section).and_then(|it| it.as_table()).into_iter().flat_map(Table::keys);
        names.filter_map(|name| name.strip_prefix("copydesk-")).map(str::to_owned).collect()
    };
    Ok(Package { name, floor: *floor, uses: uses("dependencies"), tests_use: uses("dev-dependencies") })
}

fn judge(package: &Package, all: &BTreeMap<String, Package>, broken: &mut Vec<String>) {
    let Some(floor) = package.floor else { return };
    for other in &package.uses {
        if all[other].floor.is_none_or(|below| below >= floor) {
            broken.push(format!("{} is not on a floor below {}", other, package.name));
        }
    }
    if floor <= LOW {
        for other in compiled_for_tests(package, all) {
            if all[&other].floor.is_some_and(|it| it > floor) {
                broken.push(format!("the tests of {} compile {other}, which is on a floor above", package.name));
            }
        }
    }
}

fn compiled_for_tests(package: &Package, all: &BTreeMap<String, Package>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<_> = package.uses.iter().chain(&package.tests_use).collect();
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            open.extend(&all[name].uses);
        }
    }
    found
}
