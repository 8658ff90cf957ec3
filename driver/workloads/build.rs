//! Collects `src/<workload>/schema/<dialect>.sql` into a table, so that a new dialect is a new file and no code names
//! a dialect.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

#[allow(clippy::print_stdout)] // Cargo reads instructions from standard output.
fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("src");
    let mut table = String::from("const SCHEMAS: &[(&str, &str, &str)] = &[\n");
    for workload in entries(&root)? {
        let folder = workload.join("schema");
        if !folder.is_dir() {
            continue;
        }
        println!("cargo::rerun-if-changed={}", folder.display());
        let name = |path: &Path| {
            path.file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default()
        };
        for file in entries(&folder)?
            .iter()
            .filter(|file| file.extension().is_some_and(|end| end == "sql"))
        {
            let (workload, dialect) = (name(&workload), name(file));
            writeln!(
                table,
                "    ({workload:?}, {dialect:?}, include_str!({:?})),",
                file.display().to_string()
            )
            .map_err(io::Error::other)?;
        }
    }
    table.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    fs::write(out.join("schemas.rs"), table)
}
