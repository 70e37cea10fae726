use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// What a repository holds, by path.
pub type Files = BTreeMap<String, Entry>;

/// Something in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file with these bytes.
    File(Vec<u8>),
    /// A symbolic link that leads there.
    Symlink(String),
    /// Another repository at this commit.
    Submodule(String),
}

/// Taken out of everything that is read: it keeps scanners from finding what is only meant to look like a secret.
pub(super) const SEAM: &str = "{{+}}";

/// The files below a folder; none if there is no such folder. Anything that is no file is an error.
pub(super) fn read_folder(folder: &Path) -> Result<Option<Files>, String> {
    if !folder.exists() {
        return Ok(None);
    }
    let mut files = Files::new();
    walk(folder, "", &mut files).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(Some(files))
}

fn walk(folder: &Path, prefix: &str, files: &mut Files) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|name| io::Error::other(format!("{name:?} is no text")))?;
        let (path, kind) = (format!("{prefix}{name}"), entry.file_type()?);
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            files.insert(path, Entry::File(without_seams(fs::read(entry.path())?)));
        } else {
            return Err(io::Error::other(format!("{path} is no file; say so in scenario.toml")));
        }
    }
    Ok(())
}

fn without_seams(bytes: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => text.replace(SEAM, "").into_bytes(),
        Err(binary) => binary.into_bytes(),
    }
}

/// Writes files and symbolic links below a folder. Submodules are left out: they are only in git's index.
pub fn check_out(files: &Files, folder: &Path) -> io::Result<()> {
    for (path, entry) in files {
        let path = folder.join(path);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        match entry {
            Entry::File(bytes) => fs::write(path, bytes)?,
            Entry::Symlink(target) => std::os::unix::fs::symlink(target, path)?,
            Entry::Submodule(_) => {}
        }
    }
    Ok(())
}
