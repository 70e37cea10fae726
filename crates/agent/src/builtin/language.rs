//! Whether a page, and a paragraph of it, is written in English. The dictionary of typos takes many a word of other
//! languages for a slip, so that what is not surely English is left alone.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use copydesk_checks::page::Page;

use super::words::line_around;

/// The most frequent words of English that mean nothing in the languages below.
static ENGLISH: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "the of and to is for you your with this that are it be can from when if or not how which will by have has \
     we our its was were they their there then than these those what where who should would could may must only also \
     into about after before because while each other any some such more most all both use used using does has been \
     but as on at an my us let's don't doesn't isn't can't you're it's we've they're"
        .split_whitespace()
        .collect()
});

/// Words that are frequent in other languages that use Latin letters, and are neither English words nor names that
/// documentation is full of, such as `MIT`, `az` or `og`.
static OTHER: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    [
        // German, Dutch, Danish, Norwegian, Swedish.
        "und ist nicht für ein eine einen einer eines sie auf dem wird oder werden sind kann wenn auch \
         aus bei zu zur zum als wie nur noch durch über het een voor niet zijn wordt deze worden naar \
         och att det som är inte på med av til ikke eller fra ved jag",
        // French, Italian, Spanish, Portuguese, Catalan, Romanian.
        "une dans vous avec sur que qui et pas cette sont votre nous aux elle \
         una por para como sus más este esta está puede cuando también pero \
         che della sono gli nel alla più anche dei delle questo questa essere è dello dal \
         não uma um ao você são seu sua ser está isso pelo pela também mais \
         amb els és și în este pentru sau",
        // Polish, Czech, Slovak, Croatian, Hungarian, Finnish, Estonian.
        "jest nie się są dla jak lub przez oraz aby který jako při nebo že byl jsou ktoré za \
         kako ili hogy nem egy és vagy ei että ovat kun ning või",
        // Indonesian, Malay, Turkish, Vietnamese, Tagalog, Swahili.
        "yang untuk dengan dari itu pada adalah tidak dalam akan dapat atau oleh juga anda saya kita bisa \
         lebih telah secara bir bu için ile olarak daha gibi çok olan değil veya ama sonra kadar \
         và của là các cho không được một có trong những với này ang mga kwa",
    ]
    .iter()
    .flat_map(|words| words.split_whitespace())
    .collect()
});

/// What was counted in a text.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    words: usize,
    english: usize,
    other: usize,
    /// Words with letters that English does not have.
    strange: usize,
}

impl Counts {
    fn add(&mut self, text: &str) {
        for word in text.split(|c: char| !c.is_alphabetic() && c != '\'' && c != '’') {
            let word = word.trim_matches(['\'', '’']);
            if word.is_empty() {
                continue;
            }
            let lower = word.to_lowercase().replace('’', "'");
            self.words += 1;
            self.english += usize::from(ENGLISH.contains(lower.as_str()));
            self.other += usize::from(OTHER.contains(lower.as_str()));
            self.strange += usize::from(!word.is_ascii());
        }
    }
}

/// Whether the prose of a page is surely English. A page of a few words is, unless some are of another language.
pub(crate) fn is_english(page: &Page, text: &str) -> bool {
    let mut counts = Counts::default();
    page.prose.iter().filter_map(|range| text.get(range.clone())).for_each(|prose| counts.add(prose));
    let foreign = counts.other + counts.strange;
    if counts.words < 12 {
        return foreign == 0;
    }
    counts.english * 8 >= counts.words && foreign * 12 <= counts.words && counts.english > foreign * 2
}

/// Whether the paragraph around a word of an English page is English too: nothing in it speaks for another language.
pub(crate) fn is_in_english(text: &str, word: &Range<usize>) -> bool {
    let paragraph = paragraph(text, word);
    let mut counts = Counts::default();
    counts.add(paragraph);
    let foreign = counts.other + counts.strange;
    if counts.words >= 10 && counts.english == 0 {
        return false;
    }
    if foreign == 0 {
        return true;
    }
    // A name or two in a paragraph that is English beyond doubt.
    counts.english >= 4 && foreign * 10 <= counts.words && !is_near_foreign(text, word)
}

/// Whether one of the words next to it is of another language.
fn is_near_foreign(text: &str, word: &Range<usize>) -> bool {
    let line = line_around(text, word, 400);
    let before = text[line.start..word.start].rsplit(char::is_whitespace).take(4);
    let after = text[word.end..line.end].split(char::is_whitespace).take(4);
    before.chain(after).any(|near| {
        let mut counts = Counts::default();
        counts.add(near);
        counts.other + counts.strange > 0
    })
}

/// The lines around a place up to blank ones; of a table only the row, since columns may be in different languages.
pub(crate) fn paragraph<'t>(text: &'t str, at: &Range<usize>) -> &'t str {
    const LONGEST: usize = 4000;
    let Range { start: line_start, end: line_end } = line_around(text, at, LONGEST);
    let line = &text[line_start..line_end];
    if line.trim_start().starts_with('|') {
        return line;
    }
    let is_blank = |line: &str| line.trim().is_empty();
    let mut start = line_start;
    for line in text[..line_start].split_inclusive('\n').rev() {
        if is_blank(line) || at.start - start > LONGEST {
            break;
        }
        start -= line.len();
    }
    let mut end = line_end;
    for line in text[line_end..].split_inclusive('\n').skip(1) {
        if is_blank(line) || end - at.end > LONGEST {
            break;
        }
        end = line.as_ptr() as usize - text.as_ptr() as usize + line.len();
    }
    &text[start..end.max(line_end)]
}

/// Languages by the codes that folders and files of translations are named with. English is not among them.
const CODES: &str = "aa ab af ak am ar as az ba be bg bn bo br bs ca ce co cs cv cy da de dv dz ee el eo es et eu fa fi fil fj fo \
                     fr fy ga gd gl gn gu gv ha he hi hr ht hu hy ia id ig is it iu iw ja jv ka kk kl km kn ko ks ku ky la lb lg lo lt \
                     lv mg mi mk ml mn mr ms mt my nb ne nl nn no nv ny oc om or pa pl ps pt qu rm rn ro ru rw sa sc sd se sg sh \
                     si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo \
                     xh yi yo za zh zu cn jp kr br ua cz gr dk vn";

static LANGUAGES: LazyLock<HashSet<&str>> = LazyLock::new(|| CODES.split_whitespace().collect());

/// The code of another language than English that a path names: `docs/es/a.md`, `i18n/zh-CN/a.md`, `a.de.md`.
pub(crate) fn foreign_locale(path: &str) -> Option<&str> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let in_name = name.split('.').skip(1).collect::<Vec<_>>();
    let in_name = in_name.split_last().map_or(&[][..], |(_, middle)| middle);
    // `readme_de.md` and `README-zh.md` as well.
    let stem = name.split('.').next().unwrap_or_default();
    let suffix = ["readme_", "readme-", "index_", "index-"].iter().find_map(|start| {
        let is_it = stem.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start));
        is_it.then(|| &stem[start.len()..])
    });
    folders.split('/').chain(in_name.iter().copied()).chain(suffix).find(|part| is_foreign_code(part))
}

/// Whether a tag such as `de`, `pt-BR` or `zh_Hans` is that of another language than English.
pub(crate) fn is_foreign_code(tag: &str) -> bool {
    let mut parts = tag.split(['-', '_']);
    let language = parts.next().unwrap_or_default().to_ascii_lowercase();
    let rest: Vec<&str> = parts.collect();
    let region = |part: &&str| (2..=4).contains(&part.len()) && part.chars().all(|c| c.is_ascii_alphanumeric());
    LANGUAGES.contains(language.as_str()) && rest.len() <= 2 && rest.iter().all(region)
}

#[cfg(test)]
mod tests {
    use copydesk_checks::page::parse;

    use super::*;

    #[test]
    fn tells_english_from_others() {
        let english = |text: &str| is_english(&parse("a.md", text), text);
        assert!(english("Send the mail to the queue and wait for it."));
        assert!(english("Teh end"));
        assert!(english(
            "We use the library of the project when you ask for it, and this is what you get from it then."
        ));
        for text in [
            "Das ist nicht der Weg, als Nutzer mit dem Schlüssel zu arbeiten und das Passwort zu setzen.",
            "Les clés sont dans le fichier, pour vous et pour les autres qui sont avec vous dans le projet.",
            "Ini adalah halaman lokal yang dapat digunakan untuk aplikasi dengan data dari server.",
            "En este momento el archivo no está en la carpeta, por lo que puede que no se use como antes.",
            "Bu sayfa yerel bir uygulama için gereken ayarlar ile birlikte daha çok bilgi verir.",
            "这个页面是中文的 momento 页面 lokal 文档 以及 其他 内容 还有 更多 的 词语 在 这里",
        ] {
            assert!(!english(text), "{text}");
        }
    }

    #[test]
    fn a_paragraph_of_another_language_is_seen_on_an_english_page() {
        let text = "The page is in English.\n\nHet is niet de taal van deze pagina, momento.\n\nAnd a momento here.\n\n\
                    | lokal | Das ist nicht lokal |\n| the lokal | one |\n";
        let places: Vec<bool> = text
            .match_indices("momento")
            .chain(text.match_indices("lokal"))
            .map(|(at, word)| is_in_english(text, &(at..at + word.len())))
            .collect();
        assert_eq!(places, [false, true, false, false, true]);
    }

    #[test]
    fn paths_name_languages() {
        for path in [
            "docs/es/a.md",
            "i18n/tr/a.md",
            "docs/zh-CN/b/a.md",
            "docs.de.md",
            "a/pt_BR/x.mdx",
            "README-zh.md",
            "x.zh-Hans.md",
        ] {
            assert!(foreign_locale(path).is_some(), "{path}");
        }
        for path in [
            "docs/en/a.md",
            "docs/en-US/a.md",
            "docs/guide/a.md",
            "a.md",
            "docs.en.md",
            "docs/api/v2.1.md",
            "docs/de-facto-standards/a.md",
        ] {
            assert_eq!(foreign_locale(path), None, "{path}");
        }
    }
}
