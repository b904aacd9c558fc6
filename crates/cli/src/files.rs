//! Files are written whole or not at all.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

/// Writes a file through a temporary one beside it, so that nobody ever sees half of it.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut (dyn std::io::Write + Send)) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let whole = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        let mut buffered = std::io::BufWriter::new(&mut file);
        write(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        make_readable(file.as_file())?;
        file.persist(path).map_err(|error| error.error)
    };
    whole().with_context(|| format!("{}: cannot be written", path.display()))?;
    Ok(())
}

/// Temporary files are private; what a user asked for has the usual permissions.
#[cfg(unix)]
pub(crate) fn make_readable(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
pub(crate) fn make_readable(_: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}

/// The same for a folder.
#[cfg(unix)]
pub(crate) fn make_folder_readable(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
pub(crate) fn make_folder_readable(_: &Path) -> std::io::Result<()> {
    Ok(())
}
