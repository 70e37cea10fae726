//! Which pages a part of pages is shown in.

use std::collections::{HashMap, HashSet};
use std::io;

use crate::context::Context;
use crate::page;
use crate::resolve::{Verdict, snippet};
use crate::site::Site;

/// More pages than these are not asked about one part.
const MOST_PAGES: usize = 20;

/// The pages of a site that take in a part, themselves or by other parts.
pub(crate) fn pages_with(context: &Context<'_>, site: &Site, part: &str) -> io::Result<Vec<String>> {
    let takers = context.takers(site, || gather(context, site))?;
    let mut pages = Vec::new();
    let mut seen = HashSet::from([part]);
    let mut round = vec![part];
    while let Some(file) = round.pop() {
        for taker in takers.get(file).into_iter().flatten() {
            if pages.len() >= MOST_PAGES || !seen.insert(taker) {
                continue;
            }
            if site.generator.is_page(taker) {
                pages.push(taker.clone());
            } else {
                round.push(taker);
            }
        }
    }
    Ok(pages)
}

/// Who takes in each part, from the pages of a site on.
fn gather(context: &Context<'_>, site: &Site) -> io::Result<HashMap<String, Vec<String>>> {
    let mut takers: HashMap<String, Vec<String>> = HashMap::new();
    let mut round = Vec::new();
    for folder in site.generator.folders() {
        let all = context.look.list(folder)?;
        round.extend(all.iter().filter(|path| page::is_page(path) && site.generator.is_page(path)).cloned());
    }
    let mut seen: HashSet<String> = round.iter().cloned().collect();
    while let Some(path) = round.pop() {
        context.look.files.go_on()?;
        let Some(facts) = context.facts(&path)? else { continue };
        for link in facts.snippets() {
            let Verdict::There(files) = snippet(context, &path, link)? else { continue };
            for file in files.into_iter().filter(|file| page::is_page(file)) {
                if seen.insert(file.clone()) {
                    round.push(file.clone());
                }
                takers.entry(file).or_default().push(path.clone());
            }
        }
    }
    Ok(takers)
}
